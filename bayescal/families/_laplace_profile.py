"""Best side lengths of the asymmetric Laplace at a given mode, in closed form.

D_l, D_r are the sums of |x - theta| left and right of theta, N the number of scores, u = 1/beta
and v = 1/gamma the side lengths. The likelihood is (u + v)^-N exp(-D_l/u - D_r/v)
= (e width)^-N with

    width = (u + v) exp((D_l/u + D_r/v)/N - 1),

which is u + v, that is (sqrt(D_l) + sqrt(D_r))^2 / N, wherever the floor does not act.
"""

from __future__ import annotations

import numpy as np

from bayescal.families._sorted import absolute_sums
from bayescal.families._two_sided import Sides
from bayescal.validation import Floats


def scales(left: Floats, right: Floats, total: float, floor: float) -> tuple[Floats, Floats]:
    """
    Return the side lengths u, v of highest likelihood, none below the floor.

    Free (dissertation, eq. 3.13): u = (D_l + sqrt(D_l D_r))/N, v alike. Where one side has to
    stay at the floor f, the other solves N v^2 = D_r (f + v).
    """
    mixed = np.sqrt(left) * np.sqrt(right)
    u, v = (left + mixed) / total, (right + mixed) / total
    # If both are low, at most one of the two fallbacks exceeds the floor: D_l > N f/2 and
    # D_r > N f/2 together would make the free u exceed it.
    return (
        np.maximum(np.where(v < floor, beside_floor(left, total, floor), u), floor),
        np.maximum(np.where(u < floor, beside_floor(right, total, floor), v), floor),
    )


def widths(left: Floats, right: Floats, total: float, floor: float) -> Floats:
    """Return the width at the best side lengths: the lower, the likelier the mode."""
    root_left, root_right = np.sqrt(left), np.sqrt(right)
    width = root_left + root_right
    low = np.flatnonzero(np.minimum(root_left, root_right) * width < floor * total)
    width *= width
    width /= total
    if low.size:
        left, right = left[low], right[low]
        u, v = scales(left, right, total, floor)
        with np.errstate(over="ignore"):  # an impossible mode may be infinitely wide
            width[low] = (u + v) * np.exp((left / u + right / v) / total - 1.0)
    return width


def beside_floor(deviation: Floats, total: float, floor: float) -> Floats:
    mean = deviation / total
    return 0.5 * (mean + np.sqrt(mean * (mean + 4.0 * floor)))


LAPLACE_SIDES = Sides(sums=absolute_sums, scales=scales, widths=widths, log_offset=1.0)
