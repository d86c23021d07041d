"""Search for the mode of greatest likelihood: among the scores, on Bennett's grid, between scores.

Where a side is Gaussian the optimum may lie between two scores; bounds certify that it is global.
In a cell [a, b] between two scores the sums left of theta rise with it, those right of it fall, and
the best scales rise with both sums. So the slope of the profile C = log width,

    C' = (P_left - P_right)/N,    P = D/sigma^2 (Gaussian side) or W/length (exponential side),

with W the weight and D the summed deviations of the side, lies between bounds m, M known from the
ends, and C is nowhere below the point where the lines of slope m from a and of slope M from b meet.
A cell that cannot have C' = 0, or cannot reach the best C so far, holds no optimum; the others are
split, and the last ones polished by secants.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.families._profile import Indices, Profile
from bayescal.support.validation import Floats

BLOCK = 1 << 15
ROUNDING = 1e-14  # relative, of widths
BENNETT_PIECES = 10  # "intervals between adjacent scores are divided into 10 pieces"

# The search between scores.
PIECES = 16
ROUNDS = 4
# From cells of 16^-4 of a gap the secant's error falls as 2^-16, 2^-32, 2^-48, ...
SECANTS = 4
# Near the optimum widths are flat and differ by rounding only; the slope tells the mode better.
SLACK = ROUNDING


@dataclass(frozen=True)
class Candidate:
    """A mode, as a score's index and a share of the gap after it, and the sums there."""

    index: int
    share: float
    left: float
    right: float
    width: float


def blocks(n: int) -> Iterator[slice]:
    """Cut range(n) into pieces whose temporary arrays stay in the processor's cache."""
    for start in range(0, n, BLOCK):
        yield slice(start, min(start + BLOCK, n))


def narrowest(
    best: Candidate,
    index: Indices,
    share: Floats | float,
    left: Floats,
    right: Floats,
    width: Floats,
    slack: float = 0.0,
) -> Candidate:
    """
    Return the narrowest of some modes if it is narrower than `best` (1 + slack).

    Among modes that are equally likely to rounding, as in symmetric data, choose the leftmost.
    """
    i = int(np.argmax(width <= width.min() * (1.0 + ROUNDING)))
    if not width[i] < best.width * (1.0 + slack):
        return best
    at = float(np.broadcast_to(share, width.shape)[i])
    return Candidate(int(index[i]), at, left[i], right[i], width[i])


def best_score(profile: Profile) -> Candidate:
    """Return the best of the scores."""
    best = Candidate(0, 0.0, 0.0, 0.0, np.inf)
    sums = profile.sums
    for part in blocks(sums.scores.x.size):
        left, right = sums.left.at[part], sums.right.at[part]
        width = profile.widths(left, right)
        best = narrowest(best, part.start + np.arange(width.size), 0.0, left, right, width)
    return best


def best_on_grid(profile: Profile, best: Candidate) -> Candidate:
    """Return the best of nine points in each interval between scores, or `best`."""
    for part in blocks(profile.sums.scores.gap.size):
        index = np.arange(part.start, part.stop)
        for piece in range(1, BENNETT_PIECES):
            share = piece / BENNETT_PIECES
            left, right = profile.sums.between(index, share)
            width = profile.widths(left, right)
            best = narrowest(best, index, share, left, right, width)
    return best


@dataclass(frozen=True)
class Nodes:
    """Sums of deviations at modes, left and right of them, and those of one power less."""

    left: Floats
    right: Floats
    lower_left: Floats
    lower_right: Floats

    def __getitem__(self, part: tuple[slice, slice]) -> Nodes:
        return Nodes(
            self.left[part], self.right[part], self.lower_left[part], self.lower_right[part]
        )


def best_between(profile: Profile, best: Candidate) -> Candidate:
    """Return the best candidate inside the intervals, or `best` if none beats it."""
    # Slopes at scales near 0 overflow to infinity, and their bounds to nan: such cells stay.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return _best_between(profile, best)


