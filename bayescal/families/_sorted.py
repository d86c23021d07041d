"""Sorted scores and the sums of deviations to the left and right of any mode.

All sums are built up from one score to the next, as sums of positive terms. The textbook form
(prefix sums S, then N theta - S) cancels when scores lie far from 0 or in distant clumps.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class SortedScores:
    """
    Scores in order, with the weight up to and beyond each of them.

    Attributes
    ----------
    x : array of shape (n,)
        Scores of positive weight, ascending, in raw units.
    gap : array of shape (n - 1,)
        Differences of neighbours, in units of `unit`.
    unit : float
        A power of two near the range: squares of tiny or huge scores neither vanish nor overflow.
    before, after : array of shape (n,)
        Weight at or before each score; weight after it.
    """

    x: Floats
    gap: Floats
    unit: float
    before: Floats
    after: Floats

    @property
    def total(self) -> float:
        """Return N, the sum of the weights."""
        return float(self.before[-1])


@dataclass(frozen=True)
class AbsoluteSums:
    """D_l, D_r: sums of w |x - theta| left and right of theta, for theta at every score."""

    scores: SortedScores
    left: Floats
    right: Floats

    def between(self, index: Indices, share: Floats | float) -> tuple[Floats, Floats]:
        """Return the sums for modes at `share` of the gap after score `index`."""
        to_left, to_right, before, after = _position(self.scores, index, share)
        return self.left[index] + to_left * before, self.right[index + 1] + to_right * after


@dataclass(frozen=True)
class SquaredSums:
    """D_l2, D_r2: sums of w (x - theta)^2 left and right of theta, for theta at every score."""

    powers: ClassVar = (2, 2)
    scores: SortedScores
    left: Floats
    right: Floats
    absolute: AbsoluteSums

    def between(self, index: Indices, share: Floats | float) -> tuple[Floats, Floats]:
        """Return the sums for modes at `share` of the gap after score `index`."""
        to_left, to_right, before, after = _position(self.scores, index, share)
        first = self.absolute
        return (
            self.left[index] + _square_step(to_left, first.left[index], before),
            self.right[index + 1] + _square_step(to_right, first.right[index + 1], after),
        )

    def lower(self, index: Indices, share: Floats | float) -> tuple[Floats, Floats]:
        """Return the sums of one power less: half their derivatives, the right one's negated."""
        return self.absolute.between(index, share)


@dataclass(frozen=True)
class MixedSums:
    """D_l2, D_r: squared deviations left of theta, absolute ones right of it, at every score."""

    powers: ClassVar = (2, 1)
    scores: SortedScores
    left: Floats
    right: Floats
    absolute: AbsoluteSums

    def between(self, index: Indices, share: Floats | float) -> tuple[Floats, Floats]:
        """Return the sums for modes at `share` of the gap after score `index`."""
        to_left, to_right, before, after = _position(self.scores, index, share)
        return (
            self.left[index] + _square_step(to_left, self.absolute.left[index], before),
            self.right[index + 1] + to_right * after,
        )

    def lower(self, index: Indices, share: Floats | float) -> tuple[Floats, Floats]:
        """Return the sums of one power less: D_l, and the weight right of the mode."""
        left, _ = self.absolute.between(index, share)
        return left, np.broadcast_to(self.scores.after[index], left.shape)


def sort_scores(x: Floats, weight: Floats | None) -> SortedScores:
    """Sort scores once, dropping those of weight 0."""
    if weight is None:
        ordered = np.sort(x)
        before = np.arange(1.0, ordered.size + 1.0)
        after = ordered.size - before
    else:
        order = np.argsort(x)
        order = order[weight[order] > 0.0]
        ordered, weight = x[order], weight[order]
        before = np.cumsum(weight)
        # Summed from the far end: total - before would leave rounding where nothing remains.
        after = np.zeros_like(before)
        after[:-1] = np.cumsum(weight[:0:-1])[::-1]
    unit = _power_of_two(float(ordered[-1] - ordered[0]))
    gap = np.diff(ordered)
    gap /= unit
    return SortedScores(ordered, gap, unit, before, after)


def absolute_sums(scores: SortedScores) -> AbsoluteSums:
    """Build D_l(i + 1) = D_l(i) + gap(i) W(i) forward, and D_r alike backward."""
    gap, before, after = scores.gap, scores.before[:-1], scores.after[:-1]
    left = _accumulate(gap * before)
    return AbsoluteSums(scores, left, _accumulate((gap * after)[::-1])[::-1])


def squared_sums(scores: SortedScores, first: AbsoluteSums | None = None) -> SquaredSums:
    """Build D_l2(i + 1) = D_l2(i) + gap(i) (2 D_l(i) + gap(i) W(i)), and D_r2 backward."""
    first = first or absolute_sums(scores)
    right = _accumulate(_square_step(scores.gap, first.right[1:], scores.after[:-1])[::-1])[::-1]
    return SquaredSums(scores, _squares_left(scores, first), right, first)


def mixed_sums(scores: SortedScores, first: AbsoluteSums | None = None) -> MixedSums:
    """Build D_l2 as `squared_sums` does; D_r is that of `absolute_sums`."""
    first = first or absolute_sums(scores)
    return MixedSums(scores, _squares_left(scores, first), first.right, first)


def _squares_left(scores: SortedScores, first: AbsoluteSums) -> Floats:
    return _accumulate(_square_step(scores.gap, first.left[:-1], scores.before[:-1]))


def _position(
    scores: SortedScores, index: Indices, share: Floats | float
) -> tuple[Floats, Floats, Floats, Floats]:
    gap = scores.gap[index]
    return share * gap, (1.0 - share) * gap, scores.before[index], scores.after[index]


def _square_step(step: Floats, deviation: Floats, weight: Floats) -> Floats:
    # sum w (d + step)^2 - sum w d^2. (The dissertation's eq. 3.20 misprints S theta for 2 S theta.)
    out = step * weight
    out += 2.0 * deviation
    out *= step
    return out


def _accumulate(increments: Floats) -> Floats:
    out = np.zeros(increments.size + 1)
    np.cumsum(increments, out=out[1:])
    return out


def _power_of_two(width: float) -> float:
    return float(np.ldexp(1.0, int(np.frexp(width)[1]))) if width > 0.0 else 1.0
