"""Scores made comparable between queries, without labels.

As percentiles and between the extremes (the paper's SVMacc3 and SVMacc4), and in robust units.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import rankdata

from bayescal.ranking.queries import Queries, group_by_query
from bayescal.robust import centre_and_spread
from bayescal.validation import Floats, as_scores


def percentiles_within_queries(X: ArrayLike, qid: Any = None) -> Floats:  # noqa: N803
    """
    Return for each score the share of the scores of its query that lie below it.

    Of equal scores each counts half for the other, and a score counts half for itself.

    Parameters
    ----------
    X : array-like of shape (documents, functions)
        Scores by retrieval functions; nan where a function has none.
    qid : sequence of shape (documents,) of hashable values, optional
        The query of each document. By default they are all of one query.

    Returns
    -------
    array of shape (documents, functions)
        Within (0, 1); nan stays.

    Raises
    ------
    ValueError
        If X is not two-dimensional, or `qid` not as described.

    Examples
    --------
    >>> percentiles_within_queries([[5.0], [7.0], [0.1], [0.2]], [1, 1, 2, 2]).ravel().tolist()
    [0.25, 0.75, 0.25, 0.75]
    """
    return _by_query(_percentiles, X, qid)


def min_max_within_queries(X: ArrayLike, qid: Any = None) -> Floats:  # noqa: N803
    """
    Return scores moved and scaled so that those of each query and function fill [0, 1].

    Scores that are all the same become 0. For arguments and errors see
    `percentiles_within_queries`.

    Examples
    --------
    >>> min_max_within_queries([[5.0], [6.0], [7.0], [0.1]], [1, 1, 1, 2]).ravel().tolist()
    [0.0, 0.5, 1.0, 0.0]
    """
    return _by_query(_min_max, X, qid)


def standardise_within_queries(scores: ArrayLike, qid: Any = None) -> Floats:
    """
    Return scores less the median of their query, in units of their query's spread.

    The spread is 1.48 median absolute deviations; where most scores of a query tie and that is 0,
    their mean absolute deviation; scores that are all the same become 0. Most documents of a query
    are not relevant, so that its median and its spread are those of documents that are not.

    Parameters
    ----------
    scores : array-like of shape (documents,)
        Raw scores.
    qid : sequence of shape (documents,) of hashable values, optional
        The query of each document. By default they are all of one query.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Examples
    --------
    >>> standardise_within_queries([5.0, 6.0, 7.0, 0.1, 0.1], [1, 1, 1, 2, 2]).round(3).tolist()
    [-0.674, 0.0, 0.674, 0.0, 0.0]
    """
    values = as_scores(scores)
    return standardise(values, group_by_query(qid, values.size))


def standardise(values: Floats, queries: Queries) -> Floats:
    """Return the same of scores whose queries are known; see `standardise_within_queries`."""
    found = np.empty_like(values)
    for documents in queries.documents:
        centre, spread = centre_and_spread(values[documents])
        found[documents] = (values[documents] - centre) / spread
    return found


def _by_query(function: Callable[[Floats], Floats], X: ArrayLike, qid: Any) -> Floats:  # noqa: N803
    scores = np.asarray(X, dtype=np.float64)
    if scores.ndim != 2:
        raise ValueError(
            f"X must have shape (documents, functions), one score each, got {scores.shape}."
        )
    found = np.empty_like(scores)
    for documents in group_by_query(qid, len(scores)).documents:
        found[documents] = function(scores[documents])
    return found


def _percentiles(scores: Floats) -> Floats:
    ranks = rankdata(scores, axis=0, nan_policy="omit")
    return np.asarray((ranks - 0.5) / np.maximum((~np.isnan(scores)).sum(axis=0), 1))


def _min_max(scores: Floats) -> Floats:
    missing = np.isnan(scores)
    low = np.where(missing, np.inf, scores).min(axis=0)
    high = np.where(missing, -np.inf, scores).max(axis=0)
    # Infinite where a function has no score of the query at all: all is nan there.
    width = np.where(high > low, high - low, 1.0)
    return np.where(missing, np.nan, (scores - np.where(np.isfinite(low), low, 0.0)) / width)
