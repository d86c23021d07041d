"""Log-odds and intervals of many topics' scores, topic by topic."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from bayescal.families import Family, Fit, ScaleFloor
from bayescal.fitting.curves.class_draws import SIDES
from bayescal.fitting.curves.combined_draws import ModelCurves
from bayescal.fitting.curves.curves import Prior
from bayescal.fitting.engines.maximum_likelihood import ClassFits
from bayescal.fitting.parts.part import COMBINATION, Groups
from bayescal.fitting.results.calibration import Calibration
from bayescal.fitting.results.topics import (
    at_topics,
    read_curve,
    read_range,
    read_scale,
    read_scores_are,
    read_topic,
    read_topic_ends,
)
from bayescal.fitting.results.tree import Results
from bayescal.fitting.scores import KLASS, Cells, check_alike
from bayescal.support.bayes import class_prior, log_probabilities, probabilities, probability
from bayescal.support.validation import Floats

# One of many topics, as a function of scores.


def topic_calibration(groups: Groups, family: Family, topic: int | None) -> Calibration:
    """Return a topic's calibration: its pooled posterior, and its own maximum likelihood."""
    centre, spread = read_scale(groups)
    draws: ModelCurves
    draws = (
        read_topic(groups, topic) if COMBINATION in groups else read_curve(groups, family, topic)
    )
    return Calibration(
        fits=_fits(groups, family, topic),
        draws=draws,
        centre=centre,
        spread=spread,
        score_range=read_range(groups, topic),
        scores_are=read_scores_are(groups),
        ends=read_topic_ends(groups),
    )


def _fits(groups: Groups, family: Family, topic: int | None) -> ClassFits:
    # Variables, not arrays with coordinates: thousands of topics are read one by one.
    known = groups["topics"].variables

    def own(name: str) -> Floats:
        if topic is None:
            return np.full(len(KLASS), 0.0 if name == "documents" else np.nan)
        values: Floats = known[name].isel(topic=topic).values
        return values

    documents, sides = own("documents"), np.stack([own(name) for name in SIDES])
    fits = []
    for k in range(len(KLASS)):
        densities = family.of_class(bool(k))
        values = map(float, densities.from_sides(*sides[:, k]))
        parameters = dict(zip(densities.parameters, values, strict=True))
        # Results keep neither; nothing that is drawn asks for them.
        fits.append(Fit(parameters, np.nan, float(documents[k]), ScaleFloor("", 0.0, ())))
    prior = class_prior(float(documents[1]), float(documents.sum()))
    return ClassFits(family, fits[0], fits[1], prior)


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
    """

    # What `topic_fitting.fit_topic_results` returns
    results: Results
    # Of the densities, unless there is a combination
    family: Family
    # The point estimate, see `ScoreCalibrator`
    point: str = POINT

    def log_odds(self, cells: Cells, *, strict: bool, prior: Priors | None = None) -> Floats:
        """Return natural log-odds, of the shape of the cells."""

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
