"""Local properties of a classifier's probability estimates, and comparisons of two classifiers.

Functions of samples, after chapters 3 and 4 of Bennett's dissertation. The quantities are those of
section 4.5, which sums them over classes; with two classes both have the same value, and the
functions return one of them. Arguments are probabilities or log-odds of all samples (the global
quantities 1 to 3) or of neighbourhoods (4 to 8), in arrays of shape (..., n) with the n samples of
each neighbourhood last; functions return shape (...), and raise ValueError if shapes differ or a
value is not finite. "Truth" is P(+|x) or its log-odds, which are known
for simulated data and approximated elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.support.labels import encode_labels
from bayescal.support.validation import Floats, as_scores, check_count, check_same_length


def reliability_deviance(estimate: ArrayLike, truth: ArrayLike) -> Floats:
    """Return E[truth - estimate]^2: 0 where estimates are right on average.

    Labels, 0 and 1, may stand for the truth of probabilities, for they have the same mean.

    Examples
    --------
    >>> float(reliability_deviance([0.5, 0.7], [0.4, 0.6]).round(6))
    0.01
    """
    estimates, true = samples(estimate, truth)
    return np.asarray((true - estimates).mean(axis=-1) ** 2)


def error_variance(estimate: ArrayLike, truth: ArrayLike) -> Floats:
    """Return VAR[truth - estimate]: what is left of the error once its mean is known.

    With labels in place of probabilities it is larger by E[P(1 - P)] for every estimator.

    Examples
    --------
    >>> float(error_variance([0.5, 0.7], [0.4, 0.6]).round(6))
    0.0
    """
    estimates, true = samples(estimate, truth)
    return np.asarray((true - estimates).var(axis=-1))


def noise_sensitivity(estimate: ArrayLike, at: ArrayLike | None = None) -> Floats:
    """Return VAR[estimate], or E[(estimate - at)^2]: how much it changes in a neighbourhood.

    `at`, shape (...), holds the estimate at the point that each neighbourhood is of.

    Examples
    --------
    >>> float(noise_sensitivity([1.0, 3.0])), float(noise_sensitivity([1.0, 3.0], at=1.0))
    (1.0, 2.0)
    """
    (estimates,) = samples(estimate)
    if at is None:
        return np.asarray(estimates.var(axis=-1))
    centre = np.asarray(at, dtype=np.float64)[..., None]
    return np.asarray(((estimates - centre) ** 2).mean(axis=-1))


def covariance_with_truth(estimate: ArrayLike, truth: ArrayLike) -> Floats:
    """Return COV[estimate, truth]: how far the estimate changes when the truth does.

    VAR[estimate - truth] = VAR[estimate] + VAR[truth] - 2 COV[estimate, truth].

    Examples
    --------
    >>> float(covariance_with_truth([1.0, 3.0], [0.0, 4.0]))
    2.0
    """
    estimates, true = samples(estimate, truth)
    apart = estimates - estimates.mean(axis=-1, keepdims=True)
    return np.asarray((apart * true).mean(axis=-1))


def dependence(predictions: ArrayLike, labels: ArrayLike) -> float:
    """Return the sum over classes of KL(P(y_1, ..., y_k|c) || P(y_1|c) ... P(y_k|c)), in nats.

    0 if k classifiers' predictions are independent given the class; predictions of good
    classifiers are correlated even then, since all follow the class. Of n samples it comes out too
    large by about (cells - 1)/(2n) for each class.

    Examples
    --------
    >>> labels = [0, 0, 0, 0, 1, 1, 1, 1]
    >>> round(dependence([[0, 1, 0, 1, 0, 1, 0, 1], [0, 0, 1, 1, 0, 0, 1, 1]], labels), 12)
    0.0
    >>> round(dependence([[0, 1, 0, 1, 0, 1, 0, 1]] * 2, labels), 4)  # 2 ln 2
    1.3863
    """
    _, positive = encode_labels(labels, name="labels")
    estimates = np.asarray(predictions)
    if estimates.ndim != 2 or estimates.shape[1] != positive.size:
        raise ValueError(
            f"predictions must have shape (classifiers, {positive.size}), one for each label, got"
            f" {estimates.shape}."
        )
    return sum(_divergence(estimates[:, members]) for members in (positive, ~positive))


def samples(*values: ArrayLike) -> tuple[Floats, ...]:
    """Return values as arrays of shape (..., n).

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


