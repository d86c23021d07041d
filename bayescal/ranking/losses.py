"""One minus the average precision: loss, and the most violated constraint (Algorithm 2).

Equation 5 is corrected: as printed, its second term lacks the factor 1/(P N) that the joint feature
map has, and then the ranking found is not always the most violated one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import isqrt

import numpy as np

from bayescal.support.validation import Floats, Integers

# The two functions that make a loss of rankings.


@dataclass(frozen=True)
class RankingLoss:
    """
    A loss of a ranking of P relevant and N non-relevant documents against the perfect ranking.
    """

    # Takes `nonrelevant_above`, how many non-relevant documents stand above each relevant one (P
    # integers, the highest document first), and N. Returns the loss, in [0, 1]
    value: Callable[[Integers, int], float]
    # Takes the scores of the relevant and of the non-relevant documents, each falling. Returns
    # `relevant_above`, how many relevant documents stand above each non-relevant one in the ranking
    # of the largest loss plus score (N integers that never fall)
    most_violated: Callable[[Floats, Floats], Integers]


# Tables of so many cells are searched whole: that is faster, up to a million cells, than the search
# that uses the order of the answers, if the part that only P and N decide is kept. What is kept
# limits the size: 128 tables of at most 4 MiB.
TABLE_CELLS = 2**18
TABLES_KEPT = 128


def average_precision_loss(nonrelevant_above: Integers, n_nonrelevant: int) -> float:
    """
    Return 1 - AP, where AP is the mean over relevant documents of the precision at their rank.

    The i-th relevant document with A_i non-relevant ones above it stands at rank i + A_i, where
    precision is i / (i + A_i).

    Examples
    --------
    >>> round(average_precision_loss(np.array([0, 4, 4]), 5), 4)
    0.4127
    """
    place = np.arange(1, nonrelevant_above.size + 1)
    return float(1.0 - np.mean(place / (place + nonrelevant_above)))


def most_violated_by_precision(relevant: Floats, nonrelevant: Floats) -> Integers:
    """
    Count the relevant documents above each non-relevant one in the most violated ranking.

    With r relevant documents above it, instead of all P, non-relevant document j adds

        sum over m = r+1, ..., P of  (1/P) m / ((j + m)(j + m - 1)) - 2 (s_m - t_j) / (P N)

    to loss plus score. The best r never falls with j, so that each document may choose its own.

    Examples
    --------
    >>> most_violated_by_precision(np.array([1.0, 0.0]), np.array([0.5, 0.2, -3.0])).tolist()
    [0, 1, 2]
    """
    cells = (relevant.size + 1) * nonrelevant.size
    search = search_table if cells <= TABLE_CELLS else search_blocks
    # The theorem's order holds up to rounding: equal values may differ in their last bits.
    return np.maximum.accumulate(search(relevant, nonrelevant))


def search_table(relevant: Floats, nonrelevant: Floats) -> Integers:
    """Search all r of all non-relevant documents: O(P N), with a table of losses that is kept."""
    n_relevant, n_nonrelevant = relevant.size, nonrelevant.size
    change = np.multiply.outer(nonrelevant, np.arange(n_relevant, -1.0, -1.0))
    change -= _sums_below(relevant)
    change *= 2.0 / (n_relevant * n_nonrelevant)
    # A row belongs to a place, whatever N is: tables of a few sizes serve queries of all.
    change += _loss_table(n_relevant, 1 << (n_nonrelevant - 1).bit_length())[:n_nonrelevant]
    best: Integers = change.argmax(axis=1)
    return best


def search_blocks(relevant: Floats, nonrelevant: Floats) -> Integers:
    """
    Search r of every sqrt(N)-th document, and of those between only what these leave possible.

    The order of the answers makes this O(P sqrt(N) + N) cells, without a table of them all.
    """
    n_nonrelevant = nonrelevant.size
    step = isqrt(n_nonrelevant)
    pillars = np.append(np.arange(0, n_nonrelevant - 1, step), n_nonrelevant - 1)
    best = np.empty(n_nonrelevant, dtype=np.intp)
    everything = slice(0, relevant.size)
    best[pillars] = np.maximum.accumulate(_search(relevant, nonrelevant, pillars, everything))
    for first, last in pairwise(pillars):
        between = np.arange(first + 1, last)
        possible = slice(best[first], best[last])
        if possible.start == possible.stop:
            best[between] = possible.start
        else:
            best[between] = _search(relevant, nonrelevant, between, possible)
    return best


def _search(relevant: Floats, nonrelevant: Floats, chosen: Integers, possible: slice) -> Integers:
    """Return the best r of some non-relevant documents among those from start to stop, included."""
    scores = relevant[possible]
    change = np.multiply.outer(nonrelevant[chosen], np.arange(scores.size, -1.0, -1.0))
    change -= _sums_below(scores)
    change *= 2.0 / (relevant.size * nonrelevant.size)
    # Relative to the last r that is possible: what all of them share does not matter.
    change += _losses(chosen + 1, np.arange(possible.start, possible.stop) + 1) / relevant.size
    best: Integers = change.argmax(axis=1) + possible.start
    return best


@lru_cache(maxsize=TABLES_KEPT)
def _loss_table(n_relevant: int, n_nonrelevant: int) -> Floats:
    table = _losses(np.arange(n_nonrelevant) + 1, np.arange(n_relevant) + 1) / n_relevant
    table.flags.writeable = False
    return table


def _losses(places: Integers, relevant_places: Integers) -> Floats:
    """Return sums of m / ((j + m)(j + m - 1)) from each place m to the last, and 0; a row for j."""
    j, m = places[:, None].astype(np.float64), relevant_places.astype(np.float64)
    sums = np.zeros((places.size, relevant_places.size + 1))
    # j/(j + m) - (j - 1)/(j + m - 1), without the cancellation.
    terms = m / ((j + m) * (j + m - 1.0))
    sums[:, :-1] = terms[:, ::-1].cumsum(axis=1)[:, ::-1]
    return sums


def _sums_below(scores: Floats) -> Floats:
    """Return the sum of the scores from each on, and 0."""
    return np.append(scores[::-1].cumsum()[::-1], 0.0)


AVERAGE_PRECISION = RankingLoss(average_precision_loss, most_violated_by_precision)


# One minus the area under the ROC curve: the share of pairs in the wrong order.


def roc_area_loss(nonrelevant_above: Integers, n_nonrelevant: int) -> float:
    """
    Return the share of the P N pairs in which the non-relevant document stands above.

    Examples
    --------
    >>> roc_area_loss(np.array([0, 2]), 4)
    0.25
    """
    return float(nonrelevant_above.sum() / (nonrelevant_above.size * n_nonrelevant))


def most_violated_by_area(relevant: Floats, nonrelevant: Floats) -> Integers:
    """
    Count the relevant documents above each non-relevant one in the most violated ranking.

    Loss and score are sums over pairs. To put pair (i, j) in the wrong order gains
    (1 - 2 (s_i - t_j)) / (P N), so that pairs closer than 1/2 are swapped, each for itself.

    Examples
    --------
    >>> most_violated_by_area(np.array([2.0, 1.0]), np.array([1.2, 0.0])).tolist()
    [1, 2]
    """
    return np.searchsorted(-relevant, -(nonrelevant + 0.5), side="right")


ROC_AREA = RankingLoss(roc_area_loss, most_violated_by_area)


# What a ranking of one query loses against the perfect one, and where it is violated most.
#
# A ranking is an interleaving of two lists, the relevant and the non-relevant documents, each in
# the order of its scores. A loss is an entry of `LOSSES`: solvers and estimator take it from there.

LOSSES: dict[str, RankingLoss] = {"map": AVERAGE_PRECISION, "roc": ROC_AREA}
