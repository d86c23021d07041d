"""Indicators of nearest neighbours: their distances, and the vote when a document moves to one.

Documents have length 1 and are sqrt(2 - 2 cos) apart. Delta moves the document d towards one of its
k neighbours n_i, each as likely, as far as d stays the nearest point: d_i = d + alpha_i (n_i - d).
What neighbours d_i has is judged from the 2k nearest documents to d, as in Bennett's
dissertation, section 5.1.3, which finds alpha_i by bisection; here it has a closed form, which
needs only products of the 2k documents.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from bayescal.combining.indicators import models
from bayescal.combining.indicators.models import Indicator, ModelIndicators
from bayescal.support.parallel import blocks_of
from bayescal.support.validation import Floats
from bayescal.text.classifiers import NearestNeighbours, nearest, nearest_documents

# Below it two documents are the same one; rounding of a cosine leaves some 1e-16.
SAME = 1e-12


def products(documents: Any, rows: NDArray[np.intp]) -> Floats:
    """Return the cosines of each query's neighbours with each other."""
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
    cosines = (apart @ apart.T).tocoo()
    gram = np.zeros((queries, m, m))
    gram.reshape(rows.size, m)[cosines.row, cosines.col % m] = cosines.data
    gram[:, np.arange(m), np.arange(m)] = 1.0
    return gram


def largest_shifts(squared: Floats, product: Floats) -> Floats:
    """
    Return the largest moves towards each neighbour that keep the point nearest to its origin.

    With v_j the way to neighbour j, alpha_i = min(1/2, min over j with v_i.v_j > 0 of |v_j|^2 /
    (2 v_i.v_j)). A neighbour at the very same place sets no limit.
    """
    limits = (squared[:, None, :] > SAME) & (product > squared[:, None, :])
    shift = np.full(product.shape, 0.5)
    np.divide(squared[:, None, :], 2.0 * product, out=shift, where=limits)
    return np.asarray(shift.min(axis=2))


def shifted_cosines(similarity: Floats, gram: Floats, k: int) -> Floats:
    """Return the cosines of a document moved towards each of k neighbours, with all m near ones."""
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
    """Return summed cosines of positive minus those of negative neighbours among the k nearest."""
    documents, shifts, m = cosine.shape
    flat = cosine.reshape(-1, m)
    near = nearest(flat, k)
    signs = np.repeat(sign, shifts, axis=0)
    signed = np.take_along_axis(flat, near, axis=1) * np.take_along_axis(signs, near, axis=1)
    return np.asarray(signed.sum(axis=1).reshape(documents, shifts))


# Queries whose neighbours are compared with each other at a time.
BLOCK = 64


@dataclass(frozen=True)
class Neighbours:
    """Training documents, as a classifier by nearest neighbours compares them."""

    model: Any  # Which weighs the words of queries, if it weighs them
    documents: Any  # (training documents, features): of length 1, or empty
    positive: NDArray[np.bool_]  # (training documents,): their classes
    k: int  # How many neighbours vote

    def weigh(self, features: Any) -> Any:
        """Return queries in the representation in which they are compared."""
        weighs = isinstance(self.model, NearestNeighbours)
        return self.model.weigh(features) if weighs else models.unit_rows(features)


@dataclass(frozen=True)
class Neighbourhood:
    """The 2k nearest training documents of some documents, nearest first."""

    neighbours: Neighbours  # What they are of
    similarity: Floats  # (documents, 2k): their cosines
    rows: NDArray[np.intp]  # (documents, 2k): which training documents they are

    @cached_property
    def sign(self) -> Floats:
        """Return 1 for positive and -1 for negative neighbours, (documents, 2k)."""
        return np.where(self.neighbours.positive[self.rows], 1.0, -1.0)

    @cached_property
    def distance(self) -> Floats:
        """Return the distances of the k neighbours that vote, (documents, k)."""
        return models.distance(self.similarity[:, : self.neighbours.k])

    @cached_property
    def score(self) -> Floats:
        """Return s(+) (equation 5.20), (documents,)."""
        k = self.neighbours.k
        return np.asarray((self.similarity[:, :k] * self.sign[:, :k]).sum(axis=1))

    @cached_property
    def shifted_score(self) -> Floats:
        """
        Return s(+) of the document moved towards each neighbour, (documents, k).

        Documents that have no feature in common with any other stay where they are.
        """
        k = self.neighbours.k
        scores = np.empty((len(self.rows), k))
        for block in blocks_of(BLOCK, len(self.rows)):
            gram = products(self.neighbours.documents, self.rows[block])
            cosine = shifted_cosines(self.similarity[block], gram, k)
            scores[block] = votes(cosine, self.sign[block], k)
        alone = self.similarity[:, :1] == 0.0
        return np.where(alone, self.score[:, None], scores)


def learn(model: Any, features: Any, positive: NDArray[np.bool_]) -> Neighbours:
    """Return the documents that a classifier compares with, and how many vote."""
    if isinstance(model, NearestNeighbours):
        return Neighbours(model, model.documents_, model.positive_, model.neighbours_)
    return Neighbours(
        model, models.unit_rows(features), positive, min(model.n_neighbors, len(positive))
    )


