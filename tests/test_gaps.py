"""Between scores that are far apart no label tells what the probability is: bands say so."""

import numpy as np
import pytest

from bayescal import ScoreCalibrator
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
