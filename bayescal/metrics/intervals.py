"""Intervals of any metric: by the bootstrap, or by posterior draws of the probabilities."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.metrics.inputs import as_truth, has_classes, read_outcomes, read_rows
from bayescal.metrics.scores import Metric, check_metric
from bayescal.support import validation, weighting
from bayescal.support.intervals import Interval

KINDS = ("percentile", "basic")


def bootstrap_interval(
    metric: Metric,
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    level: float = 0.9,
    resamples: int = 1000,
    kind: str = "percentile",
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    rng: Any = None,
) -> Interval:
    """Return a metric with its bootstrap interval, over other possible test documents.

    Parameters
    ----------
    metric : callable
        Called as ``metric(y_true, y_prob, *, sample_weight)``, as metrics here and in scikit-learn.
    y_true, y_prob : array-like of shape (n,), or y_prob of shape (n, K)
        As in `log_loss`. The metric reads labels of several classes.
    level : float
        Between 0 and 1.
    resamples : int
        Number of resamples with replacement.
    kind : {"percentile", "basic"}
        Quantiles q of the resamples; or 2 value - q, which corrects the bias of metrics that are
        never negative, such as `calibration_error`.
    sample_weight : array-like of shape (n,), optional
        How many documents each counts for, in resamples too.
    inclusion : array-like of shape (n,), optional
        The probability that the document was labelled. Documents are drawn with their weights.
    clusters : array-like of shape (n,), optional
        Which documents depend on each other, such as pages of a patient: names as text or whole
        numbers. Clusters are drawn whole, with the weights of their documents.
    rng : int, Generator, RandomState or None
        Chooses the documents.

    References
    ----------
    B. Efron and R. J. Tibshirani, *An introduction to the bootstrap*, 1993, chapter 13.

    Examples
    --------
    >>> from bayescal.metrics import brier_score
    >>> found = bootstrap_interval(brier_score, [0, 1, 1, 0] * 20, [0.1, 0.6, 0.9, 0.4] * 20, rng=0)
    >>> found.lower < found.value < found.upper, found.method
    (True, 'bootstrap')
    """
    check_metric(metric=metric)
    validation.check_fraction(level=level)
    validation.check_count("resamples", resamples)
    validation.check_choice("kind", kind, KINDS)
    read = read_rows if has_classes(y_prob) else read_outcomes
    given = read(y_true, y_prob, sample_weight, inclusion, as_evidence=True)
    outcomes = given.counted()
    value = float(metric(outcomes.truth, outcomes.p, sample_weight=outcomes.weight))
    rng, counts = validation.generator(rng), outcomes.counts
    unit = np.arange(len(given.truth))  # what is drawn: documents, or clusters
    if clusters is not None:
        unit = weighting.read_clusters(clusters, unit.size, "y_true")[1]
    unit = weighting.by_appearance(unit if outcomes.position is None else unit[outcomes.position])
    whole = outcomes.sampled or clusters is not None
    # At least one document is drawn even if all weights sum to less than 1/2.
    size = int(unit.max()) + 1 if whole else max(round(counts.sum()), 1)
    chance, times = (np.ones(size), counts) if whole else (counts, np.ones(counts.size))
    draws = np.empty(resamples)
    for k in range(resamples):
        own = rng.multinomial(size, chance / chance.sum())[unit] * times
        drawn = np.flatnonzero(own)
        draws[k] = metric(outcomes.truth[drawn], outcomes.p[drawn], sample_weight=own[drawn])
    found = Interval.of_draws(draws, level, value, method="bootstrap", draws=draws)
    if kind == "basic":
        found = replace(found, lower=2.0 * value - found.upper, upper=2.0 * value - found.lower)
    return found


def posterior_interval(
    metric: Metric,
    y_true: ArrayLike,
    draws: ArrayLike,
    *,
    level: float = 0.9,
    resample: bool = False,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
    rng: Any = None,
) -> Interval:
    """Return a metric with its posterior interval, over the calibrator's curves.

    Parameters
    ----------
    metric, y_true, level, sample_weight, inclusion
        As in `bootstrap_interval`.
    draws : array-like of shape (draws, n) or (draws, n, K)
        Posterior draws of P(+), as from `ScoreCalibrator.sample_proba`, or of the probabilities of
        several classes.
    resample : bool
        Whether each draw also weighs the documents by a flat Dirichlet (the Bayesian bootstrap), so
        that the interval also covers other possible test documents.
    rng : int, Generator, RandomState or None
        Seeds these weights.

    References
    ----------
    D. B. Rubin, *The Bayesian bootstrap*, Annals of Statistics 1981.

    Examples
    --------
    >>> from bayescal.metrics import brier_score
    >>> found = posterior_interval(brier_score, [0, 1], [[0.2, 0.8], [0.4, 0.6]])
    >>> round(found.value, 2), found.method
    (0.1, 'posterior')
    """
    check_metric(metric=metric)
    validation.check_fraction(level=level)
    validation.check_flag(resample=resample)
    if validation.as_reals(draws, "draws").ndim == 3:
        truth = validation.as_array(y_true, "y_true")
        probabilities = validation.as_reals(draws, "draws")
    else:
        truth = as_truth(y_true)
        probabilities = validation.probabilities_of_shape(draws, "draws", "draws", truth.size)
    weight = weighting.either_weights(sample_weight, inclusion, truth.size, as_evidence=resample)
    # Normalised gamma variables have a Dirichlet distribution.
    shape, scale = (weight, 1.0) if inclusion is None else (None, weight)
    shape = np.ones(truth.size) if shape is None else shape
    rng = validation.generator(rng)
    values = np.empty(len(probabilities))
    for k, p in enumerate(probabilities):
        own = rng.standard_gamma(shape) * scale if resample else weight
        values[k] = metric(truth, p, sample_weight=own)
    method = "posterior and Bayesian bootstrap" if resample else "posterior"
    return Interval.of_draws(values, level, method=method, draws=values)
