"""Robust centre and spread of scores: the yardstick of scale floors, priors and plots."""

from typing import overload

import numpy as np
from numpy.typing import NDArray

from bayescal.support.validation import Floats

# 1 / Phi^-1(3/4): makes the median absolute deviation estimate a Gaussian's standard deviation.
MAD_TO_SIGMA = 1.482602218505602
# Scores of a classifier that says nothing may differ by so many units in the last place: warped by
# a spread like that they would be all equal.
ROUNDING = 8.0
# Of how far both classes reach; a Gaussian's spread is most of that, so that it seldom acts.
SMALLEST_SHARE = 0.02
# Of a spread: widths of densities are a share of it, and their inverses must not overflow.
LEAST = 1e-280
# Of the scores, in the narrowest place; and how many are looked at.
QUARTER, MOST = 0.25, 20_000


def centre_and_spread(x: Floats, weight: Floats | None = None) -> tuple[float, float]:
    """
    Return the median of scores and a positive measure of their spread.

    The spread is 1.4826 times the median absolute deviation; where more than half of the scores
    tie and it vanishes, the mean absolute deviation; where all scores are equal but for rounding,
    their absolute value (1 if that is 0), and never below 1e-280, so that it and its inverse are
    positive for all legal data.
    """
    if weight is not None and not weight.all():
        x, weight = x[weight > 0.0], weight[weight > 0.0]
    centre = median(x, weight)
    deviation = np.abs(x - centre)
    spread = MAD_TO_SIGMA * median(deviation, weight)
    if spread <= rounding(abs(centre)):
        spread = float(np.average(deviation, weights=weight))
    if spread <= rounding(abs(centre)):
        spread = abs(centre) or 1.0
    return centre, max(spread, LEAST)


def units_of(x: Floats, positive: NDArray[np.bool_], weight: Floats | None) -> tuple[float, float]:
    """
    Return the units of priors: the median of scores, and a spread that serves both classes.

    The spread is that of `centre_and_spread`, or 1/50 of how far the classes reach, from the lowest
    of their first quartiles to the highest of their third ones, if that is more. Where most
    documents have all but the same score (trees that find nothing), the deviation of most is no
    unit for the others. Quartiles, because a few scores may lie anywhere.
    """
    centre, spread = centre_and_spread(x, weight)
    own = [_quartiles(x, weight, positive == label) for label in (False, True)]
    ends = np.array([each for each in own if each is not None])
    reach = float(ends[:, 1].max() - ends[:, 0].min()) if ends.size else 0.0
    return centre, max(spread, SMALLEST_SHARE * reach)


def bulk_width(x: Floats, weight: Floats | None = None) -> float:
    """Return the width of the shortest interval that holds a quarter of the scores."""
    step = max(1, x.size // MOST)
    x, weight = x[::step], np.ones(x.size)[::step] if weight is None else weight[::step]
    order = np.argsort(x)
    order = order[weight[order] > 0.0]
    x, weight = x[order], weight[order]
    reached = np.cumsum(weight)
    # The first scores with which an interval that begins at each holds enough; rounding in a
    # running sum must not ask for one more.
    enough = (reached - weight + QUARTER * reached[-1]) * (1.0 - x.size * np.finfo(np.float64).eps)
    last = np.searchsorted(reached, enough)
    whole = last < x.size
    return float((x[last[whole]] - x[whole]).min())


def _quartiles(x: Floats, weight: Floats | None, mine: NDArray[np.bool_]) -> Floats | None:
    """Return the first and the third quartile of a class, None of one without any weight."""
    own = None if weight is None else weight[mine]
    if not (mine.any() if own is None else own.any()):
        return None
    found: Floats = np.quantile(x[mine], (0.25, 0.75), method="inverted_cdf", weights=own)
    return found


@overload
def rounding(size: float) -> float: ...
@overload
def rounding(size: Floats) -> Floats: ...
def rounding(size: float | Floats) -> float | Floats:
    """Return the largest rounding difference of equal scores of this absolute value."""
    return ROUNDING * np.finfo(np.float64).eps * size


def median(x: Floats, weight: Floats | None) -> float:
    """Return the midpoint of the interval of (weighted) medians."""
    if weight is None:
        return float(np.median(x))
    order = np.argsort(x)
    share = np.cumsum(weight[order])
    share /= share[-1]
    # Rounding in a running sum of n terms must not move the median off a tie at exactly one half.
    slack = x.size * np.finfo(np.float64).eps
    lower = int(np.searchsorted(share, 0.5 - slack))
    upper = min(int(np.searchsorted(share, 0.5 + slack, side="right")), x.size - 1)
    return float(0.5 * x[order[lower]] + 0.5 * x[order[upper]])
