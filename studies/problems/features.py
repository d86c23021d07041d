"""Features of documents: counts, weighted words, or columns of numbers.

Words, weights, axes and means are learned from training documents only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from studies.problems.data_set import Kind

Space = str
"""counts: of words, in documents that are words; weights: tf-idf, or standardised columns of a
table; columns: a hundred axes of tf-idf, or the same standardised columns."""
Views = dict[Space, tuple[Any, Any]]
"""Training and new documents by feature space."""
AXES = 100


def views(kind: Kind, train: Any, new: Any, seed: int) -> Views:
    """Return all features of the documents, by name."""
    return VIEWS[kind](train, new, seed)


def _of_texts(train: Any, new: Any, seed: int) -> Views:
    counter = CountVectorizer(min_df=2)
    return _of_words(counter.fit_transform(train), counter.transform(new), seed)


def _of_words(train: Any, new: Any, seed: int) -> Views:
    weigh = TfidfTransformer(sublinear_tf=True)
    weights = weigh.fit_transform(train), weigh.transform(new)
    axes = min(AXES, min(weights[0].shape) - 1)
    turn = make_pipeline(TruncatedSVD(axes, random_state=seed), Normalizer())
    columns = turn.fit_transform(weights[0]), turn.transform(weights[1])
    counts = sparse.csr_matrix(train), sparse.csr_matrix(new)
    return {"counts": counts, "weights": weights, "columns": columns}


def _of_table(train: Any, new: Any, seed: int) -> Views:
    scale = StandardScaler()
    columns = scale.fit_transform(train), scale.transform(new)
    return {"weights": columns, "columns": columns}


VIEWS: dict[Kind, Callable[[Any, Any, int], Views]] = {
    "texts": _of_texts,
    "words": _of_words,
    "table": _of_table,
}
