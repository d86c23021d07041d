"""Posterior draws of one class's density, from one or several families, on raw or warped scores.

Warps x = m + c asinh((s - m)/c) shorten heavy tails. Monotone transformations leave P(+|s)
unchanged, so densities may be fitted to warped scores; the Jacobian
dx/ds = (1 + ((s - m)/c)^2)^(-1/2) makes their evidences comparable. Near the centre m warped scores
equal raw ones; c = inf is no warp.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.families import Family
from bayescal.support.validation import Floats


@dataclass(frozen=True)
class DensityDraws:
    """Draws of one class's density, from any families."""

    # log p(s) = peak - z (linear + quadratic z) + log |dx/ds|, z = |x - theta|/side, x warped.

    # (6, draws): theta, inverses of the left and of the right side, peak, linear and quadratic
    coefficients: Floats
    warp: NDArray[np.intp]  # (draws,): each draw's warp, a position in `asinh_scales`
    asinh_scales: tuple[float, ...]  # c of the warps; inf for none
    centre: float  # of the warps

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return int(self.warp.size)

    def take(self, index: NDArray[np.intp]) -> DensityDraws:
        """Return the draws at some positions."""
        coefficients, warp = self.coefficients[:, index], self.warp[index]
        return DensityDraws(coefficients, warp, self.asinh_scales, self.centre)

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
        theta, left, right, peak, linear, quadratic = self.coefficients
        x = [warp(scores, self.centre, asinh_scale) for asinh_scale in self.asinh_scales]
        # Draws are contiguous in memory: there are thousands of them, and often few scores.
        deviation = self._of_each(np.stack(x, axis=1)) - theta
        with np.errstate(over="ignore"):  # far out the log density is -infinity
            # The larger of the two belongs to the score's side.
            z = np.multiply(deviation, -left)
            deviation *= right
            np.maximum(z, deviation, out=z)
            depth = np.multiply(z, quadratic, out=deviation)
            depth += linear
            depth *= z
        return np.asarray(np.subtract(peak, depth, out=depth).T)

    def cdf(self, scores: Floats) -> Floats:
        """Return P(score <= s | class) of every draw, shape (draws, scores)."""
        sides = _Sides.of(self)
        x = [warp(scores, self.centre, asinh_scale) for asinh_scale in self.asinh_scales]
        deviation = self._of_each(np.stack(x, axis=1)) - self.coefficients[0]
        z = np.maximum(np.stack([-deviation, deviation], axis=1), 0.0) / sides.width
        beyond = sides.share * np.exp(sides.log_beyond(z))
        return np.asarray(np.where(deviation <= 0.0, beyond[:, 0], 1.0 - beyond[:, 1]).T)

    def sample(self, size: int, rng: np.random.Generator) -> Floats:
        """Return `size` raw scores of each draw's density, shape (draws, size)."""
        sides, shape = _Sides.of(self), (self.size, size)
        width = sides.width[:, :, None]
        right = rng.random(shape) > sides.share[0, :, None]
        z = np.where(
            sides.exponential[:, None],
            rng.standard_exponential(shape),
            np.abs(rng.standard_normal(shape)),
        )
        x: Floats = self.coefficients[0, :, None] + np.where(right, width[1], -width[0]) * z
        return self._unwarped(x)

    def kinks(self, size: int) -> Floats:
        """Return quantiles of the draws' modes in raw score units, (size,)."""
        modes = self._unwarped(self.coefficients[0].copy())
        return np.quantile(modes, np.linspace(0.0, 1.0, size))

    def _unwarped(self, x: Floats) -> Floats:
        """Turn each draw's warped scores, (draws, ...), into raw ones in place."""
        for k, asinh_scale in enumerate(self.asinh_scales):
            rows = self.warp == k
            x[rows] = unwarp(x[rows], self.centre, asinh_scale)
        return x

    def _of_each(self, values: Floats) -> Floats:
        """Return each draw's column of values (scores, warps), or the only column."""
        return values if len(self.asinh_scales) == 1 else values.take(self.warp, axis=1)


def density_draws(
    family: tuple[Family, ...],
    which: NDArray[np.intp],
    sides: Floats,
    asinh_scale: Floats,
    centre: float,
) -> DensityDraws:
    """Return draws of families."""
    theta, left, right = sides
    coefficients = np.empty((6, which.size))
    coefficients[:3] = theta, 1.0 / left, 1.0 / right
    for k, each in enumerate(family):
        rows = which == k
        coefficients[3, rows] = each.logpdf(theta[rows], *each.from_sides(*sides[:, rows]))
        # Of |z|^power/power: z itself, or half its square.
        coefficients[4:, rows] = [[1.0], [0.0]] if each.power == 1 else [[0.0], [0.5]]
    asinh_scales, of_bend = np.unique(asinh_scale, return_inverse=True)
    # No draws have no warp of their own.
    warps = tuple(asinh_scales.tolist()) or (IDENTITY,)
    return DensityDraws(coefficients, of_bend, warps, centre)


