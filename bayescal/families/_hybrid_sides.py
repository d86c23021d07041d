"""What the functions of the hybrid share: the masses of its sides, tails, quantiles."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from bayescal.validation import Floats

HALF_WIDTH = math.sqrt(math.pi / 2.0)  # the integral of exp(-z^2/2) over z > 0


def shares(rate: Floats, sigma: Floats) -> tuple[Floats, Floats]:
    """Return the mass left and right of the mode."""
    left, right = HALF_WIDTH * sigma, 1.0 / rate
    return left / (left + right), right / (left + right)


def excess(rate: Floats, sigma: Floats) -> Floats:
    """Return mean - theta."""
    left, right = shares(rate, sigma)
    return right / rate - left * sigma / HALF_WIDTH


def log_rest(near: Floats, far: Floats, body: Floats, tail: Floats) -> Floats:
    """Return the log of 1 - far tail / (near + far); body and tail sum to 1."""
    beyond = far / (near + far) * tail
    # Where it is small, it is a sum, no difference of near-equal numbers.
    return np.where(
        beyond < 0.5,
        np.log1p(-np.minimum(beyond, 0.5)),
        np.log((near + far * body) / (near + far)),
    )


def quantile(below: Floats, above: Floats, theta: Floats, rate: Floats, sigma: Floats) -> Floats:
    """Return the quantile for P(X <= x) and P(X > x), of which the smaller one is accurate."""
    left, right = shares(rate, sigma)
    with np.errstate(divide="ignore", invalid="ignore"):
        outside = sigma * special.ndtri(0.5 * below / left)
        facing = -np.log(above / right) / rate
    return theta + np.where(below < left, outside, facing)
