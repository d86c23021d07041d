"""A fitted problem as a function of scores: log-odds, intervals, densities."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.bayes import probability
from bayescal.engines.maximum_likelihood import ClassFits
from bayescal.families import FAMILIES, Family
from bayescal.results import curves, interpolation
from bayescal.results.tree import read_fits
from bayescal.validation import Floats, as_scores

# Beyond so many spreads every curve has saturated; squares of larger numbers would overflow.
FARTHEST = 1e100


@dataclass(frozen=True)
class Calibration:
    """
    What a tree of results says about scores.

    Attributes
    ----------
    family : Family
        The densities of both classes.
    fits : ClassFits
        Maximum likelihood.
    draws : ClassDraws or None
        Posterior draws, or the one posterior mode; None for maximum likelihood alone.
    centre, spread : float
        Of the scores fitted.
    """

    family: Family
    fits: ClassFits
    draws: curves.ClassDraws | None
    centre: float
    spread: float

    def log_odds(self, scores: ArrayLike, point: str) -> Floats:
        """Return natural log-odds by the point estimate "predictive" or "mean"; shape (n,)."""
        values = self._read(scores)
        if self.draws is None:
            return self.fits.log_odds(self.family, values)
        if self.draws.size == 1:
            return self.draws.log_odds(values).ravel()
        estimate = {"predictive": curves.predictive_log_odds, "mean": curves.mean_log_odds}
        return self._tabulated(partial(estimate[point], self.draws), values, band=False)

    def interval(self, scores: ArrayLike, draws: curves.ClassDraws, level: float) -> Floats:
        """Return the equal-tailed interval of P(+|s) over draws; shape (n, 2)."""
        tails = np.array([0.5 - level / 2.0, 0.5 + level / 2.0])
        quantiles = partial(curves.quantiles_of_log_odds, draws, levels=tails)
        return probability(self._tabulated(quantiles, self._read(scores), band=True)).T

    def sample(self, scores: ArrayLike, draws: curves.ClassDraws) -> Floats:
        """Return P_k(+|s) of every draw k; shape (draws, n)."""
        return probability(draws.log_odds(self._read(scores)))

    def densities(self, scores: ArrayLike, level: float) -> xr.Dataset:
        """Return the densities of both classes; see `ScoreCalibrator.class_densities`."""
        values = self._read(scores)
        return curves.density_dataset(self.family, self.fits, self.draws, values, level)

    def _read(self, scores: ArrayLike) -> Floats:
        reach = FARTHEST * self.spread
        return np.clip(as_scores(scores), self.centre - reach, self.centre + reach)

    def _tabulated(self, curve: interpolation.Curve, values: Floats, *, band: bool) -> Floats:
        return interpolation.evaluate(curve, values, self.centre, self.spread, band=band)


def read_calibration(tree: xr.DataTree, family: str) -> Calibration:
    """Return the calibration that a tree of results holds."""
    constants = tree["constant_data"]
    return Calibration(
        family=FAMILIES[family],
        fits=read_fits(tree),
        draws=curves.draws_in_tree(FAMILIES[family], tree),
        centre=float(constants["centre"]),
        spread=float(constants["spread"]),
    )
