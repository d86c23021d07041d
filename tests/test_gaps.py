"""Between scores that are far apart no label tells what the probability is: bands say so."""

import numpy as np
import pytest

from bayescal import ScoreCalibrator
from bayescal.fitting.engines.monotone.density import place_pieces

pytestmark = pytest.mark.one_era


def apart(negatives, positives, wrong=0, seed=0, at=10.0):
    """Return negatives at -10 and positives at 10, as many labels of each wrong as told."""
    rng = np.random.default_rng(seed)
    score = np.r_[rng.normal(-at, 0.1, negatives), rng.normal(at, 0.1, positives)]
    positive = np.arange(score.size) >= negatives
    positive[:wrong], positive[score.size - wrong :] = True, False
    return score, positive


@pytest.mark.parametrize(("negatives", "positives"), [(50, 50), (90, 10), (300, 30), (30, 3)])
@pytest.mark.parametrize("unit", [1.0, 1e-3])
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


def test_only_a_gap_that_is_most_of_the_range_has_knots_of_its_own():
    score, positive = apart(60, 60)
    pieces = place_pieces(score, positive, None, 9)
    inside = pieces.knots[np.abs(pieces.knots) < 9.0]
    edges = score[:60].max(), score[60:].min()
    np.testing.assert_allclose(inside, np.linspace(*edges, 5)[1:-1])
    assert pieces.reference == pytest.approx(np.mean(edges))
    straight = place_pieces(score, positive, None, 1)
    assert straight.knots.size == 0
    assert straight.reference == pieces.reference
    # One document in the middle leaves two gaps, neither of them most of the range.
    score, positive = np.append(score, 0.0), np.append(positive, True)
    assert np.isin(place_pieces(score, positive, None, 9).knots, score).all()
    # A few documents far out are no other side of a gap.
    rng = np.random.default_rng(0)
    score = np.append(rng.normal(size=100), [50.0, -60.0])
    pieces = place_pieces(score, score > 0.5, None, 9)
    assert np.isin(pieces.knots, score).all()
    assert pieces.reference in score
