"""Bands between scores that are far apart, and log-odds beyond the scores fitted."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special

from bayescal import ScoreCalibrator, TopicCalibrator, load
from bayescal.fitting.engines.monotone.density import place_pieces


def apart(negatives, positives, wrong=0, seed=0, at=10.0):
    """Return negatives at -10 and positives at 10, as many labels of each wrong as told."""
    rng = np.random.default_rng(seed)
    score = np.r_[rng.normal(-at, 0.1, negatives), rng.normal(at, 0.1, positives)]
    positive = np.arange(score.size) >= negatives
    positive[:wrong], positive[score.size - wrong :] = True, False
    return score, positive


@pytest.mark.parametrize(
    ("negatives", "positives", "unit"),
    [(50, 50, 1.0), (90, 10, 1.0), (300, 30, 1.0), (30, 3, 1.0), (50, 50, 1e-3)],
)
def test_in_the_middle_of_a_gap_anything_may_be(negatives, positives, unit):
    score, positive = apart(negatives, positives)
    calibrator = ScoreCalibrator(draws=250, random_state=0).fit(unit * score, positive)
    p = calibrator.predict_proba(unit * np.array([-10.0, 0.0, 10.0]))[:, 1]
    band = calibrator.predict_interval(unit * np.array([-10.0, 0.0, 10.0]))
    assert band[1, 0] < 0.1
    assert band[1, 1] > 0.9
    assert 0.2 < p[1] < 0.8
    assert band[0, 1] < 0.2
    assert band[2, 0] > 0.7


def test_in_a_gap_between_classes_that_overlap_bands_are_wider_than_on_either_side():
    calibrator = ScoreCalibrator(draws=250, random_state=0).fit(*apart(300, 300, wrong=15))
    low, middle, high = np.diff(calibrator.predict_interval([-10.0, 0.0, 10.0]), axis=1)[:, 0]
    # Without knots in the gap its width was .18.
    assert middle > 0.35
    assert max(low, high) < 0.12


def inside_of(pieces, edges):
    """Return the knots within a gap."""
    return pieces.knots[(pieces.knots > edges[0]) & (pieces.knots < edges[1])]


def test_wide_gaps_have_knots_of_their_own():
    score, positive = apart(60, 60)
    edges = score[:60].max(), score[60:].min()
    pieces = place_pieces(score, positive, None, 9)
    np.testing.assert_allclose(inside_of(pieces, edges), np.linspace(*edges, 5)[1:-1])
    assert pieces.reference == pytest.approx(np.mean(edges))
    straight = place_pieces(score, positive, None, 1)
    assert straight.knots.size == 0
    assert straight.reference == pieces.reference
    # One document in the middle leaves two gaps.
    pieces = place_pieces(np.append(score, 0.0), np.append(positive, True), None, 9)
    for gap in ((edges[0], 0.0), (0.0, edges[1])):
        np.testing.assert_allclose(inside_of(pieces, gap), np.linspace(*gap, 5)[1:-1])
    assert pieces.reference not in score


def test_gaps_that_are_not_wide_have_none():
    rng = np.random.default_rng(0)
    # A few documents far out are no other side of a gap.
    score = np.append(rng.normal(size=100), [50.0, -60.0])
    pieces = place_pieces(score, score > 0.5, None, 9)
    assert np.isin(pieces.knots, score).all()
    assert pieces.reference in score
    # Nor are four, of a rare class, that lie far from each other too.
    score = np.append(rng.normal(size=200), [3.0, 5.0, 8.0, 12.0])
    assert np.isin(place_pieces(score, np.arange(204) >= 200, None, 9).knots, score).all()
    # Votes are apart, and so are few scores at random.
    votes = rng.integers(0, 6, 300).astype(float)
    assert np.isin(place_pieces(votes, votes > rng.uniform(0, 6, 300), None, 9).knots, votes).all()
    with_knots = 0
    for _ in range(200):
        score = rng.uniform(size=40)
        with_knots += not np.isin(
            place_pieces(score, score > rng.uniform(size=40), None, 9).knots, score
        ).all()
    assert with_knots <= 4


def test_bands_are_wider_between_clusters_than_in_them():
    """Labels say that log-odds rise within the second gap, but not where."""
    rng = np.random.default_rng(0)
    clusters = [(-10.0, 300, 0.05), (0.0, 30, 0.1), (10.0, 300, 0.95)]
    score = np.concatenate([rng.normal(at, 0.1, n) for at, n, _ in clusters])
    positive = np.concatenate([rng.random(n) < share for _, n, share in clusters])
    calibrator = ScoreCalibrator(draws=250, random_state=0).fit(score, positive)
    first, _, middle, gap, last = np.diff(
        calibrator.predict_interval([-10.0, -5.0, 0.0, 5.0, 10.0]), axis=1
    )[:, 0]
    # Without knots in this gap its width was .53.
    assert gap > 0.7
    assert max(first, last) < 0.12
    assert middle < 0.5


# Beyond the scores fitted log-odds of a combination do not turn back

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
