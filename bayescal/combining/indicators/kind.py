"""ModelIndicators, the indicators of one kind of classifier, and helpers that kinds share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from bayescal.support.validation import Floats

# Names of both classes in names of indicators, and their rows in arrays with one row a class.
CLASSES = {"Positive": 1, "Negative": 0}
Indicator = Callable[[Any], Floats]


@dataclass(frozen=True)
class ModelIndicators:
    """The indicators of one kind of classifier."""

    # Whether a fitted classifier is of this kind, with parameters that the formulas allow.
    recognises: Callable[[Any], bool]
    # (classifier, features of its training documents, positive) -> all that indicators need.
    learn: Callable[[Any, Any, NDArray[np.bool_]], Any]
    # (learned, features of documents) -> the argument of the indicators, such as moments.
    around: Callable[[Any, Any], Any]
    indicators: Mapping[str, Indicator]  # each gives one value a document
    score: Indicator | None = None  # the classifier's scores, where `around` computes them


def of_each_class(name: str, function: Callable[..., Floats]) -> dict[str, Indicator]:
    """
    Return an indicator for each class, whose name replaces the braces.

    Examples
    --------
    >>> list(of_each_class("Mean{}Distance", np.take))
    ['MeanPositiveDistance', 'MeanNegativeDistance']
    """
    return {name.format(label): partial(function, row=row) for label, row in CLASSES.items()}


def standard_deviation(mean: Floats, mean_of_squares: Floats) -> Floats:
    """
    Return sqrt(E[x^2] - E[x]^2), of a distribution and not of a sample from it.

    Examples
    --------
    >>> standard_deviation(np.array([1.0, 0.1]), np.array([5.0, 0.01]))
    array([2., 0.])
    """
    # Where all values are equal the difference is 0 but for rounding.
    return np.sqrt(np.maximum(mean_of_squares - mean**2, 0.0))


def ratio(part: Floats, whole: Floats) -> Floats:
    """
    Return part / whole, and 0 where both are 0.

    Examples
    --------
    >>> ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    array([0.5, 0. ])
    """
    return np.divide(part, whole, out=np.zeros(np.broadcast(part, whole).shape), where=whole != 0.0)


def unit_rows(features: Any) -> Any:
    """
    Return documents as sparse rows of length 1; a document without features stays empty.

    Examples
    --------
    >>> unit_rows([[3.0, 4.0], [0.0, 0.0]]).toarray().tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    return sparse.csr_array(normalize(sparse.csr_array(features, dtype=np.float64)))


def distance(cosine: Floats) -> Floats:
    """
    Return the Euclidean distance of documents of length 1, sqrt(2 - 2 cos).

    A document without features has cosine 0 with all others, and is as far from them as documents
    without a common feature, sqrt(2).

    Examples
    --------
    >>> distance(np.array([1.0, 0.0])).round(3)
    array([0.   , 1.414])
    """
    return np.sqrt(np.maximum(2.0 - 2.0 * cosine, 0.0))
