"""Posterior draws of one class's density, of one family or of several, on raw or warped scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.families import Family
from bayescal.validation import Floats
from bayescal.warps import log_jacobian, warp


@dataclass(frozen=True)
class DensityDraws:
    """
    Draws of one class's density.

    Attributes
    ----------
    family : tuple of Family
        The families that draws may be of.
    which : integer array of shape (draws,)
        Each draw's family, as a position in `family`.
    sides : array of shape (3, draws)
        Mode, left and right side of each, in warped score units; see `Family.from_sides`.
    bend : array of shape (draws,)
        Bend of each draw's warp; inf for none.
    centre : float
        Of the warps.
    """

    family: tuple[Family, ...]
    which: NDArray[np.intp]
    sides: Floats
    bend: Floats
    centre: float

    def take(self, index: NDArray[np.intp]) -> DensityDraws:
        """Return the draws at some positions."""
        return DensityDraws(
            self.family, self.which[index], self.sides[:, index], self.bend[index], self.centre
        )

    def logpdf(self, scores: Floats) -> Floats:
        """Return log p(s | class) of every draw per unit of raw score, shape (draws, scores)."""
        if len(self.family) == 1 and np.isinf(self.bend).all():
            return self._of_family(self.family[0], self.sides, scores)
        out = np.empty((self.which.size, scores.size))
        for bend in np.unique(self.bend):
            warped = warp(scores, self.centre, bend)
            jacobian = log_jacobian(scores, self.centre, bend)
            for k, family in enumerate(self.family):
                rows = np.flatnonzero((self.bend == bend) & (self.which == k))
                if rows.size:
                    out[rows] = self._of_family(family, self.sides[:, rows], warped) + jacobian
        return out

    @staticmethod
    def _of_family(family: Family, sides: Floats, x: Floats) -> Floats:
        return family.logpdf(x, *family.from_sides(*sides[:, :, None]))
