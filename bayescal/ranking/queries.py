"""Documents grouped by query, with grades of relevance."""

import bz2
import gzip
import lzma
import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.support import validation
from bayescal.support.labels import of_each_class
from bayescal.support.validation import Floats, Integers

EXCHANGED = "give y in the grades that were fitted, and see whether qid and y are exchanged"
DOCID = re.compile(rb"\s*docid\s*=\s*(\S+)")


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


@dataclass(frozen=True)
class RankingData:
    """Documents with grades and queries.

    Attributes
    ----------
    X : scipy.sparse.csr_matrix of shape (documents, features)
        Features.
    y : array of shape (documents,)
        Grades of relevance.
    qid : array of shape (documents,) of int
        The query of each document.
    docid : array of shape (documents,) of str
        Its name in LETOR's comments, `#docid = GX001-01`; empty without one.
    """

    X: Any
    y: Floats
    qid: Integers
    docid: NDArray[np.str_]


def load_ranking(
    path: str | Path, *, n_features: int | None = None, group_sizes: str | Path | None = None
) -> RankingData:
    r"""Read documents with grades, queries and features from a file of svmlight lines.

    A line is `grade qid:7 1:0.5 3:1.25`, perhaps with a comment `#docid = GX001-01`; features that
    it omits are 0. Files that end in .gz, .bz2 or .xz are decompressed.

    Parameters
    ----------
    path : str or Path
        The file.
    n_features : int, optional
        The number of features; by default the largest in the file.
    group_sizes : str or Path, optional
        A file with the number of documents of each query, one a line, in the documents' order
        (LightGBM's `.query` files). Lines then need no qid.

    Raises
    ------
    ValueError
        If the file is not of this form, or the sizes do not sum to the number of documents.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ranking.txt")
    ...     _ = path.write_text("2 qid:7 1:0.5 3:1 #docid = GX1\n0 qid:7 2:0.25\n")
    ...     data = load_ranking(path)
    >>> data.X.toarray().tolist(), data.y.tolist(), data.qid.tolist(), data.docid.tolist()
    ([[0.5, 0.0, 1.0], [0.0, 0.25, 0.0]], [2.0, 0.0], [7, 7], ['GX1', ''])
    """
    from sklearn.datasets import load_svmlight_file

    with opened(Path(path)) as source:
        try:
            content = source.read()
            X, y, qid = load_svmlight_file(  # noqa: N806
                BytesIO(content), n_features=n_features, zero_based=False, query_id=True
            )
        except (FileNotFoundError, PermissionError, IsADirectoryError):
            raise
        except (ValueError, OverflowError, OSError, EOFError, lzma.LZMAError) as err:
            raise ValueError(
                f"{path} must hold lines like '1 qid:7 1:0.5 3:1.25', with at most n_features"
                f" features numbered from 1: {err}"
            ) from err
    if y.size == 0:
        raise ValueError(f"{path} must hold documents with their queries, got none.")
    if group_sizes is not None:
        sizes = _read_sizes(group_sizes)
        qid = np.repeat(np.arange(sizes.size), sizes)
    if qid.size != y.size:
        kind = "a qid in" if group_sizes is None else "the group sizes"
        raise ValueError(
            f"every document of {path} must have a query, got {y.size} documents and {kind}"
            f" {'sum to' if group_sizes is not None else 'lines of'} {qid.size}: add qid to the"
            " lines, or name the file of group sizes."
        )
    names = _document_names(content.splitlines())
    return RankingData(X, np.asarray(y, dtype=np.float64), np.asarray(qid, dtype=np.intp), names)


def _read_sizes(path: str | Path) -> Integers:
    """Return the numbers of a file of group sizes."""
    try:
        sizes = np.loadtxt(path, dtype=np.int64, ndmin=1)
        if sizes.ndim > 1 or sizes.min(initial=1) < 1:
            raise ValueError("they are not positive numbers, one a line")  # noqa: TRY301
    except (ValueError, TypeError) as err:
        raise ValueError(
            "group_sizes must be the path of a file with a positive whole number in each line, got"
            f" {path!r}: {err}."
        ) from err
    return sizes


def _document_names(lines: list[bytes]) -> NDArray[np.str_]:
    """Return LETOR's name of the document in each line, empty without one."""
    parts = [line.partition(b"#") for line in lines]
    names = [DOCID.match(comment) for features, _, comment in parts if features.strip()]
    return np.array([name[1].decode() if name else "" for name in names], dtype=str)


def opened(path: Path, mode: str = "rb") -> IO[bytes]:
    """Open a file of bytes, compressed if the suffix of its name says so."""
    openers: dict[str, Any] = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
    file: IO[bytes] = openers.get(path.suffix, open)(path, mode)
    return file
