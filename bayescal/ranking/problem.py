"""The training problem of a linear ranker: losses of rankings, and the convex bound on their mean.

A query's ranking interleaves two lists, its relevant and its non-relevant documents, each by
falling score. `LOSSES` lists the losses for solvers and the estimator.

Algorithm 2 of Yue et al. finds the most violated constraint of average precision. The second term
of equation 5, as printed, lacks the factor 1/(P N) of the joint feature map, without which the
ranking found is not always the most violated one.
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
    """A loss of a ranking of P relevant and N non-relevant documents, 0 for the perfect one."""

    # Returns the loss, in [0, 1], from the number of non-relevant documents above each relevant one
    # (P integers, the highest document first), and N
    value: Callable[[Integers, int], float]
    # Returns the number of relevant documents above each non-relevant one in the ranking of largest
    # loss plus score (N non-decreasing integers), from both lists' falling scores
    most_violated: Callable[[Floats, Floats], Integers]


# Tables of at most this many cells are searched whole, which is faster up to a million cells if the
# part that depends on P and N alone is cached. The cache's memory sets the limits: 128 x 4 MiB.
TABLE_CELLS = 2**18
TABLES_KEPT = 128


def average_precision_loss(nonrelevant_above: Integers, n_nonrelevant: int) -> float:
    """Return 1 - AP, with AP the mean over relevant documents of the precision at their rank."""
    rank = np.arange(1, nonrelevant_above.size + 1)
    return float(1.0 - np.mean(rank / (rank + nonrelevant_above)))


def most_violated_by_precision(relevant: Floats, nonrelevant: Floats) -> Integers:
    """Count the relevant documents above each non-relevant one in the most violated ranking."""
    # sum over m = r+1, ..., P of  (1/P) m / ((j + m)(j + m - 1)) - 2 (s_m - t_j) / (P N)
    cells = (relevant.size + 1) * nonrelevant.size
    search = search_table if cells <= TABLE_CELLS else search_blocks
    # The order of the theorem holds up to rounding: equal values may differ in their last bits.
    return np.maximum.accumulate(search(relevant, nonrelevant))


def search_table(relevant: Floats, nonrelevant: Floats) -> Integers:
    """Search all r for all non-relevant documents: O(P N), with a cached table of losses."""
    n_relevant, n_nonrelevant = relevant.size, nonrelevant.size
    change = np.multiply.outer(nonrelevant, np.arange(n_relevant, -1.0, -1.0))
    change -= _sums_below(relevant)
    change *= 2.0 / (n_relevant * n_nonrelevant)
    # Rows do not depend on N: tables of a few sizes serve all queries.
    change += _loss_table(n_relevant, 1 << (n_nonrelevant - 1).bit_length())[:n_nonrelevant]
    return np.asarray(change.argmax(axis=1))


def search_blocks(relevant: Floats, nonrelevant: Floats) -> Integers:
    """Search all r for every sqrt(N)-th document, and for the others the range between these."""
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
    """Return the best r, from start to stop of `possible`, for some non-relevant documents."""
    scores = relevant[possible]
    change = np.multiply.outer(nonrelevant[chosen], np.arange(scores.size, -1.0, -1.0))
    change -= _sums_below(scores)
    change *= 2.0 / (relevant.size * nonrelevant.size)
    # Relative to the last possible r; terms that all r share do not matter.
    change += _losses(chosen + 1, np.arange(possible.start, possible.stop) + 1) / relevant.size
    return np.asarray(change.argmax(axis=1) + possible.start)


@lru_cache(maxsize=TABLES_KEPT)
def _loss_table(n_relevant: int, n_nonrelevant: int) -> Floats:
    table = _losses(np.arange(n_nonrelevant) + 1, np.arange(n_relevant) + 1) / n_relevant
    table.flags.writeable = False
    return table


def _losses(ranks: Integers, relevant_ranks: Integers) -> Floats:
    """Return sums of m / ((j + m)(j + m - 1)) from each m to the last, and 0; a row for each j."""
    j, m = ranks[:, None].astype(np.float64), relevant_ranks.astype(np.float64)
    sums = np.zeros((ranks.size, relevant_ranks.size + 1))
    # j/(j + m) - (j - 1)/(j + m - 1), without the cancellation.
    terms = m / ((j + m) * (j + m - 1.0))
    sums[:, :-1] = terms[:, ::-1].cumsum(axis=1)[:, ::-1]
    return sums


def _sums_below(scores: Floats) -> Floats:
    """Return the sums of scores from each to the last, and 0."""
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


# A query's most violated ranking, as coefficients of its documents.
#
# The joint feature map is Psi(y) = 1/(P N) sum over pairs of y_ij (x_i - x_j), with y_ij = 1 if the
# relevant document i ranks above the non-relevant j and -1 otherwise. It equals a sum over
# documents, sum_d c_d x_d, which needs no pairs.


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
    """Queries are left out of a fit or a mean: they lack judgements, or documents of one class."""


@dataclass(frozen=True)
class RankingProblem:
    """Training queries: features of relevant documents, then of non-relevant ones."""

    # (documents of the query, n_features) in single or double precision, relevant documents first
    features: list[Any]
    n_relevant: list[int]  # number of relevant documents of each query
    loss: RankingLoss

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
    # A product of mixed precision would first copy single-precision features.
    return np.asarray(features @ coef.astype(features.dtype, copy=False), dtype=np.float64)


def ranking_problem(
    features: Any, relevant: NDArray[np.bool_], queries: Queries, loss: RankingLoss
) -> RankingProblem:
    """Return the training problem of all queries with relevant and non-relevant documents."""
    blocks, n_relevant = [], []
    for documents in queries.documents:
        own = relevant[documents]
        if own.any() and not own.all():
            order = np.concatenate([documents[own], documents[~own]])
            blocks.append(features[order])
            n_relevant.append(int(own.sum()))
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
