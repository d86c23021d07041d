"""Scores that are log-odds already, taken at their word."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.curves.curves import LogOddsCurves
from bayescal.engines.data import BinaryScores
from bayescal.validation import Floats


@dataclass(frozen=True)
class IdentityDraws(LogOddsCurves):
    """
    The identity as a curve: every draw says what the score says.

    Attributes
    ----------
    prior : array of shape (draws,)
        P(+) of the population fitted, whose log-odds another prior replaces.
    shift : array of shape (draws,)
        What another prior adds to the scores.
    """

    prior: Floats
    shift: Floats

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return int(self.prior.size)

    def take(self, index: NDArray[np.intp]) -> IdentityDraws:
        """Return the draws at some positions."""
        return IdentityDraws(self.prior[index], self.shift[index])

    def with_prior(self, prior: Floats) -> IdentityDraws:
        """Return the same draws for a class prior of shape (draws,)."""
        moved = self.shift + special.logit(prior) - special.logit(self.prior)
        return replace(self, prior=prior, shift=moved)

    def log_odds(self, scores: Floats) -> Floats:
        """Return the scores, moved by the prior's log-odds; shape (draws, scores)."""
        moved: Floats = scores + self.shift[:, None]
        return moved

    def predictive(self, scores: Floats) -> Floats:
        """Return the scores, moved by the mean of the shifts."""
        moved: Floats = scores + self.shift.mean()
        return moved

    def seen(self, data: BinaryScores, log_score: Floats) -> None:
        """Return None: nothing was fitted."""
        return
