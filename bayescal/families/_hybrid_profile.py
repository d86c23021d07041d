"""Best scales of the hybrid at a given mode: Gaussian left of it, exponential right of it.

D_l2 is the sum of (x - theta)^2 left of theta, D_r that of x - theta right of it, N the number of
scores, a = 1/rate, c = sqrt(pi/2) and Z = a + c sigma. The likelihood is
Z^-N exp(-D_r/a - D_l2/(2 sigma^2)) = (sqrt(e) width)^-N with

    width = Z exp((D_r/a + D_l2/(2 sigma^2))/N - 1/2).

Its best scales are a^2 = Z D_r/N and c sigma^3 = Z D_l2/N; so y = Z^(1/6) solves
y^4 = alpha y + beta, alpha = sqrt(D_r/N), beta = c cbrt(D_l2/(c N)), with one positive root, and
width = y^6 exp(alpha/(2 y^3)) wherever the floor does not act.
"""

from __future__ import annotations

import numpy as np

from bayescal.families import _gaussian_profile, _laplace_profile
from bayescal.families._hybrid_sides import HALF_WIDTH
from bayescal.families._sorted import mixed_sums
from bayescal.families._two_sided import Sides
from bayescal.validation import Floats

# From 2.6 % above or below the root, the worst start, errors fall to 1e-3, 2e-6, 4e-12, 1e-23.
NEWTON_STEPS = 4


def scales(left: Floats, right: Floats, total: float, floor: float) -> tuple[Floats, Floats]:
    """
    Return sigma and 1/rate of highest likelihood, none below the floor f.

    Where the exponential side has to stay at it, N sigma^3 = D_l2 (sigma + f/c); where the
    Gaussian one has, N a^2 = D_r (a + c f).
    """
    alpha, beta = _coefficients(left, right, total)
    y = _root(alpha, beta)
    sigma, length = beta * y * y / HALF_WIDTH, alpha * y * y * y
    # Each scale rises with the other, so that at most one fallback exceeds the floor if both are
    # low.
    sigma_beside = _gaussian_profile.beside_floor(left, total, floor / HALF_WIDTH)
    length_beside = _laplace_profile.beside_floor(right, total, HALF_WIDTH * floor)
    return (
        np.maximum(np.where(length < floor, sigma_beside, sigma), floor),
        np.maximum(np.where(sigma < floor, length_beside, length), floor),
    )


def widths(left: Floats, right: Floats, total: float, floor: float) -> Floats:
    """Return the width at the best scales: the lower, the likelier the mode."""
    alpha, beta = _coefficients(left, right, total)
    y = _root(alpha, beta)
    square = y * y
    cube = square * y
    low = np.flatnonzero(np.minimum(beta * square / HALF_WIDTH, alpha * cube) < floor)
    with np.errstate(invalid="ignore"):  # 0/0 where both sums vanish, which is low
        width = cube * cube * np.exp(0.5 * alpha / cube)
    if low.size:
        left, right = left[low], right[low]
        sigma, length = scales(left, right, total, floor)
        with np.errstate(over="ignore"):  # an impossible mode may be infinitely wide
            # The root first: the square of a tiny scale would underflow.
            exponent = right / length + 0.5 * (np.sqrt(left) / sigma) ** 2
            width[low] = (length + HALF_WIDTH * sigma) * np.exp(exponent / total - 0.5)
    return width


def _coefficients(left: Floats, right: Floats, total: float) -> tuple[Floats, Floats]:
    return np.sqrt(right / total), HALF_WIDTH * np.cbrt(left / (HALF_WIDTH * total))


def _root(alpha: Floats, beta: Floats) -> Floats:
    """Return the positive root of y^4 = alpha y + beta, by Newton's method; 0 for 0 and 0."""
    # Exact where one coefficient is 0; above the point where 4 y^3 = alpha, so that the first
    # step ends above the root and the others descend to it.
    y = np.sqrt(np.sqrt(alpha * np.cbrt(alpha) + beta))
    for _ in range(NEWTON_STEPS):
        cube = y * y * y
        slope = 4.0 * cube - alpha
        y = np.divide(3.0 * cube * y + beta, slope, out=np.zeros_like(y), where=slope > 0.0)
    return y


HYBRID_SIDES = Sides(sums=mixed_sums, scales=scales, widths=widths, log_offset=0.5)
