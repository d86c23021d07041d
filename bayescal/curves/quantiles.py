"""Quantiles over draws of the curve at many scores: exact ones at thousands of nodes, cheaply.

A quantile of thousands of draws bends wherever two draws change places: following it to 1e-4 takes
thousands of nodes. Between two scores close together, though, most draws stay on one side of it:
those are only counted, and the few that come near are evaluated.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.bayes import probability
from bayescal.curves import interpolation
from bayescal.curves.curves import DrawnCurves
from bayescal.validation import Floats

# Parts that an interval is divided into at first, and at most: twice as many, until it is enough.
PARTS, MOST_PARTS = 64, 256
# Share of the tolerance that a table of half as many parts may be off: the fewer the draws, the
# sharper the turns where two of them change places, and the more a table may miss.
SAFETY, SAFE_DRAWS = (0.1, 0.5), 8000
# An interval is cut in two if more draws than one in so many come near, and more than so many; but
# not if it is this share of a first interval: draws that are the same, such as those of a part that
# has no parameters, come near together, however short the interval is.
FEW, AT_LEAST = 16, 128
SHORT = 0.1
# Room beside a chord for the roughness of a quantile: that of so many draws next to it. More
# room lets more draws come near, less has more intervals cut.
ROOM = 8
# A curve leaves the chord of an interval by so many times what it does half-way, at most: one that
# has a kink by twice that, a parabola by as much.
BEND = 4.0
CUTS = 16  # scores at which all draws are evaluated together
ROUNDING = 1e-9
NARROWEST = 1e-9  # share of a first interval that is not cut further


def tabulate(
    draws: DrawnCurves,
    node: Floats,
    levels: Floats,
    tolerance: float = interpolation.TOLERANCE,
) -> tuple[Floats, Floats]:
    """
    Return nodes and pointwise quantiles over draws of the log-odds there, to interpolate linearly.

    Parameters
    ----------
    draws : DrawnCurves
        Posterior draws.
    node : array of shape (k,)
        Ascending scores, the first nodes.
    levels : array of shape (l,)
        Of the quantiles.
    tolerance : float
        In probability.

    Returns
    -------
    node : array of shape (m,)
        The nodes given and others between them.
    values : array of shape (l, m)
        The quantiles at the nodes, as np.quantile has them; between the nodes, linear
        interpolation is within the tolerance of them in probability.
    """
    rank = _Rank.of(levels, draws.size)
    tolerance *= float(np.clip(draws.size / SAFE_DRAWS, *SAFETY))
    middles = 0.5 * (node[:-1] + node[1:])
    cuts = _cuts(draws, np.append(np.stack([node[:-1], middles], axis=1), node[-1]), rank)
    start = next(cuts)
    nodes, values = [np.array([start.score])], [start.quantile[:, None]]
    for middle_of_all, end_of_all in zip(cuts, cuts, strict=True):
        whole = end_of_all.score - start.score
        ahead = [(middle_of_all, end_of_all)]  # a stack, the nearest interval on top
        while ahead:
            middle, end = ahead.pop()
            length = end.score - start.score
            most = draws.size if length < SHORT * whole else max(draws.size // FEW, AT_LEAST)
            inner = _between(draws, start, middle, end, rank, most, tolerance)
            if inner is None and length > NARROWEST * whole:
                halves = 0.5 * np.array([start.score + middle.score, middle.score + end.score])
                first, second = _cuts(draws, halves, rank)
                ahead += [(second, end), (first, middle)]
                continue
            if inner is None:
                inner = middle.quantile[:, None]
            nodes.append(np.linspace(start.score, end.score, inner.shape[1] + 2)[1:])
            values += [inner, end.quantile[:, None]]
            start = end
    return np.concatenate(nodes), np.concatenate(values, axis=1)


@dataclass(frozen=True)
class _Rank:
    """Positions of quantiles in sorted draws: of np.quantile's default, linear between ranks."""

    low: NDArray[np.intp]
    share: Floats

    @classmethod
    def of(cls, levels: Floats, size: int) -> _Rank:
        position = levels * (size - 1)
        low = np.minimum(position.astype(np.intp), size - 2)
        return cls(low, position - low)

    def read(self, ordered: Floats, left_out: NDArray[np.intp]) -> Floats:
        """Return quantiles of ordered draws, the last axis, but for so many smaller ones."""
        below, above = ordered[..., self.low - left_out], ordered[..., self.low - left_out + 1]
        return np.moveaxis(below + self.share * (above - below), -1, 0)


@dataclass(frozen=True)
class _Cut:
    """All draws at one score: log-odds, their quantiles, and how far the draws beside are."""

    score: float
    curve: Floats
    quantile: Floats
    room: Floats


