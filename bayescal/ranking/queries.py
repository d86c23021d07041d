"""Documents and their queries: which belong together, and which of them are relevant."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.labels import of_each_class
from bayescal.validation import Floats, Integers, as_scores, check_same_length

EXCHANGED = "give y in the grades that were fitted, and see whether qid and y are exchanged"


@dataclass(frozen=True)
class Queries:
    """
    Documents by query.

    Attributes
    ----------
    names : list
        Identifier of each query, in the order of first appearance.
    documents : list of array of int
        Positions of each query's documents, in the order given.
    """

    names: list[Hashable]
    documents: list[Integers]

    @property
    def code(self) -> Integers:
        """Return the position in `names` of each document's query."""
        code = np.empty(sum(each.size for each in self.documents), dtype=np.intp)
        for position, documents in enumerate(self.documents):
            code[documents] = position
        return code


def group_by_query(qid: Any, n: int) -> Queries:
    """
    Return which of n documents belong to which query.

    Parameters
    ----------
    qid : sequence of shape (n,) of hashable values, or None
        The query of each document, in any order; None stands for a single query.
    n : int
        The number of documents.

    Raises
    ------
    ValueError
        If the length is not n, or a value is missing or not hashable.

    Examples
    --------
    >>> queries = group_by_query(["b", "a", "b"], 3)
    >>> queries.names, [each.tolist() for each in queries.documents]
    (['b', 'a'], [[0, 2], [1]])
    """
    if qid is None:
        return Queries([0], [np.arange(n)])
    values = qid.tolist() if hasattr(qid, "tolist") else list(qid)
    check_same_length("qid", len(values), "y", n)
    places: dict[Hashable, int] = {}
    codes = np.empty(n, dtype=np.intp)
    for position, value in enumerate(values):
        _check_identifier(value, position)
        codes[position] = places.setdefault(value, len(places))
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(places)))
    return Queries(list(places), np.split(order, ends[:-1]))


def _check_identifier(value: Any, position: int) -> None:
    if not isinstance(value, Hashable):
        raise ValueError(
            "qid must hold one hashable value for each document, a number, a string or a tuple,"
            f" got {value!r} at position {position}."
        )
    # nan is not equal to itself: every document would become a query of its own.
    if value is None or value != value:  # noqa: PLR0124
        raise ValueError(
            f"qid must not be missing, got {value!r} at position {position}: leave out documents"
            " without a query."
        )


def qid_from_group_sizes(sizes: ArrayLike) -> NDArray[np.intp]:
    """
    Return a query identifier for each document from the numbers of documents of the queries.

    LightGBM describes queries so, of documents that are sorted by query.

    Raises
    ------
    ValueError
        If a size is not a positive whole number.

    Examples
    --------
    >>> qid_from_group_sizes([2, 1]).tolist()
    [0, 0, 1]
    """
    counts = np.asarray(sizes)
    if counts.ndim != 1 or counts.dtype.kind not in "iu" or (counts < 1).any():
        raise ValueError(
            "group sizes must be positive whole numbers, one for each query, got"
            f" {counts.tolist()!r}."
        )
    return np.repeat(np.arange(counts.size), counts)


def as_grades(y: ArrayLike, n: int | None = None) -> Floats:
    """
    Return relevance grades as a float64 array.

    Raises
    ------
    ValueError
        If they are not finite numbers, or not n of them.
    """
    grades = as_scores(y, "y")
    if n is not None:
        check_same_length("y", grades.size, "scores", n)
    return grades


def match_grades(y: ArrayLike, n: int, fitted: Floats, *, only: bool) -> Floats:
    """
    Return relevance grades of further documents, which must be like those that were fitted.

    Parameters
    ----------
    y : array-like of shape (n,)
        Grades.
    n : int
        The number of documents.
    fitted : array of shape (grades,)
        The grades fitted, rising.
    only : bool
        Whether there are no others. Else a threshold tells what any grade means, and documents are
        refused that are all better than the best one fitted.

    Raises
    ------
    ValueError
        If they are not n finite numbers, or not like those that were fitted.

    Examples
    --------
    >>> match_grades([1, 1], 2, np.array([0.0, 1.0]), only=True)
    array([1., 1.])
    >>> match_grades([20, 21], 2, np.array([0.0, 1.0]), only=True)
    Traceback (most recent call last):
    ...
    ValueError: y must hold 0.0, 1.0 only, got 20.0: give y in the grades that were fitted, and ...
    """
    grades = as_grades(y, n)
    if only:
        of_each_class(grades, fitted, advice=f": {EXCHANGED}")
    elif grades.min() > fitted[-1]:
        raise ValueError(
            f"y must hold grades like those from {fitted[0]:g} to {fitted[-1]:g} that were fitted,"
            f" got {grades.min():g} for the least relevant document: {EXCHANGED}."
        )
    return grades


def relevance_threshold_of(grades: Floats, threshold: float | None) -> float:
    """
    Return the least grade that counts as relevant: the threshold, or the larger of two grades.

    Raises
    ------
    ValueError
        If there are more than two grades and no threshold is named.

    Examples
    --------
    >>> relevance_threshold_of(np.array([0.0, 1.0, 1.0]), None)
    1.0
    """
    if threshold is not None:
        return float(as_scores([threshold], "relevance_threshold")[0])
    distinct = np.unique(grades)
    if distinct.size > 2:
        shown = ", ".join(f"{grade:g}" for grade in distinct[:5]) + ", ..." * (distinct.size > 5)
        raise ValueError(
            f"y must hold two grades, or relevance_threshold must name the least relevant one, got"
            f" {distinct.size} grades ({shown}) and no threshold."
        )
    return float(distinct[-1])
