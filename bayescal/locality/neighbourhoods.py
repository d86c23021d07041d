"""Neighbourhoods of points: the nearest ones, by their features or by an estimate's value."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.validation import check_count


def nearest_points(points: ArrayLike, queries: ArrayLike, size: int) -> NDArray[np.intp]:
    """
    Return the rows of the points nearest to each query, the nearest first.

    With them any quantity of this room becomes local: it is computed along the last axis, so that
    `error_variance(estimate[rows], truth[rows])` has a value for each query. Points that are values
    of the estimate make neighbourhoods of documents with the same prediction.

    Parameters
    ----------
    points : array-like of shape (n,) or (n, features)
        Where the samples are.
    queries : array-like of shape (m,) or (m, features)
        Where neighbourhoods are wanted.
    size : int
        How many points a neighbourhood has.

    Returns
    -------
    array of shape (m, size)

    Raises
    ------
    ValueError
        If there are fewer points than `size`.

    Examples
    --------
    >>> nearest_points([0.0, 1.0, 5.0, 6.0], [0.2, 5.1], 2).tolist()
    [[0, 1], [2, 3]]
    """
    from scipy.spatial import KDTree

    check_count("size", size)
    of_points, of_queries = (_as_rows(each) for each in (points, queries))
    if size > len(of_points):
        raise ValueError(
            f"size must be at most the number of points, {len(of_points)}, got {size}."
        )
    _, rows = KDTree(of_points).query(of_queries, k=[*range(1, size + 1)])
    return np.asarray(rows, dtype=np.intp)


def _as_rows(points: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(points, dtype=np.float64)
    return values[:, None] if values.ndim == 1 else values
