"""Calibration methods that the studies compare, by the names in their tables."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from bayescal import ScoreCalibrator
from bayescal.support.validation import Floats, as_scores_of
from studies.papers.methods import METHODS, Labels, posterior
from studies.papers.methods import OneTopic as Method

STEPS = 100
TOLERANCE = 1e-10
# Scales of intercept and slope on standardised scores.
PRIOR_SCALES = (10.0, 2.5)
# Standard deviations of the curvature at the mode; the rule is exact to many digits for densities
# near a Gaussian.
GRID = np.linspace(-6.0, 6.0, 25)


def platt_coefficients(scores: Floats, labels: NDArray[Any], weight: Floats) -> Floats:
    """Return intercept and slope of Platt's fit for every row of weights.

    Targets are (n_+ + 1)/(n_+ + 2) and 1/(n_- + 2), with n_+ and n_- sums of weights.

    Parameters
    ----------
    scores : array of shape (n,)
        Raw scores.
    labels : array of shape (n,)
        1 for positives.
    weight : array of shape (fits, n)
        Non-negative weights, such as a bootstrap's counts.

    Returns
    -------
    array of shape (fits, 2)
        Of the log-odds intercept + slope * score.
    """
    positive = labels == 1
    n_positive = weight[:, positive].sum(1, keepdims=True)
    n_negative = weight[:, ~positive].sum(1, keepdims=True)
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    z, mean, spread = _standardised(scores)
    intercept, slope = _modes(z, target, weight, np.zeros(2)).T
    return np.column_stack([intercept - slope * mean / spread, slope / spread])


def posterior_mean_log_odds(scores: Floats, labels: NDArray[Any], new: Floats) -> Floats:
    """Return the log-odds of E[P(+|s) | data] under logistic regression with Normal priors.

    Intercept ~ N(0, 10), slope ~ N(0, 2.5) on standardised scores (standard deviations); by
    quadrature on a grid of both, laid along the axes of the curvature at the mode.
    """
    z, mean, spread = _standardised(scores)
    target = (labels == 1).astype(float)
    precision = 1.0 / np.square(PRIOR_SCALES)
    weight = np.ones((1, z.size))
    mode = _modes(z, target[None], weight, precision)
    root = np.linalg.cholesky(np.linalg.inv(_curvature(z, mode, weight, precision)[0]))
    nodes = mode + np.stack(np.meshgrid(GRID, GRID), axis=-1).reshape(-1, 2) @ root.T
    log_density = -_objective(z, target, 1.0, precision, nodes)
    log_weight = (log_density - special.logsumexp(log_density))[:, None]
    curve = _log_odds(nodes, (new - mean) / spread)
    positive = special.logsumexp(special.log_expit(curve) + log_weight, axis=0)
    negative = special.logsumexp(special.log_expit(-curve) + log_weight, axis=0)
    return np.asarray(positive - negative)


def _standardised(scores: Floats) -> tuple[Floats, float, float]:
    mean, spread = float(scores.mean()), float(scores.std()) or 1.0
    return (scores - mean) / spread, mean, spread


def _log_odds(coefficients: Floats, z: Floats) -> Floats:
    return coefficients[:, :1] + coefficients[:, 1:] * z


def _objective(
    z: Floats, target: Floats, weight: Floats | float, precision: Floats, coefficients: Floats
) -> Floats:
    """Return minus the log posterior of each row of coefficients."""
    curve = _log_odds(coefficients, z)
    loss = weight * (np.logaddexp(0.0, curve) - target * curve)
    return np.asarray(loss.sum(1) + 0.5 * coefficients**2 @ precision)


def _curvature(z: Floats, coefficients: Floats, weight: Floats, precision: Floats) -> Floats:
    p = special.expit(_log_odds(coefficients, z))
    information = weight * p * (1.0 - p)
    moments = np.stack([information @ z**k for k in range(3)], axis=-1)
    return np.asarray(moments[:, [[0, 1], [1, 2]]] + np.diag(precision + 1e-12))


def _modes(z: Floats, target: Floats, weight: Floats, precision: Floats) -> Floats:
    """Return the modes, shape (fits, 2): Newton's method, steps halved where they overshoot."""
    results = np.zeros((len(target), 2))
    value = _objective(z, target, weight, precision, results)
    for _ in range(STEPS):
        error = weight * (special.expit(_log_odds(results, z)) - target)
        gradient = np.stack([error.sum(1), error @ z], axis=-1) + results * precision
        curvature = _curvature(z, results, weight, precision)
        newton = np.asarray(np.linalg.solve(curvature, gradient[..., None])[..., 0], np.float64)
        objective = partial(_objective, z, target, weight, precision)
        step, value = _shortened(objective, results, newton, value)
        results = results - step
        if np.abs(step).max() < TOLERANCE:
            return results
    raise RuntimeError(f"logistic regression did not converge in {STEPS} steps.")


