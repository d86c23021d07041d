"""Files of documents with queries: svmlight lines, plain or compressed."""

from __future__ import annotations

import lzma
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from bayescal.ranking.queries import qid_from_group_sizes
from bayescal.validation import Floats, Integers


@dataclass(frozen=True)
class RankingData:
    """
    Documents with grades and queries.

    Attributes
    ----------
    X : scipy.sparse.csr_matrix of shape (documents, features)
        Features.
    y : array of shape (documents,)
        Grades of relevance.
    qid : array of shape (documents,) of int
        The query of each document.
    """

    X: Any
    y: Floats
    qid: Integers


def load_ranking(
    path: str | Path,
    *,
    n_features: int | None = None,
    group_sizes: str | Path | None = None,
) -> RankingData:
    r"""
    Read documents with grades, queries and features from a file of svmlight lines.

    A line is `grade qid:7 1:0.5 3:1.25`: features that are left out are 0. Files that end in .gz,
    .bz2 or .xz are decompressed as they are read.

    Parameters
    ----------
    path : str or Path
        The file.
    n_features : int, optional
        The number of features, where it is larger than the largest that the file names: for files
        that belong together.
    group_sizes : str or Path, optional
        A file with the number of documents of each query, a number a line, in the order of the
        documents: LightGBM's `.query` files. Lines need no qid then.

    Raises
    ------
    ValueError
        If the file is not of this form, has no queries, or more features than `n_features`; or if
        the sizes do not sum to the number of documents.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "ranking.txt")
    ...     _ = path.write_text("2 qid:7 1:0.5 3:1\n0 qid:7 2:0.25\n")
    ...     data = load_ranking(path)
    >>> data.X.toarray().tolist(), data.y.tolist(), data.qid.tolist()
    ([[0.5, 0.0, 1.0], [0.0, 0.25, 0.0]], [2.0, 0.0], [7, 7])
    """
    from sklearn.datasets import load_svmlight_file

    with _readable(Path(path)) as source:
        try:
            X, y, qid = load_svmlight_file(  # noqa: N806
                source, n_features=n_features, zero_based=False, query_id=True
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
        sizes = np.loadtxt(group_sizes, dtype=np.int64, ndmin=1)
        qid = qid_from_group_sizes(sizes)
    if qid.size != y.size:
        kind = "a qid in" if group_sizes is None else "the group sizes"
        raise ValueError(
            f"every document of {path} must have a query, got {y.size} documents and {kind}"
            f" {'sum to' if group_sizes is not None else 'lines of'} {qid.size}: add qid to the"
            " lines, or name the file of group sizes."
        )
    return RankingData(X, np.asarray(y, dtype=np.float64), np.asarray(qid, dtype=np.intp))


@contextmanager
def _readable(path: Path) -> Iterator[str | IO[bytes]]:
    """Yield what scikit-learn reads: it decompresses .gz and .bz2 by itself, and .xz not."""
    if path.suffix == ".xz":
        with lzma.open(path) as file:
            yield file
    else:
        yield str(path)
