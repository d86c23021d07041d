"""When log-odds of two-sided densities never fall.

The derivative of log p is linear in the score to each side of its mode: 1/left and -1/right for
exponential sides (power 1), -(x - theta)/side^2 for Gaussian ones (power 2). So is the
difference of two classes, on the three pieces between their modes; it is never negative if it is
not at the ends of the pieces, infinity included (for the asymmetric Laplace: beta_+ >= beta_- and
gamma_- >= gamma_+, where theta_+ >= theta_-; for the hybrid never: on its outer side a Gaussian
falls below any exponential).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats

Sides = tuple[NDArray[np.intp], Floats, Floats, Floats]


def is_monotone(negative: Sides, positive: Sides) -> NDArray[np.bool_]:
    """
    Return for which draws log p(x|+) - log p(x|-) is non-decreasing in x, everywhere.

    Parameters
    ----------
    negative, positive : tuple of arrays of shape (draws,)
        Of each class: the family's powers, of shape (2, draws), the mode, the left and the right
        side, on the same warp of the scores.

    Examples
    --------
    >>> one, laplace = np.ones(1), np.ones((2, 1), dtype=int)
    >>> is_monotone((laplace, 0 * one, one, one), (laplace, 2 * one, one, one))
    array([ True])
    >>> is_monotone((laplace, 0 * one, one, one), (laplace, 2 * one, one, 3 * one))
    array([ True])
    >>> is_monotone((laplace, 0 * one, one, 3 * one), (laplace, 2 * one, one, one))
    array([False])
    """
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


def _slope(sides: Sides, x: Floats, *, left: bool | NDArray[np.bool_]) -> Floats:
    """Return the derivative of log p at x by the formula of one side."""
    powers, theta, below, above = sides
    side, sign = np.where(left, below, above), np.where(left, 1.0, -1.0)
    power = np.where(left, powers[0], powers[1])
    return np.where(power == 1, sign / side, (theta - x) / side**2)


def _bend(sides: Sides, *, left: bool) -> Floats:
    """Return the second derivative of log p on one side."""
    powers, _, below, above = sides
    power, side = (powers[0], below) if left else (powers[1], above)
    return np.where(power == 1, 0.0, -1.0 / side**2)
