"""Posterior draws of one class's density, of one family or of several, on raw or warped scores."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.families import Family
from bayescal.validation import Floats
from bayescal.warps import log_jacobian, unwarp, warp


@dataclass(frozen=True)
class DensityDraws:
    """
    Draws of one class's density, whatever their family.

        log p(s) = peak - z (linear + quadratic z) + log |dx/ds|,    z = |x - theta|/side,

    with x the warped score and side the left or the right one.

    Attributes
    ----------
    coefficients : array of shape (8, draws)
        theta, inverses of the left and of the right side, peak, linear and quadratic on the left
        and on the right.
    same_sides : bool
        Whether linear and quadratic are the same on the left and on the right of every draw.
    warp : integer array of shape (draws,)
        Each draw's warp, a position in `asinh_scales`.
    asinh_scales : tuple of float
        Bends of the warps; inf for none.
    centre : float
        Of the warps.
    """

    coefficients: Floats
    same_sides: bool
    warp: NDArray[np.intp]
    asinh_scales: tuple[float, ...]
    centre: float

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return int(self.warp.size)

    def take(self, index: NDArray[np.intp]) -> DensityDraws:
        """Return the draws at some positions."""
        coefficients, warp = self.coefficients[:, index], self.warp[index]
        return DensityDraws(coefficients, self.same_sides, warp, self.asinh_scales, self.centre)

    def logpdf(self, scores: Floats) -> Floats:
        """Return log p(s | class) of every draw per unit of raw score, shape (draws, scores)."""
        jacobian = [
            log_jacobian(scores, self.centre, asinh_scale) for asinh_scale in self.asinh_scales
        ]
        log_density = self.log_density_warped(scores)
        log_density += self._of_each(np.stack(jacobian, axis=1)).T
        return log_density

    def log_density_warped(self, scores: Floats) -> Floats:
        """Return log p(x | class) of every draw per unit of warped score at raw scores."""
        theta, left, right, peak, *shape = self.coefficients
        x = [warp(scores, self.centre, asinh_scale) for asinh_scale in self.asinh_scales]
        # Draws lie side by side: there are thousands of them, and often few scores.
        deviation = self._of_each(np.stack(x, axis=1)) - theta
        linear, quadratic = shape[:2]
        if not self.same_sides:
            right_side = deviation > 0.0
            linear, quadratic = (np.where(right_side, shape[k + 2], shape[k]) for k in (0, 1))
        with np.errstate(over="ignore"):  # far out the log density is -infinity
            # The larger of the two is the one whose side the score is on.
            z = np.multiply(deviation, -left)
            deviation *= right
            np.maximum(z, deviation, out=z)
            depth = np.multiply(z, quadratic, out=deviation)
            depth += linear
            depth *= z
        log_density: Floats = np.subtract(peak, depth, out=depth).T
        return log_density

    def cdf(self, scores: Floats) -> Floats:
        """
        Return P(score <= s | class) of every draw, shape (draws, scores).

        A side of width w holds w of the mass if exponential, w sqrt(pi/2) if Gaussian, over the
        sum of both; beyond z widths from the mode exp(-z) of it is left, or erfc(z/sqrt(2)).
        """
        theta, left, right = self.coefficients[:3, :, None]
        exponential = self.coefficients[[4, 6], :, None] == 1.0
        x = [warp(scores, self.centre, asinh_scale) for asinh_scale in self.asinh_scales]
        deviation = self._of_each(np.stack(x, axis=1)).T - theta
        mass = np.where(exponential, 1.0, np.sqrt(np.pi / 2.0)) / np.stack([left, right])
        share = mass / mass.sum(axis=0)
        below = share[0] * _left_over(np.maximum(-deviation * left, 0.0), exponential[0])
        above = share[1] * _left_over(np.maximum(deviation * right, 0.0), exponential[1])
        values: Floats = np.where(deviation <= 0.0, below, 1.0 - above)
        return values

    def sample(self, size: int, rng: np.random.Generator) -> Floats:
        """Return so many raw scores of each draw's density, shape (draws, size)."""
        theta, left, right = self.coefficients[:3, :, None]
        shape = self.size, size
        widths = 1.0 / np.stack([left, right])
        exponential = self.coefficients[[4, 6], :, None] == 1.0
        mass = np.where(exponential, 1.0, np.sqrt(np.pi / 2.0)) * widths
        side = (rng.random(shape) * mass.sum(axis=0) > mass[0]).astype(np.intp)
        z = np.where(
            np.where(side, exponential[1], exponential[0]),
            rng.standard_exponential(shape),
            np.abs(rng.standard_normal(shape)),
        )
        x: Floats = theta + np.where(side, widths[1], -widths[0]) * z
        for k, asinh_scale in enumerate(self.asinh_scales):
            rows = self.warp == k
            x[rows] = unwarp(x[rows], self.centre, asinh_scale)
        return x

    def _of_each(self, values: Floats) -> Floats:
        """Return each draw's own column of values (scores, warps), or one column for all."""
        return values if len(self.asinh_scales) == 1 else values.take(self.warp, axis=1)


def _left_over(z: Floats, exponential: NDArray[np.bool_]) -> Floats:
    """Return the share of a side's mass that lies beyond z widths from the mode."""
    if exponential.all():
        return np.exp(-z)
    gaussian: Floats = special.erfc(z / np.sqrt(2.0))
    return np.where(exponential, np.exp(-z), gaussian)


def density_draws(
    family: tuple[Family, ...],
    which: NDArray[np.intp],
    sides: Floats,
    asinh_scale: Floats,
    centre: float,
) -> DensityDraws:
    """
    Return draws of families.

    Parameters
    ----------
    family : tuple of Family
        The families that draws may be of.
    which : integer array of shape (draws,)
        Each draw's family, as a position in `family`.
    sides : array of shape (3, draws)
        Mode, left and right side of each, in warped score units; see `Family.from_sides`.
    asinh_scale : array of shape (draws,)
        Bend of each draw's warp; inf for none.
    centre : float
        Of the warps.
    """
    theta, left, right = sides
    coefficients = np.empty((8, which.size))
    coefficients[:3] = theta, 1.0 / left, 1.0 / right
    for k, each in enumerate(family):
        rows = which == k
        coefficients[3, rows] = each.logpdf(theta[rows], *each.from_sides(*sides[:, rows]))
        # Of |z|^power/power: z itself, or half its square.
        shape = [[1.0, 0.0] if power == 1 else [0.0, 0.5] for power in each.powers]
        coefficients[4:, rows] = np.reshape(shape, (4, 1))
    same_sides = all(each.powers[0] == each.powers[1] for each in family)
    asinh_scales, of_bend = np.unique(asinh_scale, return_inverse=True)
    return DensityDraws(coefficients, same_sides, of_bend, tuple(asinh_scales.tolist()), centre)
