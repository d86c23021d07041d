"""Simulation-based calibration of the pooled engine, and that it rejects wrong engines.

Hyperparameters from the hyperprior, topics from the population, scores from the topics, posterior
from the scores: the rank of each true value among its posterior draws is uniform.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import special

from bayescal.families import FAMILIES
from bayescal.fitting.engines.exact.class_posterior import SMALLEST_SHARE
from bayescal.fitting.engines.pooled.engine import draw_population
from bayescal.fitting.engines.pooled.population import DENSITY_NAMES, Hyperprior
from studies.sbc import adjusted_p
from tests.sizes import size

pytestmark = pytest.mark.slow
SETS, TOPICS, MOST_SCORES, DRAWS, TOPIC_DRAWS = size(40, 200), 8, 12, 99, 1000
# Of a right engine to be called wrong: of all quantities together.
LEVEL = 0.01


@cache
def simulated(family):
    """Return data sets: hyperparameters, (mode, left, right) of every topic, their scores."""
    rng, power = np.random.default_rng(13), FAMILIES[family].power
    sets = []
    for point in Hyperprior.of(power).draw(SETS, rng):
        mu, tau, omega, kappa, shape, width = point
        omega, kappa, shape = special.expit(omega), np.exp(kappa), np.exp(shape)
        theta = rng.normal(mu, np.exp(tau), TOPICS)
        share = rng.beta(kappa * omega, kappa * (1.0 - omega), TOPICS)
        share = np.clip(share, SMALLEST_SHARE, 1.0 - SMALLEST_SHARE)
        total = (shape * np.exp(power * width) / rng.gamma(shape, size=TOPICS)) ** (1.0 / power)
        sides = np.stack([theta, share * total, (1.0 - share) * total])
        sets.append((point, sides, [(scores(*side, power, rng), None) for side in sides.T]))
    return sets


def scores(theta, left, right, power, rng):
    n = rng.integers(1, MOST_SCORES)
    distance = rng.exponential(size=n) if power == 1 else np.abs(rng.normal(size=n))
    on_left = rng.random(n) < left / (left + right)
    return theta + distance * np.where(on_left, -left, right)


def posteriors(family):
    """Return draws of hyperparameters and of one topic's mode and sides, set by set."""
    rng, out = np.random.default_rng(14), []
    for _, _, documents in simulated(family):
        found = draw_population(
            documents, FAMILIES[family], rng, draws=DRAWS, topic_draws=TOPIC_DRAWS
        )
        out.append(np.concatenate([found.points.T, np.stack(found.pick(rng))[:, 0]]))
    return out


drawn_by_the_engine = cache(posteriors)


def ranks(family, drawn):
    """Return the ranks of hyperparameters and of one topic's mode and sides, by name."""
    rng, rows = np.random.default_rng(15), []
    for (point, sides, _), own in zip(simulated(family), drawn, strict=True):
        true = np.r_[point, sides[:, 0]][:, None]
        # The smallest share is drawn more than once: a rank among equals is any of them.
        equal = (own == true).sum(axis=1)
        rows.append((own < true).sum(axis=1) + rng.integers(0, equal + 1))
    return dict(zip([*DENSITY_NAMES, "mode", "left", "right"], np.array(rows).T, strict=True))


@pytest.mark.parametrize("family", ["asymmetric_laplace", "asymmetric_gaussian"])
def test_ranks_are_uniform(family):
    assert adjusted_p(ranks(family, drawn_by_the_engine(family)), DRAWS) > LEVEL


def test_an_engine_of_another_hyperprior_is_rejected(monkeypatch):
    simulated("asymmetric_laplace")
    right = Hyperprior.of(1)
    halved = tuple(np.where(np.array(DENSITY_NAMES) == "log_shape", 0.5, 1.0) * right.scale)
    monkeypatch.setattr(Hyperprior, "of", lambda power: replace(right, scale=halved))
    assert adjusted_p(ranks("asymmetric_laplace", posteriors("asymmetric_laplace")), DRAWS) < LEVEL


def test_an_engine_that_swaps_sides_is_rejected():
    drawn = drawn_by_the_engine("asymmetric_laplace")
    swapped = [each[[*range(7), 8, 7]] for each in drawn]
    assert adjusted_p(ranks("asymmetric_laplace", swapped), DRAWS) < LEVEL
