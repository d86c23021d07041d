"""A fitted problem as a function of scores: log-odds, intervals, densities."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayescal.fitting.curves import curves
from bayescal.fitting.curves.class_draws import ClassDraws, density_dataset
from bayescal.fitting.curves.combined_draws import CombinedDraws, ModelCurves
from bayescal.fitting.curves.curves import Prior, highest_density, prior_draws, simultaneous_tail
from bayescal.fitting.curves.tables import DIRECT, POINT, Tables, band_error
from bayescal.fitting.engines.maximum_likelihood import ClassFits
from bayescal.fitting.parts.combination import read_stack
from bayescal.fitting.parts.part import Groups
from bayescal.fitting.results.tree import read_fits, reading_of
from bayescal.support.bayes import probability
from bayescal.support.score_checks import read_scores
from bayescal.support.validation import Floats

# Beyond so many spreads every curve has saturated; squares of larger numbers would overflow.
FARTHEST = 1e100
POINTS = {
    "predictive": curves.predictive_log_odds,
    "mean": curves.mean_log_odds,
    "median": curves.median_log_odds,
}
# Intervals whose ends keep their meaning in any monotone function of the probability.
EQUAL_TAILED = ("pointwise", "simultaneous")
KINDS = ("pointwise", "hdi", "simultaneous")
# Scores whose quantiles over draws take as long as a table does.
DIRECT_QUANTILES = 768
NODES = 256  # at which simultaneous bands are made sure of


@dataclass(frozen=True)
class Calibration:
    """The calibration that a tree of results holds."""

    # Maximum likelihood
    fits: ClassFits
    # Posterior draws, or the one posterior mode; None for maximum likelihood alone
    draws: ModelCurves | None
    # Of the scores fitted
    centre: float
    spread: float
    # Smallest and largest score fitted
    score_range: tuple[float, float]
    # What users' scores are; see `bayescal.support.validation.as_scores_of`
    scores_are: str
    # Whether scores were taken for probabilities because all that were fitted lay in [0, 1]
    guessed: bool = False

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
        if point == "median":
            median: Floats = self._quantiles(values, np.array([0.5]))[0]
            return median
        curve = partial(POINTS[point], self.draws)
        return self._tables.read(point, curve, values, POINT, direct)

    def take(self, index: NDArray[np.intp]) -> Calibration:
        """Return the same calibration with the draws at some positions."""
        return replace(self, draws=self._posterior.take(index))

    def interval(self, scores: ArrayLike, level: float, kind: str) -> Floats:
        """Return an interval over draws of P(+|s), one of KINDS; shape (n, 2)."""
        if kind != "hdi":
            return probability(self.log_odds_interval(scores, level, kind))
        values, draws = self.read(scores), self._posterior
        parts = [
            highest_density(probability(draws.log_odds(values[part])), level)
            for part in curves.blocks(draws.size, values.size)
        ]
        return np.concatenate(parts, axis=1).T

    def log_odds_interval(self, scores: ArrayLike, level: float, kind: str) -> Floats:
        """Return an equal-tailed interval of the log-odds, one of EQUAL_TAILED; shape (n, 2)."""
        values, draws = self.read(scores), self._posterior
        tail = 0.5 - level / 2.0
        if kind == "simultaneous":
            nodes = np.linspace(*self.score_range, NODES)
            tail = simultaneous_tail(draws.log_odds(nodes), level)
        return self._quantiles(values, np.array([tail, 1.0 - tail])).T

    def sample(self, scores: ArrayLike) -> Floats:
        """Return P_k(+|s) of every draw k; shape (draws, n)."""
        return probability(self._posterior.log_odds(self.read(scores)))

    def densities(self, scores: ArrayLike, level: float) -> xr.Dataset:
        """Return the densities of both classes; see `ScoreCalibrator.class_densities`."""
        return density_dataset(self.fits, self.density_draws, self.read(scores), level)

    @property
    def density_draws(self) -> ClassDraws | None:
        """The draws of both classes' densities; None for maximum likelihood alone."""
        if self.draws is None or self.draws.densities is not None:
            return None if self.draws is None else self.draws.densities
        raise ValueError("class densities need a family of densities; monotone log-odds have none.")

    @property
    def _posterior(self) -> ModelCurves:
        if self.draws is None:
            raise ValueError("maximum likelihood has no draws: fit with inference='exact'.")
        return self.draws

    def read(self, scores: ArrayLike) -> Floats:
        """Return users' scores as the calibration works on them: of probabilities log-odds."""
        reach = FARTHEST * self.spread
        values = read_scores(scores, self.scores_are, guessed=self.guessed)
        return np.clip(values, self.centre - reach, self.centre + reach)

    def _quantiles(self, values: Floats, levels: Floats) -> Floats:
        draws = self._in_any_order
        curve = partial(curves.quantiles_of_log_odds, draws, levels=levels)
        direct = DIRECT_QUANTILES if draws.size > 1 else values.size
        return self._tables.read(tuple(levels), curve, values, band_error(draws.size), direct)

    @cached_property
    def _in_any_order(self) -> ModelCurves:
        """The draws in the order in which they are evaluated fastest."""
        draws = self._posterior
        return draws.by_part() if isinstance(draws, CombinedDraws) else draws

    @cached_property
    def _tables(self) -> Tables:
        return Tables(self.centre, self.spread)


def read_calibration(groups: Groups, *, told: bool = True) -> Calibration:
    """Return the calibration that a tree's groups hold; whether scores are what somebody told."""
    fits, reading = read_fits(groups), reading_of(groups)
    scores_are = str(groups["constant_data"].attrs["scores_are"])
    return Calibration(
        fits=fits,
        draws=read_stack(groups, reading),
        centre=reading.centre,
        spread=reading.spread,
        score_range=reading.score_range,
        scores_are=scores_are,
        guessed=scores_are == "probabilities" and not told,
    )
