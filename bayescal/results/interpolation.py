"""Curves of log-odds for many scores: tabulated where it matters, linear between.

A curve has one argument, the score: a million scores need the draws' densities at a few hundred
points only. Intervals are cut until the table is well within the tolerance inside them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.validation import Floats

Curve = Callable[[Floats], Floats]

DIRECT = 2048  # so few scores are evaluated one by one
POINT_TOLERANCE = 1e-4  # in probability
# A quantile of thousands of draws is rough at the size of its Monte Carlo error, some times this:
# a finer table would follow the noise.
BAND_TOLERANCE = 2e-3
SAFETY = 0.2  # share of a tolerance that is allowed at the points tried
LOG_ODDS_TOLERANCE = 1e-3  # relative to 1 + |log-odds|, where probabilities have not saturated
SATURATED = 40.0
ROUNDS = 30


def evaluate(curve: Curve, scores: Floats, centre: float, spread: float, *, band: bool) -> Floats:
    """
    Return a curve's log-odds at scores, by a table if there are more than 2,048 of them.

    Parameters
    ----------
    curve : callable
        scores of shape (n,) -> log-odds of shape (..., n).
    scores : array of shape (n,)
        Raw scores.
    centre, spread : float
        Robust centre and spread of the scores fitted: where the curve bends.
    band : bool
        Whether the curve is a quantile over draws, of which the probability is wanted; else it is
        a smooth curve, of which the log-odds are wanted too.

    Returns
    -------
    array of shape (..., n)
        Of a point estimate: within 1e-4 of the curve in probability, and within 1e-3 of
        1 + |log-odds| up to 40. Of a band: within 2e-3 in probability.
    """
    if scores.size <= DIRECT:
        return curve(scores)
    node = first_nodes(scores, centre, spread)
    node, values = refine(curve, node, band=band)
    if node.size == 1:
        return np.repeat(values, scores.size, axis=-1)
    # One search for all rows; np.interp would search for each.
    index = np.clip(np.searchsorted(node, scores, side="right") - 1, 0, node.size - 2)
    share = (scores - node[index]) / (node[index + 1] - node[index])
    out: Floats = (1.0 - share) * values[..., index]
    out += share * values[..., index + 1]
    return out


def first_nodes(scores: Floats, centre: float, spread: float) -> Floats:
    """Return nodes over the range of the scores: closest around the centre, ever farther apart."""
    low, high = float(scores.min()), float(scores.max())
    farthest = max(high - centre, centre - low, spread)
    steps = spread * np.exp2(np.arange(-3.0, np.log2(farthest / spread) + 1.0, 0.25))
    node = np.concatenate([centre - steps, [centre, low, high], centre + steps])
    return np.unique(node[(node >= low) & (node <= high)])


def refine(curve: Curve, node: Floats, *, band: bool) -> tuple[Floats, Floats]:
    """Return nodes and the curve there, cutting intervals until the table is good enough."""
    values = curve(node)
    left = np.arange(node.size - 1)
    for _ in range(ROUNDS):
        if left.size == 0:
            break
        # Thirds, not halves: a bend may leave the middle where it was, but not both thirds.
        start, end = node[left], node[left + 1]
        points = start + np.multiply.outer(np.array([1 / 3, 2 / 3]), end - start)
        true = curve(points.ravel()).reshape(*values.shape[:-1], *points.shape)
        low, high = values[..., None, left], values[..., None, left + 1]
        linear = low + np.array([[1 / 3], [2 / 3]]) * (high - low)
        wrong = _off(true, linear, band=band)
        where = np.repeat(left + 1, 2)
        node = np.insert(node, where, points.T.ravel())
        values = np.insert(
            values, where, true.swapaxes(-1, -2).reshape(*true.shape[:-2], -1), axis=-1
        )
        # All three parts of a wrong interval stay; each has moved right by two for each before it.
        moved = (left + 2 * np.arange(left.size))[wrong]
        left = (moved[:, None] + np.arange(3)).ravel()
    return node, values


def _off(true: Floats, linear: Floats, *, band: bool) -> NDArray[np.bool_]:
    """Return which intervals, the last axis, are off at any point of any curve."""
    tolerance = SAFETY * (BAND_TOLERANCE if band else POINT_TOLERANCE)
    off = np.asarray(np.abs(special.expit(true) - special.expit(linear)) > tolerance)
    if not band:
        saturated = np.minimum(np.abs(true), np.abs(linear)) > SATURATED
        off |= (np.abs(true - linear) > LOG_ODDS_TOLERANCE * (1.0 + np.abs(true))) & ~saturated
    return np.asarray(off.reshape(-1, off.shape[-1]).any(axis=0), dtype=np.bool_)
