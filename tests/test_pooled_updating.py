"""Draws of a topic over all populations at once, against a population and a draw at a time."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from bayescal.fitting.engines.pooled import drawing
from bayescal.fitting.engines.pooled.drawing import pick_updated
from bayescal.fitting.engines.pooled.population import weigh_draws
from tests.test_pooled_pick import made, normal

LIMIT = 4.5  # standard errors, the largest of nine


@pytest.fixture(scope="module")
def drawn():
    """Return draws of three topics, populations, and each topic's log weights, (draws, k)."""
    topics, points, *_ = made()
    eta, normaliser = normal(points)
    return topics, points, topics.terms @ np.column_stack([eta, normaliser, np.ones(len(eta))]).T


@pytest.mark.slow
def test_weights_are_known_up_to_a_factor_for_each_population(drawn):
    topics, points, log_weight = drawn
    expected = logsumexp(log_weight, axis=1) - np.log(log_weight.shape[1])
    for k, (log_evidence, weight, total) in enumerate(topics.weights(points)):
        np.testing.assert_allclose(log_evidence, expected[k], atol=1e-4)
        share = weight / total[:, None]
        np.testing.assert_allclose(share, softmax(log_weight[k], axis=0).T, atol=1e-5)


@pytest.mark.parametrize("away", [0.0, 40.0, 1e6])
def test_weights_too_small_or_too_large_for_single_precision_are_weighed_anew(away):
    rng = np.random.default_rng(0)
    terms, factors = rng.normal(size=(2, 50, 3)), rng.normal(size=(3, 30))
    factors[:, :3] *= 1.0 + away
    log_weight = np.swapaxes(terms @ factors, 1, 2)
    for expected, found in zip(log_weight, weigh_draws(terms, factors), strict=True):
        evidence = logsumexp(expected, axis=1) - np.log(50)
        np.testing.assert_allclose(found.log_evidence, evidence, atol=1e-3)
        share = found.weight / found.total[:, None]
        np.testing.assert_allclose(share, softmax(expected, axis=1), atol=1e-3)


def off(drawn, rng):
    """Return errors of mean, spread and cube in standard errors, the largest of three topics."""
    topics, points, log_weight = drawn
    values, efficiency = pick_updated(topics, points, rng)
    assert values.shape == (1, 3, len(points))
    worst = 0.0
    for k, value in enumerate(topics.draws.values[0]):
        # The sum over populations of weight times evidence, in double precision.
        weight = np.exp(logsumexp(log_weight[k], axis=1))
        weight /= weight.sum()
        for power in (1, 2, 3):
            mean = weight @ value**power
            error = np.sqrt(weight @ (value**power - mean) ** 2 / drawing.POPULATIONS)
            worst = max(worst, abs((values[0, k] ** power).mean() - mean) / error)
    return worst, efficiency


@pytest.mark.slow
def test_draws_are_those_of_the_mixture_over_populations(drawn):
    worst, efficiency = off(drawn, np.random.default_rng(1))
    assert worst < LIMIT
    assert np.all((efficiency > 0.2) & (efficiency <= 1.0))


def test_populations_that_the_topic_does_not_weigh_are_found(drawn, monkeypatch):
    def alike(log_evidence):
        return np.full(log_evidence.size, 1.0 / log_evidence.size), 1.0

    monkeypatch.setattr(drawing, "weigh", alike)
    assert off(drawn, np.random.default_rng(1))[0] > LIMIT


def test_draws_are_in_random_order(drawn):
    """Chains are runs of draws: none may have more of one value than another."""
    topics, points, _ = drawn
    values, _ = pick_updated(topics, points, np.random.default_rng(2))
    first, last = np.split(values[0], 2, axis=1)
    error = np.sqrt(2.0) * values[0].std(axis=1) / np.sqrt(first.shape[1])
    assert np.all(np.abs(first.mean(axis=1) - last.mean(axis=1)) < LIMIT * error)
