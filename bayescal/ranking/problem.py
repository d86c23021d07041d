"""The training problem of a linear ranker: its queries, and the convex bound that is minimised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.ranking.losses import RankingLoss
from bayescal.ranking.queries import Queries
from bayescal.support.validation import Floats, warn_user

# The ranking of one query that violates its constraint most, as coefficients of its documents.
#
# The joint feature map is Psi(y) = 1/(P N) sum over pairs of y_ij (x_i - x_j), with y_ij = 1 where
# the relevant document i stands above the non-relevant j and -1 where it stands below. Psi is a sum
# over documents, sum_d c_d x_d, so that pairs are never made.


def most_violated(scores: Floats, n_relevant: int, loss: RankingLoss) -> tuple[Floats, float]:
    """
    Return the ranking y that maximises Delta(y) + w.Psi(y) - w.Psi(y*), and its loss Delta.

    Examples
    --------
    >>> from bayescal.ranking.losses import LOSSES
    >>> most_violated(np.array([1.0, 0.9]), 1, LOSSES["roc"])
    (array([ 2., -2.]), 1.0)
    """
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
    """Queries whose documents are all relevant, or none of them, say nothing about rankings."""


@dataclass(frozen=True)
class RankingProblem:
    """Queries to learn from: features of relevant documents, then those of non-relevant ones."""

    # (documents of the query, n_features): the relevant documents of each query stand first. In
    # single or double precision
    features: list[Any]
    # How many of them there are, by query
    n_relevant: list[int]
    # The loss of a ranking
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
    # Of features in single precision: a product of mixed precision would copy them first.
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
