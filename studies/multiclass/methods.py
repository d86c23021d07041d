"""Methods of calibration of several classes, by the names in the tables.

SVS and SMS are those of the package probmetrics (``pip install probmetrics``); without it the study
says that it leaves them out.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec

import numpy as np
from scipy import optimize, special
from sklearn.calibration import _SigmoidCalibration
from sklearn.isotonic import IsotonicRegression
from sklearn.model_selection import KFold

from studies.multiclass.problems import Floats, Labels

Method = Callable[[Floats, Labels, Floats], Floats]
"""From log-probabilities and labels, and log-probabilities of new documents, to probabilities."""

PEERS = "probmetrics"
SMALLEST = -87.0  # log-probabilities as single precision has them
PENALTIES = 1e-3, 1e-2, 1e-1, 1.0, 10.0
MOST_FOR_DIRICHLET = 16, 1000  # classes and documents


def raw(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return the softmax of the scores."""
    return np.asarray(special.softmax(new, axis=1))


def mean_loss(log_p: Floats, labels: Labels) -> float:
    """Return the mean log-loss in nats."""
    return float(-log_p[np.arange(labels.size), labels].mean())


def temperature(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return probabilities at the temperature of the least loss (Guo et al., 2017)."""

    def loss(log_slope: float) -> float:
        return mean_loss(special.log_softmax(np.exp(log_slope) * scores, axis=1), labels)

    best = optimize.minimize_scalar(loss, bounds=(-12.0, 4.0), method="bounded").x
    return np.asarray(special.softmax(np.exp(best) * new, axis=1))


def one_against_the_rest(fit: Callable[[Floats, Labels, Floats], Floats]) -> Method:
    """Return a method that calibrates each class alone and normalises."""

    def method(scores: Floats, labels: Labels, new: Floats) -> Floats:
        known, asked = log_odds(scores), log_odds(new)
        p = np.empty(new.shape)
        for k in range(new.shape[1]):
            mine = (labels == k).astype(np.intp)
            if 0 < mine.sum() < mine.size:
                p[:, k] = fit(known[:, k], mine, asked[:, k])
            else:
                p[:, k] = (mine.sum() + 0.5) / (mine.size + 1.0)
        total = p.sum(axis=1, keepdims=True)
        flat = 1.0 / new.shape[1]
        return np.where(total > 0.0, p / np.where(total > 0.0, total, 1.0), flat)

    return method


def log_odds(log_p: Floats) -> Floats:
    """Return log-odds of each class against all others."""
    odds = log_p - np.log(-np.expm1(np.minimum(log_p, -1e-12)))
    return np.clip(odds, -1e3, 1e3)


def sigmoid(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return Platt's probabilities of one class."""
    return np.asarray(_SigmoidCalibration().fit(scores, labels).predict(new))


def isotonic(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return isotonic probabilities of one class."""
    return np.asarray(IsotonicRegression(out_of_bounds="clip").fit(scores, labels).predict(new))


def dirichlet(scores: Floats, labels: Labels, new: Floats) -> Floats:
    """Return probabilities of Dirichlet calibration with penalties (ODIR; Kull et al., 2019).

    The one penalty of intercepts and off-diagonal weights is chosen by three folds.
    """
    if scores.shape[1] > MOST_FOR_DIRICHLET[0] or len(scores) > MOST_FOR_DIRICHLET[1]:
        raise NotImplementedError("Dirichlet calibration is measured on small problems only.")
    known, asked = np.maximum(scores, SMALLEST), np.maximum(new, SMALLEST)
    losses = [0.0] * len(PENALTIES)
    for kept, left in KFold(3, shuffle=True, random_state=0).split(known):
        for i, penalty in enumerate(PENALTIES):
            weights, bias = _fit_dirichlet(known[kept], labels[kept], penalty)
            log_p = special.log_softmax(known[left] @ weights.T + bias, axis=1)
            losses[i] += mean_loss(log_p, labels[left]) * left.size
    weights, bias = _fit_dirichlet(known, labels, PENALTIES[int(np.argmin(losses))])
    return np.asarray(special.softmax(asked @ weights.T + bias, axis=1))


def _fit_dirichlet(log_p: Floats, labels: Labels, penalty: float) -> tuple[Floats, Floats]:
    n, classes = log_p.shape
    truth, off = np.eye(classes)[labels], 1.0 - np.eye(classes)
    pairs = classes * (classes - 1)

    def loss(point: Floats) -> tuple[float, Floats]:
        weights, bias = point[: classes**2].reshape(classes, classes), point[classes**2 :]
        fitted = special.log_softmax(log_p @ weights.T + bias, axis=1)
        residual = (np.exp(fitted) - truth) / n
        value = -(fitted * truth).sum() / n
        value += penalty * (((weights * off) ** 2).sum() / pairs + (bias**2).mean())
        by_weights = residual.T @ log_p + 2.0 * penalty * weights * off / pairs
        by_bias = residual.sum(axis=0) + 2.0 * penalty * bias / classes
        return value, np.r_[by_weights.ravel(), by_bias]

    start = np.r_[np.eye(classes).ravel(), np.zeros(classes)]
    best = optimize.minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 200}).x
    return best[: classes**2].reshape(classes, classes), best[classes**2 :]


def peer(name: str) -> Method:
    """Return a method of probmetrics."""

    def method(scores: Floats, labels: Labels, new: Floats) -> Floats:
        from probmetrics.calibrators import get_calibrator

        calibrator = get_calibrator(name)
        calibrator.fit(special.softmax(scores, axis=1), labels)
        return np.asarray(calibrator.predict_proba(special.softmax(new, axis=1)), dtype=np.float64)

    return method


METHODS: dict[str, Method] = {
    "raw": raw,
    "temperature": temperature,
    "SVS": peer("svs"),
    "SMS": peer("sms"),
    "Dirichlet": dirichlet,
    "sigmoid": one_against_the_rest(sigmoid),
    "isotonic": one_against_the_rest(isotonic),
}
OF_PEERS = ("SVS", "SMS")


def available() -> tuple[dict[str, Method], str]:
    """Return the methods that can be run, and a line about those that cannot."""
    if find_spec(PEERS):
        return METHODS, ""
    kept = {name: method for name, method in METHODS.items() if name not in OF_PEERS}
    return kept, f"SVS and SMS are left out: pip install {PEERS} to measure them."
