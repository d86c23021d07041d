"""Proper scores of probabilities: log-loss in any base, Brier's score, and both by document."""

import math
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.metrics import inputs
from bayescal.support import validation, weighting
from bayescal.support.condensing import from_counts
from bayescal.support.labels import as_positions
from bayescal.support.numerics import probability
from bayescal.support.validation import Floats

LOSSES = ("log", "brier", "error")
LEAST = float(np.finfo(np.float64).eps)  # smallest probability in log-losses of classes


class Metric(Protocol):
    """A measure of the quality of probabilities."""

    def __call__(self, y_true: Any, y_prob: Any, *, sample_weight: Any = None) -> float:
        """Return the metric of probabilities of the positive class."""
        ...


def check_metric(**metrics: Any) -> None:
    """Raise ValueError unless every named argument is a function."""
    for name, metric in metrics.items():
        if not callable(metric):
            raise ValueError(
                f"{name} must be a function of outcomes and probabilities, such as brier_score, got"
                f" {metric!r}."
            )


@from_counts("y_prob", "y_true")
def log_loss(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    base: float = math.e,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
) -> float:
    """Return the mean of -log P(true class): scikit-learn's `log_loss` in any base.

    Probabilities are clipped to 2e-16 and 1 - 2e-16. `losses` of log-odds need no such limit.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Booleans, or 0 and 1, or -1 and 1; one class may be missing. With several classes, labels
        of `classes`.
    y_prob : array-like of shape (n,) or (n, K)
        Probabilities of the positive class, or of several exclusive classes.
    base : float
        Base of the logarithm: e for nats, 2 for bits.
    classes : array-like of shape (K,), optional
        The classes, in the order of the columns; by default positions 0 to K - 1.
    sample_weight : array-like of shape (n,), optional
        How many documents each counts for.
    inclusion : array-like of shape (n,), optional
        The probability that the document was labelled, in place of `sample_weight`: means are the
        same with weights 1 / inclusion, their uncertainty is not.

    Examples
    --------
    >>> log_loss([1, 0], [0.5, 0.5], base=2)
    1.0
    >>> log_loss(["b", "c"], [[0.5, 0.5, 0.0], [0.5, 0.25, 0.25]], base=2, classes=["a", "b", "c"])
    1.5
    """
    validation.check_positive(base=base)
    if base == 1.0:
        raise ValueError("base must not be 1, got 1.")
    if inputs.has_classes(y_prob, classes):
        each = _losses_of_classes(y_true, y_prob, "log", classes, LEAST)
        bits = _mean(each, sample_weight, inclusion)
    else:
        truth, p, weight, *_ = inputs.read_outcomes(y_true, y_prob, sample_weight, inclusion)
        bits = float(np.average(_bits(np.where(truth, p, 1.0 - p), LEAST), weights=weight))
    return bits * math.log(2.0) / math.log(base)


@from_counts("y_prob", "y_true")
def brier_score(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
) -> float:
    """Return the mean of (P(+) - y)^2: scikit-learn's `brier_score_loss`.

    With several classes the squares are summed over the classes, so that the score lies between 0
    and 2: two columns have twice the score of one.

    Parameters
    ----------
    y_true, y_prob, classes, sample_weight, inclusion : array-like
        As in `log_loss`.

    References
    ----------
    G. W. Brier, *Verification of forecasts expressed in terms of probability*, Monthly Weather
    Review 1950.

    Examples
    --------
    >>> brier_score([1, 0], [0.5, 0.5])
    0.25
    """
    from sklearn.metrics import brier_score_loss

    if inputs.has_classes(y_prob, classes):
        each = _losses_of_classes(y_true, y_prob, "brier", classes)
        return _mean(each, sample_weight, inclusion)
    truth, p, weight, *_ = inputs.read_outcomes(y_true, y_prob, sample_weight, inclusion)
    return float(brier_score_loss(truth, p, sample_weight=weight, pos_label=True))


def ranked_probability_score(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
) -> float:
    """Return the mean over documents of sum_k (P(grade >= g_k) - [y >= g_k])^2, k = 1, ..., K.

    A proper score of ordered classes: the sum of the Brier scores of the events to reach a grade.

    Parameters
    ----------
    y_true, y_prob, classes, sample_weight, inclusion : array-like
        As in `log_loss`; the columns of `y_prob` are in the order of the grades, lowest first.

    References
    ----------
    E. S. Epstein, *A scoring system for probability forecasts of ranked categories*, Journal of
    Applied Meteorology 1969.

    Examples
    --------
    >>> ranked_probability_score([0, 2], [[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    0.25
    """
    label, p, _ = inputs.read_class_outcomes(y_true, y_prob, classes)
    below = np.cumsum(p, axis=1)[:, :-1] - (label[:, None] <= np.arange(p.shape[1] - 1))
    return _mean((below**2).sum(axis=1), sample_weight, inclusion)


