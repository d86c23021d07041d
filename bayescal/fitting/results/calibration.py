"""Fitted problems and topics as functions of scores: log-odds, intervals, densities."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NotRequired, TypedDict, Unpack

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.special import log_expit

from bayescal.fitting.covariates import Covariates, Frame
from bayescal.fitting.curves import curves
from bayescal.fitting.curves.curves import (
    DIRECT,
    POINT,
    Prior,
    Tables,
    band_error,
    highest_density,
    prior_draws,
    simultaneous_tail,
)
from bayescal.fitting.curves.part_draws import CombinedDraws, density_dataset
from bayescal.fitting.engines.combination import GROUP
from bayescal.fitting.engines.point_estimates import ClassFits
from bayescal.fitting.parts.combination import read_stack
from bayescal.fitting.parts.configured import PROGRAM
from bayescal.fitting.parts.part import CONSTANTS, Groups, Reading, all_paths
from bayescal.fitting.parts.program import DocumentCurves
from bayescal.fitting.posterior import ClassDraws, Posterior
from bayescal.fitting.results import tree
from bayescal.fitting.results.topics import at_topic, at_topics, names_of, whose
from bayescal.fitting.results.tree import Results
from bayescal.fitting.scores import Cells, check_alike
from bayescal.support.numerics import log_probabilities, probabilities, probability
from bayescal.support.score_checks import read_scores
from bayescal.support.validation import PROBABILITY_ENDS, Floats

# Number of spreads at which every curve has saturated; squares of larger numbers would overflow.
FARTHEST = 1e100
PREDICTIVE = "predictive"
MEDIAN = "median"
MEANS = {PREDICTIVE: curves.predictive_log_odds, "mean": curves.mean_log_odds}
POINTS = (*MEANS, MEDIAN)
# Intervals that are invariant under monotone functions of the probability.
EQUAL_TAILED = ("pointwise", "simultaneous")
KINDS = ("pointwise", "hdi", "simultaneous")
# Number of scores from which a table is faster than direct quantiles.
DIRECT_QUANTILES = 768
# The same for every draw's curve, which bend in more places the more draws: at least, and a draw.
DIRECT_DRAWS = 2048, 5
ATOM_SHARE = 0.05  # smallest share of documents with one score that counts as a point mass
NODES = 256  # scores that determine the level of simultaneous bands


@dataclass(frozen=True)
class Calibration:
    """The calibration of one problem."""

    fits: ClassFits  # maximum likelihood
    draws: Posterior | None  # draws, or the posterior mode; None for maximum likelihood alone
    centre: float  # of the scores fitted
    spread: float
    score_range: tuple[float, float]  # smallest and largest score fitted
    scores_are: str  # meaning of users' scores; see `support.validation.as_scores_of`
    guessed: bool = False  # whether "auto" resolved to probabilities
    ends: tuple[float, float] = PROBABILITY_ENDS  # probabilities that replace 0 and 1
    jumps: Floats = field(default_factory=lambda: np.empty(0))  # scores where curves may jump
    covariates: Covariates | None = None  # covariates of the fitted documents, for a program
    by_position: bool = False  # whether curves are functions of a document's position

    def of_documents(self, scores: ArrayLike, covariates: Frame) -> Calibration:
        """Return the calibration of documents with covariates, if the model takes them."""
        if self.covariates is None:
            if covariates is not None:
                raise ValueError(
                    "the model takes no covariates: fit a Program that does, or leave them out."
                )
            return self
        assert self.draws is not None  # noqa: S101
        values = self.read(scores)
        own: Any = self.draws
        columns = self.covariates.like(covariates, values.size, own.open_to)
        curves: Any = DocumentCurves(own, values, columns)
        return replace(self, draws=curves, by_position=True)

    def with_prior(self, prior: Prior | None) -> Calibration:
        """Return the same calibration for a population with another class prior."""
        if prior is None:
            return self
        mean = float(prior_draws(prior, 1000).mean())
        draws = self.draws
        if draws is not None:
            draws = draws.with_prior(prior_draws(prior, draws.size))
        return replace(self, fits=replace(self.fits, prior=mean), draws=draws)

    def log_odds(self, scores: ArrayLike, point: str, direct: int = DIRECT) -> Floats:
        """Return log-odds by a point estimate, one of POINTS; shape (n,); see `Tables.read`."""
        values = self.read(scores)
        if self.draws is None:
            return self.fits.log_odds(values)
        if self.draws.size == 1:
            return self.draws.log_odds(values).ravel()
        if self.by_position:
            direct = values.size
        if point == MEDIAN:
            return np.asarray(self._quantiles(values, np.array([0.5]))[0])
        curve = partial(MEANS[point], self.draws)
        return self._tables.read(point, curve, values, POINT, direct)

    def take(self, index: NDArray[np.intp]) -> Calibration:
        """Return the same calibration with the draws at some positions."""
        return replace(self, draws=self.posterior.take(index))

    def interval(self, scores: ArrayLike, level: float, kind: str) -> Floats:
        """Return an interval over draws of P(+|s), one of KINDS; shape (n, 2)."""
        if kind != "hdi":
            log_odds = self.log_odds_interval(scores, level, kind)
            return probability(log_odds, out=log_odds)
        values, draws = self.read(scores), self.posterior
        parts = [
            highest_density(probability(draws.log_odds(values[part])), level)
            for part in curves.blocks(draws.size, values.size)
        ]
        return np.concatenate(parts, axis=1).T

    def log_odds_interval(self, scores: ArrayLike, level: float, kind: str) -> Floats:
        """Return an equal-tailed interval of the log-odds, one of EQUAL_TAILED; shape (n, 2)."""
        values, draws = self.read(scores), self.posterior
        tail = 0.5 - level / 2.0
        if kind == "simultaneous":
            if self.by_position:
                raise ValueError(
                    "simultaneous bands are of one curve: choose kind='pointwise' for a model with"
                    " covariates."
                )
            nodes = np.linspace(*self.score_range, NODES)
            tail = simultaneous_tail(draws.log_odds(nodes), level)
        return self._quantiles(values, np.array([tail, 1.0 - tail])).T

    def sample(self, scores: ArrayLike) -> Floats:
        """Return P_k(+|s) of every draw k, of many scores within POINT; shape (draws, n)."""
        values, draws = self.read(scores), self.posterior
        direct = values.size if self.by_position else DIRECT_DRAWS[0] + DIRECT_DRAWS[1] * draws.size
        # Not kept: a table of all draws may take a hundred megabytes.
        tables = Tables(self.centre, self.spread, self.jumps)
        curves = tables.read("draws", draws.log_odds, values, POINT, direct)
        return probability(curves, out=curves)

    def densities(self, scores: ArrayLike, level: float) -> xr.Dataset:
        """Return the densities of both classes; see `ScoreCalibrator.class_densities`."""
        return density_dataset(self.fits, self.density_draws, self.read(scores), level)

    @property
    def density_draws(self) -> ClassDraws | None:
        """The draws of both classes' densities; None for maximum likelihood alone."""
        if self.draws is None or self.draws.densities is not None:
            return None if self.draws is None else self.draws.densities
        raise ValueError(
            "class densities need a family of densities; curves of log-odds have none: draw the"
            " curve, by LogOddsDisplay or ProbabilityDisplay."
        )

    @property
    def posterior(self) -> Posterior:
        """The draws; raise ValueError without any."""
        if self.draws is None:
            raise ValueError("maximum likelihood has no draws: fit with inference='exact'.")
        return self.draws

    def read(self, scores: ArrayLike) -> Floats:
        """Return users' scores on the calibration's scale: probabilities as log-odds."""
        if self.by_position:
            return np.arange(np.size(scores), dtype=np.float64)
        reach = FARTHEST * self.spread
        values = read_scores(scores, self.scores_are, guessed=self.guessed, ends=self.ends)
        return np.clip(values, self.centre - reach, self.centre + reach)

    def _quantiles(self, values: Floats, levels: Floats) -> Floats:
        draws = self._in_any_order
        curve = partial(curves.quantiles_of_log_odds, draws, levels=levels)
        direct = DIRECT_QUANTILES if draws.size > 1 and not self.by_position else values.size
        return self._tables.read(tuple(levels), curve, values, band_error(draws.size), direct)

    @cached_property
    def _in_any_order(self) -> Posterior:
        """The draws in the order of fastest evaluation."""
        draws = self.posterior
        return draws.by_part() if isinstance(draws, CombinedDraws) else draws

    @cached_property
    def _tables(self) -> Tables:
        return Tables(self.centre, self.spread, self.jumps)


