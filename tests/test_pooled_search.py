"""The search of a population's mode, and how often topics are drawn for it, on normal topics."""

import numpy as np
import pytest

from bayescal.engines.pooled import hyperposterior
from bayescal.engines.pooled.drawing import Health
from bayescal.engines.pooled.hyperposterior import draw_hyperposterior
from bayescal.engines.pooled.hyperprior import GaussianHyperprior
from bayescal.engines.pooled.reweighting import TopicDraws, terms_of
from tests.test_pooled_pick import normal

HYPERPRIOR = GaussianHyperprior((0.0, 0.0), (4.0, 1.5), (0.0, 1.0), (-np.inf, -np.inf))
NOISE = 0.5  # standard deviation of the score of each topic around its mode
TOPICS = np.random.default_rng(0).normal(5.0, np.hypot(0.6, NOISE), 150)


def draw_normal(topics, bases, draws, rng):
    """Return draws of the modes of topics with one score each, around normal populations."""
    data, variance = np.array(topics), np.exp(2.0 * bases[:, 1])
    precision = 1.0 / variance + NOISE**-2
    mean = (bases[:, 0] / variance + data[:, None] / NOISE**2) / precision
    value = rng.normal(mean[..., None], precision[:, None] ** -0.5, (*mean.shape, draws))
    value = value.reshape(data.size, -1)
    total = variance + NOISE**2
    log_evidence = -0.5 * ((data[:, None] - bases[:, 0]) ** 2 / total + np.log(total))
    terms = terms_of(np.stack([value, value**2], axis=-1), bases, log_evidence, normal)
    health = Health(np.ones(data.size, bool), np.ones(data.size), np.zeros(data.size))
    return TopicDraws(normal, log_evidence, value[None], terms, health)


def exact():
    """Return means and standard deviations of the posterior, on a grid."""
    axes = np.linspace(4.5, 5.5, 201), np.linspace(-1.6, 0.2, 201)
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 2)
    total = np.exp(2.0 * points[:, 1]) + NOISE**2
    squares = ((TOPICS[:, None] - points[:, 0]) ** 2).sum(axis=0)
    log = -0.5 * (squares / total + TOPICS.size * np.log(total)) + HYPERPRIOR.log_density(points)
    weight = np.exp(log - log.max())
    mean = weight @ points / weight.sum()
    return mean, np.sqrt(weight @ (points - mean) ** 2 / weight.sum())


def found(seed=1):
    """Return the means and the standard deviations of draws, and topics drawn under a base."""
    drawn = []

    def draw(topics, bases, draws, rng):
        drawn.append(len(topics) * len(bases))
        return draw_normal(topics, bases, draws, rng)

    rng = np.random.default_rng(seed)
    points = draw_hyperposterior(
        draw, TOPICS.tolist(), HYPERPRIOR, rng, draws=4000, topic_draws=1000
    ).points
    return points.mean(axis=0), points.std(axis=0), sum(drawn)


def off(mean, sd):
    """Return how far means and standard deviations are from the exact ones, in the latter."""
    true_mean, true_sd = exact()
    return max((np.abs(mean - true_mean) / true_sd).max(), np.abs(sd / true_sd - 1.0).max())


def test_few_draws_of_some_topics_lead_to_the_posterior_of_all():
    mean, sd, drawn = found()
    assert off(mean, sd) < 0.25
    assert drawn <= 4 * hyperposterior.SEARCHED + 2 * TOPICS.size


@pytest.mark.parametrize(("name", "value"), [("SEARCHED", 3), ("CARRIES", 0.0)])
def test_a_search_that_is_misled_is_not_the_end(name, value, monkeypatch):
    monkeypatch.setattr(hyperposterior, name, value)
    mean, sd, _ = found()
    assert off(mean, sd) < 0.4


def test_a_posterior_of_some_topics_alone_is_found(monkeypatch):
    monkeypatch.setitem(globals(), "TOPICS", TOPICS[:60])
    mean, sd, _ = found()
    monkeypatch.undo()
    assert off(mean, sd) > 0.5
