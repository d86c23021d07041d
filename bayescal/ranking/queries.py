"""Documents grouped by query, with grades and standardised scores."""

import bz2
import gzip
import lzma
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.support import validation
from bayescal.support.labels import of_each_class
from bayescal.support.numerics import centre_and_spread
from bayescal.support.validation import Floats, Integers

EXCHANGED = "give y in the grades that were fitted, and see whether qid and y are exchanged"


@dataclass(frozen=True)
class Queries:
    """Documents by query."""

    names: list[Hashable]  # identifiers of queries, in order of first appearance
    documents: list[Integers]  # positions of each query's documents, rising

    @property
    def code(self) -> Integers:
        """Return the position in `names` of each document's query."""
        code = np.empty(sum(each.size for each in self.documents), dtype=np.intp)
        for position, documents in enumerate(self.documents):
            code[documents] = position
        return code


def group_by_query(qid: Any, n: int, other: str = "y") -> Queries:
    """Return the documents of each query, n as in the argument `other`."""
    # numpy's `tolist` keeps masked values; identifiers in lists may be tuples.
    is_array = hasattr(qid, "__array__") and not hasattr(qid, "tolist")
    values = np.asarray(qid) if is_array else qid
    values = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(
            f"qid must hold the query of each document, got {values!r}: for one query repeat its"
            f" name, such as [1] * {n}."
        )
    values = list(values)
    validation.check_same_length("qid", len(values), other, n)
    numbers: dict[Hashable, int] = {}
    codes = np.empty(n, dtype=np.intp)
    for position, value in enumerate(values):
        _check_identifier(value, position)
        codes[position] = numbers.setdefault(value, len(numbers))
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(numbers)))
    return Queries(list(numbers), np.split(order, ends[:-1]))


def _check_identifier(value: Any, position: int) -> None:
    if not isinstance(value, Hashable):
        raise ValueError(
            "qid must hold one hashable value for each document, a number, a string or a tuple,"
            f" got {value!r} at position {position}."
        )
    # nan is unequal to itself: every such document would become a query.
    if validation.is_missing(value):
        raise ValueError(
            f"qid must not be missing, got {value!r} at position {position}: leave out documents"
            " without a query."
        )


def as_grades(y: ArrayLike, n: int | None = None) -> Floats:
    """Return relevance grades as a float64 array."""
    grades = validation.as_scores(y, "y")
    if n is not None:
        validation.check_same_length("y", grades.size, "scores", n)
    return grades


def match_grades(y: ArrayLike, n: int, fitted: Floats, *, only: bool) -> Floats:
    """Return grades of new documents; raise ValueError unless they resemble the fitted grades."""
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
    """Return the least relevant grade: the threshold, or the larger of two; never 0 or below."""
    if threshold is not None:
        return float(validation.as_scores([threshold], "relevance_threshold")[0])
    distinct = np.unique(np.maximum(grades, 0.0))
    if distinct.size > 2:
        shown = ", ".join(f"{grade:g}" for grade in distinct[:5]) + ", ..." * (distinct.size > 5)
        raise ValueError(
            f"y must hold two grades, or relevance_threshold must name the least relevant one, got"
            f" {distinct.size} grades ({shown}) and no threshold."
        )
    return float(distinct[-1]) or 1.0


def standardise(values: Floats, queries: Queries) -> Floats:
    """Return scores less the median of their query, in units of their query's spread."""
    # Documents that are not relevant, the majority, determine both.
    out = np.empty_like(values)
    for documents in queries.documents:
        centre, spread = centre_and_spread(values[documents])
        validation.check_spread("scores of a query", spread)
        out[documents] = (values[documents] - centre) / spread
    return out


def opened(path: Path, mode: str = "rb") -> IO[bytes]:
    """Open a file of bytes, compressed if the suffix of its name says so."""
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    file: IO[bytes] = openers.get(path.suffix, open)(path, mode)
    return file
