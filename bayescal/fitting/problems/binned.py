"""Log-odds of documents in bins of the score, beside a calibration's curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.fitting.scores import BinaryScores
from bayescal.support.intervals import tails
from bayescal.support.validation import Floats

Curve = Callable[[Floats], Floats]

LEAST = 1e-300  # smallest sum of probabilities, whose logarithm is finite


def binned_log_odds(
    place: NDArray[np.intp], documents: BinaryScores, curve: Curve, level: float
) -> dict[str, Floats]:
    """
    Return each bin's mean score, numbers of both classes, log-odds, and Jeffreys' interval.

    Documents of a bin differ in probability, and the log-odds of their share are closer to 0 than
    the curve at their mean score. Log-odds are therefore median and interval of Beta(k + 1/2,
    m + 1/2) for k positives and m negatives, plus the curve at the mean score, less the log-odds
    of the curve's mean probability. Bins of one class have an infinite end.
    """
    score, weight, bins = documents.score, documents.weights, int(place.max(initial=-1)) + 1
    if not score.size:
        curve = np.asarray  # there are no bins, and calibrators refuse to predict nothing
    log_odds = curve(score)

    def total(values: NDArray[Any]) -> Floats:
        return np.asarray(np.bincount(place, weight * values, bins), dtype=np.float64)

    k, m = total(documents.positive), total(~documents.positive)
    mean = total(score) / (k + m)
    expected, complement = total(special.expit(log_odds)), total(special.expit(-log_odds))
    shift = curve(mean) - np.log(np.maximum(expected, LEAST) / np.maximum(complement, LEAST))
    low, high = tails(level)
    lower, middle, upper = (
        shift + special.logit(special.betaincinv(k + 0.5, m + 0.5, share))
        for share in (low, 0.5, high)
    )
    return {
        "score": mean,
        "positives": k,
        "negatives": m,
        "log_odds": middle,
        "lower": np.where(k == 0.0, -np.inf, lower),
        "upper": np.where(m == 0.0, np.inf, upper),
    }
