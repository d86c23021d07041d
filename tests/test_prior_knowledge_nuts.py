"""Around a history is where NUTS of the history and the new problem together is.

The reference samples ten topics at once, the program `topics`, and looks at one of them
(tests/one_more_topic.py). The engine fits the other nine, keeps draws of their population, forgets
the topics, and then sees the tenth. Of log-odds fits likewise, with the program of the tests.
"""

from functools import cache

import numpy as np
import pytest

from bayescal.fitting.engines.pooled.log_odds import HYPERPRIOR, add_log_odds
from tests import log_odds_population
from tests.log_odds_population import PIECES, documents, quantities
from tests.nuts_reference import LIMIT, from_runs, stored
from tests.one_more_topic import TOPICS, around, certain, forget_the_evidence, history, wider

pytestmark = pytest.mark.slow
RUNS = 10
OF_FIVE = 4  # the topic of log-odds that comes last, with 30 documents


@cache
def histories(topic):
    return [history(topic, seed) for seed in range(RUNS)]


def apart(topic, change=lambda prior: prior):
    """Return the distance of the engine's draws from NUTS's, in standard errors."""
    runs = [around(change(prior), topic, seed) for seed, prior in enumerate(histories(topic))]
    return np.abs(from_runs(np.array(runs), stored(f"one more topic, {topic}"))).max()


@pytest.mark.parametrize("topic", TOPICS)
def test_means_sds_and_quantiles_agree(topic):
    assert stored(f"one more topic, {topic}").divergent < 0.001
    assert apart(topic) < LIMIT


@pytest.mark.parametrize("topic", TOPICS[1:])
def test_a_population_that_the_new_topic_does_not_inform_is_rejected(topic, monkeypatch):
    forget_the_evidence(monkeypatch)
    assert apart(topic) > LIMIT


@pytest.mark.parametrize("wrong", [certain, wider])
def test_another_population_is_rejected(wrong):
    assert apart(0, wrong) > LIMIT


@cache
def four_topics(seed):
    past = [data for t, data in enumerate(documents()) if t != OF_FIVE]
    return log_odds_population.history(past, np.random.default_rng(seed))


def log_odds_apart():
    """Return the same of intercept and log slopes of a topic around four others'."""
    # Hyperparameters, then intercepts and slopes of two topics, this one the second.
    mine = len(HYPERPRIOR.mean) + np.arange(1, 2 * (2 + PIECES.knots.size), 2)
    runs = []
    for seed in range(RUNS):
        fitted = four_topics(seed)
        found = add_log_odds([documents()[OF_FIVE]], fitted, np.random.default_rng(100 + seed))
        both = np.repeat(log_odds_population.values_of(found.topics), 5, axis=1)
        runs.append(quantities(found.population, both)[:, mine])
    return np.abs(from_runs(np.array(runs), stored("population of log-odds").take(mine))).max()


def test_log_odds_are_those_of_nuts(monkeypatch):
    assert log_odds_apart() < LIMIT
    forget_the_evidence(monkeypatch)
    assert log_odds_apart() > LIMIT
