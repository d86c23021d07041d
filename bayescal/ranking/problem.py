"""The training problem of a linear ranker: losses of rankings, and the convex bound on their mean.

A ranking of one query is an interleaving of two lists, the relevant and the non-relevant documents,
each in the order of its scores. A loss is an entry of `LOSSES`: solvers and estimator take it from
there.

The average precision's most violated constraint is Algorithm 2 of Yue et al. Equation 5 is
corrected: as printed, its second term lacks the factor 1/(P N) that the joint feature map has, and
then the ranking found is not always the most violated one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.ranking.queries import Queries
from bayescal.support.validation import Floats, Integers, warn_user


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
    """
    rank = np.arange(1, nonrelevant_above.size + 1)
    return float(1.0 - np.mean(rank / (rank + nonrelevant_above)))


def most_violated_by_precision(relevant: Floats, nonrelevant: Floats) -> Integers:
    """
    Count the relevant documents above each non-relevant one in the most violated ranking.

        sum over m = r+1, ..., P of  (1/P) m / ((j + m)(j + m - 1)) - 2 (s_m - t_j) / (P N)
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


def _losses(ranks: Integers, relevant_ranks: Integers) -> Floats:
    """Return sums of m / ((j + m)(j + m - 1)) from each place m to the last, and 0; a row for j."""
    j, m = ranks[:, None].astype(np.float64), relevant_ranks.astype(np.float64)
    sums = np.zeros((ranks.size, relevant_ranks.size + 1))
    # j/(j + m) - (j - 1)/(j + m - 1), without the cancellation.
    terms = m / ((j + m) * (j + m - 1.0))
    sums[:, :-1] = terms[:, ::-1].cumsum(axis=1)[:, ::-1]
    return sums


def _sums_below(scores: Floats) -> Floats:
    """Return the sum of the scores from each on, and 0."""
    return np.append(scores[::-1].cumsum()[::-1], 0.0)


AVERAGE_PRECISION = RankingLoss(average_precision_loss, most_violated_by_precision)


def roc_area_loss(nonrelevant_above: Integers, n_nonrelevant: int) -> float:
    """Return the share of the P N pairs in which the non-relevant document stands above."""
    return float(nonrelevant_above.sum() / (nonrelevant_above.size * n_nonrelevant))


def most_violated_by_area(relevant: Floats, nonrelevant: Floats) -> Integers:
    """Count the relevant documents above each non-relevant one in the most violated ranking."""
    return np.searchsorted(-relevant, -(nonrelevant + 0.5), side="right")


ROC_AREA = RankingLoss(roc_area_loss, most_violated_by_area)


LOSSES: dict[str, RankingLoss] = {"map": AVERAGE_PRECISION, "roc": ROC_AREA}


# The ranking of one query that violates its constraint most, as coefficients of its documents.
#
# The joint feature map is Psi(y) = 1/(P N) sum over pairs of y_ij (x_i - x_j), with y_ij = 1 where
# the relevant document i stands above the non-relevant j and -1 where it stands below. Psi is a sum
# over documents, sum_d c_d x_d, so that pairs are never made.


def most_violated(scores: Floats, n_relevant: int, loss: RankingLoss) -> tuple[Floats, float]:
    """Return the ranking y that maximises Delta(y) + w.Psi(y) - w.Psi(y*), and its loss Delta."""
    n_nonrelevant = scores.size - n_relevant
    first = np.argsort(-scores[:n_relevant], kind="stable")
    second = np.argsort(-scores[n_relevant:], kind="stable") + n_relevant
    relevant_above = loss.most_violated(scores[first], scores[second])
    nonrelevant_above = np.searchsorted(relevant_above, np.arange(n_relevant), side="right")
    coefficients = np.empty(scores.size)
    coefficients[first] = nonrelevant_above
    coefficients[second] = relevant_above - n_relevant
    coefficients *= 2.0 / (n_relevant * n_nonrelevant)
    return coefficients, loss.value(nonrelevant_above, n_nonrelevant)


class QueriesLeftOutWarning(UserWarning):
    """Some queries cannot be learned from: all of their documents are relevant, or none is."""


@dataclass(frozen=True)
class RankingProblem:
    """Training queries: features of relevant documents, then of non-relevant ones."""

    # (documents of the query, n_features): the relevant documents of each query stand first. In
    # single or double precision
    features: list[Any]
    n_relevant: list[int]  # how many of them there are, by query
    loss: RankingLoss  # the loss of a ranking

    @property
    def n_queries(self) -> int:
        """The number of queries."""
        return len(self.features)

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.features[0].shape[1])

    def most_violated(self, query: int, coef: Floats) -> tuple[Floats, float]:
        """Return Psi(y*) - Psi(y) of a query's most violated ranking y, and its loss."""
        features = self.features[query]
        scores = _scores(features, coef)
        weights, loss = most_violated(scores, self.n_relevant[query], self.loss)
        difference = weights.astype(features.dtype, copy=False) @ features
        return np.asarray(difference, dtype=np.float64), loss

    def slack(self, coef: Floats) -> float:
        """Return the mean over queries of max over y of Delta(y) - w.(Psi(y*) - Psi(y))."""
        total = 0.0
        for features, n_relevant in zip(self.features, self.n_relevant, strict=True):
            scores = _scores(features, coef)
            weights, loss = most_violated(scores, n_relevant, self.loss)
            total += loss - float(weights @ scores)
        return total / self.n_queries

    def objective(self, coef: Floats, cost: float) -> float:
        """Return ||w||^2 / 2 + C times the mean slack."""
        return float(coef @ coef) / 2.0 + cost * self.slack(coef)


def _scores(features: Any, coef: Floats) -> Floats:
    # A product of mixed precision would copy features in single precision first.
    return np.asarray(features @ coef.astype(features.dtype, copy=False), dtype=np.float64)


def ranking_problem(
    features: Any, relevant: NDArray[np.bool_], queries: Queries, loss: RankingLoss
) -> RankingProblem:
    """Return the training problem of all queries that have relevant and non-relevant documents."""
    blocks, n_relevant = [], []
    for documents in queries.documents:
        telling = relevant[documents]
        if telling.any() and not telling.all():
            order = np.concatenate([documents[telling], documents[~telling]])
            blocks.append(features[order])
            n_relevant.append(int(telling.sum()))
    _check_left_out(len(queries.documents), len(blocks), relevant)
    return RankingProblem(blocks, n_relevant, loss)


def _check_left_out(n_queries: int, n_used: int, relevant: NDArray[np.bool_]) -> None:
    if n_used == 0:
        held = f"{relevant.sum()} relevant of {relevant.size} sample{'s' * (relevant.size > 1)}"
        one = " only 1 class" if relevant.all() or not relevant.any() else " 1 class a query"
        raise ValueError(
            "at least one query must hold relevant and non-relevant documents, got"
            f"{one}: {held}, in {n_queries} queries."
        )
    if n_used < n_queries:
        warn_user(
            f"{n_queries - n_used} of {n_queries} queries are left out: their documents are all"
            " relevant, or none is.",
            QueriesLeftOutWarning,
        )
