"""Points of a curve, so close that lines between them follow it: exact values, few turns missed."""

from __future__ import annotations

import numpy as np
from scipy import special

from bayescal.curves.interpolation import Curve, divisible
from bayescal.validation import Floats

ROUNDS = 40


def halve(curve: Curve, node: Floats, tolerance: float) -> tuple[Floats, Floats]:
    """
    Return nodes and a curve there, halving intervals whose middle a line misses.

    A smooth interpolant overshoots where quantiles of draws turn, and lines do not.

    Parameters
    ----------
    curve : callable
        scores of shape (n,) -> log-odds of shape (curves, n).
    node : array of shape (k,)
        Ascending scores, the first nodes.
    tolerance : float
        In probability, at the middle of an interval.

    Returns
    -------
    node : array of shape (m,)
    values : array of shape (curves, m)

    Examples
    --------
    >>> node, values = halve(lambda s: np.abs(s)[None], np.array([-1.0, 3.0]), 1e-3)
    >>> bool(np.abs(node).min() == 0.0), node.size < 30
    (True, True)
    """
    values, left = curve(node), np.arange(node.size - 1)
    passed = np.zeros(left.size, dtype=np.bool_)
    for _ in range(ROUNDS):
        long = divisible(node[left], node[left + 1])
        left, passed = left[long], passed[long]
        if left.size == 0:
            break
        middle = 0.5 * (node[left] + node[left + 1])
        true, line = curve(middle), 0.5 * (values[:, left] + values[:, left + 1])
        off = np.abs(special.expit(true) - special.expit(line)) > tolerance
        node = np.insert(node, left + 1, middle)
        values = np.insert(values, left + 1, true, axis=1)
        close = np.asarray(~off.any(axis=0), dtype=np.bool_)
        # A turn may leave the middle where it was, but not those of both halves as well.
        again = np.logical_not(close & passed)
        # Each has moved right by one for each before it, and is two now.
        moved = (left + np.arange(left.size))[again]
        left, passed = np.add.outer(moved, [0, 1]).ravel(), np.repeat(close[again], 2)
    return node, values
