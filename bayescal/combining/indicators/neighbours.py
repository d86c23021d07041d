"""Indicators of nearest neighbours: their distances, and the vote when a document moves to one.

Documents have length 1 and are sqrt(2 - 2 cos) apart. Delta moves the document d towards one of its
k neighbours n_i, each equally likely, as far as d stays the nearest point: d_i = d + alpha_i (n_i -
d). The neighbours of d_i are chosen among the 2k nearest documents to d, as in Bennett's
dissertation, section 5.1.3, which finds alpha_i by bisection; here it has a closed form in products
of these 2k documents.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors

from bayescal.combining.indicators import models
from bayescal.combining.indicators.models import Indicator, ModelIndicators
from bayescal.support.numerics import blocks_of
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
    """Return the largest moves towards each neighbour that keep the point nearest to its origin."""
    # With v_j = n_j - d, alpha_i = min(1/2, min over j with v_i.v_j > 0 of |v_j|^2 / (2 v_i.v_j)).
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


def votes(closeness: Floats, value: Floats, k: int) -> Floats:
    """Return the sums of values over the k nearest of each shift's neighbours, (documents, k)."""
    m = closeness.shape[2]
    near = nearest(closeness.reshape(-1, m), k)
    values = np.broadcast_to(value, closeness.shape).reshape(-1, m)
    return np.asarray(
        np.take_along_axis(values, near, axis=1).sum(axis=1).reshape(closeness.shape[:2])
    )


BLOCK = 64  # queries at a time


@dataclass(frozen=True)
class Neighbours:
    """Training documents of a nearest-neighbour classifier."""

    search: Any  # weighs queries by `weigh`, or finds them by `kneighbors`; None for cosines
    documents: Any  # (training documents, features): of length 1, or empty, for cosines
    positive: NDArray[np.bool_]  # (training documents,)
    k: int  # number of neighbours that vote

    @property
    def count(self) -> int:
        """Return the number of neighbours that are looked at, 2k."""
        return min(2 * self.k, self.positive.size)

    def sign(self, rows: NDArray[np.intp]) -> Floats:
        """Return 1 for positive and -1 for negative neighbours."""
        return np.where(self.positive[rows], 1.0, -1.0)


@dataclass(frozen=True)
class Neighbourhood:
    """The k nearest training documents of some documents, nearest first."""

    distance: Floats  # (documents, k)
    positive: NDArray[np.bool_]  # (documents, k)
    score: Floats  # (documents,): s(+) (equation 5.20)
    shifted_score: Floats  # (documents, k): s(+) of the document moved towards each neighbour


def learn(model: Any, features: Any, positive: NDArray[np.bool_]) -> Neighbours:
    """Return the training documents of a classifier by cosines."""
    if isinstance(model, NearestNeighbours):
        return Neighbours(model, model.documents_, model.positive_, model.neighbours_)
    k = min(model.n_neighbors, positive.size)
    return Neighbours(None, models.unit_rows(features), positive, k)


def find(neighbours: Neighbours, features: Any) -> Neighbourhood:
    """Return the neighbourhoods of documents."""
    weigh = models.unit_rows if neighbours.search is None else neighbours.search.weigh
    similarity, rows = nearest_documents(weigh(features), neighbours.documents, neighbours.count)
    k, sign = neighbours.k, neighbours.sign(rows)
    score = (similarity[:, :k] * sign[:, :k]).sum(axis=1)

    def shifted(block: slice) -> Floats:
        gram = products(neighbours.documents, rows[block])
        cosine = shifted_cosines(similarity[block], gram, k)
        return votes(cosine, cosine * sign[block, None], k)

    scores = np.concatenate([shifted(block) for block in blocks_of(BLOCK, len(rows))])
    # Documents without a feature in common with any other do not move.
    scores = np.where(similarity[:, :1] == 0.0, score[:, None], scores)
    return Neighbourhood(models.distance(similarity[:, :k]), sign[:, :k] > 0.0, score, scores)


# In Euclidean space each neighbour has one vote: s(d) = positive minus negative ones among the
# k nearest. The shifted point d + alpha_i v_i, v_i = n_i - d, has the squared distance |v_m|^2 - 2
# alpha_i v_i.v_m + alpha_i^2 |v_i|^2 from n_m.


