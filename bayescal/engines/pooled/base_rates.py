"""Base rates of topics around a population: a beta-binomial model, integrated on a grid.

logit r ~ Normal(-2, 2)        rate of the population
log c   ~ Normal(log 10, 1)    how many documents' worth topics resemble it
rate_t  ~ Beta(c r, c (1 - r))
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy import special

from bayescal.engines.pooled.hyperprior import Normal
from bayescal.engines.pooled.updating import resample
from bayescal.validation import Floats

LOGIT_RATE, LOG_CONCENTRATION = (-2.0, 2.0), (math.log(10.0), 1.0)
OF_RATES = ("logit_rate", "log_documents")
GRID = 81  # points of each axis, more of a prior that is wider than these
REACH = 5.0  # standard deviations of the prior


def hyperpriors_of_rates(given: Mapping[str, Normal] | None = None) -> tuple[Normal, Normal]:
    """Return mean and standard deviation of logit r and of log c, the usual or those given."""
    rate, documents = OF_RATES
    values = given or {}
    return values.get(rate, LOGIT_RATE), values.get(documents, LOG_CONCENTRATION)


def draw_base_rates(
    positives: Floats,
    negatives: Floats,
    draws: int,
    rng: np.random.Generator,
    given: Mapping[str, Normal] | None = None,
) -> tuple[Floats, Floats]:
    """
    Return draws of every topic's rate, (topics, draws), and of the population's beta, (2, draws).

    Parameters
    ----------
    positives, negatives : array of shape (topics,)
        Documents of each topic; both may be 0.
    draws : int
        How many, independent.
    rng : numpy.random.Generator
        Source of randomness.
    given : mapping, optional
        Mean and standard deviation of logit_rate and log_documents, if they are not the usual.
    """
    of_r, of_c = hyperpriors_of_rates(given)
    axes = _axis(of_r[1] / LOGIT_RATE[1]), _axis(of_c[1] / LOG_CONCENTRATION[1])
    rate, of_rate = (each.ravel() for each in np.meshgrid(*axes, indexing="ij"))
    log_weight = -0.5 * (rate**2 + of_rate**2)
    r = special.expit(of_r[0] + of_r[1] * rate)
    c = np.exp(of_c[0] + of_c[1] * of_rate)
    alpha, beta = c * r, c * (1.0 - r)
    for one, other in zip(positives, negatives, strict=True):
        log_weight += _log_evidence(alpha, beta, one, other)
    picked = rng.choice(r.size, draws, p=special.softmax(log_weight))
    alpha, beta = alpha[picked], beta[picked]
    population = np.stack([alpha, beta])
    return rates_given(population, positives, negatives, rng), population


def added_rates(
    population: Floats, positives: Floats, negatives: Floats, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """
    Return draws of the rates of topics that the population was not fitted to; see `updating`.

    Parameters
    ----------
    population : array of shape (2, draws)
        Draws of the population's beta.
    positives, negatives, rng
        As of `draw_base_rates`.

    Returns
    -------
    rate : array of shape (topics, draws)
    efficiency : array of shape (topics,)
        Effective share of the population's draws, by each topic's documents.
    """
    alpha, beta = population
    rate, efficiency = np.empty((positives.size, alpha.size)), np.empty(positives.size)
    for k in range(positives.size):
        log_evidence = _log_evidence(alpha, beta, positives[k], negatives[k])
        positions, efficiency[k] = resample(log_evidence, rng)
        one = slice(k, k + 1)
        rate[one] = rates_given(population[:, positions], positives[one], negatives[one], rng)
    return rate, efficiency


def _log_evidence(alpha: Floats, beta: Floats, positives: float, negatives: float) -> Floats:
    """Return the log of P(labels) of a topic whose rate is of Beta(alpha, beta)."""
    with_labels = special.betaln(alpha + positives, beta + negatives)
    log: Floats = with_labels - special.betaln(alpha, beta)
    return log


def _axis(wider: float) -> Floats:
    """Return standard deviations from the mean, as dense in its units as those of the usual one."""
    return np.linspace(-REACH, REACH, 1 + round((GRID - 1) * max(1.0, wider)))


def rates_given(
    population: Floats, positives: Floats, negatives: Floats, rng: np.random.Generator
) -> Floats:
    """Return a draw of every topic's rate for each beta of a population; (topics, draws)."""
    alpha, beta = population
    rate = rng.beta(alpha + positives[:, None], beta + negatives[:, None])
    # A beta of small parameters rounds to 0 or 1, which have no log-odds.
    inside: Floats = np.clip(rate, 1e-15, 1.0 - 1e-15)
    return inside
