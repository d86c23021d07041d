"""Average precision with two rules for equal scores.

"pessimistic" ranks documents of equal scores in the worst order. "expected" takes the mean over all
their orders (McSherry and Najork, *Computing information retrieval performance measures efficiently
in the presence of tied scores*, ECIR 2008). `ranking.trec` has the other measures.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.ranking.problem import QueriesLeftOutWarning
from bayescal.ranking.queries import as_grades, group_by_query, relevance_threshold_of
from bayescal.support import validation
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd


TIES = ("pessimistic", "expected")


def average_precision(
    y: ArrayLike,
    scores: ArrayLike,
    qid: Any,
    *,
    n_relevant: Mapping[Any, float] | pd.Series | None = None,
    ties: str = "pessimistic",
    relevance_threshold: float | None = None,
) -> pd.Series:
    """Return the average precision of each query.

    AP is the sum of the precisions at the ranks of the relevant documents, over their number.
    Without `n_relevant` that is their number in y, so that AP is too large if relevant documents
    were not retrieved, and queries are left out whose documents all are relevant, or none is.

    Parameters
    ----------
    y : array-like of shape (documents,)
        Relevance: two grades, the larger one relevant, or more with a threshold. Grades of 0 and
        below are not relevant.
    scores : array-like of shape (documents,)
        Raw scores, larger for documents that rank higher.
    qid : sequence of shape (documents,) of hashable values
        The query of each document, in any order.
    n_relevant : mapping or pandas.Series, optional
        The number of relevant documents of each query, retrieved or not, such as the column
        relevant of `evaluate`. No query is left out: AP is 0 where none is retrieved.
    ties : {"pessimistic", "expected"}
        Rank equal scores in the worst order, or take the mean over all orders.
    relevance_threshold : float, optional
        The least relevant grade.

    Returns
    -------
    pandas.Series
        Values in [0, 1] by query, in order of first appearance in `n_relevant`, or `qid`.

    Warns
    -----
    QueriesLeftOutWarning
        If queries are left out: their names, and the number of the others.

    Examples
    --------
    >>> y, qid = [1, 0, 1, 0, 1], ["a", "a", "b", "b", "b"]
    >>> average_precision(y, [0.9, 0.1, 0.5, 0.7, 0.2], qid).round(4).to_dict()
    {'a': 1.0, 'b': 0.5833}
    >>> n_relevant = {"a": 2, "b": 2, "c": 3}
    >>> average_precision(y, [0.9, 0.1, 0.5, 0.7, 0.2], qid, n_relevant=n_relevant).to_list()
    [0.5, 0.5833333333333333, 0.0]
    >>> average_precision([1, 0], [0.5, 0.5], ["a", "a"], ties="expected").item()
    0.75
    """
    import pandas as pd

    validation.check_choice("ties", ties, TIES)
    values = validation.as_scores(scores)
    grades = as_grades(y, values.size)
    relevant = (grades >= relevance_threshold_of(grades, relevance_threshold)).astype(np.float64)
    queries = group_by_query(qid, values.size)
    documents = dict(zip(queries.names, queries.documents, strict=True))
    found = {name: relevant[own] for name, own in documents.items()}
    totals = _of_two_classes(found) if n_relevant is None else _as_totals(n_relevant, found)
    measured = [
        _sum_of_precisions(found[name], values[documents[name]], ties) / total
        if total and name in found
        else 0.0
        for name, total in totals.items()
    ]
    # Identifiers may be tuples, which pandas would turn into a MultiIndex.
    return pd.Series(measured, index=pd.Index(list(totals), name="query", tupleize_cols=False))


def _of_two_classes(found: dict[Hashable, Floats]) -> dict[Hashable, float]:
    """Return the number of relevant documents of queries with both classes; warn of others."""
    totals = {name: float(relevant.sum()) for name, relevant in found.items()}
    kept = {name: total for name, total in totals.items() if 0.0 < total < found[name].size}
    if not kept:
        raise ValueError(
            "at least one query must hold documents of different grades, got one class only in each"
            f" of {len(totals)}: no ranking of theirs is better than another."
        )
    if len(kept) < len(totals):
        left_out = validation.first_of([name for name in totals if name not in kept])
        validation.warn_user(
            f"{len(totals) - len(kept)} of {len(totals)} queries are left out, and means are over"
            f" the other {len(kept)}: all or none of the documents are relevant for {left_out}. Set"
            " n_relevant to count them.",
            QueriesLeftOutWarning,
        )
    return kept


def _as_totals(n_relevant: Any, found: dict[Hashable, Floats]) -> dict[Hashable, float]:
    """Return the given numbers of relevant documents, at least those found for each query."""
    if not hasattr(n_relevant, "items"):
        raise ValueError(
            "n_relevant must map each query to its number of relevant documents, got"
            f" {type(n_relevant).__name__}."
        )
    totals = {name: float(total) for name, total in n_relevant.items()}
    for name, relevant in found.items():
        # This form also rejects nan.
        if not totals.get(name, np.nan) >= relevant.sum():
            raise ValueError(
                f"n_relevant must be at least {relevant.sum():g} for the query {name!r}, which has"
                f" so many relevant documents in y, got {totals.get(name, 'none')}."
            )
    return totals


def _sum_of_precisions(relevant: Floats, scores: Floats, ties: str) -> float:
    """Return the sum over relevant documents of the precision at their rank."""
    order, rank = np.lexsort((relevant, -scores)), np.arange(1.0, scores.size + 1.0)
    relevant = relevant[order]
    if ties == "pessimistic":
        return float(np.sum(relevant * relevant.cumsum() / rank))
    _, first, group, size = np.unique(
        -scores[order], return_index=True, return_inverse=True, return_counts=True
    )
    first, size = first[group], size[group]
    share = np.bincount(group, weights=relevant)[group] / size
    before = np.append(0.0, relevant.cumsum())[first]
    # For a relevant document, (relevant - 1) of the other (size - 1) in its group are relevant.
    others = (share * size - 1.0) / np.maximum(size - 1.0, 1.0)
    return float(np.sum(share * (before + (rank - 1.0 - first) * others + 1.0) / rank))
