"""Densities recalibrated: monotone log-odds along the log-odds that class densities give."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayescal.engines.monotone.posterior import log_odds_of_draws
from bayescal.results.class_draws import ClassDraws
from bayescal.results.curves import log_odds_of_mean
from bayescal.results.monotone_draws import MonotoneDraws
from bayescal.validation import Floats


@dataclass(frozen=True)
class RecalibratedDraws:
    """
    Draws of log-odds that rise with those of the class densities.

    Attributes
    ----------
    densities : ClassDraws
        What takes raw scores to log-odds.
    along : MonotoneDraws
        As many draws of the log-odds as a function of these.
    """

    densities: ClassDraws
    along: MonotoneDraws

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return self.along.size

    def take(self, index: NDArray[np.intp]) -> RecalibratedDraws:
        """Return the draws at some positions."""
        return RecalibratedDraws(self.densities.take(index), self.along.take(index))

    def with_prior(self, prior: Floats) -> RecalibratedDraws:
        """Return the same draws for a class prior of shape (draws,)."""
        return replace(self, along=self.along.with_prior(prior))

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds at raw scores, each draw along its own densities; (draws, scores)."""
        x, along = self.densities.log_odds(scores), self.along
        return log_odds_of_draws(along.pieces, along.intercept, along.slope, x)

    def predictive(self, scores: Floats) -> Floats:
        """Return the log-odds of the mean over draws of P_k(+ | predictive log-odds at s)."""
        return log_odds_of_mean(self.along.log_odds(self.densities.predictive(scores)))


def recalibrate(densities: ClassDraws, along: MonotoneDraws) -> RecalibratedDraws:
    """Return densities recalibrated; the draws along them know the doubt about the class prior."""
    fixed = np.full(densities.size, densities.prior.mean())
    return RecalibratedDraws(densities.with_prior(fixed), along)