# Mode and widths of draws of a density on the scale of raw scores.
#
# Parameters of warped densities, and of different families, are not comparable. These three numbers
# describe any density p(s) with distribution function F:
#
#     mode         the score where p is largest
#     left width   mode - F^-1(F(mode)/e)
#     right width  F^-1(1 - (1 - F(mode))/e) - mode
#
# A share of 1/e, 37 %, of the scores on one side of the mode lie farther from it than the width of
# that side: 1/rate for an exponential side, and 0.90 sigma for a Gaussian one.
#
# With u = (x - m)/c for warped scores x, so that s = m + c sinh(u), the log density of raw scores
# is the log density of u minus log cosh(u) and a constant. It is strictly concave in u: there is
# one mode, which lies between the mode of the warped scores and the centre m.

MOST_STEPS = 50  # Newton's method takes three to seven
ROUNDING = 4.0 * np.finfo(float).eps
# exp(115) is 1e50: longer widths, of extreme prior draws, or their squares would overflow.
FARTHEST = 115.0
LOG_REST = np.log1p(-np.exp(-1.0))


def raw_shapes(density: DensityDraws) -> Floats:
    """Return mode, left and right width of every draw, in raw score units; shape (3, draws)."""
    asinh_scale = np.asarray(density.asinh_scales)[density.warp]
    finite = np.isfinite(asinh_scale)
    theta, scale = density.coefficients[0], np.where(finite, asinh_scale, 1.0)
    origin = theta - density.centre
    sides = _Sides.of(density)
    moved = sides.mode(np.where(finite, origin, 0.0), scale)
    lower, upper = sides.ends(moved)
    place = origin + moved

    def raw_length(length: Floats, middle: Floats) -> Floats:
        # A difference of two values of sinh, without cancellation.
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
    """Left and right sides of draws of a density of warped scores."""

    width: Floats  # (2, draws): in units of warped scores
    exponential: NDArray[np.bool_]  # (draws,): True for exponential, False for Gaussian sides
    share: Floats  # (2, draws): share of the density's mass

    @classmethod
    def of(cls, density: DensityDraws) -> _Sides:
        width = 1.0 / density.coefficients[1:3]
        exponential = density.coefficients[4] == 1.0
        mass = np.where(exponential, 1.0, np.sqrt(np.pi / 2.0)) * width
        return cls(width, exponential, mass / mass.sum(axis=0))

    def mode(self, origin: Floats, scale: Floats) -> Floats:
        """Return the distance between the modes of raw and of warped scores, in warped units."""
        # With a = |origin|/scale and w the facing side's width/scale: tanh(u) = 1/w, at most a, on
        # an exponential side; u + w^2 tanh(u) = a on a Gaussian one.
        right = origin < 0.0
        width = np.where(right, self.width[1], self.width[0]) / scale
        away = np.abs(origin) / scale
        wide = self.exponential & (width > 1.0)
        distance = np.zeros_like(away)
        end = np.arctanh(1.0 / width[wide])
        distance[wide] = np.maximum(away[wide] - end, 0.0)
        rest = ~self.exponential & (away > 0.0)
        distance[rest] = _gaussian_distance(away[rest], width[rest])
        return np.where(right, distance, -distance) * scale

    def ends(self, mode: Floats) -> tuple[Floats, Floats]:
        """Return the ends of a mode's left and right width, as deviations in warped units."""
        z = np.maximum(np.stack([-mode, mode]), 0.0) / self.width
        outer = np.log(self.share) + self.log_beyond(z)
        # The other side, and the mass between the modes.
        within = np.where(self.exponential, -np.expm1(-z), special.erf(z / np.sqrt(2.0)))
        inner = np.log(self.share[::-1] + self.share * within)
        left = mode <= 0.0
        below, above = np.where(left, outer[0], inner[1]), np.where(left, inner[0], outer[1])
        lower = self._quantile(below - 1.0, np.logaddexp(above, below + LOG_REST))
        return lower, self._quantile(np.logaddexp(below, above + LOG_REST), above - 1.0)

    def _quantile(self, below: Floats, above: Floats) -> Floats:
        """Return the quantile with given log masses below and above, as a deviation."""
        log_share = np.log(self.share)
        left = below <= log_share[0]
        beyond = np.minimum(np.where(left, below - log_share[0], above - log_share[1]), 0.0)
        # A side has half the mass of a whole Gaussian.
        z = np.where(self.exponential, -beyond, -special.ndtri_exp(beyond - np.log(2.0)))
        return np.asarray(np.where(left, -z * self.width[0], z * self.width[1]))

    def log_beyond(self, z: Floats) -> Floats:
        """Return the log share of a side beyond z widths."""
        return np.where(self.exponential, -z, special.log_ndtr(-z) + np.log(2.0))


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
    return np.asarray(square * np.tanh(u))


