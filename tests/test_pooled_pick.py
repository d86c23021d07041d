"""Draws of topics picked for each population, against the weights of all draws."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from bayescal.families import FAMILIES
from bayescal.fitting.engines.pooled import drawing, population
from bayescal.fitting.engines.pooled.drawing import DrawnTopics, Health, TopicDraws, pick_updated
from bayescal.fitting.engines.pooled.engine import draw_population
from tests.one_more_topic import forget_the_evidence
from tests.pooled_tools import of_class

POPULATIONS = 4000
LIMIT = 4.5  # standard errors, the largest of nine


def normal(points):
    """Return eta and A(eta) of normal densities of mean mu and standard deviation exp(log_tau)."""
    mu, log_tau = points.T
    precision = np.exp(-2.0 * log_tau)
    return np.stack([mu * precision, -0.5 * precision], axis=-1), 0.5 * mu**2 * precision + log_tau


def made(shift=0.0):
    """Return draws of three topics with normal likelihoods, and populations to reweight them to."""
    rng = np.random.default_rng(0)
    bases = np.array([[shift, 0.0], [shift, 1.0]])
    data, sd = shift + np.array([-1.0, 0.2, 2.5]), 0.7
    variance = np.exp(2.0 * bases[:, 1])
    precision = 1.0 / variance + sd**-2
    mean = (bases[:, 0] / variance + data[:, None] / sd**2) / precision
    value = rng.normal(mean[..., None], precision[:, None] ** -0.5, (3, 2, 1000)).reshape(3, -1)
    log_evidence = -0.5 * (
        (data[:, None] - shift) ** 2 / (variance + sd**2) + np.log(variance + sd**2)
    )
    health = Health(np.ones(3, bool), np.ones(3), np.zeros(3))
    of_prior, log_likelihood = np.zeros((3, 2), bool), np.zeros_like(value)
    draws = DrawnTopics(log_evidence, of_prior, health, value[None], log_likelihood)
    topics = TopicDraws.under(bases, draws, np.stack([value, value**2], axis=-1), normal)
    points = rng.normal([shift, 0.0], 0.6, (POPULATIONS, 2))
    eta, normaliser = normal(points)
    log_weight = topics.terms @ np.column_stack([eta, normaliser, np.ones(POPULATIONS)]).T
    weight = np.exp(log_weight - log_weight.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    mean = np.einsum("tdk,td->tk", weight, value)
    square = np.einsum("tdk,td->tk", weight, value**2)
    return topics, points, mean, np.sqrt(square - mean**2)


@pytest.fixture(scope="module")
def drawn():
    """Return those whose values are near 0."""
    return made()


def standardised(drawn, rng):
    """Return picked values in standard deviations from the mean of all draws, by their weights."""
    topics, points, mean, sd = drawn
    return (topics.weighed(points).pick(np.arange(POPULATIONS), rng)[0] - mean) / sd


def off(z, mean):
    """Return errors in standard errors: of the mean, of the spread, of the slope on the mean."""
    root = np.sqrt(POPULATIONS)
    centred = (mean - mean.mean(axis=1, keepdims=True)) / mean.std(axis=1, keepdims=True)
    moments = z.mean(axis=1), (z**2 - 1.0).mean(axis=1) / np.sqrt(2.0), (z * centred).mean(axis=1)
    return np.abs(moments).max() * root


@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_picked_draws_are_those_of_each_population(shift):
    drawn = made(shift)
    z = standardised(drawn, np.random.default_rng(1))
    assert off(z, drawn[2]) < LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("draws", [2000, 1999, 130, 63, 1])
def test_picks_are_of_any_number_of_draws(draws):
    topics, points, *_ = made()
    terms = topics.terms[:, :draws]
    some = topics.draws._replace(values=topics.draws.values[..., :draws])
    few = replace(topics, terms=terms, draws=some)
    eta, normaliser = normal(points)
    factors = np.column_stack([eta, normaliser, np.ones(POPULATIONS)]).T
    weighed = few.weighed(points)
    log_evidence = logsumexp(terms @ factors, axis=1).sum(axis=0) - 3 * np.log(draws)
    np.testing.assert_allclose(weighed.log_evidence, log_evidence, atol=1e-4)
    for of_topic, sums in zip(terms, weighed.sums, strict=True):
        rng = np.random.default_rng(3)
        picked = population.pick_positions(of_topic, factors, sums, rng)
        expected = softmax(of_topic @ factors, axis=0).sum(axis=1)
        found = np.bincount(picked, minlength=draws)
        assert found.size == draws
        # Independent in all populations: no draw is picked much more often than it should be.
        assert np.all(np.abs(found - expected) < 6.0 * np.sqrt(expected) + 4.0)


def test_picks_spread_as_far_as_the_weights_say():
    """Candidates that neighbouring populations share would spread less: by 3 % of variance."""
    rng = np.random.default_rng(4)
    topics = [(scores, None) for scores in of_class(1)]
    family = FAMILIES["asymmetric_laplace"]
    found = draw_population(topics, family, rng, draws=2000, topic_draws=2000)
    modes = found.topics.draws.values[0]
    weight = np.array(
        [
            (weight / total[:, None]).mean(axis=0)
            for _, weight, total in found.topics.weights(found.points)
        ]
    )
    mean = (weight * modes).sum(axis=1, keepdims=True)
    expected = (weight * (modes - mean) ** 2).sum(axis=1)
    picked = np.array([(found.pick(rng)[0] - mean) ** 2 for _ in range(20)]).mean(axis=2)
    ratio = (picked / expected).mean(axis=1)
    error = ratio.std(ddof=1) / np.sqrt(ratio.size)
    assert error < 0.004
    assert abs(ratio.mean() - 1.0) < 4.0 * error


@pytest.mark.parametrize("wrong", ["sums", "points"])
def test_picks_that_forget_their_own_population_are_found(drawn, wrong):
    """Runs, or draws within them, in proportion to weights for another population."""
    topics, points, mean, sd = drawn
    weighed = topics.weighed(points)
    another = {"sums": np.roll(weighed.sums, 1, axis=1), "points": np.roll(points, 1, axis=0)}
    forgetful = replace(weighed, **{wrong: another[wrong]})
    picked = forgetful.pick(np.arange(POPULATIONS), np.random.default_rng(1))
    assert off((picked[0] - mean) / sd, mean) > 1.5 * LIMIT


def evidence(topics, points, precision):
    """Return log evidence straight from its definition, its products of one precision."""
    eta, normaliser = normal(points)
    factors = np.column_stack([eta, normaliser, np.ones(len(points))]).T
    log_weight = topics.terms.astype(precision) @ factors.astype(precision)
    return (logsumexp(log_weight, axis=1) - np.log(topics.terms.shape[1])).sum(axis=0)


def error(found, expected):
    """Return the error in populations' posterior shares, the sum of absolute differences."""
    return np.abs(softmax(found) - softmax(expected)).sum()


