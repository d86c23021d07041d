"""Indicators of nearest neighbours: their distances, and the vote when a document moves to one.

Documents have length 1 and are sqrt(2 - 2 cos) apart. Delta moves the document d towards one of its
k neighbours n_i, each equally likely, as far as d stays the nearest point: d_i = d + alpha_i (n_i -
d). The neighbours of d_i are chosen among the 2k nearest documents to d, as in Bennett's
dissertation, section 5.1.3, which finds alpha_i by bisection; here it has a closed form in products
of these 2k documents.
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

SAME = 1e-12  # squared distance of equal documents; rounding of a cosine leaves 1e-16


def products(documents: Any, rows: NDArray[np.intp]) -> Floats:
    """Return the cosines of each query's neighbours with each other."""
    queries, m = rows.shape
    chosen = documents[rows.ravel()]
    # Separate columns for each query, so that one sparse product has no terms between queries.
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

    With v_j = n_j - d, alpha_i = min(1/2, min over j with v_i.v_j > 0 of |v_j|^2 / (2 v_i.v_j)).
    A neighbour at d itself sets no limit.
    """
    limits = (squared[:, None, :] > SAME) & (product > squared[:, None, :])
    shift = np.full(product.shape, 0.5)
    np.divide(squared[:, None, :], 2.0 * product, out=shift, where=limits)
    return np.asarray(shift.min(axis=2))


def shifted_cosines(similarity: Floats, gram: Floats, k: int) -> Floats:
    """Return the cosines of a document moved towards each of k neighbours, with all m near ones."""
    target = similarity[:, :k, None]
    squared = 2.0 - 2.0 * similarity
    # Documents farther than the target set no limit: the k nearest suffice.
    product = 1.0 - target - similarity[:, None, :k] + gram[:, :k, :k]
    alpha = largest_shifts(squared[:, :k], product)[:, :, None]
    # A document halfway to its opposite has length 0.
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


BLOCK = 64  # queries at a time


@dataclass(frozen=True)
class Neighbours:
    """Training documents of a nearest-neighbour classifier."""

    model: Any
    documents: Any  # (training documents, features): of length 1, or empty
    positive: NDArray[np.bool_]  # (training documents,)
    k: int  # number of neighbours that vote

    def weigh(self, features: Any) -> Any:
        """Return queries in the representation of the training documents."""
        weighs = isinstance(self.model, NearestNeighbours)
        return self.model.weigh(features) if weighs else models.unit_rows(features)


@dataclass(frozen=True)
class Neighbourhood:
    """The 2k nearest training documents of some documents, nearest first."""

    neighbours: Neighbours
    similarity: Floats  # (documents, 2k): cosines
    rows: NDArray[np.intp]  # (documents, 2k): positions among the training documents

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
        """Return s(+) of the document moved towards each neighbour, (documents, k)."""
        k = self.neighbours.k
        scores = np.empty((len(self.rows), k))
        for block in blocks_of(BLOCK, len(self.rows)):
            gram = products(self.neighbours.documents, self.rows[block])
            cosine = shifted_cosines(self.similarity[block], gram, k)
            scores[block] = votes(cosine, self.sign[block], k)
        # Documents without a feature in common with any other do not move.
        alone = self.similarity[:, :1] == 0.0
        return np.where(alone, self.score[:, None], scores)


def learn(model: Any, features: Any, positive: NDArray[np.bool_]) -> Neighbours:
    """Return the training documents of a classifier by cosines."""
    if isinstance(model, NearestNeighbours):
        return Neighbours(model, model.documents_, model.positive_, model.neighbours_)
    k = min(model.n_neighbors, len(positive))
    return Neighbours(model, models.unit_rows(features), positive, k)


def find(neighbours: Neighbours, features: Any) -> Neighbourhood:
    """Return the neighbourhoods of documents."""
    count = min(2 * neighbours.k, len(neighbours.positive))
    nearest_first = nearest_documents(neighbours.weigh(features), neighbours.documents, count)
    return Neighbourhood(neighbours, *nearest_first)


# In Euclidean space each neighbour has one vote: s(d) = positive minus negative ones among the
# k nearest. The shifted point d + alpha_i v_i, v_i = n_i - d, has the squared distance |v_m|^2 - 2
# alpha_i v_i.v_m + alpha_i^2 |v_i|^2 from n_m.


@dataclass(frozen=True)
class Points:
    """Training points of a classifier in Euclidean space."""

    search: Any  # scikit-learn's NearestNeighbors
    points: Any  # (points, features)
    positive: NDArray[np.bool_]  # (points,)
    k: int  # number of neighbours that vote


@dataclass(frozen=True)
class EuclideanNeighbourhood:
    """The 2k nearest training points of some queries, nearest first."""

    neighbours: Points
    queries: Any  # (queries, features)
    away: Floats  # (queries, 2k): distances
    rows: NDArray[np.intp]  # (queries, 2k): positions among the training points

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
            # |v_i|^2 alpha_i^2 is the same for all m: it does not change their order.
            near = nearest(-moved.reshape(-1, moved.shape[2]), k)
            sign = np.repeat(self.sign[block], k, axis=0)
            votes = np.take_along_axis(sign, near, axis=1).sum(axis=1)
            scores[block] = votes.reshape(-1, k)
        return scores

    def _products(self, block: slice) -> Floats:
        """Return v_i.v_m of all pairs of neighbours, (queries, 2k, 2k)."""
        near = _dense(self.neighbours.points[self.rows[block].ravel()])
        queries = _dense(self.queries[block])
        way = near.reshape(len(queries), -1, queries.shape[1]) - queries[:, None]
        return np.asarray(way @ way.transpose(0, 2, 1))


def learn_points(model: Any, features: Any, positive: NDArray[np.bool_]) -> Points:
    """Return the training points."""
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
    """Return the share of d and its k shifts with s(+) >= 0."""
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
