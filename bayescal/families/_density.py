r"""The densities of all families, by mode theta, scales of the left and right side, and powers.

.. math:: p(x) = \frac{1}{Z} e^{-z^p/p}, \quad z = \frac{|x - \theta|}{\text{scale}},
          \quad Z = c_l\,\text{left} + c_r\,\text{right}

with the scale and the power p of the side that x is on: 1 for an exponential, 2 for a Gaussian
side. A side's mass is its c times its scale over Z, c = 1 or sqrt(pi/2).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from bayescal.families._family import HALF_WIDTH
from bayescal.validation import Floats

Powers = tuple[int, int]
Rng = np.random.Generator | int | None

# The mean of z and of z^2 on a side of power p.
MEAN_DISTANCE = {1: 1.0, 2: math.sqrt(2.0 / math.pi)}
MEAN_SQUARE = {1: 2.0, 2: 1.0}


def logpdf(x: Floats, theta: Floats, left: Floats, right: Floats, powers: Powers) -> Floats:
    """Return the natural log of the density."""
    z_left, z_right = _distances(x - theta, left, right)
    mass_left, mass_right = _masses(left, right, powers)
    with np.errstate(over="ignore"):  # beyond 1e154 scales the log density is -infinity
        fall = _fall(z_left, powers[0]) + _fall(z_right, powers[1])
    return -np.log(mass_left + mass_right) - fall


def logcdf(x: Floats, theta: Floats, left: Floats, right: Floats, powers: Powers) -> Floats:
    """Return the natural log of P(X <= x), accurate in both tails."""
    return _log_below(x - theta, left, right, powers)


def logsf(x: Floats, theta: Floats, left: Floats, right: Floats, powers: Powers) -> Floats:
    """Return the natural log of P(X > x), accurate in both tails."""
    # P(X > x) is P(-X < -x), and -X has its sides exchanged.
    return _log_below(theta - x, right, left, powers[::-1])


def cdf(x: Floats, theta: Floats, left: Floats, right: Floats, powers: Powers) -> Floats:
    """Return P(X <= x); at the mode it is the mass of the left side."""
    return np.exp(logcdf(x, theta, left, right, powers))


def ppf(q: Floats, theta: Floats, left: Floats, right: Floats, powers: Powers) -> Floats:
    """Return the quantile function, the inverse of `cdf`; nan for q outside [0, 1]."""
    below, above = _shares(left, right, powers)
    with np.errstate(divide="ignore", invalid="ignore"):
        return theta + np.where(
            q < below,
            -left * _distance(q / below, powers[0]),
            right * _distance((1.0 - q) / above, powers[1]),
        )


def rvs(
    theta: Floats,
    left: Floats,
    right: Floats,
    powers: Powers,
    *,
    size: int | tuple[int, ...] | None = None,
    rng: Rng = None,
) -> Floats:
    """Draw scores; `size` defaults to the parameters' broadcast shape."""
    shape = _draw_shape(size, theta, left, right)
    generator = np.random.default_rng(rng)
    first, second = powers
    if first < second:  # as the mirror image draws, so that a seed gives the mirror images
        return -rvs(-theta, right, left, (second, first), size=shape, rng=generator)
    mass_left, mass_right = _masses(left, right, powers)
    on_left = generator.random(shape) * (mass_left + mass_right) < mass_left
    distance_left = distance_right = _draw_distance(generator, shape, first)
    if second != first:
        distance_right = _draw_distance(generator, shape, second)
    return theta + np.where(on_left, -distance_left * left, distance_right * right)


def mean(theta: Floats, left: Floats, right: Floats, powers: Powers) -> Floats:
    """Return the mean, in raw score units."""
    return theta + _excess(left, right, powers)


def variance(theta: Floats, left: Floats, right: Floats, powers: Powers) -> Floats:
    """Return the variance, in squared score units."""
    share_left, share_right = _shares(left, right, powers)
    # Shares of second moments: nothing that is a power of a tiny scale but of two.
    square_left = share_left * MEAN_SQUARE[powers[0]] * left**2
    square_right = share_right * MEAN_SQUARE[powers[1]] * right**2
    return 0.0 * theta + square_left + square_right - _excess(left, right, powers) ** 2


