r"""Mode and widths of draws of a density on the scale of raw scores.

The parameters of a family do not say so of a warped density, and they mean different things in
different families. These three describe any density p(s) with distribution function F:

    mode         the score where p is largest
    left width   mode - F^-1(F(mode)/e)
    right width  F^-1(1 - (1 - F(mode))/e) - mode

A share of 1/e, 37 %, of the scores on one side of the mode lie farther from it than the width of
that side: the mean distance, 1/rate, of an exponential side, and 0.90 sigma of a Gaussian one.

With u = (x - m)/c for warped scores x, so that s = m + c sinh(u), the log density of raw scores is
that of u less log cosh(u) and a constant. It is strictly concave in u: there is one mode, which
lies between the mode of the warped scores and the centre m.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.density_draws import DensityDraws
from bayescal.validation import Floats

MOST_STEPS = 50  # Newton's method takes three to seven
ROUNDING = 4.0 * np.finfo(float).eps
# exp of it is 1e50. Longer ends than that of a prior's draws would overflow, or their squares.
FARTHEST = 115.0
LOG_REST = np.log1p(-np.exp(-1.0))


def raw_shapes(density: DensityDraws) -> Floats:
    """
    Return mode, left and right width of every draw, in raw score units; shape (3, draws).

    Examples
    --------
    >>> from bayescal.density_draws import density_draws
    >>> from bayescal.families import FAMILIES
    >>> families, which = (FAMILIES["asymmetric_laplace"],), np.array([0, 0])
    >>> sides, scales = np.array([[3.0, 3.0], [2.0, 2.0], [1.0, 1.0]]), np.array([np.inf, 1.0])
    >>> raw_shapes(density_draws(families, which, sides, scales, 0.0)).round(2)
    array([[ 3.  ,  0.58],
           [ 2.  ,  2.59],
           [ 1.  , 10.72]])
    """
    asinh_scale = np.asarray(density.asinh_scales)[density.warp]
    finite = np.isfinite(asinh_scale)
    theta, scale = density.coefficients[0], np.where(finite, asinh_scale, 1.0)
    origin = theta - density.centre
    sides = _Sides.of(density)
    moved = sides.mode(np.where(finite, origin, 0.0), scale)
    lower, upper = sides.ends(moved)
    place = origin + moved

    def raw_length(length: Floats, middle: Floats) -> Floats:
        # The difference of two values of sinh, which may be alike.
        half, at = length / (2.0 * scale), np.minimum(np.abs(middle) / scale, 2.0 * FARTHEST)
        curved = 2.0 * scale * np.cosh(at) * np.sinh(np.clip(half, -FARTHEST, FARTHEST))
        return np.where(finite, curved, length)

    return np.stack(
        [
            np.where(finite, density.centre + raw_length(place, 0.5 * place), theta),
            raw_length(moved - lower, origin + 0.5 * (moved + lower)),
            raw_length(upper - moved, origin + 0.5 * (moved + upper)),
        ]
    )


@dataclass(frozen=True)
class _Sides:
    """
    Both sides of draws of a density of warped scores, first the left ones; arrays (2, draws).

    Attributes
    ----------
    width : array
        In units of warped scores.
    exponential : array of bool
        Or else Gaussian.
    share : array
        Of the density's mass.
    """

    width: Floats
    exponential: NDArray[np.bool_]
    share: Floats

    @classmethod
    def of(cls, density: DensityDraws) -> _Sides:
        width = 1.0 / density.coefficients[1:3]
        exponential = density.coefficients[[4, 6]] == 1.0
        mass = np.where(exponential, 1.0, np.sqrt(np.pi / 2.0)) * width
        return cls(width, exponential, mass / mass.sum(axis=0))

    def mode(self, origin: Floats, scale: Floats) -> Floats:
        """
        Return how far the mode of raw scores is from that of warped ones, in units of the latter.

        With a = |origin|/scale, the distance from the centre, and w the width/scale of the side
        that faces it, an exponential side ends where tanh(u) = 1/w, but not beyond a; a Gaussian
        one has its mode where u + w^2 tanh(u) = a.
        """
        right = origin < 0.0
        width = np.where(right, self.width[1], self.width[0]) / scale
        exponential = np.where(right, self.exponential[1], self.exponential[0])
        away = np.abs(origin) / scale
        wide = exponential & (width > 1.0)
        distance = np.zeros_like(away)
        end = np.arctanh(1.0 / width[wide])
        distance[wide] = np.maximum(away[wide] - end, 0.0)
        rest = ~exponential & (away > 0.0)
        distance[rest] = _gaussian_distance(away[rest], width[rest])
        return np.where(right, distance, -distance) * scale

    def ends(self, mode: Floats) -> tuple[Floats, Floats]:
        """Return the scores where the widths of a mode end, all as deviations in warped units."""
        z = np.maximum(np.stack([-mode, mode]), 0.0) / self.width
        outer = np.log(self.share) + self._log_beyond(z)
        # Of the whole other side and what lies between the modes.
        inner = np.log(self.share[::-1] + self.share * self._within(z))
        left = mode <= 0.0
        below, above = np.where(left, outer[0], inner[1]), np.where(left, inner[0], outer[1])
        lower = self._quantile(below - 1.0, np.logaddexp(above, below + LOG_REST))
        return lower, self._quantile(np.logaddexp(below, above + LOG_REST), above - 1.0)

    def _quantile(self, below: Floats, above: Floats) -> Floats:
        """Return where so much of the mass is below and above, logarithms, as a deviation."""
        log_share = np.log(self.share)
        left = below <= log_share[0]
        beyond = np.minimum(np.where(left, below - log_share[0], above - log_share[1]), 0.0)
        exponential = np.where(left, self.exponential[0], self.exponential[1])
        # Half of the mass of a whole Gaussian is on either side.
        z = np.where(exponential, -beyond, -special.ndtri_exp(beyond - np.log(2.0)))
        deviation: Floats = np.where(left, -z * self.width[0], z * self.width[1])
        return deviation

    def _log_beyond(self, z: Floats) -> Floats:
        """Return the log of the share of a side that is farther than z widths."""
        return np.where(self.exponential, -z, special.log_ndtr(-z) + np.log(2.0))

    def _within(self, z: Floats) -> Floats:
        return np.where(self.exponential, -np.expm1(-z), special.erf(z / np.sqrt(2.0)))


def _gaussian_distance(away: Floats, width: Floats) -> Floats:
    """Return a - u, where u > 0 solves u + w^2 tanh(u) = a, by Newton's method from below."""
    square = width**2
    u = np.maximum(away / (1.0 + square), away - square)
    for _ in range(MOST_STEPS):
        tanh = np.tanh(u)
        step = (away - u - square * tanh) / (1.0 + square * (1.0 - tanh**2))
        u += step
        if np.all(np.abs(step) <= ROUNDING * away):
            break
    distance: Floats = square * np.tanh(u)
    return distance
