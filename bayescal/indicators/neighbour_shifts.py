"""Documents of length 1 that move towards their neighbours, in products of these alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayescal.text.similar_documents import nearest
from bayescal.validation import Floats

# Below it two documents are the same one; rounding of a cosine leaves some 1e-16.
SAME = 1e-12


def products(documents: Any, rows: NDArray[np.intp]) -> Floats:
    """
    Return the cosines of each query's neighbours with each other.

    Parameters
    ----------
    documents : sparse array of shape (training documents, features)
        Of length 1; an empty one counts as one of length 1 that shares no feature with others.
    rows : array of shape (queries, m)
        The neighbours of each query.

    Returns
    -------
    array of shape (queries, m, m)
    """
    queries, m = rows.shape
    chosen = documents[rows.ravel()]
    # Every query gets columns of its own, so that one sparse product holds all of theirs and none
    # between documents of two queries.
    own = np.repeat(np.arange(rows.size) // m, np.diff(chosen.indptr)).astype(np.int64)
    columns = own * chosen.shape[1] + chosen.indices
    apart = sparse.csr_array(
        (chosen.data, columns, chosen.indptr.astype(np.int64)),
        shape=(rows.size, queries * chosen.shape[1]),
    )
    found = (apart @ apart.T).tocoo()
    gram = np.zeros((queries, m, m))
    gram.reshape(rows.size, m)[found.row, found.col % m] = found.data
    gram[:, np.arange(m), np.arange(m)] = 1.0
    return gram


def largest_shifts(squared: Floats, product: Floats) -> Floats:
    """
    Return how far a point can move towards each of its neighbours and stay nearest to where it was.

    With v_j the way to neighbour j, alpha_i = min(1/2, min over j with v_i.v_j > 0 of |v_j|^2 /
    (2 v_i.v_j)). A neighbour at the very same place sets no limit.

    Parameters
    ----------
    squared : array of shape (points, m)
        |v_j|^2.
    product : array of shape (points, k, m)
        v_i.v_j.

    Returns
    -------
    array of shape (points, k)
        As parts of the way, from 0 to 1/2.

    Examples
    --------
    >>> largest_shifts(np.array([[1.0, 4.0]]), np.array([[[1.0, 2.0], [2.0, 4.0]]]))
    array([[0.5 , 0.25]])
    """
    limits = (squared[:, None, :] > SAME) & (product > squared[:, None, :])
    shift = np.full(product.shape, 0.5)
    np.divide(squared[:, None, :], 2.0 * product, out=shift, where=limits)
    return np.asarray(shift.min(axis=2))


def shifted_cosines(similarity: Floats, gram: Floats, k: int) -> Floats:
    """
    Return the cosines of a document moved towards each of k neighbours, with all m near ones.

    Parameters
    ----------
    similarity : array of shape (documents, m)
        Cosines of the document where it is, the k neighbours first.
    gram : array of shape (documents, m, m)
        Cosines of its neighbours with each other.
    k : int
        How many neighbours it is moved towards.

    Returns
    -------
    array of shape (documents, k, m)
    """
    target = similarity[:, :k, None]
    squared = 2.0 - 2.0 * similarity
    # Farther documents than the one moved to cannot be in the way: the k suffice.
    product = 1.0 - target - similarity[:, None, :k] + gram[:, :k, :k]
    alpha = largest_shifts(squared[:, :k], product)[:, :, None]
    # Half the way to its opposite a document vanishes.
    squared_length = np.maximum(1.0 - 2.0 * alpha * (1.0 - alpha) * (1.0 - target), SAME)
    moved: Floats = ((1.0 - alpha) * similarity[:, None, :] + alpha * gram[:, :k]) / np.sqrt(
        squared_length
    )
    return moved


def votes(cosine: Floats, sign: Floats, k: int) -> Floats:
    """
    Return summed cosines of positive minus those of negative neighbours among the k nearest.

    Parameters
    ----------
    cosine : array of shape (documents, shifts, m)
        Of every shifted document with m documents.
    sign : array of shape (documents, m)
        1 for positive ones, -1 for negative ones.
    k : int
        How many vote.

    Returns
    -------
    array of shape (documents, shifts)
    """
    documents, shifts, m = cosine.shape
    flat = cosine.reshape(-1, m)
    near = nearest(flat, k)
    signs = np.repeat(sign, shifts, axis=0)
    found = np.take_along_axis(flat, near, axis=1) * np.take_along_axis(signs, near, axis=1)
    return np.asarray(found.sum(axis=1).reshape(documents, shifts))
