"""The pooled engine's posterior is that of NUTS, and stays as it is under Metropolis's chain.

The engine integrates every topic out and weighs populations; NUTS sampled the program `topics` at
length (tests/nuts_reference.py). For asymmetric families, whose modes at walls are obstacles to
gradients, walkers start at draws of the engine and go on by random steps of Metropolis.
"""

from functools import cache

import numpy as np
import pytest
from scipy import special

from bayescal.fitting.engines.pooled.population import Hyperprior
from tests.nuts_reference import LIMIT, Reference, from_runs, stored
from tests.pooled_tools import SAMPLED, engine, halve, of_class, quantities
from tests.sizes import size

pytestmark = pytest.mark.slow


def apart(family, klass):
    """Return the distance of the engine's draws of a class from NUTS's, in standard errors."""
    runs = [quantities(family, *run) for run in zip(*engine(family, klass), strict=True)]
    reference = stored(f"topics, {family}, class {klass}")
    return np.abs(from_runs(np.array(runs), reference)).max()


@pytest.mark.parametrize("klass", [0, 1])
@pytest.mark.parametrize("family", SAMPLED)
def test_means_sds_and_quantiles_agree(family, klass):
    assert stored(f"topics, {family}, class {klass}").divergent < 0.001
    assert apart(family, klass) < LIMIT


@pytest.mark.parametrize("halved", ["log_scale", "log_shape"])
def test_another_hyperprior_is_rejected(halved, monkeypatch):
    halve(halved, 2, monkeypatch)
    assert apart("gaussian", 1) > LIMIT


# Metropolis's chain

POWERS = {"asymmetric_laplace": 1, "asymmetric_gaussian": 2}
STEPS, WALKERS_A_RUN = size(1000, 1500), size(100, 200)
KLASS = 1  # with the fewest scores: 3 to 20 a topic


class Walk:
    """The joint density of hyperparameters (walkers, 6) and topics, and steps that leave it."""

    def __init__(self, power, rng):
        own = of_class(KLASS)
        self.n = np.array([x.size for x in own])
        self.x = np.full((len(own), self.n.max()), np.nan)
        for row, x in zip(self.x, own, strict=True):
            row[: x.size] = x
        self.power, self.rng = power, rng
        self.hyperprior = Hyperprior.of(power)

    def log_likelihood(self, topics):
        """Return that of modes, logit shares and log widths; (walkers, topics)."""
        theta, v, log_width = topics
        deviation = self.x - theta[..., None]
        left = np.nansum(np.maximum(-deviation, 0.0) ** self.power, axis=-1)
        right = np.nansum(np.maximum(deviation, 0.0) ** self.power, axis=-1)
        # Sides too small to have a likelihood need no infinity to be left.
        left *= np.exp(np.minimum(-self.power * special.log_expit(v), 300.0))
        right *= np.exp(np.minimum(-self.power * special.log_expit(-v), 300.0))
        return -self.n * log_width - (left + right) / self.power * np.exp(-self.power * log_width)

    def log_population(self, points, topics):
        """Return the density of topics given the population; (walkers, topics)."""
        mu, log_tau, omega, log_kappa, log_a, log_m = points.T[..., None]
        theta, v, log_width = topics
        a, kappa = np.exp(log_a), np.exp(log_kappa)
        alpha, beta = kappa * special.expit(omega), kappa * special.expit(-omega)
        log_scale = log_a + self.power * (log_m - log_width)
        return (
            -0.5 * ((theta - mu) / np.exp(log_tau)) ** 2
            - log_tau
            + alpha * special.log_expit(v)
            + beta * special.log_expit(-v)
            - special.betaln(alpha, beta)
            + a * log_scale
            - np.exp(log_scale)
            - special.gammaln(a)
        )

    def log_hyperprior(self, points):
        """Return that of hyperparameters, up to a constant; (walkers,)."""
        mean, scale = map(np.array, (self.hyperprior.mean, self.hyperprior.scale))
        return -0.5 * (((points - mean) / scale) ** 2).sum(axis=1)

    def move_topics(self, points, topics):
        """Step from every topic by itself: one or all of its parameters, by steps of all sizes."""
        shape = topics.shape[1:]
        size = np.exp(self.rng.normal(-1.2, 1.2, shape)) * np.array([0.5, 3.0, 1.0])[:, None, None]
        which = self.rng.integers(4, size=shape)
        free = (which == np.arange(3)[:, None, None]) | (which == 3)
        there = topics + free * size * self.rng.normal(size=topics.shape)
        gain = self.log_likelihood(there) - self.log_likelihood(topics)
        gain += self.log_population(points, there) - self.log_population(points, topics)
        return np.where(np.log(self.rng.random(shape)) < gain, there, topics)

    def move_points(self, points, topics):
        """Step from the hyperparameters."""
        size = np.exp(self.rng.normal(-1.0, 1.0, (points.shape[0], 1)))
        free = self.rng.random(points.shape) < 0.4
        there = points + 0.7 * free * size * self.rng.normal(size=points.shape)
        gain = self.log_hyperprior(there) - self.log_hyperprior(points)
        gain += (self.log_population(there, topics) - self.log_population(points, topics)).sum(1)
        return np.where((np.log(self.rng.random(gain.size)) < gain)[:, None], there, points)


@cache
def walkers(family):
    """Return quantities of walkers that set out from the engine's draws; (4, walker, k)."""
    points, sides = engine(family, KLASS, WALKERS_A_RUN)
    points = np.concatenate(points)
    theta, left, right = np.concatenate(sides, axis=-1).transpose(0, 2, 1)
    topics = np.stack([theta, np.log(left) - np.log(right), np.log(left + right)])
    walk = Walk(POWERS[family], np.random.default_rng(0))
    for _ in range(STEPS):
        topics = walk.move_topics(points, topics)
        for _ in range(2):
            points = walk.move_points(points, topics)
    theta, v, log_width = topics.transpose(0, 2, 1)
    width = np.exp(log_width)
    there = quantities(family, points, (theta, width * special.expit(v), width * special.expit(-v)))
    mixed = np.random.default_rng(1).permutation(there)
    return mixed.reshape(4, -1, there.shape[-1])


def apart_from_walkers(family):
    """Return the distance of the engine's draws from the walkers, in standard errors."""
    runs = [quantities(family, *run) for run in zip(*engine(family, KLASS), strict=True)]
    return np.abs(from_runs(np.array(runs), Reference.of(walkers(family)))).max()


@pytest.mark.parametrize("family", POWERS)
def test_means_sds_and_quantiles_stay(family):
    assert apart_from_walkers(family) < LIMIT


# Of log_scale, which all families have, the comparison with NUTS rejects another one.
@pytest.mark.parametrize("halved", ["log_concentration", "log_shape"])
def test_another_hyperprior_is_rejected_by_walkers(halved, monkeypatch):
    walkers("asymmetric_laplace")
    halve(halved, 1, monkeypatch)
    assert apart_from_walkers("asymmetric_laplace") > LIMIT
