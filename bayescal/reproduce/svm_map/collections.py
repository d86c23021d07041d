"""Collections of queries to compare rankers on: one that is constructed, two that are read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from bayescal.ranking import RankingData, load_ranking
from bayescal.validation import Floats, Integers

# Of the constructed collection.
QUERIES, DOCUMENTS, RELEVANT = 50, 200, 10
SEPARATION = 2.5
SPAM_SHARE, SPAM_SHIFT = 0.05, 5.0
QUERY_OFFSET = 3.0


@dataclass(frozen=True)
class Collection:
    """
    Documents of queries, each with relevant and other documents.

    Attributes
    ----------
    name : str
        As in tables.
    features : array of shape (documents, features)
        Features.
    relevant : array of shape (documents,) of int
        0 or 1.
    qid : array of shape (documents,) of int
        The query of each document.
    functions : bool
        Whether features are taken for scores by retrieval functions: each ranks by itself, and
        they are binned for the SVMs.
    """

    name: str
    features: Floats
    relevant: Integers
    qid: Integers
    functions: bool

    @property
    def queries(self) -> Integers:
        """The queries."""
        return np.unique(self.qid)


def spam(seed: int = 0) -> Collection:
    """
    Return 50 queries of 200 documents, 10 of them relevant, where MAP and ROC area differ.

    Two features are equally informative, but one in twenty of the documents that are not relevant
    is far too high on the first: errors at the top, which cost much average precision and little
    ROC area. An offset of each query leaves no threshold that does for all of them.
    """
    rng = np.random.default_rng((seed, 24))
    relevant = np.tile(np.arange(DOCUMENTS) < RELEVANT, QUERIES)
    qid = np.repeat(np.arange(QUERIES), DOCUMENTS)
    features = rng.normal(size=(relevant.size, 2)) + SEPARATION * relevant[:, None]
    lifted = ~relevant & (rng.random(relevant.size) < SPAM_SHARE)
    features[lifted, 0] += SPAM_SHIFT
    features += QUERY_OFFSET * rng.normal(size=QUERIES)[qid][:, None]
    return Collection("constructed", features, relevant.astype(np.intp), qid, functions=False)


def clueweb09(folder: Path) -> Collection:
    """Return queries of the TREC Web Tracks 2009 to 2012, 42 features; grade 1 is relevant."""
    parts = [load_ranking(path, n_features=42) for path in _files(folder, "clueweb09/part*.txt*")]
    return _joined("ClueWeb09", parts, least=1, functions=True)


def lightgbm(folder: Path) -> Collection:
    """Return LightGBM's example, 300 sparse features of short lists; grades from 2 are relevant."""
    parts = []
    for path in _files(folder, "lightgbm/rank.*"):
        if path.suffix != ".query":
            sizes = path.with_name(f"{path.name.removesuffix('.xz')}.query")
            parts.append(load_ranking(path, n_features=300, group_sizes=sizes))
    # Seven in ten documents have grade 1 or more: only grade 2 tells the good from the rest.
    return _joined("LightGBM", parts, least=2, functions=False)


def read_collections(folder: Path | None, seed: int = 0) -> list[Collection]:
    """
    Return the constructed collection, and of a folder those that it holds.

    Raises
    ------
    ValueError
        If the folder holds none, or its files are not as they should be.
    """
    found = [spam(seed)]
    if folder is None:
        return found
    readers: dict[str, Callable[[Path], Collection]] = {
        "clueweb09": clueweb09,
        "lightgbm": lightgbm,
    }
    found += [read(folder) for name, read in readers.items() if (folder / name).is_dir()]
    if len(found) == 1:
        raise ValueError(f"{folder} must hold a folder {' or '.join(readers)}, got neither.")
    return found


def _files(folder: Path, pattern: str) -> list[Path]:
    files = sorted(folder.glob(pattern))
    if not files:
        raise ValueError(f"{folder} must hold files {pattern}, got none.")
    return files


def _joined(name: str, parts: list[RankingData], *, least: int, functions: bool) -> Collection:
    """Return the documents of several files whose queries have both classes."""
    features = np.concatenate([part.X.toarray() for part in parts])
    relevant = np.concatenate([part.y for part in parts]) >= least
    # A query is of one file: the same number in another file is another query.
    qid = np.concatenate([part.qid + 1_000_000 * k for k, part in enumerate(parts)])
    _, query, size = np.unique(qid, return_inverse=True, return_counts=True)
    found = np.bincount(query, weights=relevant)
    both = ((found > 0) & (found < size))[query]
    return Collection(
        name, features[both], relevant[both].astype(np.intp), qid[both], functions=functions
    )
