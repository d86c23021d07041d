"""Beyond the scores fitted log-odds of a combination do not turn back."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from bayescal import ScoreCalibrator, TopicCalibrator, load

RNG = np.random.default_rng(1)
# A wide spread of few positives, above negatives that hardly vary: the positives' tail is longer.
SCORES = np.concatenate([RNG.normal(-1.0, 0.7, 150), RNG.normal(2.0, 1.5, 10)])
POSITIVE = np.arange(160) >= 150
LOW, HIGH = SCORES.min(), SCORES.max()
BELOW, ABOVE = LOW - np.array([0.3, 1.0, 3.0, 30.0]), HIGH + np.array([0.3, 1.0, 3.0, 30.0])


def free(curves):
    """Return the same curves, as they would turn back."""
    return replace(curves, reach=None)


@pytest.fixture(scope="module")
def calibrator():
    return ScoreCalibrator(draws=250, random_state=0).fit(SCORES, POSITIVE)


@pytest.fixture(scope="module")
def curves(calibrator):
    return calibrator._fitted.calibration.draws


def test_densities_alone_turn_back(curves):
    """The reason: log-odds of the combination without its reach."""
    at_end, far = special.expit(free(curves).predictive(np.array([LOW, LOW - 4.0])))
    assert far > at_end + 0.1


def test_no_draw_is_above_that_of_the_smallest_score_below_it(curves):
    at_end = curves.log_odds(np.array([LOW]))
    assert np.all(curves.log_odds(BELOW) <= at_end)
    assert np.all(curves.predictive(BELOW) <= curves.predictive(np.array([LOW])))
    assert np.any(free(curves).log_odds(BELOW) > at_end + 1.0)


def test_no_draw_is_below_that_of_the_largest_score_above_it(curves):
    at_end = curves.log_odds(np.array([HIGH]))
    assert np.all(curves.log_odds(ABOVE) >= at_end)
    assert np.all(curves.predictive(ABOVE) >= curves.predictive(np.array([HIGH])))


def test_what_goes_on_goes_on(curves):
    """Log-odds that fall below the scores are as they were, not held at the smallest score."""
    wild = free(curves)
    at_end, there, before = (
        each.log_odds(points)
        for each, points in ((curves, np.array([LOW])), (curves, BELOW), (wild, BELOW))
    )
    falls = before < at_end
    assert 0.2 < falls.mean() < 1.0
    np.testing.assert_array_equal(there[falls], before[falls])


def test_within_the_scores_nothing_changes(curves):
    at = np.linspace(LOW, HIGH, 9)
    np.testing.assert_array_equal(curves.log_odds(at), free(curves).log_odds(at))
    np.testing.assert_array_equal(curves.predictive(at), free(curves).predictive(at))


def test_scores_among_others_and_alone_are_the_same(calibrator):
    together = np.concatenate([BELOW, np.linspace(LOW, HIGH, 60), ABOVE])
    said = calibrator.predict_proba(together)[:, 1]
    alone = [calibrator.predict_proba([each])[0, 1] for each in together]
    np.testing.assert_allclose(said, alone, atol=1e-4)
    bands = calibrator.predict_interval(together)
    np.testing.assert_allclose(bands, [calibrator.predict_interval([each])[0] for each in together])


@pytest.mark.slow
def test_a_file_and_another_class_prior_keep_it(calibrator, curves, tmp_path):
    again = load(calibrator.save(tmp_path / "one.nc"))._fitted.calibration.draws
    assert again.reach == curves.reach == (LOW, HIGH)
    shifted = curves.with_prior(np.full(curves.size, 0.5))
    assert np.all(shifted.log_odds(BELOW) <= shifted.log_odds(np.array([LOW])))


def test_one_part_alone_is_the_model_that_was_asked_for():
    alone = ScoreCalibrator(parts="densities", draws=250, random_state=0).fit(SCORES, POSITIVE)
    at_end, far = alone.predict_proba([LOW, LOW - 4.0])[:, 1]
    assert far > at_end + 0.1


@pytest.mark.slow
def test_topics_do_not_turn_back_either():
    names = np.repeat(["corn", "crude", "earn"], 160)
    scores = np.concatenate([SCORES, SCORES + 0.2, SCORES - 0.2])
    fitted = TopicCalibrator(draws=100, random_state=0).fit(scores, np.tile(POSITIVE, 3), names)
    at = np.append(BELOW, LOW)
    *below, at_end = fitted.predict_proba(at, ["corn"] * at.size)[:, 1]
    assert max(below) <= at_end
    *below, at_end = fitted.predict_proba(at - 0.2, ["unknown"] * at.size)[:, 1]
    assert max(below) <= at_end
