"""Curves of log-odds for many scores: tabulated where it matters, linear between.

A curve has one argument, the score: a million scores need the draws' densities at a few hundred
points only. Between these a smooth interpolant fills a finer table, and intervals are cut until
that table is well within the tolerance inside them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.curves.akima import akima
from bayescal.validation import Floats

Curve = Callable[[Floats], Floats]

TOLERANCE = 1e-4  # in probability
SAFETY = 0.4  # share of a tolerance that is allowed at the points tried
LOG_ODDS_TOLERANCE = 1e-3  # relative to 1 + |log-odds|, where probabilities have not saturated
SATURATED = 40.0
ROUNDS = 30
FINER = 8  # parts of the finer table in an interval
BUCKETS = 1 << 16
DIVISIBLE = 64.0  # roundings of an interval that can be cut
SAMPLE, BULK = 10_000, (0.001, 0.999)  # of the scores, whose bulk the buckets cover
BLOCK = 1 << 15  # scores that stay in cache while they are looked up


def first_nodes(low: float, high: float, centre: float, spread: float) -> Floats:
    """Return nodes from low to high: closest around the centre, ever farther apart."""
    farthest = max(high - centre, centre - low, spread)
    steps = spread * np.exp2(np.arange(-3.0, np.log2(farthest / spread) + 1.0, 0.25))
    node = np.concatenate([centre - steps, [centre, low, high], centre + steps])
    node = np.unique(node[(node >= low) & (node <= high)])
    kept: Floats = node[np.append(divisible(node[:-1], node[1:]), True)]
    return kept


def refine(curve: Curve, node: Floats, tolerance: float = TOLERANCE) -> tuple[Floats, Floats]:
    """
    Return nodes and a smooth curve there, cutting intervals until the table is good enough.

    Parameters
    ----------
    curve : callable
        scores of shape (n,) -> log-odds of shape (..., n).
    node : array of shape (k,)
        Ascending scores, the first nodes.
    tolerance : float
        In probability.

    Returns
    -------
    node : array of shape (m,)
    values : array of shape (..., m)
        Linear between the nodes within the tolerance of the curve in probability, and within 1e-3
        of 1 + |log-odds| up to 40.
    """
    values = curve(node)
    table = _finer(node, values)
    left = np.arange(node.size - 1)
    for _ in range(ROUNDS):
        # A curve may jump: a side of almost no length makes a draw's density do so.
        left = left[divisible(node[left], node[left + 1])]
        if left.size == 0:
            break
        # Thirds, not halves: a bend may leave the middle where it was, but not both thirds.
        start, end = node[left], node[left + 1]
        points = start + np.multiply.outer(np.array([1 / 3, 2 / 3]), end - start)
        shape = (*values.shape[:-1], *points.shape)
        true = curve(points.ravel()).reshape(shape)
        wrong = _off(true, read(*table, points.ravel()).reshape(shape), tolerance)
        where = np.repeat(left + 1, 2)
        node = np.insert(node, where, points.T.ravel())
        values = np.insert(
            values, where, true.swapaxes(-1, -2).reshape(*true.shape[:-2], -1), axis=-1
        )
        table = _finer(node, values)
        # All three parts of a wrong interval stay, and its neighbours, whose cubics have changed;
        # each has moved right by two for each before it.
        moved = (left + 2 * np.arange(left.size))[wrong]
        left = np.unique(np.clip(moved[:, None] + np.arange(-1, 4), 0, node.size - 2))
    return table


def divisible(start: Floats, end: Floats) -> NDArray[np.bool_]:
    """Return which intervals are more than a few roundings long."""
    rounding = np.spacing(np.maximum(np.abs(start), np.abs(end)))
    return np.asarray(end - start > DIVISIBLE * rounding, dtype=np.bool_)


def read(node: Floats, values: Floats, scores: Floats) -> Floats:
    """
    Return the values of a table at scores, linear between its nodes.

    Parameters
    ----------
    node : array of shape (k,)
        Ascending.
    values : array of shape (..., k)
        One or more rows.
    scores : array of shape (n,)
        From the first node to the last.

    Returns
    -------
    array of shape (..., n)
    """
    if node.size == 1:
        return np.repeat(values, scores.size, axis=-1)
    rise = np.diff(values) / np.diff(node)
    interval = _Lookup(node, scores[:: scores.size // SAMPLE + 1])
    out: Floats = np.empty((*values.shape[:-1], scores.size))
    for first in range(0, scores.size, BLOCK):
        part = slice(first, first + BLOCK)
        index = interval(scores[part])
        step = scores[part] - node[index]
        for row in np.ndindex(values.shape[:-1]):
            out[row][part] = rise[row][index] * step + values[row][index]
    return out


class _Lookup:
    """
    The interval of a table that a score is in, without a binary search for most scores.

    Equal buckets cover the bulk of the scores; each knows how many nodes lie in lower ones.
    """

    def __init__(self, node: Floats, sample: Floats) -> None:
        self._node = node
        self._low, high = np.quantile(sample, BULK)
        width = high - self._low
        self._per_unit = BUCKETS / width if width > 0.0 else 0.0
        edges = np.searchsorted(self._bucket(node), np.arange(BUCKETS + 1))
        self._before = edges[:-1]
        self._crowded = np.diff(edges) > 1
        self._next = np.append(node, np.inf)

    def __call__(self, scores: Floats) -> NDArray[np.intp]:
        """Return i with node[i] <= score < node[i + 1], the last interval closed."""
        bucket = self._bucket(scores)
        before = self._before[bucket]
        # A bucket with one node lies in two intervals, one with none in one.
        index: NDArray[np.intp] = before - (scores < self._next[before])
        search = np.flatnonzero(self._crowded[bucket])
        index[search] = np.searchsorted(self._node, scores[search], side="right") - 1
        np.clip(index, 0, self._node.size - 2, out=index)
        return index

    def _bucket(self, scores: Floats) -> NDArray[np.intp]:
        # Monotone whatever is rounded, and the same for nodes and scores: so counts are right.
        position = (scores - self._low) * self._per_unit
        bucket: NDArray[np.intp] = np.clip(position, 0.0, BUCKETS - 1.0).astype(np.intp)
        return bucket


def _finer(node: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Return a table with eight parts to an interval, by Akima's cubics, which keep bends local."""
    if node.size < 3:
        return node, values
    share = np.arange(FINER) / FINER
    inner = node[:-1, None] + share * np.diff(node)[:, None]
    finer = np.append(inner.ravel(), node[-1])
    # In units of a step, a power of two, which rounds nothing: cubes of tiny steps would be 0.
    unit = -np.frexp(np.median(np.diff(node)))[1]
    interval = np.minimum(np.arange(finer.size) // FINER, node.size - 2)
    return finer, akima(np.ldexp(node, unit), values, np.ldexp(finer, unit), interval)


def _off(true: Floats, linear: Floats, tolerance: float) -> NDArray[np.bool_]:
    """Return which intervals, the last axis, are off at any point of any curve."""
    off = np.asarray(np.abs(special.expit(true) - special.expit(linear)) > SAFETY * tolerance)
    saturated = np.minimum(np.abs(true), np.abs(linear)) > SATURATED
    off |= (np.abs(true - linear) > LOG_ODDS_TOLERANCE * (1.0 + np.abs(true))) & ~saturated
    return np.asarray(off.reshape(-1, off.shape[-1]).any(axis=0), dtype=np.bool_)
