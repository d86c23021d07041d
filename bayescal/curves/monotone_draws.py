"""Draws of monotone piecewise-linear log-odds as a curve of the raw score."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.curves.curves import LogOddsCurves, check_finite
from bayescal.engines.monotone.basis import Pieces
from bayescal.small_arrays import small_arrays
from bayescal.validation import Floats
from bayescal.warps import standardise

BLOCK = 8  # rows of a matrix that all kernels of OpenBLAS take at once, or a part of these


@dataclass(frozen=True)
class MonotoneDraws(LogOddsCurves):
    """
    Draws of log-odds that never fall.

    Attributes
    ----------
    pieces : Pieces
        Knots and reference, in standardised (warped) scores.
    intercept : array of shape (draws,)
        Log-odds at the reference.
    slope : array of shape (draws, segments)
        In log-odds a standardised unit.
    prior : array of shape (draws,)
        P(+) of the population fitted, whose log-odds another prior replaces.
    centre, spread, asinh_scale : float
        Of the standardisation, and of the warp in score units.
    """

    pieces: Pieces
    intercept: Floats
    slope: Floats
    prior: Floats
    centre: float
    spread: float
    asinh_scale: float

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return int(self.intercept.size)

    def take(self, index: NDArray[np.intp]) -> MonotoneDraws:
        """Return the draws at some positions."""
        return replace(
            self,
            intercept=self.intercept[index],
            slope=self.slope[index],
            prior=self.prior[index],
        )

    def with_prior(self, prior: Floats) -> MonotoneDraws:
        """Return the same draws for a class prior of shape (draws,): the intercept moves."""
        moved = self.intercept + special.logit(prior) - special.logit(self.prior)
        return replace(self, intercept=moved, prior=prior)

    @small_arrays()
    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds at raw scores, shape (draws, scores)."""
        x = standardise(scores, self.centre, self.spread, self.asinh_scale)
        # Draws lie side by side: there are thousands of them, and often few scores.
        product = _whole_blocks(self.pieces.basis(x)) @ _whole_blocks(self.slope).T
        curves: Floats = product[: x.size, : self.size] + self.intercept
        return curves.T


def _whole_blocks(rows: Floats) -> Floats:
    """
    Return rows and some of zeros, so that there are whole blocks of them.

    What is left over at the edges of a product is added up in another order: a draw would differ in
    its last digit by how many scores and draws are asked for with it.
    """
    size, columns = rows.shape
    if size % BLOCK == 0:
        return rows
    whole = np.zeros((size + -size % BLOCK, columns))
    whole[:size] = rows
    return whole


def read_monotone(draws: xr.Dataset, constants: xr.Dataset, part: str) -> MonotoneDraws:
    """
    Return an engine's draws, with dimensions chain, draw and segment, of these constants.

    Raises
    ------
    ValueError
        If the draws of the part, which the message names, are not finite.
    """
    intercept, prior = (draws[name].values.ravel() for name in ("intercept", "prior"))
    slope = draws["slope"].transpose("chain", "draw", "segment").values
    check_finite(f"the part {part!r}", intercept, slope, prior)
    return MonotoneDraws(
        pieces=Pieces(constants["knot"].values, float(constants["reference"])),
        intercept=intercept,
        slope=slope.reshape(intercept.size, -1),
        prior=prior,
        centre=float(constants["centre"]),
        spread=float(constants["spread"]),
        asinh_scale=float(constants["asinh_scale"]),
    )