# Monotonicity of log-odds of two-sided densities.
#
# The derivative of log p is linear in the score on each side of its mode: 1/left and -1/right for
# exponential sides (power 1), -(x - theta)/side^2 for Gaussian ones (power 2). So the difference of
# two classes is linear on the three pieces between their modes, and nonnegative if it is so at the
# ends of the pieces, infinity included (for the asymmetric Laplace: beta_+ >= beta_- and
# gamma_- >= gamma_+, where theta_+ >= theta_-).

Sides = tuple[NDArray[np.intp], Floats, Floats, Floats]  # powers, modes, left and right sides


def is_monotone(negative: Sides, positive: Sides) -> NDArray[np.bool_]:
    """Return for which draws log p(x|+) - log p(x|-) is non-decreasing in x, everywhere."""
    negative, positive = _in_units(negative, positive)
    first = np.minimum(negative[1], positive[1])
    last = np.maximum(negative[1], positive[1])
    never_falls = _slope(positive, first, left=True) >= _slope(negative, first, left=True)
    never_falls &= _slope(positive, last, left=False) >= _slope(negative, last, left=False)
    # Between the modes one class is right of its mode and the other left of its own.
    ahead = positive[1] >= negative[1]
    for x in (first, last):
        rise = _slope(positive, x, left=ahead) - _slope(negative, x, left=~ahead)
        never_falls &= rise >= 0.0
    never_falls &= _bend(positive, left=True) <= _bend(negative, left=True)
    never_falls &= _bend(positive, left=False) >= _bend(negative, left=False)
    return never_falls


def _in_units(*classes: Sides) -> Iterator[Sides]:
    """Yield the sides in units of the widest one, so that squares do not overflow."""
    exponent = np.frexp(np.max([side for _, _, *sides in classes for side in sides], axis=0))[1]
    for power, *sides in classes:
        theta, left, right = (np.ldexp(each, -exponent) for each in sides)
        yield power, theta, left, right


def _slope(sides: Sides, x: Floats, *, left: bool | NDArray[np.bool_]) -> Floats:
    """Return the derivative of log p at x by the formula of one side."""
    power, theta, below, above = sides
    side, sign = np.where(left, below, above), np.where(left, 1.0, -1.0)
    return np.where(power == 1, sign / side, (theta - x) / side**2)


def _bend(sides: Sides, *, left: bool) -> Floats:
    """Return the second derivative of log p on one side."""
    power, _, below, above = sides
    return np.where(power == 1, 0.0, -1.0 / (below if left else above) ** 2)


IDENTITY = math.inf


def warp(scores: Floats, centre: float, asinh_scale: float) -> Floats:
    """Return warped scores, in score units near the centre."""
    if math.isinf(asinh_scale):
        return scores
    return np.asarray(centre + asinh_scale * np.arcsinh((scores - centre) / asinh_scale))


def unwarp(warped: Floats, centre: float, asinh_scale: float) -> Floats:
    """Return raw scores of warped ones, the inverse of `warp`."""
    if math.isinf(asinh_scale):
        return warped
    return np.asarray(centre + asinh_scale * np.sinh((warped - centre) / asinh_scale))


def standardise(scores: Floats, centre: float, spread: float, asinh_scale: float) -> Floats:
    """Return (x - m)/S of warped scores x."""
    return (warp(scores, centre, asinh_scale) - centre) / spread


def warped_spread(centre: float, spread: float, asinh_scale: float) -> float:
    """Return the warped distance from the centre of a score one spread above it."""
    return float(warp(np.asarray(centre + spread), centre, asinh_scale)) - centre


def log_jacobian(scores: Floats, centre: float, asinh_scale: float) -> Floats:
    """Return the natural log of dx/ds of `warp` at raw scores."""
    if math.isinf(asinh_scale):
        return np.zeros_like(scores)
    # hypot does not overflow where the square would.
    return 0.0 - np.log(np.hypot(1.0, (scores - centre) / asinh_scale))
