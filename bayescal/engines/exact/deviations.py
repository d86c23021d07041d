"""Sums of deviations left and right of any mode, by binary search in the sorted scores."""

from __future__ import annotations

import numpy as np

from bayescal.families._sorted import deviation_sums, sort_scores
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
    powers : tuple of int
        Left and right, each 1 or 2.

    Attributes
    ----------
    total : float
        N, the sum of the weights; 0 for an empty class.
    scores : array
        The scores of positive weight, ascending.
    """

    def __init__(self, x: Floats, weight: Floats | None, powers: tuple[int, int]) -> None:
        self.powers = powers
        self.total = 0.0
        self.scores = x[:0]
        if x.size and (weight is None or weight.any()):
            self._sums = deviation_sums(sort_scores(x, weight), powers)
            self.scores, self.total = self._sums.scores.x, self._sums.scores.total

    def __call__(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return D_l and D_r at modes of any shape."""
        if self.total == 0.0:
            return np.zeros_like(theta), np.zeros_like(theta)
        inside = np.clip(theta, self.scores[0], self.scores[-1])
        left, right = self._inside(inside)
        # Beyond the scores one side is empty and the other moves off as a whole.
        below, above = np.maximum(inside - theta, 0.0), np.maximum(theta - inside, 0.0)
        unit = self._sums.scores.unit
        return (
            self._moved(left, above, self.powers[0], self._sums.left.absolute[-1] * unit),
            self._moved(right, below, self.powers[1], self._sums.right.absolute[0] * unit),
        )

    def quantiles(self, most: int) -> Floats:
        """Return so many scores at even levels of their weight, the ends among them."""
        if self.total == 0.0:
            return self.scores
        # By weight, not by position: a weight of 2 is a repetition.
        level = np.linspace(0.0, self.total, most)
        picked = np.searchsorted(self._sums.scores.before, level).clip(max=self.scores.size - 1)
        scores: Floats = self.scores[picked]
        return scores

    def _inside(self, theta: Floats) -> tuple[Floats, Floats]:
        sums, ordered = self._sums, self.scores
        if ordered.size == 1:
            return np.zeros_like(theta), np.zeros_like(theta)
        index = np.searchsorted(ordered, theta, side="right") - 1
        index = np.minimum(index, ordered.size - 2)
        gap = ordered[index + 1] - ordered[index]
        share = np.divide(theta - ordered[index], gap, out=np.ones_like(theta), where=gap > 0.0)
        left, right = sums.between(index, share)
        unit = sums.scores.unit
        return left * unit ** self.powers[0], right * unit ** self.powers[1]

    def _moved(self, at_end: Floats, distance: Floats, power: int, moment: float) -> Floats:
        """Return the sum after moving off by a distance, `moment` being that of power 1."""
        if power == 1:
            return at_end + self.total * distance
        moved: Floats = at_end + distance * (2.0 * moment + distance * self.total)
        return moved
