"""What results of many topics say of their scores: log-odds and intervals, topic by topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from bayescal.bayes import log_probabilities, probabilities, probability
from bayescal.curves.class_prior import Prior
from bayescal.families import Family
from bayescal.results.calibration import Calibration
from bayescal.results.groups import Results
from bayescal.results.topic_calibration import topic_calibration
from bayescal.results.topics import at_topics
from bayescal.topic_scores import Cells, check_alike
from bayescal.validation import Floats

Reader = Callable[[Calibration, Floats], Floats]
# One for all topics, or by topic; topics that are left out keep their own.
Priors = Prior | Mapping[Any, Prior]

POINT = "predictive"
MOST_KEPT = 64  # topics whose draws and tables are kept, about a megabyte each


@dataclass(frozen=True)
class TopicCurves:
    """
    The curves of all topics fitted, and of the population.

    A topic's draws and tables are kept for the next batch of its scores.

    Attributes
    ----------
    results : Results
        What `topic_fitting.fit_topic_results` returns.
    family : Family
        Of the densities, unless there is a combination.
    point : str
        The point estimate, see `ScoreCalibrator`.
    """

    results: Results
    family: Family
    point: str = POINT

    def log_odds(self, cells: Cells, *, strict: bool, prior: Priors | None = None) -> Floats:
        """
        Return natural log-odds, of the shape of the cells.

        Parameters
        ----------
        cells : Cells
            Scores and their topics.
        strict : bool
            Whether a topic that was not fitted is an error; else the population answers for it.
        prior : float, distribution or draws, or a mapping of topics to these, optional
            P(+) of the documents predicted for; see `ScoreCalibrator.decision_function`.
        """

        def read(calibration: Calibration, scores: Floats) -> Floats:
            return calibration.log_odds(scores, self.point)

        return self._by_topic(cells, read, (), strict=strict, prior=prior)

    def proba(self, cells: Cells, *, strict: bool, prior: Priors | None = None) -> Floats:
        """Return probabilities of both classes, shape (n, 2); of (documents, topics) P(+) alone."""
        log_odds = self.log_odds(cells, strict=strict, prior=prior)
        if log_odds.ndim == 2:
            return probability(log_odds)
        return probabilities(log_odds)

    def log_proba(self, cells: Cells, *, strict: bool, prior: Priors | None = None) -> Floats:
        """Return natural logarithms of `proba`, in the same shape."""
        log_odds = self.log_odds(cells, strict=strict, prior=prior)
        if log_odds.ndim == 2:
            return np.asarray(log_expit(log_odds))
        return log_probabilities(log_odds)

    def interval(
        self,
        cells: Cells,
        level: float,
        kind: str = "pointwise",
        *,
        strict: bool,
        prior: Priors | None = None,
    ) -> Floats:
        """Return an interval of P(+|s), see `Calibration.interval`; lower and upper last."""

        def read(calibration: Calibration, scores: Floats) -> Floats:
            return calibration.interval(scores, level, kind)

        return self._by_topic(cells, read, (2,), strict=strict, prior=prior)

    def sample(
        self,
        cells: Cells,
        index: NDArray[np.intp] | None = None,
        *,
        strict: bool,
        prior: Priors | None = None,
    ) -> Floats:
        """Return P_k(+|s) of draws k, all or those at some positions; draws first."""

        def read(calibration: Calibration, scores: Floats) -> Floats:
            chosen = calibration if index is None else calibration.take(index)
            return chosen.sample(scores).T

        size = self.draws if index is None else index.size
        found = self._by_topic(cells, read, (size,), strict=strict, prior=prior)
        return np.moveaxis(found, -1, 0)

    @property
    def draws(self) -> int:
        """Return the number of posterior draws."""
        sizes = self.results.groups["posterior"].sizes
        return sizes["chain"] * sizes["draw"]

    def of(self, names: Sequence[Any]) -> TopicCurves:
        """Return the curves of some topics alone; those that were not fitted are left out."""
        positions = [self._known[name] for name in names if name in self._known]
        some = at_topics(self.results.groups, np.array(positions, dtype=np.intp))
        return replace(self, results=Results(some, self.results.attrs))

    def check_known(self, names: Sequence[Any]) -> None:
        """Raise ValueError if a topic was not fitted."""
        unknown = [name for name in names if name not in self._known]
        if unknown:
            raise ValueError(
                f"topics {', '.join(map(repr, unknown[:5]))} were not fitted: add_topics, or"
                " new_topics='population' answers as the population would."
            )

    def _by_topic(
        self,
        cells: Cells,
        read: Reader,
        more: tuple[int, ...],
        *,
        strict: bool,
        prior: Priors | None,
    ) -> Floats:
        out = np.empty((cells.score.size, *more))
        names = cells.names.tolist()
        check_alike(cells.names, self._names)
        if strict:
            self.check_known(names)
        for name, rows in zip(names, cells.rows(), strict=True):
            own = prior.get(name) if isinstance(prior, Mapping) else prior
            calibration = self._read(self._known.get(name)).with_prior(own)
            out[rows] = read(calibration, cells.score[rows])
        return out.reshape(*cells.shape, *more)

    def _read(self, position: int | None) -> Calibration:
        # Once: other threads may clear what is kept.
        kept = self._kept.get(position)
        if kept is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            kept = self._kept[position] = topic_calibration(
                self.results.groups, self.family, position
            )
        return kept

    @cached_property
    def _kept(self) -> dict[int | None, Calibration]:
        return {}

    @cached_property
    def _known(self) -> dict[Any, int]:
        """Where each topic is among those fitted."""
        return {name: k for k, name in enumerate(self._names.tolist())}

    @cached_property
    def _names(self) -> NDArray[Any]:
        names: NDArray[Any] = self.results.groups["topics"]["topic"].values
        return names
