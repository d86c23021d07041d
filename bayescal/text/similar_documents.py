"""The most similar documents, by the cosine of what they hold."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.parallel import blocks_of
from bayescal.validation import Floats

# Of similarities in memory at a time: 64 MB.
BLOCK_ELEMENTS = 2**23
# Of two documents as similar as each other the earlier one is the nearer: the same neighbours on
# every machine. Far above the rounding of a cosine, far below any difference that tells.
TIE = 1e-15


def nearest(similarity: Floats, count: int) -> NDArray[np.intp]:
    """
    Return the columns of the largest values of each row, the largest first.

    Parameters
    ----------
    similarity : array of shape (queries, documents)
        Larger for nearer documents; of equal ones the first is nearer.
    count : int
        How many.

    Examples
    --------
    >>> nearest(np.array([[0.1, 0.9, 0.9, 0.5]]), 3).tolist()
    [[1, 2, 3]]
    """
    farness = np.arange(similarity.shape[1]) * TIE - similarity
    if count < similarity.shape[1]:
        found = np.argpartition(farness, count - 1, axis=1)[:, :count]
    else:
        found = np.broadcast_to(np.arange(count), similarity.shape)
    order = np.argsort(np.take_along_axis(farness, found, axis=1), axis=1)
    return np.take_along_axis(found, order, axis=1)


def nearest_documents(queries: Any, documents: Any, count: int) -> tuple[Floats, NDArray[np.intp]]:
    """
    Return the cosines of each query's nearest documents and their rows, nearest first.

    Parameters
    ----------
    queries, documents : sparse arrays of shape (queries, features) and (documents, features)
        Rows of length 1; an empty row has cosine 0 with all.
    count : int
        How many, at most as many as there are documents.

    Returns
    -------
    tuple of arrays of shape (queries, count)
        Cosines, from -1 to 1, and rows of `documents`.

    Examples
    --------
    >>> from scipy import sparse
    >>> documents = sparse.csr_array([[1.0, 0.0], [0.6, 0.8]])
    >>> nearest_documents(sparse.csr_array([[0.0, 1.0]]), documents, 1)
    (array([[0.8]]), array([[1]]))
    """
    similarity = np.empty((queries.shape[0], count))
    rows = np.empty(similarity.shape, dtype=np.intp)
    features = documents.T.tocsr()
    for block in blocks_of(max(1, BLOCK_ELEMENTS // documents.shape[0]), queries.shape[0]):
        cosines = (queries[block] @ features).toarray()
        rows[block] = nearest(cosines, count)
        similarity[block] = np.take_along_axis(cosines, rows[block], axis=1)
    # Rounding may take the cosine of a document with itself beyond 1.
    return np.clip(similarity, -1.0, 1.0), rows
