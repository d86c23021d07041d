"""The indicators of neighbours for points in Euclidean space, of which each neighbour has one vote.

As in `neighbours`, with s(d) = positive minus negative neighbours among the k nearest. The shifted
point d + alpha_i v_i, v_i = n_i - d, is |v_m|^2 - 2 alpha_i v_i.v_m + alpha_i^2 |v_i|^2 from n_m,
squared: products of the ways to the 2k nearest points are all that is needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from bayescal.indicators.kind import ModelIndicators
from bayescal.indicators.neighbour_shifts import largest_shifts
from bayescal.indicators.neighbours import INDICATORS
from bayescal.parallel import blocks_of
from bayescal.text.similar_documents import nearest
from bayescal.validation import Floats

BLOCK = 64


@dataclass(frozen=True)
class Points:
    """
    Training points and how many of them vote.

    Attributes
    ----------
    search : sklearn.neighbors.NearestNeighbors
        Fitted to the points.
    points : array or sparse array of shape (points, features)
        Where they are.
    positive : array of shape (points,) of bool
        Their classes.
    k : int
        How many neighbours vote.
    """

    search: Any
    points: Any
    positive: NDArray[np.bool_]
    k: int


@dataclass(frozen=True)
class EuclideanNeighbourhood:
    """
    The 2k nearest training points of some queries, nearest first.

    Attributes
    ----------
    neighbours : Points
        What they are of.
    queries : array or sparse array of shape (queries, features)
        Where the queries are.
    away : array of shape (queries, 2k)
        Distances.
    rows : array of shape (queries, 2k)
        Which training points they are.
    """

    neighbours: Points
    queries: Any
    away: Floats
    rows: NDArray[np.intp]

    @cached_property
    def sign(self) -> Floats:
        """Return 1 for positive and -1 for negative neighbours, (queries, 2k)."""
        return np.where(self.neighbours.positive[self.rows], 1.0, -1.0)

    @property
    def distance(self) -> Floats:
        """Return the distances of the k neighbours that vote, (queries, k)."""
        return np.asarray(self.away[:, : self.neighbours.k])

    @property
    def score(self) -> Floats:
        """Return positive minus negative neighbours, (queries,)."""
        return np.asarray(self.sign[:, : self.neighbours.k].sum(axis=1))

    @cached_property
    def shifted_score(self) -> Floats:
        """Return the score of the query moved towards each neighbour, (queries, k)."""
        k = self.neighbours.k
        scores = np.empty((len(self.rows), k))
        for block in blocks_of(BLOCK, len(self.rows)):
            product = self._products(block)
            squared = np.einsum("qmm->qm", product)
            alpha = largest_shifts(squared[:, :k], product[:, :k, :k])[:, :, None]
            moved = squared[:, None] - 2.0 * alpha * product[:, :k]
            # |v_i|^2 alpha_i^2 is the same for all m, and does not tell which are nearest.
            near = nearest(-moved.reshape(-1, moved.shape[2]), k)
            sign = np.repeat(self.sign[block], k, axis=0)
            votes = np.take_along_axis(sign, near, axis=1).sum(axis=1)
            scores[block] = votes.reshape(-1, k)
        return scores

    def _products(self, block: slice) -> Floats:
        """Return v_i.v_m of the ways to all neighbours, (queries, 2k, 2k)."""
        near = _dense(self.neighbours.points[self.rows[block].ravel()])
        queries = _dense(self.queries[block])
        way = near.reshape(len(queries), -1, queries.shape[1]) - queries[:, None]
        return np.asarray(way @ way.transpose(0, 2, 1))


def learn(model: Any, features: Any, positive: NDArray[np.bool_]) -> Points:
    """Return the training points, and how many vote."""
    points = _rows(features)
    k = min(model.n_neighbors, positive.size)
    return Points(NearestNeighbors().fit(points), points, positive, k)


def find(neighbours: Points, features: Any) -> EuclideanNeighbourhood:
    """Return the neighbourhoods of queries."""
    queries = _rows(features)
    count = min(2 * neighbours.k, neighbours.positive.size)
    away, rows = neighbours.search.kneighbors(queries, count)
    return EuclideanNeighbourhood(neighbours, queries, away, rows)


def recognises(model: Any) -> bool:
    """Return whether a classifier counts votes of Euclidean neighbours, for two classes."""
    return bool(
        isinstance(model, KNeighborsClassifier)
        and (model.metric == "euclidean" or (model.metric == "minkowski" and model.p == 2))
        and model.weights == "uniform"
        and len(model.classes_) == 2
    )


def _rows(features: Any) -> Any:
    # Dense data stay so: searching them takes a tree, sparse ones are compared one by one.
    return features.tocsr() if hasattr(features, "tocsr") else np.asarray(features)


def _dense(rows: Any) -> Floats:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)


EUCLIDEAN_NEIGHBOURS = ModelIndicators(
    recognises=recognises, learn=learn, around=find, indicators=INDICATORS
)
