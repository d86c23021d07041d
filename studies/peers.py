"""Calibration methods that studies compare: (scores, labels, new scores) -> log-odds.

Peers as their libraries have them; ours as `ScoreCalibrator` with settings.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

from bayescal import ScoreCalibrator
from bayescal.validation import Floats
from studies.logistic import posterior_mean_log_odds

Labels = NDArray[Any]
Settings = dict[str, Any]
Method = Callable[[Floats, Labels, Floats], Floats]

# Isotonic's probabilities are exactly 0 and 1 at the ends: one document would cost everything.
ISOTONIC_CLIP = 1e-4
SMALLEST = 1e-15


def platt(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds by Platt's method: scikit-learn's sigmoid."""
    return _logit(_scikit_learn("sigmoid", scores, labels).predict(new))


def temperature(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds by one factor on the scores: scikit-learn's temperature."""
    return np.asarray(_scikit_learn("temperature", scores, labels).beta_ * new)


def isotonic(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds by isotonic regression, probabilities kept within 1e-4 of 0 and 1."""
    fitted = IsotonicRegression(out_of_bounds="clip").fit(scores, labels)
    return _logit(fitted.predict(new), ISOTONIC_CLIP)


def beta(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds by beta calibration of 1/(1 + exp(-score)), betacal's three parameters."""
    from betacal import BetaCalibration

    with warnings.catch_warnings():  # betacal silences all warnings of the process
        fitted = BetaCalibration(parameters="abm").fit(special.expit(scores), labels)
        return _logit(fitted.predict(special.expit(new)))


def venn_abers(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds of p1/(1 - p0 + p1), the inductive Venn-Abers predictor's single value."""
    low, high = venn_abers_bounds(scores, labels, new).T
    return _logit(high / (1.0 - low + high))


def venn_abers_bounds(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return [p0, p1] of the inductive Venn-Abers predictor; shape (n, 2)."""
    # The package divides 0 by 0, and silences that for the whole process when it is imported.
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        from venn_abers import VennAbers

        warnings.simplefilter("ignore", RuntimeWarning)
        fitted = VennAbers()
        fitted.fit(np.column_stack([-scores, scores]), np.asarray(labels, dtype=np.int64))
        return np.asarray(fitted.predict_proba(np.column_stack([-new, new]))[1])


def bayes_logistic(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds of the posterior mean of P(+|s) under Bayesian logistic regression."""
    return posterior_mean_log_odds(scores, labels, new)


def calibrator(**settings: Any) -> Method:
    """Return ours: a ScoreCalibrator with the settings."""

    def log_odds(scores: Floats, labels: Labels, new: Floats) -> Floats:
        fitted = ScoreCalibrator(random_state=0, **settings).fit(scores, labels)
        return np.asarray(fitted.decision_function(new))

    return log_odds


def accepted(settings: Mapping[str, Settings]) -> dict[str, Settings]:
    """Return those settings that this version of ScoreCalibrator knows."""
    return {name: each for name, each in settings.items() if _known(each)}


PEERS: dict[str, Method] = {
    "Platt": platt,
    "isotonic": isotonic,
    "beta": beta,
    "Venn-Abers": venn_abers,
    "temperature": temperature,
    "Bayes logistic": bayes_logistic,
}
"""The methods of others, by the names that tables use."""


def _known(settings: Settings) -> bool:
    try:
        ScoreCalibrator(**settings).fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1])
    except (TypeError, ValueError):
        return False
    return True


def _scikit_learn(method: str, scores: Floats, labels: Labels) -> Any:
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


def _logit(probability: Floats, clip: float = SMALLEST) -> Floats:
    return np.asarray(special.logit(np.clip(probability, clip, 1.0 - clip)))
