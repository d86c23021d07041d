"""Inputs of every metric: outcomes, probabilities of the positive class, weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.support.validation import Floats, as_scores, as_weights, check_same_length, unmasked


class Outcomes(NamedTuple):
    """Checked input: whether each document is positive, P(+), and weights or None."""

    truth: NDArray[np.bool_]
    p: Floats
    weight: Floats | None

    @property
    def counts(self) -> Floats:
        """Return the weights, 1 each if there are none."""
        return np.ones(self.p.size) if self.weight is None else self.weight

    def take(self, index: NDArray[np.intp]) -> Outcomes:
        """Return the documents at some positions."""
        weight = None if self.weight is None else self.weight[index]
        return Outcomes(self.truth[index], self.p[index], weight)

    def counted(self) -> Outcomes:
        """Return the documents that count: a weight of 0 leaves one out."""
        return self if self.weight is None else self.take(np.flatnonzero(self.weight > 0.0))


def read_outcomes(
    y_true: ArrayLike, y_prob: ArrayLike, sample_weight: ArrayLike | None = None
) -> Outcomes:
    """
    Return checked outcomes.

    Examples
    --------
    >>> read_outcomes([0, 1], [0.2, 0.7]).truth
    array([False,  True])
    """
    p = as_probabilities(y_prob)
    truth = as_truth(y_true)
    check_same_length("y_true", truth.size, "y_prob", p.size)
    return Outcomes(truth, p, as_weights(sample_weight, p.size))


def as_truth(y_true: ArrayLike) -> NDArray[np.bool_]:
    """
    Return whether each document is positive.

    Examples
    --------
    >>> as_truth([-1, 1])
    array([False,  True])
    """
    values = np.asarray(unmasked(y_true, "y_true"))
    if values.ndim != 1:
        raise ValueError(
            f"y_true must have shape (n,), one outcome a document, got {values.shape}."
        )
    if values.dtype == bool:
        return values
    positive: NDArray[np.bool_] = np.asarray(values == 1)
    if any((positive | np.asarray(values == negative)).all() for negative in (0, -1)):
        return positive
    odd = values[~np.isin(values, (0, 1))] if values.dtype.kind in "iuf" else values
    raise ValueError(
        f"y_true must hold booleans, 0 and 1, or -1 and 1, got {odd.tolist()[0]!r}:"
        " pass y == positive label."
    )


def as_probabilities(y_prob: ArrayLike, name: str = "y_prob") -> Floats:
    """Return probabilities of the positive class as a float64 array of shape (n,)."""
    p = as_scores(y_prob, name)
    if p.min() < 0.0 or p.max() > 1.0:
        outside = p[(p < 0.0) | (p > 1.0)][0]
        raise ValueError(f"{name} must lie between 0 and 1, got {outside:g}: pass probabilities.")
    return p
