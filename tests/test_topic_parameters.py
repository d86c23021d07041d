"""The kind of topics' scores and the point of the posterior, as for one problem."""

import numpy as np
import pytest
from scipy import special

from bayescal import TopicCalibrator
from bayescal.support.score_checks import ScoresWarning
from tests.test_topic_calibrator import LABELS, SCORES, TOPICS


@pytest.mark.parametrize("point", ["predictive", "mean", "median"])
def test_points_are_those_of_the_draws(point):
    fitted = TopicCalibrator(parts="gaussian", point=point, draws=500, random_state=0)
    fitted.fit(SCORES, LABELS, TOPICS)
    where = SCORES[:5], TOPICS[:5]
    draws, found = fitted.sample_proba(*where), fitted.predict_proba(*where)[:, 1]
    if point == "mean":
        assert found == pytest.approx(draws.mean(axis=0), abs=1e-9)
    elif point == "median":
        assert found == pytest.approx(np.median(draws, axis=0), abs=1e-3)
    problem = fitted.fitted_problems()[TOPICS[0]]
    assert problem.log_odds(SCORES[:1]) == pytest.approx(
        fitted.decision_function(SCORES[:1], TOPICS[:1])
    )


@pytest.mark.slow
def test_probabilities_are_calibrated_by_their_log_odds(tmp_path):
    p = special.expit(SCORES)
    log_odds = np.log(p) - np.log1p(-p)
    settings = {"parts": "gaussian", "draws": 100, "random_state": 0}
    told = TopicCalibrator(**settings, scores_are="probabilities").fit(p, LABELS, TOPICS)
    plain = TopicCalibrator(**settings).fit(log_odds, LABELS, TOPICS)
    again = TopicCalibrator.load(told.save(tmp_path / "topics.nc"))
    for each in (told, again):
        found = each.predict_interval(p, TOPICS)
        np.testing.assert_array_equal(found, plain.predict_interval(log_odds, TOPICS))
    told.add_topics(p[:34], LABELS[:34], ["new"] * 34)
    plain.add_topics(log_odds[:34], LABELS[:34], ["new"] * 34)
    new = ["new"] * 5
    np.testing.assert_array_equal(
        told.predict_proba(p[:5], new), plain.predict_proba(log_odds[:5], new)
    )
    problem = told.fitted_problems()[TOPICS[0]]
    assert problem.scores_are == "probabilities"
    assert problem.grid().min() < 0.0  # on the internal scale
    with pytest.raises(ValueError, match=r"between 0 and 1, got 1\.5"):
        told.predict_proba([1.5], TOPICS[:1])
    with pytest.warns(ScoresWarning, match=r"all scores lie in \[0, 1\]: say what they are"):
        TopicCalibrator(**settings).fit(p, LABELS, TOPICS)


def test_topics_beyond_one_hold_no_probabilities():
    p = np.linspace(0.0, 1.2, len(LABELS))
    fast = TopicCalibrator("none", parts="gaussian", draws=20, random_state=0)
    fast.fit(p, LABELS, TOPICS)  # a warning would be an error
    with pytest.warns(ScoresWarning, match=r"all scores lie in \[0, 1\]: say what they are"):
        fast.fit(p / 1.2, LABELS, TOPICS)