def pointwise_losses(
    y_true: ArrayLike, y_prob: ArrayLike, loss: str = "log", *, classes: ArrayLike | None = None
) -> Floats:
    """Return the loss of every document, for paired comparisons; shape (n,).

    Parameters
    ----------
    y_true, y_prob, classes : array-like
        As in `log_loss`.
    loss : {"log", "brier", "error"}
        -log2 P(true class), infinite for probability 0; (1 - P)^2, and for several classes the sum
        of squares of `brier_score`; or 1 if another class was predicted, where exactly 1/2 predicts
        negative, and equal classes the first.

    Examples
    --------
    >>> pointwise_losses([1, 0], [0.5, 0.75])
    array([1., 2.])
    """
    validation.check_choice("loss", loss, LOSSES)
    if inputs.has_classes(y_prob, classes):
        return _losses_of_classes(y_true, y_prob, loss, classes)
    truth, p, *_ = inputs.read_outcomes(y_true, y_prob)
    return losses_of(truth, p, loss)


def losses_of(truth: NDArray[np.bool_], p: Floats, loss: str) -> Floats:
    """Return the loss of each document of checked probabilities; see `pointwise_losses`."""
    if loss == "error":
        return np.asarray((p > 0.5) != truth, dtype=np.float64)
    happened = np.where(truth, p, 1.0 - p)
    if loss == "brier":
        return np.asarray((1.0 - happened) ** 2)
    return _bits(happened)


def _losses_of_classes(
    y_true: ArrayLike, y_prob: ArrayLike, loss: str, classes: ArrayLike | None, least: float = 0.0
) -> Floats:
    """Return the loss of each document of several classes."""
    label, p, _ = inputs.read_class_outcomes(y_true, y_prob, classes)
    own = p[np.arange(label.size), label]
    if loss == "error":
        return np.asarray(p.argmax(axis=1) != label, dtype=np.float64)
    if loss == "brier":
        return np.asarray((p**2).sum(axis=1) - 2.0 * own + 1.0)
    return _bits(own, least)


def _bits(happened: Floats, least: float = 0.0) -> Floats:
    """Return -log2 of the probabilities of the true classes; 0, not -0, for a probability of 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(0.0 - np.log2(np.maximum(happened, least)))


def _mean(losses: Floats, sample_weight: ArrayLike | None, inclusion: ArrayLike | None) -> float:
    weight = weighting.either_weights(sample_weight, inclusion, losses.size)
    return float(np.average(losses, weights=weight))


def top_label(y_true: ArrayLike, y_prob: ArrayLike) -> tuple[NDArray[np.bool_], Floats]:
    """Return whether the likeliest class was right, and its probability.

    With these every metric of one probability applies to several classes.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Positions of the true classes among the columns of `y_prob`.
    y_prob : array-like of shape (n, classes)
        Probabilities.

    References
    ----------
    C. Guo et al., *On calibration of modern neural networks*, ICML 2017, equation 1.

    Examples
    --------
    >>> correct, confidence = top_label([2, 0], [[0.1, 0.2, 0.7], [0.3, 0.6, 0.1]])
    >>> correct.tolist(), confidence.tolist()
    ([True, False], [0.7, 0.6])
    """
    p = inputs.as_rows(y_prob)
    truth = as_positions(y_true, p.shape[0], "y_prob", p.shape[1])
    best = p.argmax(axis=1)
    return best == truth, p[np.arange(best.size), best]


@dataclass(frozen=True)
class Losses:
    """Totals over documents, weighted if they have weights (dissertation, 3.2.4).

    Attributes
    ----------
    n : int or float
        Number of documents.
    log_loss : float
        Sum of -log2 P(true class), in bits.
    squared_error : float
        Sum of (1 - P(true class))^2.
    errors : int or float
        Documents whose more probable class was wrong; exactly 1/2 predicts negative.
    """

    n: float
    log_loss: float
    squared_error: float
    errors: float


def losses(
    log_odds: ArrayLike, positive: ArrayLike, sample_weight: ArrayLike | None = None
) -> Losses:
    """Return the losses of calibrated log-odds against labels.

    A probability that rounds to 1 keeps its finite loss, -log p = log(1 + exp(-log-odds)) for a
    positive document.

    Parameters
    ----------
    log_odds : array-like of shape (n,)
        Calibrated natural log-odds of the positive class.
    positive : array-like of shape (n,) of bool
        Whether each document is positive.
    sample_weight : array-like of shape (n,), optional
        How many documents each counts for.

    Examples
    --------
    >>> losses([0.0, 0.0], [True, False])
    Losses(n=2, log_loss=2.0, squared_error=0.5, errors=1)
    """
    values = validation.as_scores(log_odds, "log_odds")
    truth = inputs.as_truth(positive, "positive")
    validation.check_same_length("log_odds", values.size, "positive", truth.size)
    against = np.where(truth, -values, values)
    bits = np.logaddexp(0.0, against) / np.log(2.0)
    squares: Floats = probability(against) ** 2
    wrong = np.where(truth, values <= 0.0, values > 0.0)
    weight = weighting.as_weights(sample_weight, values.size)
    if weight is None:
        return Losses(values.size, float(bits.sum()), float(squares.sum()), int(wrong.sum()))
    return Losses(*(float(weight @ each) for each in (np.ones_like(bits), bits, squares, wrong)))
