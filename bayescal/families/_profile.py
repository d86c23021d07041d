r"""Scales and widths of densities at a given mode, by the sums of deviations left and right of it.

D_l and D_r are the sums of |x - theta|^p left and right of the mode theta, p the power of the
sides, N the number of scores, s and t the scales and Z = c (s + t) (see `_family.py`). The
likelihood is Z^-N exp(-(D_l/s^p + D_r/t^p)/p) = (e^(1/p) width)^-N with

    width = Z exp(((D_l/s^p + D_r/t^p)/N - 1)/p),

which is Z itself at the best scales: the narrowest mode is the likeliest. These solve
N s^(p+1) = D_l (s + t), and t the same on the right.

All sums are built up from one score to the next, as sums of positive terms. The textbook form
(prefix sums S, then N theta - S) cancels when scores lie far from 0 or in distant clumps.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.support.numerics import blocks_of
from bayescal.support.validation import Floats

Indices = NDArray[np.intp]
# The integral of exp(-z^p/p) over z > 0, for power p: the mass of a side over its scale and height.
HALF_WIDTH = {1: 1.0, 2: math.sqrt(math.pi / 2.0)}


@dataclass(frozen=True)
class SortedScores:
    """Sorted scores, with cumulative weights from both ends."""

    x: Floats  # (n,): scores of positive weight, ascending, in raw units
    gap: Floats  # (n - 1,): differences of neighbours, in units of `unit`
    unit: float  # a power of two near the range, so that squares neither underflow nor overflow
    before: Floats  # (n,): weight at or before each score
    after: Floats  # (n,): weight at or after each score

    @property
    def total(self) -> float:
        """Return N, the sum of the weights."""
        return float(self.before[-1])


@dataclass(frozen=True)
class SideSums:
    """Sums of w |x - theta|^power over the scores on one side, for a mode theta at every score."""

    power: int  # 1 or 2
    at: Floats  # (n,): the sums
    absolute: Floats  # (n,): the sums with power 1
    weight: Floats  # (n,): the sums with power 0, including the score at theta itself

    def beyond(self, index: Indices, step: Floats) -> Floats:
        """Return the sums for modes a step farther away than score `index`."""
        if self.power == 1:
            return self.at[index] + step * self.weight[index]
        increase = _square_step(step, self.absolute[index], self.weight[index])
        return self.at[index] + increase

    def absolute_beyond(self, index: Indices, step: Floats) -> Floats:
        """Return the sums with power 1, for the same modes."""
        return self.absolute[index] + step * self.weight[index]


@dataclass(frozen=True)
class Sums:
    """Sums of deviations to the left and to the right of any mode between the scores."""

    scores: SortedScores
    left: SideSums
    right: SideSums

    @property
    def power(self) -> int:
        """Return the power of both sides."""
        return self.left.power

    def between(self, index: Indices, share: Floats | float) -> tuple[Floats, Floats]:
        """Return the sums for modes at `share` of the gap after score `index`."""
        to_left, to_right = self.steps(index, share)
        return self.left.beyond(index, to_left), self.right.beyond(index + 1, to_right)

    def steps(self, index: Indices, share: Floats | float) -> tuple[Floats, Floats]:
        """Return the distances to the scores on the left and on the right."""
        gap = self.scores.gap[index]
        return share * gap, (1.0 - share) * gap


def sort_scores(x: Floats, weight: Floats | None) -> SortedScores:
    """Sort scores of positive weight."""
    if weight is None:
        ordered = np.sort(x)
        before = np.arange(1.0, ordered.size + 1.0)
        after = before[::-1]
    else:
        order = np.argsort(x)
        order = order[weight[order] > 0.0]
        ordered, weight = x[order], weight[order]
        before = np.cumsum(weight)
        # Summed from the far end, so that nothing remaining is exactly 0.
        after = np.cumsum(weight[::-1])[::-1]
    width = float(ordered[-1] - ordered[0])
    unit = float(np.ldexp(1.0, int(np.frexp(width)[1]))) if width > 0.0 else 1.0
    gap = np.diff(ordered)
    gap /= unit
    return SortedScores(ordered, gap, unit, before, after)


def deviation_sums(scores: SortedScores, power: int) -> Sums:
    """Build the sums from score to score: left sums rightward, right sums leftward."""
    left = _side_sums(power, scores.gap, scores.before)
    right = _side_sums(power, scores.gap[::-1], scores.after[::-1])
    turned = SideSums(power, right.at[::-1], right.absolute[::-1], right.weight[::-1])
    return Sums(scores, left, turned)


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


# Largest floor, in units of the range, with a finite square. Above it both scales are held.
SQUARE_LIMIT = 1e150


@dataclass(frozen=True)
class Profile:
    """The likelihood of modes at their best scales, at least the floor."""

    sums: Sums
    floor: float

    @property
    def total(self) -> float:
        """Return N."""
        return self.sums.scores.total

    @property
    def log_offset(self) -> float:
        """Return 1/p: the log-likelihood is -N (log width + 1/p)."""
        return 1.0 / self.sums.power

    def scales(self, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Return the best scales for sums of deviations left and right of modes."""
        s, t, _ = FREE[self.sums.power](left, right, self.total)
        return self._held(s, t, left, right)

    def widths(self, left: Floats, right: Floats) -> Floats:
        """Return the widths at the best scales; they rise with both sums."""
        s, t, width = FREE[self.sums.power](left, right, self.total)
        low = np.minimum(s, t) < self.floor
        if low.any():
            width[low] = self._held_widths(s[low], t[low], left[low], right[low])
        return width

    def _held(self, s: Floats, t: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Return the best scales with the floor from the free scales s and t."""
        beside, total, floor = BESIDE[self.sums.power], self.total, self.floor
        s_beside, t_beside = beside(left / total, floor), beside(right / total, floor)
        # Each scale rises with the other, so that at most one of the two fallbacks exceeds the
        # floor if both are low.
        return (
            np.maximum(np.where(t < floor, s_beside, s), floor),
            np.maximum(np.where(s < floor, t_beside, t), floor),
        )

    def _held_widths(self, s: Floats, t: Floats, left: Floats, right: Floats) -> Floats:
        power = self.sums.power
        s, t = self._held(s, t, left, right)
        with np.errstate(over="ignore"):  # an impossible mode may be infinitely wide
            fall = _fall(left, s, power) + _fall(right, t, power)
            mass = HALF_WIDTH[power] * s + HALF_WIDTH[power] * t
            return mass * np.exp(fall / self.total - self.log_offset)


def _fall(deviation: Floats, scale: Floats, power: int) -> Floats:
    """Return D/(p s^p)."""
    # The root first: the square of a tiny scale would underflow.
    return deviation / scale if power == 1 else 0.5 * (np.sqrt(deviation) / scale) ** 2


# Best scales and widths without a floor


def _two_exponentials(left: Floats, right: Floats, total: float) -> tuple[Floats, Floats, Floats]:
    """Return s = (D_l + sqrt(D_l D_r))/N, t alike (dissertation, eq. 3.13) and s + t."""
    root_left, root_right = np.sqrt(left), np.sqrt(right)
    width = root_left + root_right
    common = width / total
    width *= common
    return root_left * common, root_right * common, width


def _two_gaussians(left: Floats, right: Floats, total: float) -> tuple[Floats, Floats, Floats]:
    """Return s^2 = (D_l + D_l^(2/3) D_r^(1/3))/N, t alike (dissertation, eqs. 3.21-3.22) and Z."""
    root_left, root_right = np.cbrt(left), np.cbrt(right)
    width = root_left + root_right
    common = np.sqrt(width / total)
    width *= HALF_WIDTH[2] * common
    return root_left * common, root_right * common, width


FREE = {1: _two_exponentials, 2: _two_gaussians}


# The best scale if the other one is held at the floor f: s^(p+1) = D/N (s + f)


def _exponential_beside(mean: Floats, floor: float) -> Floats:
    """Return the positive root of s^2 = mean (s + floor)."""
    return 0.5 * (mean + np.sqrt(mean * (mean + 4.0 * floor)))


def _gaussian_beside(mean: Floats, floor: float) -> Floats:
    """Return the positive root of s^3 = mean (s + floor), or 0 if it is below the floor."""
    above = mean > 0.5 * floor * floor if floor < SQUARE_LIMIT else np.zeros_like(mean, dtype=bool)
    p = np.where(above, mean, 0.0)
    half_q, third_p = 0.5 * p * min(floor, SQUARE_LIMIT), p / 3.0
    inside = half_q**2 - third_p**3
    with np.errstate(invalid="ignore", divide="ignore"):
        first = np.cbrt(half_q + np.sqrt(np.maximum(inside, 0.0)))
        one = first + third_p / first
        three = (
            2.0 * np.sqrt(third_p) * np.cos(np.arccos(np.minimum(half_q / third_p**1.5, 1.0)) / 3.0)
        )
    # Cardano's one real root, or the largest of three.
    return np.where(above, np.where(inside >= 0.0, one, three), 0.0)


BESIDE = {1: _exponential_beside, 2: _gaussian_beside}


# Search for the mode of greatest likelihood: among the scores, on Bennett's grid, between scores.
#
# If sides are Gaussian the optimum may lie between two scores; bounds certify that it is global.
# In a cell [a, b] between two scores the sums left of theta rise with it, those right of it fall,
# and the best scales rise with both sums. So the slope of the profile C = log width,
#
#     C' = (P_left - P_right)/N,    P = D/sigma^2,
#
# with D the summed deviations of the side, lies between bounds m, M known from the ends, and C is
# at least the intersection of the lines of slope m from a and of slope M from b.
# Cells where C' cannot be 0, or C cannot reach the best so far, are discarded; others are split,
# and the last ones polished by secants.

BLOCK = 1 << 15  # modes whose sums fit into the processor's cache
ROUNDING = 1e-14  # relative, of widths
BENNETT_PIECES = 10  # "intervals between adjacent scores are divided into 10 pieces"

# The search between scores.
PIECES = 16
ROUNDS = 4
# From cells of 16^-4 of a gap the secant's error falls as 2^-16, 2^-32, 2^-48, ...
SECANTS = 4
# Near the optimum widths differ by rounding only, and the slope locates the mode better.
SLACK = ROUNDING


@dataclass(frozen=True)
class Candidate:
    """A mode, as a score's index and a share of the gap after it, and the sums there."""

    index: int
    share: float
    left: float
    right: float
    width: float


def narrowest(
    best: Candidate,
    index: Indices,
    share: Floats | float,
    left: Floats,
    right: Floats,
    width: Floats,
    slack: float = 0.0,
) -> Candidate:
    """Return the narrowest of some modes if it is narrower than `best` (1 + slack)."""
    # The leftmost of modes that tie up to rounding, as in symmetric data.
    i = int(np.argmax(width <= width.min() * (1.0 + ROUNDING)))
    if not width[i] < best.width * (1.0 + slack):
        return best
    at = float(np.broadcast_to(share, width.shape)[i])
    return Candidate(int(index[i]), at, left[i], right[i], width[i])


def best_score(profile: Profile) -> Candidate:
    """Return the best of the scores."""
    best = Candidate(0, 0.0, 0.0, 0.0, np.inf)
    sums = profile.sums
    for part in blocks_of(BLOCK, sums.scores.x.size):
        left, right = sums.left.at[part], sums.right.at[part]
        width = profile.widths(left, right)
        best = narrowest(best, part.start + np.arange(width.size), 0.0, left, right, width)
    return best


def best_on_grid(profile: Profile, best: Candidate) -> Candidate:
    """Return the best of nine points in each interval between scores, or `best`."""
    for part in blocks_of(BLOCK, profile.sums.scores.gap.size):
        index = np.arange(part.start, part.stop)
        for piece in range(1, BENNETT_PIECES):
            share = piece / BENNETT_PIECES
            left, right = profile.sums.between(index, share)
            width = profile.widths(left, right)
            best = narrowest(best, index, share, left, right, width)
    return best


# Slopes at scales near 0 overflow to infinity, and their bounds to nan: such cells stay.
@np.errstate(over="ignore", divide="ignore", invalid="ignore")
def best_between(profile: Profile, best: Candidate) -> Candidate:
    """Return the best candidate inside the intervals, or `best` if none beats it."""
    sums, gap = profile.sums, profile.sums.scores.gap
    for part in blocks_of(BLOCK, gap.size):
        after = slice(part.start + 1, part.stop + 1)
        # Both sums at their smallest bound the widths inside from below.
        least = profile.widths(sums.left.at[part], sums.right.at[after])
        wide = least > best.width * (1.0 + SLACK)
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
        left, right, width = (each.ravel() for each in (*nodes[:2], profile.widths(*nodes[:2])))
        best = narrowest(best, rows.ravel(), share.ravel(), left, right, width)
        step = ((high - low) / PIECES * profile.sums.scores.gap[index])[:, None]
        keep = _may_hold_optimum(profile, nodes[:, :, :-1], nodes[:, :, 1:], step, best)
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
    return narrowest(best, index, share, left, right, profile.widths(left, right), SLACK)


def _may_hold_optimum(
    profile: Profile, low: Floats, high: Floats, length: Floats, best: Candidate
) -> NDArray[np.bool_]:
    """Return True for cells between nodes that may contain a better mode than the best so far."""
    least_left, least_right = profile.scales(low[0], high[1])
    most_left, most_right = profile.scales(high[0], low[1])
    up, down = _pulls(low, most_left, least_right)
    least = (up - down) / profile.total
    up, down = _pulls(high, least_left, most_right)
    most = (up - down) / profile.total
    flat = (least <= 0.0) & (most >= 0.0)
    rise = np.where(flat, most - least, 1.0)
    log_low, log_high = np.log(profile.widths(*low[:2])), np.log(profile.widths(*high[:2]))
    bound = (log_low * most - log_high * least + least * most * length) / rise
    # Not "bound <= ...": where m = M = 0 the bound is nan, and the cell must stay.
    hopeless: NDArray[np.bool_] = bound > np.log(best.width) + SLACK
    return flat & ~hopeless


def _nodes(profile: Profile, index: Indices, share: Floats | float) -> Floats:
    """Return left and right sums at `share` of gaps, then both with power 1; (4, ...)."""
    left, right = profile.sums.left, profile.sums.right
    to_left, to_right = profile.sums.steps(index, share)
    sums = left.beyond(index, to_left), right.beyond(index + 1, to_right)
    absolute = left.absolute_beyond(index, to_left), right.absolute_beyond(index + 1, to_right)
    return np.stack([*sums, *absolute])


def _pulls(nodes: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return P_left and P_right at nodes for scales."""
    # Two divisions, since squares of tiny scales underflow.
    return nodes[2] / left / left, nodes[3] / right / right


def _slope(profile: Profile, index: Indices, share: Floats) -> Floats:
    """Return N C'."""
    nodes = _nodes(profile, index, share)
    left, right = _pulls(nodes, *profile.scales(*nodes[:2]))
    return left - right
