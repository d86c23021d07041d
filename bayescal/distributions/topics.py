"""Log likelihood of many groups of scores, from tables of sums that are built once."""

import math
from typing import Any

import numpy as np
import pytensor
import pytensor.tensor as pt
from pytensor.gradient import disconnected_grad

# Log of the density at the mode times the sum of the sides, by power: 1 Laplace, 2 Gaussian.
LOG_PEAK = {1: 0.0, 2: 0.5 * math.log(2.0 / math.pi)}
CELLS = 16  # of quantile functions: enough for their shape, few enough to be smooth


class GroupedScores:
    r"""Scores in groups, each group with its own mode and two sides.

    With sides l and r (mean distances from the mode, or Gaussian sigmas), weights w and power p,

    .. math::

        \sum_i w_i \log f(x_i)
            = N \left(c_p - \log(l + r)\right)
              - \frac{1}{p} \left(\frac{D_l(\theta)}{l^p} + \frac{D_r(\theta)}{r^p}\right)
        \qquad
        D_l(\theta) = \sum_{x_i \le \theta} w_i |x_i - \theta|^p

    D_l and D_r are polynomials between neighbouring scores with tabulated coefficients: a density
    or a gradient costs O(groups log n). The coefficients are sums of positive terms, so that scores
    far from 0 or in distant clumps lose no digits.

    Parameters
    ----------
    score : array of shape (n,)
        Scores, in the units of modes and sides.
    group : array of int of shape (n,)
        Index of each score's group, from 0.
    n_groups : int
        Number of groups, which may be empty.
    power : {1, 2}
        1 for exponential sides, 2 for Gaussian ones.
    weight : array of shape (n,), optional
        Powers of the documents' likelihoods; 1 each by default.

    Examples
    --------
    >>> scores = GroupedScores(np.array([0.0, 3.0, 5.0]), np.array([0, 1, 1]), 2, power=1)
    >>> left, right = scores.deviations(np.array([1.0, 4.5]))
    >>> left.eval(), right.eval()
    (array([1. , 1.5]), array([0. , 0.5]))
    """

    def __init__(
        self, score: Any, group: Any, n_groups: int, *, power: int, weight: Any = None
    ) -> None:
        if power not in LOG_PEAK:
            raise ValueError(f"power must be 1 (exponential sides) or 2 (Gaussian), got {power!r}.")
        weight = np.ones(len(score)) if weight is None else np.asarray(weight, dtype=float)
        order = np.lexsort((score, group))
        score, weight = np.asarray(score, dtype=float)[order], weight[order]
        size = np.bincount(group, minlength=n_groups)
        first = np.cumsum(size) - size
        parts = [slice(start, start + n) for start, n in zip(first, size, strict=True)]
        left = [_sums_up_to_each(score[part], weight[part], power) for part in parts]
        # Right deviations are the left deviations of reflected scores.
        right = [
            _sums_up_to_each(-score[part][::-1], weight[part][::-1], power)[::-1] for part in parts
        ]
        self.power = power
        self.total = np.array([weight[part].sum() for part in parts])
        self._size, self._longest = size, int(size.max(initial=0))
        self._first = np.cumsum(size + 1) - size - 1
        # Shared variables: constants would be hashed, copied and folded at compile time.
        self._left, self._right = (
            pytensor.shared(np.concatenate(side), borrow=True) for side in (left, right)
        )
        self._score = pytensor.shared(np.concatenate(left)[:, 0].copy(), borrow=True)
        self._quantiles = np.array([_quantile_knots(score[part], weight[part]) for part in parts])

    def log_density(self, theta: Any, left: Any, right: Any) -> Any:
        """Return the log likelihood of each group's scores, at modes and sides (n_groups,)."""
        left_sum, right_sum = self.deviations(theta)
        exponent = left_sum / left**self.power + right_sum / right**self.power
        return self.total * (LOG_PEAK[self.power] - pt.log(left + right)) - exponent / self.power

    def deviations(self, theta: Any) -> Any:
        """Return D_l and D_r of each group, at modes of shape (n_groups,)."""
        theta = pt.as_tensor(theta)
        row = self._first + self._up_to(disconnected_grad(theta))
        return self._moved(self._left[row], theta), self._moved(self._right[row], -theta)

    def quantile(self, share: Any) -> Any:
        """Return smoothed quantiles of each group's scores at shares of shape (n_groups,).

        The quantile is linear between the means of at most 16 equal parts of the scores, and the
        lowest or highest score within half a score's share of 0 or 1. It is 0 without scores.
        """
        level, score = (self._quantiles[:, k] for k in (0, 1))
        step, rise = np.diff(level), np.diff(score)
        slope = np.divide(rise, step, out=np.zeros_like(step), where=step > 0.0)
        along = pt.clip(pt.as_tensor(share)[:, None] - level[:, :-1], 0.0, step)
        return score[:, 0] + (along * slope).sum(axis=1)

    def _moved(self, row, theta):
        """Return D_l, from the row of the last score that is at most theta."""
        step = theta - row[:, 0]
        if self.power == 1:
            return row[:, 2] + step * row[:, 1]
        return row[:, 3] + step * (2.0 * row[:, 2] + step * row[:, 1])

    def _up_to(self, theta):
        """Return the number of scores of each group that are at most theta."""
        # One bisection for all groups: pt.searchsorted would be a node for each of them.
        count = pt.zeros_like(theta, dtype="int64")
        for step in (1 << bit for bit in reversed(range(self._longest.bit_length()))):
            candidate = count + step
            score = self._score[self._first + pt.minimum(candidate, self._size)]
            below = (candidate <= self._size) & (score <= theta)
            count = pt.switch(below, candidate, count)
        return count


def _sums_up_to_each(score, weight, power):
    """Return rows (x_i, sum of weights, of deviations, of squares) for modes from x_i on."""
    # The first row is for modes below all scores. Squares come with power 2 only.
    rows = np.zeros((score.size + 1, 2 + power))
    if score.size:
        gap = np.diff(score)
        rows[0, 0], rows[1:, 0] = score[0], score
        rows[1:, 1] = np.cumsum(weight)
        np.cumsum(gap * rows[1:-1, 1], out=rows[2:, 2])
        if power == 2:
            np.cumsum(gap * (2.0 * rows[1:-1, 2] + gap * rows[1:-1, 1]), out=rows[2:, 3])
    return rows


def _quantile_knots(score, weight):
    """Return levels and ascending scores of the smoothed quantile function, (2, CELLS + 2)."""
    score, weight = score[weight > 0.0], weight[weight > 0.0]
    if not score.size:
        return np.zeros((2, CELLS + 2))
    up_to = np.concatenate([[0.0], np.cumsum(weight)])
    # Relative to the lowest score: sums of scores far from 0 would cancel.
    integral = np.concatenate([[0.0], np.cumsum(weight * (score - score[0]))])
    cells = int(np.clip(up_to[-1], 1, CELLS))
    edge = np.linspace(0.0, up_to[-1], cells + 1)
    mean = score[0] + np.diff(np.interp(edge, up_to, integral)) / np.diff(edge)
    level = (np.arange(cells) + 0.5) / cells
    end = min(0.5 / up_to[-1], level[0])
    knots = np.array([[end, *level, 1.0 - end], [score[0], *mean, score[-1]]])
    return np.pad(knots, ((0, 0), (0, CELLS - cells)), mode="edge")
