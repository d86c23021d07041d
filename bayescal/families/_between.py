"""The asymmetric Gaussian's global optimum between scores, certified by bounds.

In a cell [a, b] between two scores D_l, D_l2 rise with theta, D_r, D_r2 fall, and the best scales
rise with both sums. So the slope of the profile C = log width,

    C' = (D_l / sigma_left^2 - D_r / sigma_right^2) / N,

lies between bounds m, M known from the ends, and C is nowhere below the point where the lines of
slope m from a and of slope M from b meet. A cell that cannot have C' = 0, or cannot reach the
best C so far, holds no optimum; the others are split, and the last ones polished by secants.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.families._gaussian_profile import scales, widths
from bayescal.families._sorted import Indices, SquaredSums
from bayescal.families._two_sided import ROUNDING, Candidate, blocks, narrowest
from bayescal.validation import Floats

PIECES = 16
ROUNDS = 4
# From cells of 16^-4 of a gap the secant's error falls as 2^-16, 2^-32, 2^-48, ...
SECANTS = 4
# Near the optimum widths are flat and differ by rounding only; the slope tells the mode better.
SLACK = ROUNDING


@dataclass(frozen=True)
class Nodes:
    """Sums of deviations at modes: one power (D) and two (D2), left and right of them."""

    left: Floats
    right: Floats
    left2: Floats
    right2: Floats

    def __getitem__(self, part: slice | tuple[slice, slice]) -> Nodes:
        return Nodes(self.left[part], self.right[part], self.left2[part], self.right2[part])


def best_between(sums: SquaredSums, floor: float, best: Candidate) -> Candidate:
    """Return the best candidate inside the intervals, or `best` if none beats it."""
    # Slopes at scales near 0 overflow to infinity, and their bounds to nan: such cells stay.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return _best_between(sums, floor, best)


def _best_between(sums: SquaredSums, floor: float, best: Candidate) -> Candidate:
    gap, first = sums.scores.gap, sums.absolute
    at_scores = Nodes(first.left, first.right, sums.left, sums.right)
    for part in blocks(gap.size):
        ends = at_scores[part.start : part.stop + 1]
        keep = _may_hold_optimum(ends[:-1], ends[1:], gap[part], sums.scores.total, floor, best)
        index = np.flatnonzero(keep & (gap[part] > 0.0)) + part.start
        if index.size:
            best = _search(sums, floor, index, best)
    return best


def _search(sums: SquaredSums, floor: float, index: Indices, best: Candidate) -> Candidate:
    low, high = np.zeros(index.size), np.ones(index.size)
    for _ in range(ROUNDS):
        share = low[:, None] + np.arange(PIECES + 1) / PIECES * (high - low)[:, None]
        rows = np.broadcast_to(index[:, None], share.shape)
        nodes = _nodes(sums, rows, share)
        width = widths(nodes.left2.ravel(), nodes.right2.ravel(), sums.scores.total, floor)
        flat = (rows.ravel(), share.ravel(), nodes.left2.ravel(), nodes.right2.ravel(), width)
        best = narrowest(best, *flat)
        step = ((high - low) / PIECES * sums.scores.gap[index])[:, None]
        keep = _may_hold_optimum(nodes[:, :-1], nodes[:, 1:], step, sums.scores.total, floor, best)
        if not keep.any():
            return best
        index, low, high = rows[:, :-1][keep], share[:, :-1][keep], share[:, 1:][keep]
    return _polish(sums, floor, index, low, high, best)


def _polish(
    sums: SquaredSums, floor: float, index: Indices, low: Floats, high: Floats, best: Candidate
) -> Candidate:
    previous_slope, slope = _slope(sums, floor, index, low), _slope(sums, floor, index, high)
    # Two modes inside one of the other cells would differ by less than rounding from its ends,
    # which were candidates already.
    minimum = (previous_slope <= 0.0) & (slope >= 0.0)
    if not minimum.any():
        return best
    index, previous, share = index[minimum], low[minimum], high[minimum]
    low, high = previous, share
    previous_slope, slope = previous_slope[minimum], slope[minimum]
    for _ in range(SECANTS):
        step = slope * (share - previous) / (slope - previous_slope)
        following = np.clip(share - np.where(np.isfinite(step), step, 0.0), low, high)
        previous, share = share, following
        previous_slope, slope = slope, _slope(sums, floor, index, share)
    left2, right2 = sums.between(index, share)
    width = widths(left2, right2, sums.scores.total, floor)
    return narrowest(best, index, share, left2, right2, width, SLACK)


def _may_hold_optimum(
    low: Nodes, high: Nodes, length: Floats, total: float, floor: float, best: Candidate
) -> NDArray[np.bool_]:
    least_left, least_right = scales(low.left2, high.right2, total, floor)
    most_left, most_right = scales(high.left2, low.right2, total, floor)
    # Twice divided: the squares of tiny scales would underflow.
    least = (low.left / most_left / most_left - low.right / least_right / least_right) / total
    most = (high.left / least_left / least_left - high.right / most_right / most_right) / total
    flat = (least <= 0.0) & (most >= 0.0)
    rise = np.where(flat, most - least, 1.0)
    log_low, log_high = _log_width(low, total, floor), _log_width(high, total, floor)
    bound = (log_low * most - log_high * least + least * most * length) / rise
    # Not "bound <= ...": where m = M = 0 the bound is nan, and the cell must stay.
    hopeless: NDArray[np.bool_] = bound > np.log(best.width) + SLACK
    return flat & ~hopeless


def _log_width(nodes: Nodes, total: float, floor: float) -> Floats:
    shape = nodes.left2.shape
    width = widths(nodes.left2.ravel(), nodes.right2.ravel(), total, floor)
    return np.log(width).reshape(shape)


def _slope(sums: SquaredSums, floor: float, index: Indices, share: Floats) -> Floats:
    nodes = _nodes(sums, index, share)
    left, right = scales(nodes.left2, nodes.right2, sums.scores.total, floor)
    return nodes.left / left / left - nodes.right / right / right


def _nodes(sums: SquaredSums, index: Indices, share: Floats) -> Nodes:
    return Nodes(*sums.absolute.between(index, share), *sums.between(index, share))
