"""Densities recalibrated: monotone log-odds along the log-odds that class densities give."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from bayescal.results import interpolation
from bayescal.results.curves import Curves, log_odds_of_mean
from bayescal.results.monotone_draws import MonotoneDraws
from bayescal.validation import Floats

# The table reaches so many times as far from the centre as the scores fitted.
FARTHER = 4.0


@dataclass(frozen=True)
class DensityLogOdds:
    """
    The posterior predictive log-odds of class densities, one curve of the raw score.

    Attributes
    ----------
    densities : Curves
        Posterior draws of class densities, or of several combined.
    centre, spread : float
        Robust centre and spread of the scores fitted: where the curve bends.
    reach : tuple of float
        The smallest and the largest score fitted.
    """

    densities: Curves
    centre: float
    spread: float
    reach: tuple[float, float]

    def __call__(self, scores: Floats) -> Floats:
        """Return natural log-odds, within 1e-4 in probability; shape (n,)."""
        node, values = self._table
        out: Floats = np.interp(scores, node, values)
        beyond = np.flatnonzero((scores < node[0]) | (scores > node[-1]))
        if beyond.size:
            out[beyond] = self.densities.predictive(scores[beyond])
        return out

    @cached_property
    def _table(self) -> tuple[Floats, Floats]:
        ends = [self.centre + FARTHER * (end - self.centre) for end in self.reach]
        first = interpolation.first_nodes(ends[0], ends[1], self.centre, self.spread)
        return interpolation.refine(self.densities.predictive, first)


@dataclass(frozen=True)
class RecalibratedDraws:
    """
    Draws of log-odds that rise with those of the class densities.

    Attributes
    ----------
    base : DensityLogOdds
        What takes raw scores to the densities' log-odds.
    along : MonotoneDraws
        Draws of the log-odds as a function of these.
    """

    base: DensityLogOdds
    along: MonotoneDraws

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return self.along.size

    def take(self, index: NDArray[np.intp]) -> RecalibratedDraws:
        """Return the draws at some positions."""
        return replace(self, along=self.along.take(index))

    def with_prior(self, prior: Floats) -> RecalibratedDraws:
        """Return the same draws for a class prior of shape (draws,)."""
        return replace(self, along=self.along.with_prior(prior))

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds at raw scores, shape (draws, scores)."""
        return self.along.log_odds(self.base(scores))

    def predictive(self, scores: Floats) -> Floats:
        """Return the log-odds of P(+ | s, data), the mean over draws of P_k(+|s)."""
        return log_odds_of_mean(self.log_odds(scores))
