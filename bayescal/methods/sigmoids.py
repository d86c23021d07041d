"""Straight log-odds: logistic regression, Platt's noisy labels, temperature."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import special

from bayescal.methods.method import Labels
from bayescal.validation import Floats

# What stands for a probability of 0, of any method that says it.
SMALLEST = 1e-15


class SeparableWarning(UserWarning):
    """Scores separate the classes: logistic regression has no finite maximum."""


def logistic_regression(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """
    Return log-odds a + b s by maximum likelihood (the paper's LogReg).

    Where a score separates the classes the likelihood rises with b without end. The limit is a
    step at the middle of the gap; its probabilities of 0 and 1 are kept 1e-15 away from them.

    Warns
    -----
    SeparableWarning
        If the scores separate the classes.

    Examples
    --------
    >>> scores, labels = np.array([-1.0, 0.0, 1.0, 2.0]), np.array([0, 1, 0, 1])
    >>> logistic_regression(scores, labels, np.array([0.5])).round(6) + 0.0
    array([0.])
    """
    from sklearn.linear_model import LogisticRegression

    positive = np.asarray(labels) == 1
    sign = 1.0 if scores[positive].mean() >= scores[~positive].mean() else -1.0
    highest, lowest = (sign * scores[~positive]).max(), (sign * scores[positive]).min()
    if highest <= lowest:
        warnings.warn(
            "scores separate the classes, so that the likelihood of logistic regression has no"
            " finite maximum: a step stands for it.",
            SeparableWarning,
            stacklevel=2,
        )
        return np.asarray(
            np.sign(sign * new - (highest + lowest) / 2.0) * special.logit(1.0 - SMALLEST)
        )
    centre, spread = scores.mean(), scores.std()
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10, max_iter=1000)
    model.fit(((scores - centre) / spread)[:, None], positive)
    return np.asarray(model.decision_function(((new - centre) / spread)[:, None]))


def platt(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """
    Return log-odds a + b s by Platt's method (the paper's LR+Noise): scikit-learn's sigmoid.

    Maximum likelihood with targets (n_+ + 1)/(n_+ + 2) of positives and 1/(n_- + 2) of negatives.

    Examples
    --------
    >>> platt(np.array([5.0, -4.0, 1.0]), np.array([1, 0, 0]), np.array([0.0])).round(3)
    array([-0.652])
    """
    sigmoid = _scikit_learn("sigmoid", scores, labels)
    return np.asarray(-(sigmoid.a_ * new + sigmoid.b_))


def temperature(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds by one factor on the scores: scikit-learn's temperature."""
    return np.asarray(_scikit_learn("temperature", scores, labels).beta_ * new)


def _scikit_learn(method: str, scores: Floats, labels: Labels) -> Any:
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.frozen import FrozenEstimator
    from sklearn.linear_model import LogisticRegression

    # The logistic regression has slope 1 and intercept 0: its decision function is the score.
    base = LogisticRegression()
    base.classes_, base.coef_, base.intercept_ = np.array([0, 1]), np.ones((1, 1)), np.zeros(1)
    base.n_features_in_ = 1
    every = np.arange(scores.size)
    # One "fold" of all: the default folds ask for two documents of each class.
    calibrated = CalibratedClassifierCV(
        FrozenEstimator(base), method=method, cv=[(every, every)], ensemble=False
    )
    calibrated.fit(scores[:, None], labels)
    return calibrated.calibrated_classifiers_[0].calibrators[0]
