"""What says how far a classifier can be trusted in a neighbourhood.

Bennett's dissertation, section 4.5, where they are summed over classes: of two classes both have
the same value, and one is given here. Every function takes probabilities or log-odds, of all
samples (the global quantities 1 to 3 of that section) or of neighbourhoods (4 to 8).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.labels import encode_labels
from bayescal.validation import Floats


def reliability_deviance(estimate: ArrayLike, truth: ArrayLike) -> Floats:
    """
    Return E[truth - estimate]^2: 0 where estimates are right on average.

    Labels, 0 and 1, may stand for the truth of probabilities, for they have the same mean.

    Parameters
    ----------
    estimate, truth : array-like of shape (..., n)
        Of the n samples of each neighbourhood.

    Returns
    -------
    array of shape (...)

    Raises
    ------
    ValueError
        If the shapes differ, or a value is not finite.

    Examples
    --------
    >>> float(reliability_deviance([0.5, 0.7], [0.4, 0.6]).round(6))
    0.01
    """
    given, true = samples(estimate, truth)
    return np.asarray((true - given).mean(axis=-1) ** 2)


def error_variance(estimate: ArrayLike, truth: ArrayLike) -> Floats:
    """
    Return VAR[truth - estimate]: what is left of the error once its mean is known.

    Of labels in place of probabilities it is larger by E[P(1 - P)], whoever estimates.

    Parameters
    ----------
    estimate, truth : array-like of shape (..., n)
        Of the n samples of each neighbourhood.

    Returns
    -------
    array of shape (...)

    Raises
    ------
    ValueError
        If the shapes differ, or a value is not finite.

    Examples
    --------
    >>> float(error_variance([0.5, 0.7], [0.4, 0.6]).round(6))
    0.0
    """
    given, true = samples(estimate, truth)
    return np.asarray((true - given).var(axis=-1))


def noise_sensitivity(estimate: ArrayLike, at: ArrayLike | None = None) -> Floats:
    """
    Return VAR[estimate], or E[(estimate - at)^2]: how much it changes in a neighbourhood.

    Parameters
    ----------
    estimate : array-like of shape (..., n)
        Of the n samples of each neighbourhood.
    at : array-like of shape (...), optional
        The estimate at the point that the neighbourhood is of. Changes are then measured from
        there and not from their mean. (Section 4.5 has the variance of the difference, which a
        constant does not change.)

    Returns
    -------
    array of shape (...)

    Raises
    ------
    ValueError
        If a value is not finite.

    Examples
    --------
    >>> float(noise_sensitivity([1.0, 3.0])), float(noise_sensitivity([1.0, 3.0], at=1.0))
    (1.0, 2.0)
    """
    (given,) = samples(estimate)
    if at is None:
        return np.asarray(given.var(axis=-1))
    centre = np.asarray(at, dtype=np.float64)[..., None]
    return np.asarray(((given - centre) ** 2).mean(axis=-1))


def covariance_with_truth(estimate: ArrayLike, truth: ArrayLike) -> Floats:
    """
    Return COV[estimate, truth]: how far the estimate changes when the truth does.

    VAR[estimate - truth] = VAR[estimate] + VAR[truth] - 2 COV[estimate, truth].

    Parameters
    ----------
    estimate, truth : array-like of shape (..., n)
        Of the n samples of each neighbourhood.

    Returns
    -------
    array of shape (...)

    Raises
    ------
    ValueError
        If the shapes differ, or a value is not finite.

    Examples
    --------
    >>> float(covariance_with_truth([1.0, 3.0], [0.0, 4.0]))
    2.0
    """
    given, true = samples(estimate, truth)
    apart = given - given.mean(axis=-1, keepdims=True)
    return np.asarray((apart * true).mean(axis=-1))


def dependence(predictions: ArrayLike, labels: ArrayLike) -> float:
    """
    Return the sum over classes of KL(P(y_1, ..., y_k|c) || P(y_1|c) ... P(y_k|c)), in nats.

    0 if k classifiers' predictions are independent given the class; predictions of good
    classifiers are correlated even then, since all follow the class. Of n samples it comes out too
    large by about (cells - 1)/(2n) for each class.

    Parameters
    ----------
    predictions : array-like of shape (k, n)
        What each classifier predicts, one of a few values.
    labels : array-like of shape (n,)
        The classes, two of them, of the samples of one neighbourhood.

    Returns
    -------
    float
        At least 0.

    Raises
    ------
    ValueError
        If the shapes do not fit, or there are not two classes.

    Examples
    --------
    >>> labels = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> round(dependence([[0, 1, 0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 0, 1, 1]], labels), 12)
    0.0
    >>> round(dependence([[0, 1, 0, 1, 0, 1, 0, 1]] * 2, labels), 4)  # 2 ln 2
    1.3863
    """
    _, positive = encode_labels(labels, name="labels")
    given = np.asarray(predictions)
    if given.ndim != 2 or given.shape[1] != positive.size:
        raise ValueError(
            f"predictions must have shape (classifiers, {positive.size}), one for each label, got"
            f" {given.shape}."
        )
    return sum(_divergence(given[:, members]) for members in (positive, ~positive))


def samples(*values: ArrayLike) -> tuple[Floats, ...]:
    """
    Return values as arrays of shape (..., n).

    Parameters
    ----------
    *values : array-like
        Of the same shape, with at least one sample.

    Raises
    ------
    ValueError
        If the shapes differ, there is no sample, or a value is not finite.

    Examples
    --------
    >>> samples([0.5], [0.1, 0.2])
    Traceback (most recent call last):
    ...
    ValueError: estimate and truth must have the same shape, got (1,) and (2,).
    """
    arrays = tuple(np.asarray(each, dtype=np.float64) for each in values)
    if len({each.shape for each in arrays}) > 1:
        shapes = " and ".join(str(each.shape) for each in arrays)
        raise ValueError(f"estimate and truth must have the same shape, got {shapes}.")
    for each in arrays:
        if each.ndim == 0 or each.shape[-1] == 0:
            raise ValueError(f"a neighbourhood must have at least one sample, got {each.shape}.")
        if not np.isfinite(each).all():
            raise ValueError("estimates and truth must be finite: clip probabilities of 0 and 1.")
    return arrays


def _divergence(predictions: NDArray[np.generic]) -> float:
    """Return the divergence of the joint distribution of rows from the product of their own."""
    n = predictions.shape[1]
    independent = np.zeros(n)
    for row in predictions:
        _, which, counts = np.unique(row, return_inverse=True, return_counts=True)
        independent += np.log(counts[which] / n)
    _, cell, counts = np.unique(predictions, axis=1, return_inverse=True, return_counts=True)
    joint = np.log(counts[cell.ravel()] / n)
    return max(float((joint - independent).mean()), 0.0)