def _masses(left: Floats, right: Floats, powers: Powers) -> tuple[Floats, Floats]:
    """Return the masses of the sides for a density of height 1 at the mode."""
    return HALF_WIDTH[powers[0]] * left, HALF_WIDTH[powers[1]] * right


def _shares(left: Floats, right: Floats, powers: Powers) -> tuple[Floats, Floats]:
    mass_left, mass_right = _masses(left, right, powers)
    return mass_left / (mass_left + mass_right), mass_right / (mass_left + mass_right)


def _excess(left: Floats, right: Floats, powers: Powers) -> Floats:
    """Return mean - theta."""
    share_left, share_right = _shares(left, right, powers)
    mean_left, mean_right = MEAN_DISTANCE[powers[0]] * left, MEAN_DISTANCE[powers[1]] * right
    return share_right * mean_right - share_left * mean_left


def _distances(deviation: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return how many scales x lies left of the mode, and right of it; one of them is 0."""
    return np.minimum(deviation, 0.0) / -left, np.maximum(deviation, 0.0) / right


def _fall(z: Floats, power: int) -> Floats:
    """Return z^p / p."""
    return z if power == 1 else 0.5 * z * z


def _log_below(deviation: Floats, left: Floats, right: Floats, powers: Powers) -> Floats:
    """Return log P(X <= x), by the deviation of x from the mode."""
    mass_left, mass_right = _masses(left, right, powers)
    z_left, z_right = _distances(deviation, left, right)
    # log1p of the ratio: the logarithm of a share that rounds to 1 would be 0.
    on_left = _log_tail(z_left, powers[0]) - np.log1p(mass_right / mass_left)
    mass = mass_left + mass_right
    above = mass_right / mass * _tail(z_right, powers[1])
    # 1 - above, where it is small, is a sum, no difference of near-equal numbers.
    near = np.log((mass_left + mass_right * _body(z_right, powers[1])) / mass)
    on_right = np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), near)
    return np.where(deviation <= 0.0, on_left, on_right)


def _body(z: Floats, power: int) -> Floats:
    """Return the part of a side's mass that lies within z scales of the mode."""
    return -np.expm1(-z) if power == 1 else special.erf(z / math.sqrt(2.0))


def _tail(z: Floats, power: int) -> Floats:
    """Return the part of a side's mass that lies beyond z scales from the mode."""
    return np.exp(-z) if power == 1 else 2.0 * special.ndtr(-z)


def _log_tail(z: Floats, power: int) -> Floats:
    if power == 1:
        return -z
    # log1p keeps what is left of a tail that rounds to 1.
    near = np.log1p(-special.erf(np.minimum(z, 1.0) / math.sqrt(2.0)))
    return np.where(z < 1.0, near, math.log(2.0) + special.log_ndtr(-z))


def _distance(tail: Floats, power: int) -> Floats:
    """Return the number of scales from the mode beyond which a part of a side's mass lies."""
    return -np.log(tail) if power == 1 else -special.ndtri(0.5 * tail)


def _draw_distance(generator: np.random.Generator, shape: tuple[int, ...], power: int) -> Floats:
    if power == 1:
        return generator.standard_exponential(shape)
    return np.abs(generator.standard_normal(shape))


def _draw_shape(size: int | tuple[int, ...] | None, *parameters: Floats) -> tuple[int, ...]:
    """
    Return the shape of random draws: `size`, or the parameters' broadcast shape.

    Raises
    ------
    ValueError
        If the parameters do not broadcast to `size`: one draw would serve several of them.
    """
    own = np.broadcast_shapes(*(parameter.shape for parameter in parameters))
    if size is None:
        return own
    shape = tuple(int(n) for n in np.atleast_1d(size))
    if len(own) > len(shape) or np.broadcast_shapes(own, shape) != shape:
        raise ValueError(f"size must be a shape that parameters of shape {own} fit, got {size}.")
    return shape
