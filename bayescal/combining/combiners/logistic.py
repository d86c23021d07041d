"""Stacking by regularised logistic regression: the baseline of combinations with probabilities."""

from __future__ import annotations

from sklearn.linear_model import LogisticRegression

from bayescal.combining.combiners.stacking import Stacking

MOST_STEPS = 2000


def _make(length: float, scores: int, seed: int) -> LogisticRegression:
    return LogisticRegression(max_iter=MOST_STEPS)


def combiner(*, normalise: bool = True) -> Stacking:
    """Return stacking by logistic regression with scikit-learn's penalty, C = 1."""
    return Stacking(_make, normalise, gives_log_odds=True)
