"""How far the neighbours are, and how their vote changes when a document moves to one (Type 3).

Documents have length 1 and are sqrt(2 - 2 cos) apart. Delta moves the document d towards one of its
k neighbours n_i, each as likely, as far as d stays the nearest point: d_i = d + alpha_i (n_i - d).
What neighbours d_i has is judged from the 2k nearest documents to d, as in Bennett's
dissertation, section 5.1.3, which finds alpha_i by bisection; here it has a closed form, which
needs only products of the 2k documents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsClassifier

from bayescal.indicators.kind import Indicator, ModelIndicators, distance, of_each_class, unit_rows
from bayescal.indicators.neighbour_shifts import products, shifted_cosines, votes
from bayescal.parallel import blocks_of
from bayescal.text.nearest_neighbours import NearestNeighbours
from bayescal.text.similar_documents import nearest_documents
from bayescal.validation import Floats

# Queries whose neighbours are compared with each other at a time.
BLOCK = 64


@dataclass(frozen=True)
class Neighbours:
    """
    Training documents, as a classifier by nearest neighbours compares them.

    Attributes
    ----------
    model : classifier
        Which weighs the words of queries, if it weighs them.
    documents : sparse array of shape (training documents, features)
        Of length 1, or empty.
    positive : array of shape (training documents,) of bool
        Their classes.
    k : int
        How many neighbours vote.
    """

    model: Any
    documents: Any
    positive: NDArray[np.bool_]
    k: int

    def weigh(self, features: Any) -> Any:
        """Return queries as they are compared."""
        weighs = isinstance(self.model, NearestNeighbours)
        return self.model.weigh(features) if weighs else unit_rows(features)


@dataclass(frozen=True)
class Neighbourhood:
    """
    The 2k nearest training documents of some documents, nearest first.

    Attributes
    ----------
    neighbours : Neighbours
        What they are of.
    similarity : array of shape (documents, 2k)
        Their cosines.
    rows : array of shape (documents, 2k)
        Which training documents they are.
    """

    neighbours: Neighbours
    similarity: Floats
    rows: NDArray[np.intp]

    @cached_property
    def sign(self) -> Floats:
        """Return 1 for positive and -1 for negative neighbours, (documents, 2k)."""
        return np.where(self.neighbours.positive[self.rows], 1.0, -1.0)

    @cached_property
    def distance(self) -> Floats:
        """Return the distances of the k neighbours that vote, (documents, k)."""
        return distance(self.similarity[:, : self.neighbours.k])

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
    return Neighbours(model, unit_rows(features), positive, min(model.n_neighbors, len(positive)))


def find(neighbours: Neighbours, features: Any) -> Neighbourhood:
    """Return the neighbourhoods of documents."""
    count = min(2 * neighbours.k, len(neighbours.positive))
    found = nearest_documents(neighbours.weigh(features), neighbours.documents, count)
    return Neighbourhood(neighbours, *found)


class Near(Protocol):
    """What the indicators are functions of: neighbours by cosines, or in Euclidean space."""

    @property
    def neighbours(self) -> Any:
        """Return what has `k`, the number of neighbours that vote."""
        ...

    @property
    def sign(self) -> Floats:
        """Return 1 for positive and -1 for negative neighbours, (documents, 2k)."""
        ...

    @property
    def distance(self) -> Floats:
        """Return the distances of the k neighbours that vote, (documents, k)."""
        ...

    @property
    def score(self) -> Floats:
        """Return s(d), (documents,)."""
        ...

    @property
    def shifted_score(self) -> Floats:
        """Return s(d_i) of the document moved towards each neighbour, (documents, k)."""
        ...


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
    **of_each_class("Mean{}NeighborDistance", mean_distance_of_class),
    "SigmaNeighborDistance": deviation_of_distance,
    **of_each_class("Sigma{}NeighborDistance", deviation_of_distance_of_class),
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
