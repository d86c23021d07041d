"""The best monotone recalibration of probabilities, by scikit-learn's isotonic regression."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayescal.metrics.inputs import Outcomes
from bayescal.validation import Floats


class Levels(NamedTuple):
    """
    The distinct probabilities of a set of documents.

    `p` ascending, the `weight` of the documents at each, their weighted share of positives `y`,
    and which level each document is `of`.
    """

    p: Floats
    weight: Floats
    y: Floats
    of: NDArray[np.intp]

    def sums(self, values: Floats) -> Floats:
        """Return sums over the documents of each level."""
        return _sums(self.of, values)


def levels_of(outcomes: Outcomes) -> Levels:
    """Return the distinct probabilities of documents that count; those that tie are one point."""
    distinct, of = np.unique(outcomes.p, return_inverse=True)
    weight = _sums(of, outcomes.counts)
    return Levels(distinct, weight, _sums(of, outcomes.counts * outcomes.truth) / weight, of)


def recalibrate(y: Floats, weight: Floats) -> Floats:
    """Return the shares of positives that never fall and are nearest to those given."""
    from sklearn.isotonic import isotonic_regression

    fitted: Floats = isotonic_regression(y, sample_weight=weight)
    return fitted


def _sums(of: NDArray[np.intp], values: Floats) -> Floats:
    return np.bincount(of, weights=values).astype(np.float64, copy=False)
