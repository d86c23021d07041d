"""Best scales of the asymmetric Gaussian at a given mode, in closed form.

D_l2, D_r2 are the sums of (x - theta)^2 left and right of theta, N the number of scores. With
s = sigma_left, t = sigma_right the likelihood is proportional to
(s + t)^-N exp(-D_l2/(2 s^2) - D_r2/(2 t^2)) = (sqrt(e) width)^-N with

    width = (s + t) exp((D_l2/s^2 + D_r2/t^2)/(2 N) - 1/2),

which is s + t, that is g^(3/2) / sqrt(N) with g = cbrt(D_l2) + cbrt(D_r2), wherever the floor
does not act.
"""

from __future__ import annotations

import math

import numpy as np

from bayescal.families._sorted import squared_sums
from bayescal.families._two_sided import Sides
from bayescal.validation import Floats

# A floor, in units of the range, whose square is still a double. Above it both scales are held.
SQUARE_LIMIT = 1e150


def scales(left: Floats, right: Floats, total: float, floor: float) -> tuple[Floats, Floats]:
    """
    Return sigma_left, sigma_right of highest likelihood, none below the floor.

    Free (dissertation, eqs. 3.21-3.22): sigma_left^2 = (D_l2 + D_l2^(2/3) D_r2^(1/3))/N. Where
    one side has to stay at the floor f, the other solves N t^3 = D_r2 (f + t).
    """
    root_left, root_right = np.cbrt(left), np.cbrt(right)
    common = np.sqrt((root_left + root_right) / total)
    sigma_left, sigma_right = root_left * common, root_right * common
    return (
        np.maximum(
            np.where(sigma_right < floor, beside_floor(left, total, floor), sigma_left), floor
        ),
        np.maximum(
            np.where(sigma_left < floor, beside_floor(right, total, floor), sigma_right), floor
        ),
    )


def widths(left: Floats, right: Floats, total: float, floor: float) -> Floats:
    """Return the width at the best scales: the lower, the likelier the mode."""
    root_left, root_right = np.cbrt(left), np.cbrt(right)
    width = root_left + root_right
    root = np.sqrt(width / total)
    low = np.flatnonzero(np.minimum(root_left, root_right) * root < floor)
    width *= root
    if low.size:
        left, right = left[low], right[low]
        s, t = scales(left, right, total, floor)
        with np.errstate(over="ignore"):  # an impossible mode may be infinitely wide
            # Roots first: the squares of a tiny scale would underflow.
            squares = (np.sqrt(left) / s) ** 2 + (np.sqrt(right) / t) ** 2
            width[low] = (s + t) * np.exp(squares / (2.0 * total) - 0.5)
    return width


def beside_floor(deviation: Floats, total: float, floor: float) -> Floats:
    """Return the positive root t of t^3 = p t + p f, p = D/N, or 0 where it is below f."""
    p = deviation / total
    above = p > 0.5 * floor * floor if floor < SQUARE_LIMIT else np.zeros_like(p, dtype=bool)
    p = np.where(above, p, 0.0)
    half_q, third_p = 0.5 * p * min(floor, SQUARE_LIMIT), p / 3.0
    inside = half_q**2 - third_p**3
    with np.errstate(invalid="ignore", divide="ignore"):
        first = np.cbrt(half_q + np.sqrt(np.maximum(inside, 0.0)))
        one = first + third_p / first
        three = (
            2.0 * np.sqrt(third_p) * np.cos(np.arccos(np.minimum(half_q / third_p**1.5, 1.0)) / 3.0)
        )
    # Cardano's one real root, or the largest of three.
    return np.where(above, np.where(inside >= 0.0, one, three), 0.0)


GAUSSIAN_SIDES = Sides(
    sums=squared_sums, scales=scales, widths=widths, log_offset=0.5 + 0.5 * math.log(math.pi / 2.0)
)
