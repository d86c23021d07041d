"""How a linear SVM's score changes when a document moves towards a support vector (Type 3).

S holds the training documents x with y f(x) <= 1, y in {-1, 1}: those inside the margin or on the
wrong side of it. Distances are between documents of length 1. With eps half the distance to the
nearest v in S, Delta moves the document d by eps towards v_i with probability P_i proportional to
exp(-|v_i - d|): d_i = d + beta_i (v_i - d), beta_i = eps/|v_i - d|. The linear score changes by
beta_i (f(v_i) - f(d)). All is 0 where d is one of the v_i, and where S is empty. Bennett's
dissertation, section 5.1.5.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC, LinearSVC

from bayescal.indicators.kind import (
    ModelIndicators,
    distance,
    standard_deviation,
    unit_rows,
)
from bayescal.validation import Floats

# What lies on the margin is a support vector, and solvers put it there to about a thousandth.
MARGIN = 1.0 + 1e-3
# Nearer than so a document is the support vector itself: the root of what a cosine is rounded by.
SAME = 1e-7


@dataclass(frozen=True)
class SupportVectors:
    """
    The documents of S.

    Attributes
    ----------
    model : classifier
        Whose score f is.
    vectors : sparse array of shape (vectors, features)
        Of length 1, or empty.
    score : array of shape (vectors,)
        f(v).
    sign : array of shape (vectors,)
        y: 1 for positive documents, -1 for negative ones.
    """

    model: Any
    vectors: Any
    score: Floats
    sign: Floats


@dataclass(frozen=True)
class Shift:
    """
    Moments under the move towards a support vector.

    Attributes
    ----------
    mean, deviation : arrays of shape (documents,)
        Of f(d_i) - f(d).
    mean_goodness, deviation_of_goodness : arrays of shape (documents,)
        Of G_i = y_i beta_i f(v_i), which is positive where v_i is on its class's side.
    nearest : array of shape (documents,)
        y exp(-|v - d|) of the nearest v.
    """

    mean: Floats
    deviation: Floats
    mean_goodness: Floats
    deviation_of_goodness: Floats
    nearest: Floats


def learn(model: Any, features: Any, positive: NDArray[np.bool_]) -> SupportVectors:
    """Return the support vectors among the training documents."""
    score = np.asarray(model.decision_function(features), dtype=np.float64)
    sign = np.where(positive, 1.0, -1.0)
    chosen = np.flatnonzero(sign * score <= MARGIN)
    vectors = unit_rows(features)[chosen]
    return SupportVectors(model, vectors, score[chosen], sign[chosen])


def shift(support: SupportVectors, features: Any) -> Shift:
    """Return the moments of documents (equations 5.34 and 5.35); O(vectors) for each."""
    own = np.asarray(support.model.decision_function(features), dtype=np.float64)
    if support.score.size == 0:
        return Shift(*np.zeros((5, own.size)))
    away = distance((unit_rows(features) @ support.vectors.T).toarray())
    closest = away.argmin(axis=1)
    least = away[np.arange(own.size), closest]
    near = np.exp(least[:, None] - away)
    near /= near.sum(axis=1, keepdims=True)
    # A document at distance 0 gets all 0 below, whatever stands here.
    step = least / 2.0
    np.divide(near, away, out=near, where=away > 0.0)
    ones = np.ones_like(support.score)
    first = near @ np.stack([ones, support.score, support.sign * support.score], axis=1)
    np.divide(near, away, out=near, where=away > 0.0)
    second = near @ np.stack([ones, support.score, support.score**2], axis=1)
    mean = step * (first[:, 1] - own * first[:, 0])
    squares = step**2 * (second[:, 2] - 2.0 * own * second[:, 1] + own**2 * second[:, 0])
    goodness = step * first[:, 2]
    values = (
        mean,
        standard_deviation(mean, squares),
        goodness,
        standard_deviation(goodness, step**2 * second[:, 2]),
        support.sign[closest] * np.exp(-least),
    )
    return Shift(*np.where(least > SAME, values, 0.0))


def shift_mean_difference(moved: Shift) -> Floats:
    """Return E[f(d_i) - f(d)] = sum_i P_i beta_i (f(v_i) - f(d)) (equation 5.34)."""
    return moved.mean


def shift_deviation_of_difference(moved: Shift) -> Floats:
    """Return the standard deviation of f(d_i) - f(d) (equation 5.35)."""
    return moved.deviation


def mean_good_proximity(moved: Shift) -> Floats:
    """Return E[y_i beta_i f(v_i)]: positive near support vectors on their class's side."""
    return moved.mean_goodness


def deviation_of_good_proximity(moved: Shift) -> Floats:
    """Return the standard deviation of y_i beta_i f(v_i)."""
    return moved.deviation_of_goodness


def signed_nearest(moved: Shift) -> Floats:
    """Return y_n exp(-|v_n - d|) of the nearest support vector v_n."""
    return moved.nearest


SUPPORT_VECTORS = ModelIndicators(
    recognises=lambda model: (
        (isinstance(model, LinearSVC) or (isinstance(model, SVC) and model.kernel == "linear"))
        and len(model.classes_) == 2
    ),
    learn=learn,
    around=shift,
    indicators={
        "SVMShiftMeanConfDiff": shift_mean_difference,
        "SVMShiftStdDevConfDiff": shift_deviation_of_difference,
        "meanGoodSVProximity": mean_good_proximity,
        "stdDevGoodSVProximity": deviation_of_good_proximity,
        "signedNNSV": signed_nearest,
    },
)