def read_calibration(groups: Groups, *, stated: bool = True, topic: str = "") -> Calibration:
    """Return the calibration of one problem; `topic` is for messages."""
    reading, scores_are = Reading.of(groups, topic), tree.read_scores_are(groups)
    calibration = Calibration(
        fits=tree.read_fits(groups),
        draws=read_stack(groups, reading) if all_paths(groups) else None,
        centre=reading.centre,
        spread=reading.spread,
        score_range=reading.score_range,
        scores_are=scores_are,
        guessed=scores_are == "probabilities" and not stated,
        ends=tree.read_ends(groups),
        jumps=_jumps(groups),
        covariates=Covariates.of(groups),
    )
    base_rate = tree.read_base_rate(groups)
    if base_rate is None or groups[CONSTANTS].attrs.get("by_score"):
        return calibration
    return calibration.with_prior(stats.beta(*base_rate))


def _jumps(groups: Groups) -> Floats:
    """Return the scores at which curves may jump: ends with levels, and atoms of programs."""
    if GROUP in groups:
        return np.asarray(groups[GROUP]["end"].values)
    if all(paths.kind != PROGRAM for paths in all_paths(groups)):
        return np.empty(0)
    # A program's density may have point masses: scores that many documents share.
    score, count = np.unique(groups["observed_data"]["score"].values, return_counts=True)
    return np.asarray(score[count >= max(2.0, ATOM_SHARE * count.sum())])


