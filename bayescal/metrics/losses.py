"""Losses of calibrated log-odds: base-2 log-loss, squared error, errors (dissertation, 3.2.4)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bayescal.bayes import probability
from bayescal.validation import Floats, as_scores, as_weights, check_same_length


@dataclass(frozen=True)
class Losses:
    """
    Totals over documents; with weights, weighted ones.

    Attributes
    ----------
    n : int or float
        Number of documents.
    log_loss : float
        Minus the base-2 logarithm of the probability of what happened, summed. In bits.
    squared_error : float
        Sum of (1 - probability of what happened)^2.
    errors : int or float
        Documents whose more probable class was wrong; exactly 1/2 counts as predicting negative.
    """

    n: float
    log_loss: float
    squared_error: float
    errors: float


def losses(
    log_odds: ArrayLike, positive: ArrayLike, sample_weight: ArrayLike | None = None
) -> Losses:
    """
    Return the losses of calibrated log-odds against what happened.

    Computed from log-odds, so that a probability that rounds to 1 keeps its finite loss:
    -log p = log(1 + exp(-log-odds)) for a positive document.

    Parameters
    ----------
    log_odds : array-like of shape (n,)
        Calibrated natural log-odds of the positive class.
    positive : array-like of shape (n,) of bool
        Whether each document is positive.
    sample_weight : array-like of shape (n,), optional
        How many documents each counts for.

    Raises
    ------
    ValueError
        If lengths differ, log-odds are not finite or weights not legal.

    Examples
    --------
    >>> losses([0.0, 0.0], [True, False])
    Losses(n=2, log_loss=2.0, squared_error=0.5, errors=1)
    """
    values = as_scores(log_odds, "log_odds")
    truth = np.asarray(positive, dtype=bool)
    check_same_length("log_odds", values.size, "positive", truth.size)
    against = np.where(truth, -values, values)
    bits = np.logaddexp(0.0, against) / np.log(2.0)
    squares: Floats = probability(against) ** 2
    wrong = np.where(truth, values <= 0.0, values > 0.0)
    weight = as_weights(sample_weight, values.size)
    if weight is None:
        return Losses(values.size, float(bits.sum()), float(squares.sum()), int(wrong.sum()))
    return Losses(*(float(weight @ each) for each in (np.ones_like(bits), bits, squares, wrong)))