def _cuts(draws: DrawnCurves, scores: Floats, rank: _Rank) -> Iterator[_Cut]:
    apart = np.array([[-ROOM], [0], [1], [1 + ROOM]])
    neighbours = np.clip(rank.low + apart, 0, draws.size - 1)
    for first in range(0, scores.size, CUTS):
        part = scores[first : first + CUTS]
        curves = _rows(draws, part)
        # Of the draws in order no more than these few are wanted.
        ordered = np.partition(curves, np.unique(neighbours), axis=-1)
        quantiles = rank.read(ordered, np.zeros_like(rank.low)).T
        lower, low, high, higher = np.moveaxis(ordered[:, neighbours], 1, 0)
        # Of the nearer side: a quantile at the edge of a gap would let all draws beyond it in.
        room = np.minimum(quantiles - lower, higher - quantiles)
        # The two draws that the quantile lies between must come near, whatever the gap.
        room = np.maximum(room, 1.5 * np.maximum(quantiles - low, high - quantiles))
        yield from map(_Cut, part.tolist(), curves, quantiles, room)


def _rows(draws: DrawnCurves, scores: Floats) -> Floats:
    """Return log-odds of shape (scores, draws): side by side what is to be put in order."""
    return np.ascontiguousarray(draws.log_odds(scores).T)


def _between(
    draws: DrawnCurves,
    start: _Cut,
    middle: _Cut,
    end: _Cut,
    rank: _Rank,
    most: int,
    tolerance: float,
) -> Floats | None:
    """
    Return quantiles inside an interval, at equal steps; None where it must be cut in two.

    Draws that come near are evaluated if they are at `most` so many.
    """
    three = np.stack([start.quantile, middle.quantile, end.quantile], axis=1)
    # Where probabilities are all 0 or all 1, a line will do.
    same_side = (np.sign(three) == np.sign(three[:, :1])).all()
    if same_side and probability(-np.abs(three)).max() < tolerance:
        return three[:, 1:2]
    # How far a quantile may leave the chord between its ends: looked at afterwards.
    slack = 4.0 * np.abs(three[:, 1] - 0.5 * (three[:, 0] + three[:, 2])) + middle.room
    # Draws may repeat, then there is no room between them: never less than rounding.
    slack += ROUNDING * (1.0 + np.abs(three).max(axis=1))
    near, left_out = _near(start, middle, end, slack)
    held = (left_out <= rank.low) & (rank.low + 1 < left_out + near.size)
    if near.size > most or not held.all():
        return None
    few = draws.take(near)

    def at(share: Floats) -> Floats:
        curves = _rows(few, start.score + share * (end.score - start.score))
        return rank.read(np.sort(curves, axis=-1), left_out)

    return _refined(at, three, slack, tolerance)


def _refined(
    at: interpolation.Curve, three: Floats, slack: Floats, tolerance: float
) -> Floats | None:
    """
    Return quantiles inside an interval, whose shares `at` takes, at steps that are small enough.

    None where no steps are, or where a quantile leaves the chord by more than the slack.
    """
    parts, inner = PARTS, at(np.arange(1, PARTS) / PARTS)
    while True:
        share = np.arange(parts + 1) / parts
        table = np.concatenate([three[:, :1], inner, three[:, 2:]], axis=1)
        chord = np.outer(three[:, 0], 1.0 - share) + np.outer(three[:, 2], share)
        if (np.abs(table - chord) > slack[:, None]).any():
            return None
        before, after = table[:, :-2:2], table[:, 2::2]
        off = np.abs(0.5 * (before + after) - table[:, 1::2])
        if (off * _steepest(before, after)).max() < tolerance:
            return inner
        if parts == MOST_PARTS:
            return None
        parts *= 2
        finer = np.empty((inner.shape[0], parts - 1))
        finer[:, 1::2], finer[:, ::2] = inner, at(np.arange(1, parts, 2) / parts)
        inner = finer


def _steepest(first: Floats, last: Floats) -> Floats:
    """
    Return the largest derivative of the probability by log-odds between two log-odds.

    Where all of a probability's way from 0 to 1 is between two nodes it says nothing at either of
    how far it is off between them.
    """
    nearest = np.where(
        np.sign(first) == np.sign(last), np.minimum(np.abs(first), np.abs(last)), 0.0
    )
    p = probability(-nearest)
    steepest: Floats = p * (1.0 - p)
    return steepest


def _near(
    start: _Cut, middle: _Cut, end: _Cut, slack: Floats
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the draws that may come near a quantile, and how many others lie below each."""
    bend = BEND * np.abs(middle.curve - 0.5 * (start.curve + end.curve))
    first = start.curve - start.quantile[:, None]
    last = end.curve - end.quantile[:, None]
    reach = bend + slack[:, None]
    above = np.minimum(first, last) > reach
    reach += np.maximum(first, last, out=first)
    below = reach < 0.0
    far = (above | below).all(axis=0)
    return np.flatnonzero(~far), np.count_nonzero(below & far, axis=1)
