r"""Populations of monotone log-odds, as an exponential family with its hyperprior.

Of topic t, with knots and reference the same for all topics, in standardised scores,

    a_t     ~ Normal(mu, tau)            log-odds at the reference
    level_t ~ Normal(nu, sigma)          log slope in its segment
    walk_t                               from there to the other segments: see `monotone.density`

The log density of a and level is eta . T(a, level) - A(eta) with T = a, a^2, level, level^2. The
hyperprior is Gaussian in mu, log tau, nu, log sigma.
"""

from __future__ import annotations

import math

import numpy as np

from bayescal.engines.monotone.basis import Pieces
from bayescal.engines.monotone.density import LARGEST_ETA, Prior
from bayescal.engines.pooled.hyperprior import GaussianHyperprior
from bayescal.validation import Floats

NAMES = ("intercept_location", "log_intercept_scale", "slope_location", "log_slope_scale")
# Together as wide as the prior of an unpooled topic: log-odds of 0 +- 5, log slopes of 0 +- 1.
HYPERPRIOR = GaussianHyperprior(
    mean=(0.0, math.log(2.0), 0.0, -math.log(2.0)),
    scale=(4.0, 1.0, 1.0, 1.0),
    wide=(0.0, 1.0, 0.0, 1.0),
    lowest=4 * (-math.inf,),
)


def prior_of(point: Floats) -> Prior:
    """Return the prior of a topic's log-odds given one population."""
    mu, log_tau, slope, log_sigma = point.tolist()
    return Prior(mu, math.exp(log_tau), slope, math.exp(log_sigma))


def coefficients(points: Floats) -> tuple[Floats, Floats]:
    """Return eta, of shape (k, 4), and A(eta), (k,), of populations of shape (k, 4)."""
    mu, log_tau, slope, log_sigma = points.T
    precision, of_slope = np.exp(-2.0 * log_tau), np.exp(-2.0 * log_sigma)
    eta = np.stack([mu * precision, -0.5 * precision, slope * of_slope, -0.5 * of_slope], axis=-1)
    normaliser = 0.5 * (mu**2 * precision + slope**2 * of_slope) + log_tau + log_sigma
    return eta, normaliser


def moments(points: Floats) -> tuple[float, float, float, float]:
    """Return mean and standard deviation of a new topic's intercept, and those of its level."""
    mu, log_tau, slope, log_sigma = points.T
    pairs = ((mu, log_tau), (slope, log_sigma))
    (a, tau), (nu, sigma) = (
        (float(each.mean()), math.sqrt((np.exp(2.0 * log)).mean() + each.var()))
        for each, log in pairs
    )
    return a, tau, nu, sigma


def statistics(intercept: Floats, level: Floats) -> Floats:
    """Return T of parameters of shape (...), of shape (..., 4)."""
    return np.stack([intercept, intercept**2, level, level**2], axis=-1)


def draw_unseen(points: Floats, pieces: Pieces, rng: np.random.Generator) -> Floats:
    """Return intercept and slopes of a topic of each population, of shape (1 + J, k)."""
    mu, log_tau, slope, log_sigma = points.T
    freedom, size = Prior.walk_freedom, points.shape[0]
    z = rng.normal(size=(size, pieces.segments))
    # Of a multivariate t: the steps share a scale, the level is not of it.
    z[:, 1:] /= np.sqrt(rng.chisquare(freedom, (size, 1)) / freedom)
    of_steps = Prior().walk(pieces)[:, 1:]
    eta = slope + np.exp(log_sigma) * z[:, 0] + of_steps @ z[:, 1:].T
    intercept = mu + np.exp(log_tau) * rng.normal(size=size)
    return np.vstack([intercept, np.exp(np.minimum(eta, LARGEST_ETA))])