@dataclass(frozen=True)
class LinearCorrection:
    """a lambda' + b, the best linear guess of true log-odds lambda from estimated ones, lambda'.

    Attributes
    ----------
    slope, intercept : arrays of shape (...)
        a = COV[lambda', lambda] / VAR[lambda'] and b = E[lambda] - a E[lambda'].
    residual_variance : array of shape (...)
        VAR[lambda] (1 - rho^2), what no straight line explains; rho is the correlation.
    """

    slope: Floats
    intercept: Floats
    residual_variance: Floats

    def correct(self, estimate: ArrayLike) -> Floats:
        """Return a lambda' + b."""
        return np.asarray(self.slope * np.asarray(estimate) + self.intercept)


def linear_correction(estimate: ArrayLike, truth: ArrayLike) -> LinearCorrection:
    """Return the straight line of least squared error, of all samples or of each neighbourhood.

    One line for all suffices where both log-odds are linear in the features; else one for each
    neighbourhood does better. Neighbourhoods of equal estimates make the corrected estimate
    calibrated (Bennett's dissertation, section 4.4).

    Examples
    --------
    >>> line = linear_correction([-1.0, 0.0, 1.0], [-3.0, -1.0, 1.0])
    >>> float(line.slope), float(line.intercept), float(line.residual_variance)
    (2.0, -1.0, 0.0)
    """
    estimates, true = samples(estimate, truth)
    spread, shared = noise_sensitivity(estimates), covariance_with_truth(estimates, true)
    slope = np.divide(shared, spread, out=np.zeros_like(spread), where=spread > 0.0)
    intercept = true.mean(axis=-1) - slope * estimates.mean(axis=-1)
    rest = np.maximum(noise_sensitivity(true) - slope * shared, 0.0)
    return LinearCorrection(slope, np.asarray(intercept), rest)


def nearest_points(points: ArrayLike, queries: ArrayLike, size: int) -> NDArray[np.intp]:
    """Return the rows of the points nearest to each query, the nearest first.

    With them any quantity of this module becomes local: it is computed along the last axis, so that
    `error_variance(estimate[rows], truth[rows])` has a value for each query. Points that are values
    of the estimate make neighbourhoods of documents with the same prediction.

    Examples
    --------
    >>> nearest_points([0.0, 1.0, 5.0, 6.0], [0.2, 5.1], 2).tolist()
    [[0, 1], [2, 3]]
    """
    from scipy.spatial import KDTree

    check_count("size", size)
    of_points, of_queries = (_as_rows(each) for each in (points, queries))
    if size > len(of_points):
        raise ValueError(
            f"size must be at most the number of points, {len(of_points)}, got {size}."
        )
    _, rows = KDTree(of_points).query(of_queries, k=[*range(1, size + 1)])
    return np.asarray(rows, dtype=np.intp)


def _as_rows(points: ArrayLike) -> NDArray[np.float64]:
    values = np.asarray(points, dtype=np.float64)
    return values[:, None] if values.ndim == 1 else values


ROUNDING = 1e-9


@dataclass(frozen=True)
class Forecasts:
    """The characteristic of a forecaster of two classes, as a reliability diagram shows it.

    Attributes
    ----------
    value : array of shape (m,)
        The different probabilities pi that it emits, rising.
    frequency : array of shape (m,)
        P(pi), how often it emits each; they sum to 1.
    share : array of shape (m,)
        P(+|pi), the share of positives where it does.

    References
    ----------
    Bennett's dissertation, section 3.1, after DeGroot and Fienberg (1983).
    """

    value: Floats
    frequency: Floats
    share: Floats

    def is_calibrated(self, tolerance: float = ROUNDING) -> bool:
        """Return whether P(+|pi) = pi at every value."""
        return bool(np.abs(self.share - self.value).max() <= tolerance)

    @property
    def given_class(self) -> Floats:
        """Return P(pi|c) of the negative and the positive class, shape (2, m)."""
        joint = self.frequency * np.stack([1.0 - self.share, self.share])
        return np.asarray(joint / joint.sum(axis=1, keepdims=True))


def forecasts(probabilities: ArrayLike, labels: ArrayLike) -> Forecasts:
    """Return the distribution of a forecaster's forecasts, from samples with their labels.

    Examples
    --------
    >>> forecaster = forecasts([0.2, 0.2, 0.2, 0.2, 0.8], [0, 1, 0, 0, 1])
    >>> forecaster.value.tolist(), forecaster.frequency.tolist(), forecaster.share.tolist()
    ([0.2, 0.8], [0.8, 0.2], [0.25, 1.0])
    >>> forecaster.is_calibrated()
    False
    """
    p = as_scores(probabilities, "probabilities")
    _, positive = encode_labels(labels, name="labels")
    check_same_length("probabilities", p.size, "labels", positive.size)
    if p.min() < 0.0 or p.max() > 1.0:
        raise ValueError(f"probabilities must lie between 0 and 1, got {p.min()} to {p.max()}.")
    value, which, counts = np.unique(p, return_inverse=True, return_counts=True)
    positives = np.bincount(which, weights=positive, minlength=value.size)
    return Forecasts(value, counts / p.size, positives / counts)


