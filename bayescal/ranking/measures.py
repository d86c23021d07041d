"""Measures of rankings for each query, with two rules for equal scores.

"pessimistic" ranks documents of equal scores in the worst order. "expected" takes the mean over all
their orders (McSherry and Najork, *Computing information retrieval performance measures efficiently
in the presence of tied scores*, ECIR 2008). Queries whose documents all have the same grade are
left out, since all their rankings are equally good.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.ranking.queries import as_grades, group_by_query, relevance_threshold_of
from bayescal.support.validation import (
    Floats,
    Integers,
    as_reals,
    as_scores,
    check_choice,
    check_count,
)

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class RankingComparison:
    """
    A comparison of two rankers over queries, with Wilcoxon's signed-rank test.

    Attributes
    ----------
    wins, losses, draws : int
        Numbers of queries on which the first ranker is better, worse, equal.
    mean_difference : float
        Mean over queries of the first ranker's measure minus the second's.
    p_value : float
        p-value of the two-sided Wilcoxon signed-rank test; 1 if they never differ.
    """

    wins: int
    losses: int
    draws: int
    mean_difference: float
    p_value: float


def compare_rankings(first: pd.Series, second: pd.Series) -> RankingComparison:
    """
    Compare two rankers by a measure of each query; equal values take no part in the test.

    Parameters
    ----------
    first, second : pandas.Series
        A measure of the same queries in any order, such as `average_precision` returns.

    Raises
    ------
    ValueError
        If the queries are not the same.

    References
    ----------
    Yue, Finley, Radlinski and Joachims, SIGIR 2007, section 5 and tables 6 to 11.

    Examples
    --------
    >>> import pandas as pd
    >>> first = pd.Series([1.0, 0.75, 0.625, 0.5], index=list("abcd"))
    >>> second = pd.Series([0.5, 0.5, 0.5, 0.5], index=list("abcd"))
    >>> compare_rankings(first, second)
    RankingComparison(wins=3, losses=0, draws=1, mean_difference=0.21875, p_value=0.25)
    """
    for name, values in (("first", first), ("second", second)):
        if not hasattr(values, "reindex"):
            raise ValueError(
                f"{name} must be a pandas Series, a measure of each query, got"
                f" {type(values).__name__}."
            )
        if not np.isfinite(as_reals(values, name)).all():
            raise ValueError(f"{name} must hold finite measures: leave other queries out of both.")
    if len(first) != len(second) or set(first.index) != set(second.index):
        unlike = set(first.index) ^ set(second.index)
        raise ValueError(
            f"both rankers must be measured on the same queries, got {len(first)} and"
            f" {len(second)} of which {len(unlike)} are in one of them only."
        )
    difference = (first - second.loc[list(first.index)].set_axis(first.index)).to_numpy()
    return RankingComparison(
        wins=int((difference > 0.0).sum()),
        losses=int((difference < 0.0).sum()),
        draws=int((difference == 0.0).sum()),
        mean_difference=float(difference.mean()),
        p_value=_signed_rank_test(difference),
    )


def _signed_rank_test(difference: Floats) -> float:
    unlike = difference[difference != 0.0]
    if unlike.size == 0:
        return 1.0
    from scipy.stats import wilcoxon

    return float(wilcoxon(unlike, alternative="two-sided").pvalue)


TIES = ("pessimistic", "expected")


@dataclass(frozen=True)
class Ranking:
    """The documents of one query by falling score, equal scores in the worst order."""

    grades: Floats  # (documents,)
    group: Integers  # (documents,): 0, 0, 1, ...: documents of equal scores share a number

    def means(self, of: Floats) -> Floats:
        """Return the mean of a quantity over each document's group."""
        sums = np.bincount(self.group, weights=of)
        return np.asarray(sums / np.bincount(self.group))[self.group]

    def first(self) -> Integers:
        """Return the rank, from 0, of the first document of each document's group."""
        return np.searchsorted(self.group, self.group, side="left")


def ranking_of(grades: Floats, scores: Floats) -> Ranking:
    """Return the ranking of documents with these grades and scores."""
    order = np.lexsort((grades, -scores))
    new = np.diff(scores[order], prepend=scores[order[0]]) != 0.0
    return Ranking(grades[order], np.cumsum(new))


GAINS = ("exponential", "linear")


def average_precision(
    y: ArrayLike,
    scores: ArrayLike,
    qid: Any = None,
    *,
    ties: str = "pessimistic",
    relevance_threshold: float | None = None,
) -> pd.Series:
    """
    Return the average precision of each query.

    AP is the mean over relevant documents of the precision at their rank.

    Parameters
    ----------
    y : array-like of shape (documents,)
        Relevance: two grades, the larger one relevant, or more with a threshold.
    scores : array-like of shape (documents,)
        Raw scores, larger for documents that rank higher.
    qid : sequence of shape (documents,) of hashable values, optional
        The query of each document, in any order; by default one query.
    ties : {"pessimistic", "expected"}
        Rank equal scores in the worst order, or take the mean over all orders.
    relevance_threshold : float, optional
        The least relevant grade.

    Returns
    -------
    pandas.Series
        Values in [0, 1] by query, in order of first appearance, without queries of one class.

    Raises
    ------
    ValueError
        If an argument is not as described, or no query is left.

    Examples
    --------
    >>> y, qid = [1, 0, 1, 0, 1], ["a", "a", "b", "b", "b"]
    >>> average_precision(y, [0.9, 0.1, 0.5, 0.7, 0.2], qid).round(4).to_dict()
    {'a': 1.0, 'b': 0.5833}
    >>> average_precision([1, 0], [0.5, 0.5]).item()
    0.5
    >>> average_precision([1, 0], [0.5, 0.5], ties="expected").item()
    0.75
    """
    relevant = _relevance(y, relevance_threshold)
    return _by_query(_average_precision, relevant, scores, qid, ties)


