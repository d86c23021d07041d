"""Curves of log-odds for many scores: tabulated where it matters, linear between.

A curve has one argument, the score: a million scores need the draws' densities at a few hundred
points only. Between these a smooth interpolant fills a finer table, and intervals are cut until
that table is well within the tolerance inside them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bayescal.bayes import probability
from bayescal.curves.akima import akima
from bayescal.validation import Floats

Curve = Callable[[Floats], Floats]

TOLERANCE = 1e-4  # in probability
SAFETY = 0.3  # share of a tolerance that is allowed at the points tried
LOG_ODDS_TOLERANCE = 1e-3  # relative to 1 + |log-odds|, where probabilities have not saturated
SATURATED = 40.0
# Where intervals are tried: the first ones, in which a spike hides more easily, and their parts.
# Thirds, not halves: a bend may leave the middle where it was, but not both thirds.
QUARTERS, THIRDS = np.arange(1, 4) / 4, np.arange(1, 3) / 3
ROUNDS = 30
FINER = 8  # parts of the finer table in an interval
DIVISIBLE = 64.0  # roundings of an interval that can be cut
CELLS = 1 << 17  # of a grid
ROUGH = 0.1  # share of the tolerances that a line across a cell may miss a node by
BLOCK = 1 << 16  # scores that stay in cache while they are looked up


def first_nodes(low: float, high: float, centre: float, spread: float) -> Floats:
    """Return nodes from low to high: closest around the centre, ever farther apart."""
    farthest = max(high - centre, centre - low, spread)
    steps = spread * np.exp2(np.arange(-3.0, np.log2(farthest / spread) + 1.0, 0.25))
    node = np.concatenate([centre - steps, [centre, low, high], centre + steps])
    node = np.unique(node[(node >= low) & (node <= high)])
    kept: Floats = node[np.append(divisible(node[:-1], node[1:]), True)]
    return kept


def refine(
    curve: Curve,
    node: Floats,
    tolerance: float = TOLERANCE,
    *,
    safety: float = SAFETY,
    first_probes: Floats = QUARTERS,
) -> tuple[Floats, Floats]:
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
    safety : float
        Share of it that is allowed at the points tried.
    first_probes : array
        Where the first intervals are tried, as shares of them; their parts are at thirds.

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
    for probes in (first_probes, *[THIRDS] * ROUNDS):
        # A curve may jump: a side of almost no length makes a draw's density do so.
        left = left[divisible(node[left], node[left + 1])]
        if left.size == 0:
            break
        start, end = node[left], node[left + 1]
        points = start + np.multiply.outer(probes, end - start)
        shape = (*values.shape[:-1], *points.shape)
        true = curve(points.ravel()).reshape(shape)
        linear = read(*table, points.ravel()).reshape(shape)
        wrong = _off(true, linear, safety * tolerance, LOG_ODDS_TOLERANCE)
        where = np.repeat(left + 1, probes.size)
        node = np.insert(node, where, points.T.ravel())
        values = np.insert(
            values, where, true.swapaxes(-1, -2).reshape(*true.shape[:-2], -1), axis=-1
        )
        table = _finer(node, values)
        # All parts of a wrong interval stay, and its neighbours, whose cubics have changed; each
        # has moved right by the new nodes of all before it.
        moved = (left + probes.size * np.arange(left.size))[wrong]
        stay = np.arange(-1, probes.size + 2)
        left = np.unique(np.clip(moved[:, None] + stay, 0, node.size - 2))
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
    rows = [np.interp(scores, node, row) for row in values.reshape(-1, node.size)]
    return np.reshape(rows, (*values.shape[:-1], scores.size))


class Grid:
    """
    A table read at equal steps: a million scores need no search, whose every turn is a guess.

    Where a line across a cell misses a node of the table by more than a tenth of the tolerances,
    and beyond the grid, the table itself is read.

    Parameters
    ----------
    node : array of shape (k,)
        Ascending.
    values : array of shape (..., k)
        One or more rows of log-odds.
    low, high : float
        Where the grid begins and ends: the first and the last cell are read off the table.
    """

    def __init__(self, node: Floats, values: Floats, low: float, high: float) -> None:
        self._node, self._values = node, values
        self._low, self._per_unit = low, CELLS / (high - low)
        edge = np.linspace(low, high, CELLS + 1)
        self._at_edge = read(node, values, edge)
        inner = node[(node > edge[1]) & (node < edge[-2])]
        line, true = np.empty((*values.shape[:-1], inner.size)), read(node, values, inner)
        cell = self._lines(inner, line)
        off = _off(true, line, ROUGH * TOLERANCE, ROUGH * LOG_ODDS_TOLERANCE)
        # An edge that is no number spoils the cells on both sides, which shows in what is read.
        self._at_edge[..., cell[off]] = np.nan
        self._at_edge[..., [0, -1]] = np.nan

    def __call__(self, scores: Floats) -> Floats:
        """Return the values at scores, shape (..., n)."""
        out: Floats = np.empty((*self._values.shape[:-1], scores.size))
        for first in range(0, scores.size, BLOCK):
            part = slice(first, first + BLOCK)
            self._lines(scores[part], out[..., part])
        rough = np.flatnonzero(np.isnan(out.reshape(-1, scores.size)[0]))
        out[..., rough] = read(self._node, self._values, scores[rough])
        return out

    def _lines(self, scores: Floats, out: Floats) -> NDArray[np.intp]:
        """Write the values on the lines across cells, and return the cells."""
        share = scores - self._low
        share *= self._per_unit
        np.clip(share, 0.0, np.nextafter(CELLS, 0.0), out=share)
        before = np.floor(share)
        share -= before
        cell = before.astype(np.intp)
        for row in np.ndindex(out.shape[:-1]):
            start, end = self._at_edge[row].take(cell), self._at_edge[row][1:].take(cell)
            np.subtract(end, start, out=out[row])
            out[row] *= share
            out[row] += start
        return cell


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


def _off(true: Floats, linear: Floats, tolerance: float, relative: float) -> NDArray[np.bool_]:
    """Return which intervals, the last axis, are off at any point of any curve."""
    off = np.asarray(np.abs(probability(true) - probability(linear)) > tolerance)
    saturated = np.minimum(np.abs(true), np.abs(linear)) > SATURATED
    off |= (np.abs(true - linear) > relative * (1.0 + np.abs(true))) & ~saturated
    return np.asarray(off.reshape(-1, off.shape[-1]).any(axis=0), dtype=np.bool_)