# The sum of all violations of the equality constraints: the programme's own rounding.
TOLERANCE = 1e-7


def is_at_least_as_refined(
    first: Forecasts, second: Forecasts, tolerance: float = TOLERANCE
) -> bool:
    """Return whether one calibrated forecaster is at least as refined as another one.

    It is if its forecasts, passed on with noise, are calibrated and come as often as the other's:
    some stochastic h(j|i) has P(pi_j) = sum_i h P(pi_i) and pi_j P(pi_j) = sum_i pi_i h P(pi_i)
    (Bennett's dissertation, equations 3.1 and 3.2). A partial order: of two, none may be.

    Examples
    --------
    >>> from studies.papers.locality import forecasts
    >>> labels = [1, 1, 1, 0]
    >>> blunt, sharp = (forecasts(p, labels) for p in ([0.75] * 4, [1.0, 1.0, 0.5, 0.5]))
    >>> is_at_least_as_refined(sharp, blunt), is_at_least_as_refined(blunt, sharp)
    (True, False)
    """
    for each in (first, second):
        if not each.is_calibrated(max(tolerance, 1e-9)):
            raise ValueError(
                "refinement compares calibrated forecasters, got one of which a share of"
                f" {each.share} is positive where it says {each.value}: use is_sufficient."
            )
    source, target = (
        each.frequency * np.stack([np.ones_like(each.value), each.value])
        for each in (first, second)
    )
    return stochastic_map(source, target)[1] <= tolerance


def is_sufficient(first: Forecasts, second: Forecasts, tolerance: float = TOLERANCE) -> bool:
    """Return whether one forecaster is sufficient for another one, calibrated or not.

    It is if some stochastic h(j|i) has P(pi_j|c) = sum_i h(j|i) P(pi_i|c) for both classes c
    (Bennett's dissertation, equation 3.3). Of two forecasters to choose from one takes the
    sufficient one; both together may still say more than it does.

    Examples
    --------
    >>> from studies.papers.locality import forecasts
    >>> labels = [1, 1, 1, 0]
    >>> odd, sharp = (forecasts(p, labels) for p in ([0.1] * 4, [0.9, 0.9, 0.3, 0.3]))
    >>> is_sufficient(sharp, odd), is_sufficient(odd, sharp)
    (True, False)
    """
    return stochastic_map(first.given_class, second.given_class)[1] <= tolerance


def stochastic_map(source: ArrayLike, target: ArrayLike) -> tuple[Floats, float]:
    """Return the stochastic map that brings one set of distributions nearest to another.

    It minimises sum |source h - target| over maps h with rows that are distributions.

    Examples
    --------
    >>> h, left = stochastic_map([[0.5, 0.5]], [[0.25, 0.75]])
    >>> h.sum(axis=1).tolist(), left
    ([1.0, 1.0], 0.0)
    """
    from scipy.optimize import linprog

    a, b = (np.atleast_2d(np.asarray(each, dtype=np.float64)) for each in (source, target))
    if len(a) != len(b):
        raise ValueError(f"source and target must have as many rows, got {len(a)} and {len(b)}.")
    m, k = a.shape[1], b.shape[1]
    # Unknowns: h row by row, then deficits and excesses of the sums.
    blurred, whole = np.kron(a, np.eye(k)), np.kron(np.eye(m), np.ones((1, k)))
    slack, none = np.eye(b.size), np.zeros((m, b.size))
    equal = np.block([[blurred, slack, -slack], [whole, none, none]])
    cost = np.r_[np.zeros(m * k), np.ones(2 * b.size)]
    solution = linprog(cost, A_eq=equal, b_eq=np.r_[b.ravel(), np.ones(m)])
    if solution.x is None or solution.fun is None:
        raise RuntimeError(f"the linear programme of a stochastic map failed: {solution.message}")
    return solution.x[: m * k].reshape(m, k), float(solution.fun)


def _moments(estimates: Forecasts) -> Floats:
    """Return P(pi) and pi P(pi), shape (2, m)."""
    return estimates.frequency * np.stack([np.ones_like(estimates.value), estimates.value])