def find(neighbours: Neighbours, features: Any) -> Neighbourhood:
    """Return the neighbourhoods of documents."""
    count = min(2 * neighbours.k, len(neighbours.positive))
    nearest_first = nearest_documents(neighbours.weigh(features), neighbours.documents, count)
    return Neighbourhood(neighbours, *nearest_first)


# In Euclidean space each neighbour has one vote: s(d) = positive minus negative ones among the
# k nearest. The shifted point d + alpha_i v_i, v_i = n_i - d, has the squared distance |v_m|^2 - 2
# alpha_i v_i.v_m + alpha_i^2 |v_i|^2 from n_m, from products of the ways to the 2k nearest points.


@dataclass(frozen=True)
class Points:
    """Training points and how many of them vote."""

    search: Any  # Fitted to the points
    points: Any  # (points, features): where they are
    positive: NDArray[np.bool_]  # (points,): their classes
    k: int  # How many neighbours vote


@dataclass(frozen=True)
class EuclideanNeighbourhood:
    """The 2k nearest training points of some queries, nearest first."""

    neighbours: Points  # What they are of
    queries: Any  # (queries, features): where the queries are
    away: Floats  # (queries, 2k): distances
    rows: NDArray[np.intp]  # (queries, 2k): which training points they are

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


def learn_points(model: Any, features: Any, positive: NDArray[np.bool_]) -> Points:
    """Return the training points, and how many vote."""
    points = _rows(features)
    k = min(model.n_neighbors, positive.size)
    return Points(NearestNeighbors().fit(points), points, positive, k)


def find_points(neighbours: Points, features: Any) -> EuclideanNeighbourhood:
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


Near = Neighbourhood | EuclideanNeighbourhood


def radius(near: Near) -> Floats:
    """Return the distance of the farthest of the k neighbours."""
    return np.asarray(near.distance[:, -1])


def mean_distance(near: Near) -> Floats:
    """Return the mean distance of the k neighbours."""
    return np.asarray(near.distance.mean(axis=1))


def deviation_of_distance(near: Near) -> Floats:
    """Return the standard deviation of the k distances."""
    return np.asarray(near.distance.std(axis=1))


def mean_distance_of_class(near: Near, row: int) -> Floats:
    """Return the mean distance of the neighbours of a class; the radius where there is none."""
    member = _members(near, row)
    number = member.sum(axis=1)
    total = np.where(member, near.distance, 0.0).sum(axis=1)
    return np.where(number > 0, total / np.maximum(number, 1), radius(near))


def deviation_of_distance_of_class(near: Near, row: int) -> Floats:
    """Return the standard deviation of the distances of a class; 0 where there is no neighbour."""
    member = _members(near, row)
    apart = near.distance - mean_distance_of_class(near, row)[:, None]
    squares = np.where(member, apart**2, 0.0).sum(axis=1)
    return np.asarray(np.sqrt(squares / np.maximum(member.sum(axis=1), 1)))


def shift_mean_prediction(near: Near) -> Floats:
    """Return the share of d and its k shifts of which s(+) >= 0."""
    positive = (near.shifted_score >= 0.0).sum(axis=1) + (near.score >= 0.0)
    return np.asarray(positive / (near.neighbours.k + 1.0))


def shift_mean_difference(near: Near) -> Floats:
    """Return E[s(d_i) - s(d)] over the k shifts."""
    return np.asarray(near.shifted_score.mean(axis=1) - near.score)


def shift_deviation_of_difference(near: Near) -> Floats:
    """Return the standard deviation of s(d_i) - s(d) over the k shifts."""
    return np.asarray(near.shifted_score.std(axis=1))


def _members(near: Near, row: int) -> NDArray[np.bool_]:
    return np.asarray(near.sign[:, : near.neighbours.k] == (1.0 if row else -1.0))


INDICATORS: Mapping[str, Indicator] = {
    "NeighborhoodRadius": radius,
    "MeanNeighborDistance": mean_distance,
    **models.of_each_class("Mean{}NeighborDistance", mean_distance_of_class),
    "SigmaNeighborDistance": deviation_of_distance,
    **models.of_each_class("Sigma{}NeighborDistance", deviation_of_distance_of_class),
    "kNNShiftMeanPred": shift_mean_prediction,
    "kNNShiftMeanConfDiff": shift_mean_difference,
    "kNNShiftStdDevConfDiff": shift_deviation_of_difference,
}
NEIGHBOURS = ModelIndicators(
    recognises=lambda model: isinstance(model, NearestNeighbours),
    learn=learn,
    around=find,
    indicators=INDICATORS,
    score=lambda near: near.score,
)
COSINE_NEIGHBOURS = ModelIndicators(
    recognises=lambda model: (
        isinstance(model, KNeighborsClassifier)
        and model.metric == "cosine"
        and len(model.classes_) == 2
    ),
    learn=learn,
    around=find,
    indicators=INDICATORS,
)
EUCLIDEAN_NEIGHBOURS = ModelIndicators(
    recognises=recognises, learn=learn_points, around=find_points, indicators=INDICATORS
)
