"""What a forecaster says and how often it is right: its values, and the shares behind them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bayescal.labels import encode_labels
from bayescal.validation import Floats, as_scores, check_same_length

ROUNDING = 1e-9


@dataclass(frozen=True)
class Forecasts:
    """
    The characteristic of a forecaster of two classes, as a reliability diagram shows it.

    Attributes
    ----------
    value : array of shape (m,)
        The different probabilities pi that it emits, rising.
    frequency : array of shape (m,)
        P(pi), how often it emits each; they sum to 1.
    share : array of shape (m,)
        P(+|pi), the share of positives where it does.

    References
    ----------
    Bennett's dissertation, section 3.1, after DeGroot and Fienberg (1983).
    """

    value: Floats
    frequency: Floats
    share: Floats

    def is_calibrated(self, tolerance: float = ROUNDING) -> bool:
        """
        Return whether P(+|pi) = pi at every value.

        Parameters
        ----------
        tolerance : float
            How far the two may be apart; of samples, more than their noise.
        """
        return bool(np.abs(self.share - self.value).max() <= tolerance)

    @property
    def given_class(self) -> Floats:
        """Return P(pi|c) of the negative and the positive class, shape (2, m)."""
        joint = self.frequency * np.stack([1.0 - self.share, self.share])
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def forecasts(probabilities: ArrayLike, labels: ArrayLike) -> Forecasts:
    """
    Return what a forecaster emits, from samples with their labels.

    Parameters
    ----------
    probabilities : array-like of shape (n,)
        P(+) as forecast; round to few values what takes many.
    labels : array-like of shape (n,)
        Two classes, both present.

    Raises
    ------
    ValueError
        If the lengths differ, there are not two classes, or a probability is none.

    Examples
    --------
    >>> found = forecasts([0.2, 0.2, 0.2, 0.2, 0.8], [0, 1, 0, 0, 1])
    >>> found.value.tolist(), found.frequency.tolist(), found.share.tolist()
    ([0.2, 0.8], [0.8, 0.2], [0.25, 1.0])
    >>> found.is_calibrated()
    False
    """
    p = as_scores(probabilities, "probabilities")
    _, positive = encode_labels(labels, name="labels")
    check_same_length("probabilities", p.size, "labels", positive.size)
    if p.min() < 0.0 or p.max() > 1.0:
        raise ValueError(f"probabilities must lie between 0 and 1, got {p.min()} to {p.max()}.")
    value, which, counts = np.unique(p, return_inverse=True, return_counts=True)
    positives = np.bincount(which, weights=positive, minlength=value.size)
    return Forecasts(value, counts / p.size, positives / counts)
