"""Sorted scores and the sums of deviations to the left and right of any mode.

All sums are built up from one score to the next, as sums of positive terms. The textbook form
(prefix sums S, then N theta - S) cancels when scores lie far from 0 or in distant clumps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats

Indices = NDArray[np.intp]


@dataclass(frozen=True)
class SortedScores:
    """
    Scores in order, with the weight up to and from each of them.

    Attributes
    ----------
    x : array of shape (n,)
        Scores of positive weight, ascending, in raw units.
    gap : array of shape (n - 1,)
        Differences of neighbours, in units of `unit`.
    unit : float
        A power of two near the range: squares of tiny or huge scores neither vanish nor overflow.
    before, after : array of shape (n,)
        Weight at or before each score; weight at or after it.
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
class SideSums:
    """
    Sums of w |x - theta|^power over the scores on one side of theta, for theta at every score.

    Attributes
    ----------
    power : int
        1 or 2.
    at : array of shape (n,)
        The sums.
    absolute : array of shape (n,)
        Those of power 1.
    weight : array of shape (n,)
        Those of power 0, with the score at theta itself.
    """

    power: int
    at: Floats
    absolute: Floats
    weight: Floats

    def beyond(self, index: Indices, step: Floats) -> Floats:
        """Return the sums for modes a step farther away than score `index`."""
        if self.power == 1:
            return self.at[index] + step * self.weight[index]
        increase = _square_step(step, self.absolute[index], self.weight[index])
        return self.at[index] + increase

    def lower(self, index: Indices, step: Floats) -> Floats:
        """Return the sums of one power less, for the same modes."""
        if self.power == 1:
            return np.broadcast_to(self.weight[index], step.shape)
        return self.absolute[index] + step * self.weight[index]


@dataclass(frozen=True)
class Sums:
    """Sums of deviations to the left and to the right of any mode between the scores."""

    scores: SortedScores
    powers: tuple[int, int]
    left: SideSums
    right: SideSums

    def between(self, index: Indices, share: Floats | float) -> tuple[Floats, Floats]:
        """Return the sums for modes at `share` of the gap after score `index`."""
        to_left, to_right = self.steps(index, share)
        return self.left.beyond(index, to_left), self.right.beyond(index + 1, to_right)

    def steps(self, index: Indices, share: Floats | float) -> tuple[Floats, Floats]:
        """Return the distances to the scores on the left and on the right."""
        gap = self.scores.gap[index]
        return share * gap, (1.0 - share) * gap


def sort_scores(x: Floats, weight: Floats | None) -> SortedScores:
    """Sort scores once, dropping those of weight 0."""
    if weight is None:
        ordered = np.sort(x)
        before = np.arange(1.0, ordered.size + 1.0)
        after = before[::-1]
    else:
        order = np.argsort(x)
        order = order[weight[order] > 0.0]
        ordered, weight = x[order], weight[order]
        before = np.cumsum(weight)
        # Summed from the far end: total - before would leave rounding where nothing remains.
        after = np.cumsum(weight[::-1])[::-1]
    unit = _power_of_two(float(ordered[-1] - ordered[0]))
    gap = np.diff(ordered)
    gap /= unit
    return SortedScores(ordered, gap, unit, before, after)


def deviation_sums(scores: SortedScores, powers: tuple[int, int]) -> Sums:
    """Build the sums from score to score: those to the left rightward, the others leftward."""
    left = _side_sums(powers[0], scores.gap, scores.before)
    right = _side_sums(powers[1], scores.gap[::-1], scores.after[::-1])
    turned = SideSums(right.power, right.at[::-1], right.absolute[::-1], right.weight[::-1])
    return Sums(scores, powers, left, turned)


def _side_sums(power: int, gap: Floats, weight: Floats) -> SideSums:
    """Build D' = D + gap W, and for power 2 D2' = D2 + gap (2 D + gap W), along the gaps."""
    absolute = _accumulate(gap * weight[:-1])
    if power == 1:
        return SideSums(power, absolute, absolute, weight)
    squares = _accumulate(_square_step(gap, absolute[:-1], weight[:-1]))
    return SideSums(power, squares, absolute, weight)


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