def _best_between(profile: Profile, best: Candidate) -> Candidate:
    sums, gap = profile.sums, profile.sums.scores.gap
    for part in blocks(gap.size):
        after = slice(part.start + 1, part.stop + 1)
        # Both sums at their least: no mode inside is narrower.
        wide = _width(profile, sums.left.at[part], sums.right.at[after]) > best.width * (
            1.0 + SLACK
        )
        index = np.flatnonzero(~wide & (gap[part] > 0.0)) + part.start
        low, high = _nodes(profile, index, 0.0), _nodes(profile, index, 1.0)
        index = index[_may_hold_optimum(profile, low, high, gap[index], best)]
        if index.size:
            best = _search(profile, index, best)
    return best


def _search(profile: Profile, index: Indices, best: Candidate) -> Candidate:
    low, high = np.zeros(index.size), np.ones(index.size)
    for _ in range(ROUNDS):
        share = low[:, None] + np.arange(PIECES + 1) / PIECES * (high - low)[:, None]
        rows = np.broadcast_to(index[:, None], share.shape)
        nodes = _nodes(profile, rows, share)
        width = _width(profile, nodes.left, nodes.right)
        sums = nodes.left.ravel(), nodes.right.ravel()
        best = narrowest(best, rows.ravel(), share.ravel(), *sums, width.ravel())
        step = ((high - low) / PIECES * profile.sums.scores.gap[index])[:, None]
        keep = _may_hold_optimum(profile, nodes[:, :-1], nodes[:, 1:], step, best)
        if not keep.any():
            return best
        index, low, high = rows[:, :-1][keep], share[:, :-1][keep], share[:, 1:][keep]
    return _polish(profile, index, low, high, best)


def _polish(
    profile: Profile, index: Indices, low: Floats, high: Floats, best: Candidate
) -> Candidate:
    previous_slope, slope = _slope(profile, index, low), _slope(profile, index, high)
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
        previous_slope, slope = slope, _slope(profile, index, share)
    left, right = profile.sums.between(index, share)
    return narrowest(best, index, share, left, right, _width(profile, left, right), SLACK)


def _may_hold_optimum(
    profile: Profile, low: Nodes, high: Nodes, length: Floats, best: Candidate
) -> NDArray[np.bool_]:
    least_left, least_right = profile.scales(low.left, high.right)
    most_left, most_right = profile.scales(high.left, low.right)
    up, down = _pulls(profile, low, most_left, least_right)
    least = (up - down) / profile.total
    up, down = _pulls(profile, high, least_left, most_right)
    most = (up - down) / profile.total
    flat = (least <= 0.0) & (most >= 0.0)
    rise = np.where(flat, most - least, 1.0)
    log_low = np.log(_width(profile, low.left, low.right))
    log_high = np.log(_width(profile, high.left, high.right))
    bound = (log_low * most - log_high * least + least * most * length) / rise
    # Not "bound <= ...": where m = M = 0 the bound is nan, and the cell must stay.
    hopeless: NDArray[np.bool_] = bound > np.log(best.width) + SLACK
    return flat & ~hopeless


def _nodes(profile: Profile, index: Indices, share: Floats | float) -> Nodes:
    """Return the sums for modes at `share` of the gap after score `index`."""
    left, right = profile.sums.left, profile.sums.right
    to_left, to_right = profile.sums.steps(index, share)
    return Nodes(
        left.beyond(index, to_left),
        right.beyond(index + 1, to_right),
        left.lower(index, to_left),
        right.lower(index + 1, to_right),
    )


def _width(profile: Profile, left: Floats, right: Floats) -> Floats:
    """Return the widths for sums of any shape."""
    return profile.widths(left.ravel(), right.ravel()).reshape(left.shape)


def _pulls(profile: Profile, nodes: Nodes, left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return P_left and P_right for sums of one power less and scales."""
    first, second = profile.sums.powers
    return _pull(nodes.lower_left, left, first), _pull(nodes.lower_right, right, second)


def _pull(lower: Floats, scale: Floats, power: int) -> Floats:
    # Twice divided: the squares of tiny scales would underflow.
    return lower / scale if power == 1 else lower / scale / scale


def _slope(profile: Profile, index: Indices, share: Floats) -> Floats:
    """Return N C'."""
    nodes = _nodes(profile, index, share)
    left, right = _pulls(profile, nodes, *profile.scales(nodes.left, nodes.right))
    return left - right