def _shortened(
    objective: Callable[[Floats], Floats], results: Floats, step: Floats, value: Floats
) -> tuple[Floats, Floats]:
    """Return steps, halved until none increases the value, and the values there."""
    for _ in range(30):
        trial = objective(results - step)
        uphill = trial > value + 1e-12 * np.abs(value)
        if not uphill.any():
            break
        step = np.where(uphill[:, None], 0.5 * step, step)
    return step, trial


Settings = dict[str, Any]

PEERS: dict[str, Method] = {
    "Platt": METHODS["LR+Noise"],
    **{name: METHODS[name] for name in ("isotonic", "beta", "Venn-Abers", "temperature")},
    "Bayes logistic": posterior_mean_log_odds,
}
"""The methods of others."""
ON_LOG_ODDS = ("beta", "temperature")
"""Methods that take scores as log-odds; probabilities are converted for them."""


def calibrator(**settings: Any) -> Method:
    """Return ours: a ScoreCalibrator with the settings."""
    return partial(posterior, **settings)


def accepted(settings: Mapping[str, Settings]) -> dict[str, Settings]:
    """Return the settings that this version of ScoreCalibrator accepts."""
    return {name: each for name, each in settings.items() if _known(each)}


def _known(settings: Settings) -> bool:
    try:
        ScoreCalibrator(**settings).fit([0.0, 1.0, 2.0, 3.0], [0, 1, 0, 1])
    except (TypeError, ValueError):
        return False
    return True


DEFAULT, VAGUE, POOLED = "default", "vague", "pooled"
PLAIN = "LogisticRegression"
OURS: dict[str, Settings] = {
    DEFAULT: {},
    VAGUE: {"prior_knowledge": "vague"},
    "default, not told": {"scores_are": "auto"},
}
"""Settings of ScoreCalibrator; one that says what scores are is for probabilities alone."""
FEWER_DRAWS: Settings = {"draws": 250}
DECLARED: Settings = {"scores_are": "probabilities"}
# A factor alone does not turn margins into log-odds.
WANTS_LOG_ODDS = "temperature"


def plain_logistic_regression(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return log-odds by scikit-learn's LogisticRegression on the score as it is."""
    with warnings.catch_warnings():
        # Its solver does not converge on scores of millions.
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = LogisticRegression().fit(scores[:, None], labels)
    return np.asarray(fitted.decision_function(new[:, None]))


def peers_for(score_kind: str) -> dict[str, Method]:
    """Return the peers for a kind of scores."""
    peers = PEERS | {PLAIN: plain_logistic_regression}
    if score_kind == "margin":
        return {name: each for name, each in peers.items() if name != WANTS_LOG_ODDS}
    if score_kind == "probability":
        return peers | {name: _of_probabilities(peers[name]) for name in ON_LOG_ODDS}
    return peers


def ours_for(score_kind: str, ours: Mapping[str, Settings]) -> dict[str, Settings]:
    """Return the settings for a kind of scores; they declare probabilities as such."""
    if score_kind == "probability":
        return {name: FEWER_DRAWS | DECLARED | each for name, each in ours.items()}
    return {name: FEWER_DRAWS | each for name, each in ours.items() if "scores_are" not in each}


def _of_probabilities(method: Method) -> Method:
    """Return a method on probabilities from one on log-odds."""

    def log_odds(scores: Floats, labels: Labels, new: Floats) -> Floats:
        before, after = (as_scores_of(each, "probabilities") for each in (scores, new))
        return method(before, labels, after)

    return log_odds