@pytest.mark.slow
@pytest.mark.parametrize("shift", [0.0, 1000.0])
def test_single_precision_of_what_differs_is_enough(shift):
    topics, points, *_ = made(shift)
    expected = evidence(topics, points, np.float64)
    assert error(topics.weighed(points).log_evidence, expected) < 1e-4


@pytest.mark.parametrize(
    ("log_tau", "bounds"),
    [
        (-3.0, {"SMALLEST_SUM": 0.0, "LARGEST_SUM": np.inf}),
        (-11.0, {"MOST_ERROR": np.inf, "SMALLEST_SUM": 0.0, "LARGEST_SUM": np.inf}),
    ],
)
def test_populations_of_little_spread_are_weighed_in_double_precision(log_tau, bounds, monkeypatch):
    """And the negative: such populations, far from all others, look likely in single precision."""
    topics, points, *_ = made(0.0)
    points = np.concatenate([points, [[points[0, 0], log_tau]]])
    expected = evidence(topics, points, np.float64)[-1]
    assert topics.weighed(points).log_evidence[-1] == pytest.approx(expected, rel=1e-9)
    for name, bound in bounds.items():
        monkeypatch.setattr(population, name, bound)
    assert topics.weighed(points).log_evidence[-1] - expected > 100.0


@pytest.mark.slow
def test_populations_without_spread_are_distinguished():
    topics, points, *_ = made(0.0)
    points = np.concatenate([points, [[points[0, 0], -50.0]]])
    expected = evidence(topics, points, np.float64)[-1]
    assert topics.weighed(points).log_evidence[-1] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_derivatives_are_those_of_the_evidence(shift):
    topics, points, *_ = made(shift)
    point, steps = points[0], 1e-4 * np.eye(2)

    def differences(function):
        up, down = (function(point + sign * steps) for sign in (1.0, -1.0))
        return (up - down) / 2e-4

    value, gradient, hessian, efficiency = topics.expand(point)
    assert value == pytest.approx(evidence(topics, point[None], np.float64)[0])
    slopes = differences(lambda some: evidence(topics, some, np.float64))
    np.testing.assert_allclose(gradient, slopes, rtol=1e-4)
    curvature = differences(lambda some: np.array([topics.expand(one).gradient for one in some]))
    np.testing.assert_allclose(hessian, curvature, rtol=1e-3, atol=1e-3)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-9)
    assert efficiency == pytest.approx(topics.efficiency(point[None]).min(), rel=1e-5)


# All populations at once, against a population and a draw at a time


@pytest.fixture(scope="module")
def weighed_alone():
    """Return draws of three topics, populations, and each topic's log weights, (draws, k)."""
    topics, points, *_ = made()
    eta, normaliser = normal(points)
    return topics, points, topics.terms @ np.column_stack([eta, normaliser, np.ones(len(eta))]).T


@pytest.mark.slow
def test_weights_are_known_up_to_a_factor_for_each_population(weighed_alone):
    topics, points, log_weight = weighed_alone
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
    for expected, found in zip(log_weight, population.weigh_draws(terms, factors), strict=True):
        evidence = logsumexp(expected, axis=1) - np.log(50)
        np.testing.assert_allclose(found.log_evidence, evidence, atol=1e-3)
        share = found.weight / found.total[:, None]
        np.testing.assert_allclose(share, softmax(expected, axis=1), atol=1e-3)


def off_mixture(weighed_alone, rng):
    """Return errors of mean, spread and cube in standard errors, the largest of three topics."""
    topics, points, log_weight = weighed_alone
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
def test_draws_are_those_of_the_mixture_over_populations(weighed_alone):
    worst, efficiency = off_mixture(weighed_alone, np.random.default_rng(1))
    assert worst < LIMIT
    assert np.all((efficiency > 0.2) & (efficiency <= 1.0))


def test_populations_that_the_topic_does_not_weigh_are_found(weighed_alone, monkeypatch):
    forget_the_evidence(monkeypatch)
    assert off_mixture(weighed_alone, np.random.default_rng(1))[0] > LIMIT


def test_draws_are_in_random_order(weighed_alone):
    """Chains are runs of draws: none may have more of one value than another."""
    topics, points, _ = weighed_alone
    values, _ = pick_updated(topics, points, np.random.default_rng(2))
    first, last = np.split(values[0], 2, axis=1)
    error = np.sqrt(2.0) * values[0].std(axis=1) / np.sqrt(first.shape[1])
    assert np.all(np.abs(first.mean(axis=1) - last.mean(axis=1)) < LIMIT * error)