def mean_average_precision(
    y: ArrayLike,
    scores: ArrayLike,
    qid: Any = None,
    *,
    ties: str = "pessimistic",
    relevance_threshold: float | None = None,
) -> float:
    """
    Return the mean over queries of `average_precision`, whose arguments and errors it shares.

    Examples
    --------
    >>> mean_average_precision([1, 0, 1, 0], [2.0, 1.0, 1.0, 2.0], [1, 1, 2, 2])
    0.75
    """
    values = average_precision(y, scores, qid, ties=ties, relevance_threshold=relevance_threshold)
    return float(values.mean())


def precision_at(
    y: ArrayLike,
    scores: ArrayLike,
    qid: Any = None,
    *,
    k: int = 10,
    ties: str = "pessimistic",
    relevance_threshold: float | None = None,
) -> pd.Series:
    """
    Return the share of relevant documents among the first k of each query.

    Missing documents of queries with fewer than k count as not relevant.

    Parameters
    ----------
    y, scores, qid, ties, relevance_threshold
        As in `average_precision`, like the result and errors.
    k : int
        Number of documents from the top.

    Examples
    --------
    >>> precision_at([1, 0, 1, 0], [0.9, 0.8, 0.7, 0.6], k=2).item()
    0.5
    """
    check_count("k", k)
    relevant = _relevance(y, relevance_threshold)
    return _by_query(lambda r, rule: _precision_at(r, rule, k), relevant, scores, qid, ties)


def ndcg(
    y: ArrayLike,
    scores: ArrayLike,
    qid: Any = None,
    *,
    k: int | None = None,
    ties: str = "pessimistic",
    gain: str = "exponential",
) -> pd.Series:
    """
    Return the normalised discounted cumulative gain of each query.

    DCG is the sum over ranks r = 1, ..., k of gain / log2(r + 1); NDCG is its ratio to the DCG of
    the best order.

    Parameters
    ----------
    y : array-like of shape (documents,)
        Grades of relevance, none negative.
    scores, qid, ties
        As in `average_precision`, like the result and errors.
    k : int, optional
        Number of documents from the top; by default all.
    gain : {"exponential", "linear"}
        The gain of grade g: 2^g - 1, or g itself.

    Examples
    --------
    >>> ndcg([2, 0, 1], [0.9, 0.8, 0.7]).round(4).item()
    0.9639
    """
    if k is not None:
        check_count("k", k)
    check_choice("gain", gain, GAINS)
    grades = as_grades(y)
    if grades.min() < 0.0:
        raise ValueError(f"y must hold grades of at least 0, got {grades.min():g}.")
    gains = np.exp2(grades) - 1.0 if gain == "exponential" else grades
    return _by_query(lambda r, rule: _ndcg(r, rule, k), gains, scores, qid, ties)


def _relevance(y: ArrayLike, threshold: float | None) -> Floats:
    grades = as_grades(y)
    return (grades >= relevance_threshold_of(grades, threshold)).astype(np.float64)


def _by_query(
    measure: Callable[[Ranking, str], float], grades: Floats, scores: ArrayLike, qid: Any, ties: str
) -> pd.Series:
    import pandas as pd

    check_choice("ties", ties, TIES)
    values = as_scores(scores)
    as_grades(grades, values.size)
    queries = group_by_query(qid, values.size)
    names, measured = [], []
    for name, documents in zip(queries.names, queries.documents, strict=True):
        if np.ptp(grades[documents]) > 0.0:
            names.append(name)
            measured.append(measure(ranking_of(grades[documents], values[documents]), ties))
    if not names:
        raise ValueError(
            "at least one query must hold documents of different grades, got one class only in each"
            f" of {len(queries.names)}: no ranking of theirs is better than another."
        )
    # Identifiers may be tuples, which pandas would turn into a MultiIndex.
    return pd.Series(measured, index=pd.Index(names, name="query", tupleize_cols=False))


def _average_precision(ranking: Ranking, ties: str) -> float:
    relevant, rank = ranking.grades, np.arange(1.0, ranking.grades.size + 1.0)
    if ties == "pessimistic":
        hits = relevant.cumsum()
        return float(np.sum(relevant * hits / rank) / hits[-1])
    first = ranking.first()
    share = ranking.means(relevant)
    size = np.bincount(ranking.group)[ranking.group]
    before = np.append(0.0, relevant.cumsum())[first]
    # For a relevant document, (relevant - 1) of the other (size - 1) in its group are relevant.
    others = (share * size - 1.0) / np.maximum(size - 1.0, 1.0)
    expected = before + (rank - 1.0 - first) * others + 1.0
    return float(np.sum(share * expected / rank) / relevant.sum())


def _precision_at(ranking: Ranking, ties: str, k: int) -> float:
    relevant = ranking.grades if ties == "pessimistic" else ranking.means(ranking.grades)
    return float(relevant[:k].sum() / k)


def _ndcg(ranking: Ranking, ties: str, k: int | None) -> float:
    gains = ranking.grades if ties == "pessimistic" else ranking.means(ranking.grades)
    discount = 1.0 / np.log2(np.arange(gains.size) + 2.0)
    best = np.sort(ranking.grades)[::-1]
    return float((gains * discount)[:k].sum() / (best * discount)[:k].sum())
