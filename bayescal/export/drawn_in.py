"""A scale on which curves of log-odds bend as little far out as among the scores fitted.

Far out log-odds follow the score or its logarithm, over hundreds of powers of two: an asinh has
few units there, and leaves scores beside the centre as they are.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.curves.curves import DrawnCurves
from bayescal.curves.interpolation import Curve
from bayescal.validation import Floats
from bayescal.warps import unwarp, warp


@dataclass(frozen=True)
class DrawnIn:
    """
    The scale x = centre + spread asinh((s - centre)/spread) of scores s.

    Attributes
    ----------
    centre, spread : float
        Robust centre and spread of the scores fitted.
    """

    centre: float
    spread: float

    def of(self, scores: Floats) -> Floats:
        """Return scores on the scale."""
        return warp(scores, self.centre, self.spread)

    def scores(self, x: Floats) -> Floats:
        """Return the scores at places of the scale."""
        return unwarp(x, self.centre, self.spread)

    def curve(self, curve: Curve) -> Curve:
        """Return a curve of scores as one of places of the scale."""
        return lambda x: curve(self.scores(x))

    def draws(self, draws: DrawnCurves) -> DrawnCurves:
        """Return draws of such curves as functions of places of the scale."""
        return _Draws(draws, self)


@dataclass(frozen=True)
class _Draws:
    of_scores: DrawnCurves
    scale: DrawnIn

    @property
    def size(self) -> int:
        return self.of_scores.size

    def take(self, index: NDArray[np.intp]) -> _Draws:
        return _Draws(self.of_scores.take(index), self.scale)

    def log_odds(self, x: Floats) -> Floats:
        return self.of_scores.log_odds(self.scale.scores(x))
