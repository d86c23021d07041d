"""What a score is made of: miscalibration, discrimination, uncertainty (CORP)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from bayescal.metrics.inputs import read_outcomes
from bayescal.metrics.isotonic import levels_of, recalibrate
from bayescal.metrics.scores import Metric, brier_score


@dataclass(frozen=True)
class Decomposition:
    """
    A mean score and its parts: score = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    score : float
        The mean score of the probabilities.
    miscalibration : float
        What the best monotone recalibration would gain; 0 for calibrated probabilities.
    discrimination : float
        What the recalibrated probabilities gain over the base rate; larger is better.
    uncertainty : float
        The score of the base rate, a property of the outcomes alone.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


def score_decomposition(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    score: Metric = brier_score,
    sample_weight: ArrayLike | None = None,
) -> Decomposition:
    """
    Return the CORP decomposition of a proper score.

    With S(p) the mean score, p* the isotonic regression of the outcomes on p and r the base rate:
    miscalibration S(p) - S(p*), discrimination S(r) - S(p*), uncertainty S(r).

    Parameters
    ----------
    y_true, y_prob, sample_weight : array-like of shape (n,)
        See `log_loss`.
    score : callable
        A proper score: `brier_score`, `log_loss`, or functools.partial(log_loss, base=2).

    Raises
    ------
    ValueError
        If an argument is not as described.

    Notes
    -----
    Miscalibration is never negative, so that of a finite sample is above 0 even for perfect
    probabilities, and bootstrap samples, which repeat documents, push it up further: give it no
    bootstrap interval; `reliability_curve` has bands that know.

    References
    ----------
    T. Dimitriadis, T. Gneiting and A. I. Jordan, *Stable reliability diagrams for probabilistic
    classifiers*, PNAS 2021, equation 6.

    Examples
    --------
    >>> parts = score_decomposition([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> round(parts.miscalibration, 3), round(parts.discrimination, 3), parts.uncertainty
    (0.06, 0.125, 0.25)
    """
    outcomes = read_outcomes(y_true, y_prob, sample_weight).counted()
    truth, p, weight = outcomes.truth, outcomes.p, outcomes.counts
    levels = levels_of(outcomes)
    best = np.clip(recalibrate(levels.y, levels.weight), 0.0, 1.0)[levels.of]
    base_rate = np.full(p.size, np.average(truth, weights=weight))
    own, recalibrated, uncertainty = (
        float(score(truth, each, sample_weight=weight)) for each in (p, best, base_rate)
    )
    return Decomposition(own, own - recalibrated, uncertainty - recalibrated, uncertainty)
