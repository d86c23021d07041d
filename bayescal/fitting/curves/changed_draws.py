"""Given log-odds, changed: draws of shift, slope and bend as curves of log-odds."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.fitting.curves.curves import LogOddsCurves
from bayescal.metrics.changes import FARTHEST, LINEAR, LogOddsFrame
from bayescal.support.validation import Floats


@dataclass(frozen=True)
class ChangedDraws(LogOddsCurves):
    """Draws of changes of given log-odds; see `bayescal.metrics.changes`."""

    frame: LogOddsFrame
    coefficient: Floats  # (draws, 2): a and b - 1; or (draws, 12), those of the bend too
    prior: Floats  # (draws,): p(+) of the documents fitted
    moved: Floats  # (draws,): what another prior adds to the log-odds

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return int(self.prior.size)

    def take(self, index: NDArray[np.intp]) -> ChangedDraws:
        """Return the draws at some positions."""
        coefficient, prior = self.coefficient[index], self.prior[index]
        return ChangedDraws(self.frame, coefficient, prior, self.moved[index])

    def with_prior(self, prior: Floats) -> ChangedDraws:
        """Return the same draws for a class prior of shape (draws,)."""
        moved = self.moved + special.logit(prior) - special.logit(self.prior)
        return replace(self, prior=prior, moved=moved)

    def log_odds(self, scores: Floats) -> Floats:
        """Return the changed log-odds of given ones, shape (draws, scores)."""
        given = np.clip(scores, -FARTHEST, FARTHEST)
        free = self.coefficient.shape[1]
        linear = free == LINEAR
        features = self.frame.linear(given) if linear else self.frame.features(given)
        changed: Floats = self.coefficient @ features.T
        changed += given
        changed += self.moved[:, None]
        return changed
