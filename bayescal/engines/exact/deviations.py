"""Sums of deviations left and right of any mode, by binary search in the sorted scores."""

from __future__ import annotations

import numpy as np

from bayescal.families._sorted import (
    AbsoluteSums,
    SquaredSums,
    absolute_sums,
    sort_scores,
    squared_sums,
)
from bayescal.validation import Floats


class DeviationSums:
    """
    D_l(theta), D_r(theta): sums of w |x - theta|^power left and right of any theta.

    Parameters
    ----------
    x : array of shape (n,)
        Scores, in the units of theta; may be empty.
    weight : array of shape (n,) or None
        Their weights.
    power : int
        1 or 2.

    Attributes
    ----------
    total : float
        N, the sum of the weights; 0 for an empty class.
    scores : array
        The scores of positive weight, ascending.
    """

    def __init__(self, x: Floats, weight: Floats | None, power: int) -> None:
        self.power = power
        self.total = 0.0
        self.scores = x[:0]
        if x.size and (weight is None or weight.any()):
            sorted_scores = sort_scores(x, weight)
            self.scores, self.total = sorted_scores.x, sorted_scores.total
            self._first = absolute_sums(sorted_scores)
            self._sums: AbsoluteSums | SquaredSums = self._first
            if power == 2:
                self._sums = squared_sums(sorted_scores, self._first)

    def __call__(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return D_l and D_r at modes of any shape."""
        if self.total == 0.0:
            return np.zeros_like(theta), np.zeros_like(theta)
        inside = np.clip(theta, self.scores[0], self.scores[-1])
        left, right = self._inside(inside)
        # Beyond the scores one side is empty and the other moves off as a whole.
        below, above = np.maximum(inside - theta, 0.0), np.maximum(theta - inside, 0.0)
        return self._moved(left, above, left=True), self._moved(right, below, left=False)

    def _inside(self, theta: Floats) -> tuple[Floats, Floats]:
        sums, scores = self._sums, self._sums.scores
        if self.scores.size == 1:
            return np.zeros_like(theta), np.zeros_like(theta)
        index = np.searchsorted(self.scores, theta, side="right") - 1
        index = np.minimum(index, self.scores.size - 2)
        gap = self.scores[index + 1] - self.scores[index]
        share = np.divide(theta - self.scores[index], gap, out=np.ones_like(theta), where=gap > 0.0)
        left, right = sums.between(index, share)
        unit = scores.unit**self.power
        return left * unit, right * unit

    def _moved(self, at_end: Floats, distance: Floats, *, left: bool) -> Floats:
        if self.power == 1:
            return at_end + self.total * distance
        first = self._first
        moment = (first.left[-1] if left else first.right[0]) * first.scores.unit
        moved: Floats = at_end + distance * (2.0 * moment + distance * self.total)
        return moved
