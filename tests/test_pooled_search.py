"""Populations of many topics, found by a few of them first: the same as found by all."""

from functools import partial

import numpy as np
import pytest

from bayescal.families import FAMILIES
from bayescal.fitting.engines.pooled import drawing
from bayescal.fitting.engines.pooled.drawing import SEARCHED, some_of
from bayescal.fitting.engines.pooled.engine import draw_population, draw_topics
from bayescal.fitting.engines.pooled.hyperparameters import draw_hyperposterior
from bayescal.fitting.engines.pooled.population import Hyperprior

TOPICS, GAUSSIAN = 3 * SEARCHED, FAMILIES["gaussian"]
BASE = np.array([0.3, 0.2, 0.4, 1.0, 0.8, -0.4])
WIDE = BASE + np.array([0.0, 1.0, 0.0, -1.0, -1.0, 0.0])
RUNS = 4


def documents(rng, sizes=(3, 8, 0, 25, 1)):
    """Return scores of one class of topics whose modes are from Normal(1, 1/2)."""
    return [(rng.normal(rng.normal(1.0, 0.5), 0.6, size), None) for size in sizes]


@pytest.fixture(scope="module")
def many():
    return documents(np.random.default_rng(0), np.arange(TOPICS) % 12)


def fitted(topics, seed):
    rng = np.random.default_rng(seed)
    return draw_population(topics, GAUSSIAN, rng, draws=1000, topic_draws=400)


def test_few_topics_are_all_searched_by_and_some_of_many():
    rng = np.random.default_rng(1)
    assert some_of(range(SEARCHED), rng) is None
    some = some_of(range(TOPICS), rng)
    assert len(set(some)) == SEARCHED
    assert set(some) <= set(range(TOPICS))
    # At random: topics may come in an order, or in turn from several classifiers.
    assert some != some_of(range(TOPICS), rng)


def test_draws_of_one_base_after_the_other_are_draws_of_both():
    topics, bases = documents(np.random.default_rng(2)), np.stack([BASE, WIDE])
    both = draw_topics(topics, GAUSSIAN, bases, 3000, np.random.default_rng(3))
    one, other = (
        draw_topics(topics, GAUSSIAN, base[None], 3000, np.random.default_rng(3)) for base in bases
    )
    joined = one.joined(other)
    assert joined.bases.tolist() == bases.tolist()
    np.testing.assert_allclose(joined.draws.log_evidence, both.draws.log_evidence, rtol=1e-12)
    assert joined.draws.values.shape == both.draws.values.shape
    for point in (*bases, bases.mean(axis=0)):
        np.testing.assert_allclose(
            joined.efficiency(point[None]), both.efficiency(point[None]), atol=0.06
        )
        assert (
            abs(joined.weighed(point[None]).log_evidence - both.weighed(point[None]).log_evidence)
            < 0.2
        )
    # The negative: without the other half of the draws nothing stands for a wide population.
    assert one.efficiency(WIDE[None]).min() < 0.1


@pytest.mark.slow
def test_the_population_is_that_of_a_search_by_all_topics(many, monkeypatch):
    some = [fitted(many, seed) for seed in range(RUNS)]
    monkeypatch.setattr(drawing, "SEARCHED", TOPICS)
    whole = [fitted(many, seed) for seed in range(RUNS)]
    sd = np.mean([found.points.std(axis=0) for found in whole], axis=0)
    means = [[found.points.mean(axis=0) for found in runs] for runs in (some, whole)]
    spreads = [[np.log(found.points.std(axis=0)) for found in runs] for runs in (some, whole)]
    assert np.abs(np.subtract(*np.mean(means, axis=1)) / sd).max() < 0.25
    assert np.abs(np.subtract(*np.mean(spreads, axis=1))).max() < 0.25
    for found in some:
        assert found.pareto_k < 0.7
        assert found.topics.efficiency(found.points).min() > 0.25


@pytest.mark.slow
def test_topics_that_mislead_are_found_out(many):
    """Those searched by are from another population: their mode is carried by no topic's draws."""
    hyperprior = Hyperprior.of(2)
    others = [(30.0 + 0.1 * scores, None) for scores, _ in many[:SEARCHED]]
    search, draw = (partial(draw_topics, topics, GAUSSIAN) for topics in (others, many))
    rng = np.random.default_rng(5)
    found = draw_hyperposterior(draw, hyperprior, rng, draws=1000, topic_draws=400, search=search)
    right = fitted(many, 5)
    sd = right.points.std(axis=0)
    assert np.abs((found.points.mean(axis=0) - right.points.mean(axis=0)) / sd).max() < 0.5
    assert found.topics.efficiency(found.points).min() > 0.25
