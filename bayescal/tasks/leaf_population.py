r"""What tasks have in common at one leaf, and how far they differ: a beta-binomial population.

    p        ~ Uniform(0, 1)                      share of positives in the population
    log m    ~ Normal(log 100, 3)                 how many documents the population is worth
    theta_i  ~ Beta(m p, m (1 - p))               share of positives of task i
    In_i     ~ Binomial(n_i, theta_i)             positive ones of its n_i documents at the leaf

Integrated over theta_i this is beta-binomial, so that the evidence of (p, m) is a product of ratios
of Beta functions. Sums over a grid are integrals: of log m, and for each m of logit p around its
mode given m, for it is known the better the larger m is. Given p and m the posterior mean of
theta_i is equation 8.1 of the dissertation with this m.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from bayescal.validation import Floats

LOG_M, LOG_M_SD = math.log(100.0), 3.0
# What m can be: from e^-12 to e^12 times its prior median; all else is as good as 0 or infinity.
REACH_OF_LOG_M = 12.0
NODES_OF_M = 25
# Standard deviations from the mode of logit p, given m: half a one apart.
STEP = 0.5
NODES_OF_P = STEP * np.arange(-16, 17)
# Log density relative to its largest value, below which nodes are left out: e^-16 is 1e-7.
LOWEST = -16.0
# The axis of log m is short enough once so many of its nodes matter.
ENOUGH = NODES_OF_M // 2
MOST_AXES, MOST_STEPS = 8, 60
# Steps in logit p below this share of a standard deviation move no node that matters.
SMALLEST_STEP = 1e-3
FARTHEST_LOGIT = 30.0
SMALLEST_CURVATURE = 1e-12


@dataclass(frozen=True)
class LeafPopulation:
    """
    The posterior of p and m on a grid.

    Attributes
    ----------
    p, m : array of shape (nodes,)
        The nodes.
    share : array of shape (nodes,)
        Their posterior probability.
    """

    p: Floats
    m: Floats
    share: Floats

    def mean(self, positive: Floats, total: Floats) -> Floats:
        """
        Return the posterior mean of theta of tasks with these counts; of no documents E[p].

        The mean of equation 8.1 over the posterior of p and m.
        """
        estimates = (positive[:, None] + self.m * self.p) / (total[:, None] + self.m)
        return np.asarray(estimates @ self.share)

    def sample(self, positive: float, total: float, draws: int, rng: np.random.Generator) -> Floats:
        """Return log-odds of draws of theta of a task with these counts, shape (draws,)."""
        node = rng.choice(self.share.size, draws, p=self.share)
        a = self.m[node] * self.p[node] + positive
        b = self.m[node] * (1.0 - self.p[node]) + total - positive
        return _log_gamma(a, rng) - _log_gamma(b, rng)

    def quantiles(self, levels: Floats) -> tuple[Floats, Floats]:
        """Return quantiles of p and of m."""
        return _quantiles(self.p, self.share, levels), _quantiles(self.m, self.share, levels)


def log_evidence(positive: Floats, total: Floats, p: Floats, m: Floats) -> Floats:
    """
    Return log p(which documents are positive | p, m), all theta_i integrated out.

        sum_i [ln B(In_i + m p, Out_i + m (1 - p)) - ln B(m p, m (1 - p))]

    Parameters
    ----------
    positive, total : array of shape (tasks,)
        In_i, and In_i + Out_i.
    p, m : array
        Of the population; shapes that go together.

    Examples
    --------
    >>> one = np.ones(1)
    >>> log_evidence(one, one, np.array([0.25]), np.array([3.0])).round(4)  # ln p
    array([-1.3863])
    """
    a, b = m * p, m * (1.0 - p)
    out = np.zeros(np.broadcast(p, m).shape)
    # Tasks alike in a count share its term.
    for counts, shape, sign in ((positive, a, 1.0), (total - positive, b, 1.0), (total, m, -1.0)):
        values, times = np.unique(counts[counts > 0.0], return_counts=True)
        for value, often in zip(values.tolist(), times.tolist(), strict=True):
            out += sign * often * (special.gammaln(value + shape) - special.gammaln(shape))
    return out


def fit_population(positive: Floats, total: Floats) -> LeafPopulation:
    """
    Return the posterior of p and m at a leaf.

    Parameters
    ----------
    positive, total : array of shape (tasks,)
        Positive documents of each task at the leaf, and all of them.

    Examples
    --------
    >>> found = fit_population(np.array([5.0, 5.0, 5.0]), np.array([10.0, 10.0, 10.0]))
    >>> found.mean(np.zeros(1), np.zeros(1)).round(3)
    array([0.5])
    """
    low, high = LOG_M - REACH_OF_LOG_M, LOG_M + REACH_OF_LOG_M
    for _ in range(MOST_AXES):
        log_m = np.linspace(low, high, NODES_OF_M)
        logit_p, log_density = _conditional_grids(positive, total, np.exp(log_m))
        # Of the prior of log m, and of how wide a node's share of logit p is.
        log_density += (-0.5 * ((log_m - LOG_M) / LOG_M_SD) ** 2)[:, None]
        marginal = special.logsumexp(log_density, axis=1)
        kept = np.flatnonzero(marginal > marginal.max() + LOWEST)
        if kept.size >= ENOUGH:
            break
        # A node more on either side: the density may rise between two nodes.
        low, high = log_m[max(kept[0] - 1, 0)], log_m[min(kept[-1] + 1, NODES_OF_M - 1)]
    matter = log_density > log_density.max() + LOWEST
    m = np.broadcast_to(np.exp(log_m)[:, None], matter.shape)
    share = special.softmax(log_density[matter])
    return LeafPopulation(special.expit(logit_p[matter]), m[matter], share)


def _conditional_grids(positive: Floats, total: Floats, m: Floats) -> tuple[Floats, Floats]:
    """Return for each m a grid of logit p, and the log density times the distance of nodes."""
    mode, sd = _mode_of_logit(positive, total, m)
    logit_p = mode[:, None] + sd[:, None] * NODES_OF_P
    log_density = log_evidence(positive, total, special.expit(logit_p), m[:, None])
    # Uniform in p has the density p (1 - p) in logit p.
    log_density += special.log_expit(logit_p) + special.log_expit(-logit_p)
    return logit_p, log_density + np.log(STEP * sd)[:, None]


def _mode_of_logit(positive: Floats, total: Floats, m: Floats) -> tuple[Floats, Floats]:
    """Return mode and standard deviation of logit p, given each m.

    The log density is concave in p, so that there is one mode: Newton's steps, halving a bracket
    where they would leave it.
    """
    low, high = np.full(m.shape, -FARTHEST_LOGIT), np.full(m.shape, FARTHEST_LOGIT)
    at = np.full(m.shape, special.logit((positive.sum() + 1.0) / (total.sum() + 2.0)))
    for _ in range(MOST_STEPS):
        slope, curvature = _derivatives(positive, total, at, m)
        low, high = np.where(slope > 0.0, at, low), np.where(slope > 0.0, high, at)
        sd = 1.0 / np.sqrt(np.maximum(curvature, SMALLEST_CURVATURE))
        newton = at + slope * sd**2
        inside = (low < newton) & (newton < high) & (curvature > SMALLEST_CURVATURE)
        step = np.where(inside, newton, 0.5 * (low + high)) - at
        at = at + step
        if (np.abs(step) <= SMALLEST_STEP * sd).all():
            break
    return at, sd


def _derivatives(
    positive: Floats, total: Floats, logit_p: Floats, m: Floats
) -> tuple[Floats, Floats]:
    """Return the slope of the log density in logit p, and minus its second derivative."""
    p, q = special.expit(logit_p), special.expit(-logit_p)
    a, b, v = m * p, m * q, p * q
    first, second = np.zeros(m.shape), np.zeros(m.shape)
    for counts, shape, sign in ((positive, a, 1.0), (total - positive, b, -1.0)):
        values, times = np.unique(counts[counts > 0.0], return_counts=True)
        for value, often in zip(values.tolist(), times.tolist(), strict=True):
            first += sign * often * (special.digamma(value + shape) - special.digamma(shape))
            second += often * (special.polygamma(1, value + shape) - special.polygamma(1, shape))
    slope = m * v * first + q - p
    return slope, 2.0 * v - (m * v) ** 2 * second - m * v * (q - p) * first


def _quantiles(values: Floats, share: Floats, levels: Floats) -> Floats:
    order = np.argsort(values)
    below = np.cumsum(share[order]) - 0.5 * share[order]
    return np.asarray(np.interp(levels, below, values[order]))


def _log_gamma(shape: Floats, rng: np.random.Generator) -> Floats:
    """Return logarithms of Gamma draws, which themselves are 0 in floating point at small shapes.

    G(a) = G(a + 1) U^(1/a) in distribution.
    """
    uniform = rng.uniform(size=shape.shape)
    return np.asarray(np.log(rng.gamma(shape + 1.0)) + np.log1p(-uniform) / shape)
