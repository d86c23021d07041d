"""The global optimum between scores where a side is Gaussian, certified by bounds.

In a cell [a, b] between two scores the sums left of theta rise with it, those right of it fall,
and the best scales rise with both sums. So the slope of the profile C = log width,

    C' = (P_left - P_right) / N,    P = D / sigma^2 (Gaussian side) or W / length (exponential),

with W the weight and D the summed deviations of the side, lies between bounds m, M known from the
ends, and C is nowhere below the point where the lines of slope m from a and of slope M from b
meet. A cell that cannot have C' = 0, or cannot reach the best C so far, holds no optimum; the
others are split, and the last ones polished by secants.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayescal.families._sorted import Indices
from bayescal.families._two_sided import ROUNDING, Candidate, Sides, Sums, blocks, narrowest
from bayescal.validation import Floats

PIECES = 16
ROUNDS = 4
# From cells of 16^-4 of a gap the secant's error falls as 2^-16, 2^-32, 2^-48, ...
SECANTS = 4
# Near the optimum widths are flat and differ by rounding only; the slope tells the mode better.
SLACK = ROUNDING


class SlopedSums(Sums, Protocol):
    """Sums of deviations of the `powers` of either side, and those of one power less."""

    @property
    def powers(self) -> tuple[int, int]: ...

    def lower(self, index: Indices, share: Floats | float) -> tuple[Floats, Floats]: ...


T = TypeVar("T", bound=SlopedSums)


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


@dataclass(frozen=True)
class Profile(Generic[T]):
    """C(theta), for the scales' floor."""

    sides: Sides[T]
    sums: T
    floor: float

    @property
    def total(self) -> float:
        """Return N."""
        return self.sums.scores.total

    def nodes(self, index: Indices, share: Floats | float) -> Nodes:
        """Return the sums for modes at `share` of the gap after score `index`."""
        return Nodes(*self.sums.between(index, share), *self.sums.lower(index, share))

    def width(self, left: Floats, right: Floats) -> Floats:
        """Return the width at the best scales for sums of any shape."""
        flat = self.sides.widths(left.ravel(), right.ravel(), self.total, self.floor)
        return flat.reshape(left.shape)

    def scales(self, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Return the best scales."""
        return self.sides.scales(left, right, self.total, self.floor)

    def pulls(self, nodes: Nodes, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Return P_left and P_right for sums of one power less and scales."""
        first, second = self.sums.powers
        return _pull(nodes.lower_left, left, first), _pull(nodes.lower_right, right, second)

    def slope(self, index: Indices, share: Floats) -> Floats:
        """Return N C'."""
        nodes = self.nodes(index, share)
        left, right = self.pulls(nodes, *self.scales(nodes.left, nodes.right))
        return left - right


def _pull(lower: Floats, scale: Floats, power: int) -> Floats:
    # Twice divided: the squares of tiny scales would underflow.
    return lower / scale if power == 1 else lower / scale / scale


def best_between(sides: Sides[T], sums: T, floor: float, best: Candidate) -> Candidate:
    """Return the best candidate inside the intervals, or `best` if none beats it."""
    # Slopes at scales near 0 overflow to infinity, and their bounds to nan: such cells stay.
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        return _best_between(Profile(sides, sums, floor), best)


def _best_between(profile: Profile[T], best: Candidate) -> Candidate:
    sums, gap = profile.sums, profile.sums.scores.gap
    for part in blocks(gap.size):
        after = slice(part.start + 1, part.stop + 1)
        # Both sums at their least: no mode inside is narrower.
        wide = profile.width(sums.left[part], sums.right[after]) > best.width * (1.0 + SLACK)
        index = np.flatnonzero(~wide & (gap[part] > 0.0)) + part.start
        low, high = profile.nodes(index, 0.0), profile.nodes(index, 1.0)
        index = index[_may_hold_optimum(profile, low, high, gap[index], best)]
        if index.size:
            best = _search(profile, index, best)
    return best


def _search(profile: Profile[T], index: Indices, best: Candidate) -> Candidate:
    low, high = np.zeros(index.size), np.ones(index.size)
    for _ in range(ROUNDS):
        share = low[:, None] + np.arange(PIECES + 1) / PIECES * (high - low)[:, None]
        rows = np.broadcast_to(index[:, None], share.shape)
        nodes = profile.nodes(rows, share)
        width = profile.width(nodes.left, nodes.right)
        sums = nodes.left.ravel(), nodes.right.ravel()
        best = narrowest(best, rows.ravel(), share.ravel(), *sums, width.ravel())
        step = ((high - low) / PIECES * profile.sums.scores.gap[index])[:, None]
        keep = _may_hold_optimum(profile, nodes[:, :-1], nodes[:, 1:], step, best)
        if not keep.any():
            return best
        index, low, high = rows[:, :-1][keep], share[:, :-1][keep], share[:, 1:][keep]
    return _polish(profile, index, low, high, best)


def _polish(
    profile: Profile[T], index: Indices, low: Floats, high: Floats, best: Candidate
) -> Candidate:
    previous_slope, slope = profile.slope(index, low), profile.slope(index, high)
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
        previous_slope, slope = slope, profile.slope(index, share)
    left, right = profile.sums.between(index, share)
    return narrowest(best, index, share, left, right, profile.width(left, right), SLACK)


def _may_hold_optimum(
    profile: Profile[T], low: Nodes, high: Nodes, length: Floats, best: Candidate
) -> NDArray[np.bool_]:
    least_left, least_right = profile.scales(low.left, high.right)
    most_left, most_right = profile.scales(high.left, low.right)
    up, down = profile.pulls(low, most_left, least_right)
    least = (up - down) / profile.total
    up, down = profile.pulls(high, least_left, most_right)
    most = (up - down) / profile.total
    flat = (least <= 0.0) & (most >= 0.0)
    rise = np.where(flat, most - least, 1.0)
    log_low = np.log(profile.width(low.left, low.right))
    log_high = np.log(profile.width(high.left, high.right))
    bound = (log_low * most - log_high * least + least * most * length) / rise
    # Not "bound <= ...": where m = M = 0 the bound is nan, and the cell must stay.
    hopeless: NDArray[np.bool_] = bound > np.log(best.width) + SLACK
    return flat & ~hopeless
