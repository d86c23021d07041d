r"""Densities with one mode, by the mode theta, the power p and the scale of either side.

.. math:: p(x) = \frac{1}{Z} e^{-z^p/p}, \quad z = \frac{|x - \theta|}{\text{scale}},
          \quad Z = c\,(\text{left} + \text{right})

with the scale of the side that x is on; p is 1 for exponential sides, 2 for Gaussian ones. The mass
of a side is c scale/Z, c = 1 or sqrt(pi/2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.support.validation import Floats, as_reals

Rng = np.random.Generator | int | None
Size = int | tuple[int, ...] | None

# The integral of exp(-z^p/p) over z > 0, for power p: the mass of a side over its scale and height.
HALF_WIDTH = {1: 1.0, 2: math.sqrt(math.pi / 2.0)}
# The mean of z and of z^2 on a side of power p.
MEAN_DISTANCE = {1: 1.0, 2: math.sqrt(2.0 / math.pi)}
MEAN_SQUARE = {1: 2.0, 2: 1.0}


@dataclass(frozen=True)
class TwoSided:
    """Densities of all families, at parameters that broadcast against each other."""

    theta: Floats  # modes, in raw score units
    left: Floats  # scales of the left side
    right: Floats  # scales of the right side
    power: int  # of both sides, 1 or 2

    def logpdf(self, x: ArrayLike) -> Floats:
        """Return the natural log of the density."""
        z_left, z_right = self._distances(_floats(x) - self.theta)
        mass_left, mass_right = self._masses()
        with np.errstate(over="ignore"):  # beyond 1e154 scales the log density is -infinity
            fall = _fall(z_left, self.power) + _fall(z_right, self.power)
        return -np.log(mass_left + mass_right) - fall

    def cdf(self, x: ArrayLike) -> Floats:
        """Return P(X <= x); at the mode it is the mass of the left side."""
        return np.exp(self.logcdf(x))

    def logcdf(self, x: ArrayLike) -> Floats:
        """Return the natural log of P(X <= x), accurate in both tails."""
        return self._log_below(_floats(x) - self.theta)

    def logsf(self, x: ArrayLike) -> Floats:
        """Return the natural log of P(X > x), accurate in both tails."""
        # P(X > x) = P(-X < -x): no 1 - cdf, so nothing cancels.
        return self._reflected()._log_below(self.theta - _floats(x))

    def ppf(self, q: ArrayLike) -> Floats:
        """Return the quantile function, the inverse of `cdf`; nan for q outside [0, 1]."""
        q = _floats(q)
        below, above = self._shares()
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.theta + np.where(
                q < below,
                -self.left * _distance(q / below, self.power),
                self.right * _distance((1.0 - q) / above, self.power),
            )

    def rvs(self, size: Size = None, rng: Rng = None) -> Floats:
        """Draw scores; `size` defaults to the parameters' broadcast shape."""
        shape = _draw_shape(size, self.theta, self.left, self.right)
        generator = np.random.default_rng(rng)
        mass_left, mass_right = self._masses()
        on_left = generator.random(shape) * (mass_left + mass_right) < mass_left
        if self.power == 1:
            distance = generator.standard_exponential(shape)
        else:
            distance = np.abs(generator.standard_normal(shape))
        return self.theta + distance * np.where(on_left, -self.left, self.right)

    def mean(self) -> Floats:
        """Return the mean, in raw score units."""
        return self.theta + self._excess()

    def variance(self) -> Floats:
        """Return the variance, in squared score units."""
        share_left, share_right = self._shares()
        # No higher power of a tiny scale than its square, which would underflow.
        square_left = share_left * MEAN_SQUARE[self.power] * self.left**2
        square_right = share_right * MEAN_SQUARE[self.power] * self.right**2
        return 0.0 * self.theta + square_left + square_right - self._excess() ** 2

    def _reflected(self) -> TwoSided:
        """Return the densities of -X."""
        return TwoSided(-self.theta, self.right, self.left, self.power)

    def _masses(self) -> tuple[Floats, Floats]:
        """Return the masses of the sides for a density of height 1 at the mode."""
        half_width = HALF_WIDTH[self.power]
        return half_width * self.left, half_width * self.right

    def _shares(self) -> tuple[Floats, Floats]:
        mass_left, mass_right = self._masses()
        return mass_left / (mass_left + mass_right), mass_right / (mass_left + mass_right)

    def _excess(self) -> Floats:
        """Return mean - theta."""
        share_left, share_right = self._shares()
        distance = MEAN_DISTANCE[self.power]
        return share_right * (distance * self.right) - share_left * (distance * self.left)

    def _distances(self, deviation: Floats) -> tuple[Floats, Floats]:
        """Return the distances of x left and right of the mode in scales; one of them is 0."""
        return np.minimum(deviation, 0.0) / -self.left, np.maximum(deviation, 0.0) / self.right

    def _log_below(self, deviation: Floats) -> Floats:
        """Return log P(X <= x), by the deviation of x from the mode."""
        mass_left, mass_right = self._masses()
        z_left, z_right = self._distances(deviation)
        # log1p of the ratio, since a share may round to 1.
        on_left = _log_tail(z_left, self.power) - np.log1p(mass_right / mass_left)
        mass = mass_left + mass_right
        above = mass_right / mass * _tail(z_right, self.power)
        # A small 1 - above is computed as a sum, without cancellation.
        near = np.log((mass_left + mass_right * _body(z_right, self.power)) / mass)
        on_right = np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), near)
        return np.where(deviation <= 0.0, on_left, on_right)


def _floats(x: ArrayLike) -> Floats:
    return as_reals(x, "x")


def _fall(z: Floats, power: int) -> Floats:
    """Return z^p / p."""
    return z if power == 1 else 0.5 * z * z


def _body(z: Floats, power: int) -> Floats:
    """Return the part of a side's mass that lies within z scales of the mode."""
    return -np.expm1(-z) if power == 1 else special.erf(z / math.sqrt(2.0))


def _tail(z: Floats, power: int) -> Floats:
    """Return the part of a side's mass that lies beyond z scales from the mode."""
    return np.exp(-z) if power == 1 else 2.0 * special.ndtr(-z)


def _log_tail(z: Floats, power: int) -> Floats:
    if power == 1:
        return -z
    # log1p keeps the digits of tails near 1.
    near = np.log1p(-special.erf(np.minimum(z, 1.0) / math.sqrt(2.0)))
    return np.where(z < 1.0, near, math.log(2.0) + special.log_ndtr(-z))


def _distance(tail: Floats, power: int) -> Floats:
    """Return the distance from the mode, in scales, with a given tail mass beyond."""
    return -np.log(tail) if power == 1 else -special.ndtri(0.5 * tail)


def _draw_shape(size: Size, *parameters: Floats) -> tuple[int, ...]:
    """Return the shape of random draws: `size`, or the parameters' broadcast shape."""
    own = np.broadcast_shapes(*(parameter.shape for parameter in parameters))
    if size is None:
        return own
    shape = tuple(int(n) for n in np.atleast_1d(size))
    try:
        fits = np.broadcast_shapes(own, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"size must be a shape that parameters of shape {own} fit, got {size}.")
    return shape
