"""Base rates of topics around a population: a beta-binomial model, integrated on a grid.

logit r ~ Normal(-2, 2)        rate of the population
log c   ~ Normal(log 10, 1)    how many documents' worth topics resemble it
rate_t  ~ Beta(c r, c (1 - r))
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from bayescal.validation import Floats

LOGIT_RATE, LOG_CONCENTRATION = (-2.0, 2.0), (math.log(10.0), 1.0)
GRID = 81  # points of each axis
REACH = 5.0  # standard deviations of the prior


def draw_base_rates(
    positives: Floats, negatives: Floats, draws: int, rng: np.random.Generator
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
    """
    z = np.linspace(-REACH, REACH, GRID)
    rate, of_rate = (each.ravel() for each in np.meshgrid(z, z, indexing="ij"))
    log_weight = -0.5 * (rate**2 + of_rate**2)
    r = special.expit(LOGIT_RATE[0] + LOGIT_RATE[1] * rate)
    c = np.exp(LOG_CONCENTRATION[0] + LOG_CONCENTRATION[1] * of_rate)
    alpha, beta = c * r, c * (1.0 - r)
    for one, other in zip(positives, negatives, strict=True):
        log_weight += special.betaln(alpha + one, beta + other) - special.betaln(alpha, beta)
    picked = rng.choice(r.size, draws, p=special.softmax(log_weight))
    alpha, beta = alpha[picked], beta[picked]
    population = np.stack([alpha, beta])
    return rates_given(population, positives, negatives, rng), population


def rates_given(
    population: Floats, positives: Floats, negatives: Floats, rng: np.random.Generator
) -> Floats:
    """Return a draw of every topic's rate for each beta of a population; (topics, draws)."""
    alpha, beta = population
    rate = rng.beta(alpha + positives[:, None], beta + negatives[:, None])
    # A beta of small parameters rounds to 0 or 1, which have no log-odds.
    inside: Floats = np.clip(rate, 1e-15, 1.0 - 1e-15)
    return inside
