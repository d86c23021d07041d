"""The units of all topics: one topic with scores a million times as wide is no unit for others."""

import warnings

import numpy as np
import pytest
from scipy import special

from bayescal import TopicCalibrator
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from bayescal.fitting.scores import read_topics
from bayescal.metrics import losses
from bayescal.support.numerics import units_of
from tests.test_tiny_bulk import naive_bayes

TOPICS, EACH, WILD = 5, 12, 600


def of_one(n, topic, rng):
    """Return scores of a topic as classifiers have them, and labels."""
    score = rng.normal(-3.0, 5.0, n)
    return score, rng.random(n) < special.expit(1.5 * score + topic)


def documents(seed, wild=1e9):
    """Return scores, labels and topics; the last topic, of most documents, has wild scores."""
    rng = np.random.default_rng(seed)
    parts = [of_one(EACH, topic, rng) for topic in range(TOPICS)]
    parts.append(naive_bayes(WILD, seed, far=-wild))
    score, positive = (np.concatenate(each) for each in zip(*parts, strict=True))
    return score, positive, np.repeat(np.arange(TOPICS + 1), [*TOPICS * [EACH], WILD])


def units(score, positive, topic, weight=None):
    return read_topics(score, positive, topic, weight, positive=None, scores_are="scores").units()


def test_units_are_those_of_all_scores_together():
    score, positive, topic = documents(0, wild=30.0)
    assert units(score, positive, topic) == units_of(score, positive, None)
    weight = np.random.default_rng(0).integers(1, 4, score.size).astype(float)
    assert units(score, positive, topic, weight) == units_of(score, positive, weight)


def test_but_not_where_one_topic_is_much_wider_than_most():
    score, positive, topic = documents(0)
    centre, spread = units(score, positive, topic)
    assert units_of(score, positive, None)[1] > 1e6
    assert -6.0 < centre < 0.0
    assert 3.0 < spread < 8.0
    # Topics without a spread do not count: equal scores, and a single one.
    score, positive = np.append(score, [1e7, 1e7, 5.0]), np.append(positive, [True, False, True])
    assert units(score, positive, np.append(topic, [7, 7, 8])) == (centre, spread)


@pytest.mark.slow
def test_topics_beside_a_wild_one_are_calibrated(monkeypatch):
    rng = np.random.default_rng(99)
    new = [of_one(2000, topic, rng) for topic in range(TOPICS)]

    def bits():
        calibrator = TopicCalibrator(draws=100, random_state=0).fit(*documents(1))
        found = [
            losses(calibrator.decision_function(score, np.full(score.size, topic)), positive)
            for topic, (score, positive) in enumerate(new)
        ]
        return np.mean([each.log_loss / each.n for each in found])

    # The wild topic's own densities are beyond any grid, and it alone is diagnosed.
    with pytest.warns(ConvergenceWarning, match="for topic 5 was not resolved"):
        found = bits()
    monkeypatch.setattr("bayescal.fitting.scores.MOST_SPREADS", np.inf)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        without = bits()
    truth = np.mean(
        [
            losses(1.5 * score + topic, positive).log_loss / score.size
            for topic, (score, positive) in enumerate(new)
        ]
    )
    assert truth <= found < 1.4 * truth
    assert without > 2.5 * truth