def topic_calibration(groups: Groups, topic: int | None) -> Calibration:
    """Return the calibration of the topic at a position; None for a topic without documents."""
    return read_calibration(at_topic(groups, topic), topic=whose(groups, topic))


Reader = Callable[[Calibration, Floats], Floats]
# One class prior for all topics, or by topic; other topics keep their own.
Priors = Prior | Mapping[Any, Prior]


class Asked(TypedDict):
    """Options of predictions: whether new topics are an error, and a class prior."""

    strict: bool
    prior: NotRequired[Priors | None]


MOST_KEPT = 64  # topics whose draws and tables are cached, about a megabyte each


@dataclass(frozen=True)
class TopicCurves:
    """The curves of all topics fitted, and of the population, with a cache of recent topics."""

    results: Results  # of many topics
    point: str = PREDICTIVE  # the point estimate, see `ScoreCalibrator`
    turned: bool = False  # whether the positive class is the first of the two in sorted order

    def log_odds(self, cells: Cells, **how: Unpack[Asked]) -> Floats:
        """Return natural log-odds, of the shape of the cells."""
        return self._by_topic(cells, lambda each, scores: each.log_odds(scores, self.point), **how)

    def decision(self, cells: Cells, **how: Unpack[Asked]) -> Floats:
        """Return natural log-odds of the second class in sorted order."""
        log_odds = self.log_odds(cells, **how)
        return -log_odds if self.turned else log_odds

    def proba(self, cells: Cells, **how: Unpack[Asked]) -> Floats:
        """Return P of both classes in sorted order, (n, 2); of (documents, topics) P(+) alone."""
        if len(cells.shape) == 2:
            return probability(self.log_odds(cells, **how))
        return probabilities(self.decision(cells, **how))

    def log_proba(self, cells: Cells, **how: Unpack[Asked]) -> Floats:
        """Return natural logarithms of `proba`, in the same shape."""
        if len(cells.shape) == 2:
            return np.asarray(log_expit(self.log_odds(cells, **how)))
        return log_probabilities(self.decision(cells, **how))

    def interval(
        self, cells: Cells, level: float, kind: str = "pointwise", **how: Unpack[Asked]
    ) -> Floats:
        """Return an interval of P(+|s), see `Calibration.interval`; lower and upper last."""
        return self._by_topic(
            cells, lambda each, scores: each.interval(scores, level, kind), (2,), **how
        )

    def sample(
        self, cells: Cells, index: NDArray[np.intp] | None = None, **how: Unpack[Asked]
    ) -> Floats:
        """Return P_k(+|s) of draws k, all or at some positions; draws first."""

        def read(calibration: Calibration, scores: Floats) -> Floats:
            chosen = calibration if index is None else calibration.take(index)
            return chosen.sample(scores).T

        size = self.draws if index is None else index.size
        return np.moveaxis(self._by_topic(cells, read, (size,), **how), -1, 0)

    @property
    def draws(self) -> int:
        """Return the number of posterior draws."""
        sizes = self.results.groups["posterior"].sizes
        return sizes["chain"] * sizes["draw"]

    def of(self, names: Sequence[Any]) -> TopicCurves:
        """Return the curves of some topics only; topics that were not fitted are skipped."""
        positions = [self._known[name] for name in names if name in self._known]
        some = at_topics(self.results.groups, np.array(positions, dtype=np.intp))
        return replace(self, results=Results(some, self.results.attrs))

    def _by_topic(
        self, cells: Cells, read: Reader, more: tuple[int, ...] = (), **how: Unpack[Asked]
    ) -> Floats:
        prior = how.get("prior")
        out = np.empty((cells.score.size, *more))
        names = cells.names.tolist()
        check_alike(cells.names, self._names)
        unknown = [name for name in names if name not in self._known]
        if unknown and how["strict"]:
            raise ValueError(
                f"topics {', '.join(map(repr, unknown[:5]))} were not fitted: add_topics, or"
                " new_topics='population' answers as the population would."
            )
        for name, rows in zip(names, cells.rows(), strict=True):
            own = prior.get(name) if isinstance(prior, Mapping) else prior
            calibration = self._read(self._known.get(name)).with_prior(own)
            out[rows] = read(calibration, cells.score[rows])
        return out.reshape(*cells.shape, *more)

    def _read(self, position: int | None) -> Calibration:
        # Looked up once: other threads may clear the cache.
        kept = self._kept.get(position)
        if kept is None:
            if len(self._kept) >= MOST_KEPT:
                self._kept.clear()
            kept = self._kept[position] = topic_calibration(self.results.groups, position)
        return kept

    @cached_property
    def _kept(self) -> dict[int | None, Calibration]:
        return {}

    @cached_property
    def _known(self) -> dict[Any, int]:
        """Position of each fitted topic."""
        return {name: k for k, name in enumerate(self._names.tolist())}

    @cached_property
    def _names(self) -> NDArray[Any]:
        return names_of(self.results.groups)