def learn_points(model: Any, features: Any, positive: NDArray[np.bool_]) -> Neighbours:
    """Return the training points of a classifier in Euclidean space."""
    points = _rows(features)
    k = min(model.n_neighbors, positive.size)
    return Neighbours(NearestNeighbors().fit(points), points, positive, k)


def find_points(neighbours: Neighbours, features: Any) -> Neighbourhood:
    """Return the neighbourhoods of points."""
    queries = _rows(features)
    away, rows = neighbours.search.kneighbors(queries, neighbours.count)
    k, sign = neighbours.k, neighbours.sign(rows)

    def shifted(block: slice) -> Floats:
        at = _dense(queries[block])
        near = _dense(neighbours.documents[rows[block].ravel()])
        way = near.reshape(len(at), -1, at.shape[1]) - at[:, None]
        product = way @ way.transpose(0, 2, 1)
        squared = np.einsum("qmm->qm", product)
        alpha = largest_shifts(squared[:, :k], product[:, :k, :k])[:, :, None]
        # |v_i|^2 alpha_i^2 is the same for all m: it does not change their order.
        return votes(2.0 * alpha * product[:, :k] - squared[:, None], sign[block, None], k)

    scores = np.concatenate([shifted(block) for block in blocks_of(BLOCK, len(rows))])
    return Neighbourhood(away[:, :k], sign[:, :k] > 0.0, sign[:, :k].sum(axis=1), scores)


def _rows(features: Any) -> Any:
    # Dense data stay so: searching them takes a tree, sparse ones are compared one by one.
    return features.tocsr() if hasattr(features, "tocsr") else np.asarray(features)


def _dense(rows: Any) -> Floats:
    return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)


def mean_distance_of_class(near: Neighbourhood, row: int) -> Floats:
    """Return the mean distance of the neighbours of a class; the radius where there is none."""
    member = near.positive == bool(row)
    number = member.sum(axis=1)
    total = np.where(member, near.distance, 0.0).sum(axis=1)
    return np.where(number > 0, total / np.maximum(number, 1), near.distance[:, -1])


def deviation_of_distance_of_class(near: Neighbourhood, row: int) -> Floats:
    """Return the standard deviation of the distances of a class; 0 where there is no neighbour."""
    member = near.positive == bool(row)
    apart = near.distance - mean_distance_of_class(near, row)[:, None]
    squares = np.where(member, apart**2, 0.0).sum(axis=1)
    return np.asarray(np.sqrt(squares / np.maximum(member.sum(axis=1), 1)))


INDICATORS: Mapping[str, Indicator] = {
    "NeighborhoodRadius": lambda near: near.distance[:, -1],
    "MeanNeighborDistance": lambda near: near.distance.mean(axis=1),
    **models.of_each_class("Mean{}NeighborDistance", mean_distance_of_class),
    "SigmaNeighborDistance": lambda near: near.distance.std(axis=1),
    **models.of_each_class("Sigma{}NeighborDistance", deviation_of_distance_of_class),
    # The share of d and its k shifts with s(+) >= 0.
    "kNNShiftMeanPred": lambda near: (
        np.column_stack([near.score, near.shifted_score]) >= 0.0
    ).mean(axis=1),
    # Mean and standard deviation of s(d_i) - s(d).
    "kNNShiftMeanConfDiff": lambda near: near.shifted_score.mean(axis=1) - near.score,
    "kNNShiftStdDevConfDiff": lambda near: near.shifted_score.std(axis=1),
}


def counts_votes(model: Any) -> bool:
    """Return whether a classifier counts votes of Euclidean neighbours."""
    euclidean = model.metric == "euclidean" or (model.metric == "minkowski" and model.p == 2)
    return bool(euclidean and model.weights == "uniform")


NEIGHBOURS = ModelIndicators(
    recognises=lambda model: isinstance(model, NearestNeighbours),
    learn=learn,
    around=find,
    indicators=INDICATORS,
    score=lambda near: near.score,
)
COSINE_NEIGHBOURS = ModelIndicators(
    recognises=lambda model: (
        models.is_binary(model, KNeighborsClassifier) and model.metric == "cosine"
    ),
    learn=learn,
    around=find,
    indicators=INDICATORS,
)
EUCLIDEAN_NEIGHBOURS = ModelIndicators(
    recognises=lambda model: models.is_binary(model, KNeighborsClassifier) and counts_votes(model),
    learn=learn_points,
    around=find_points,
    indicators=INDICATORS,
)
