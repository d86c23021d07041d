"""Scores most of whose information lies within a tiny part of their spread, as of naive Bayes."""

import warnings

import numpy as np
import pytest
from scipy import special

from bayescal import Monotone, ScoreCalibrator
from bayescal.families.draws import IDENTITY
from bayescal.fitting.parts import log_odds
from bayescal.fitting.parts.log_odds import LOGISTIC, MONOTONE
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from bayescal.fitting.scores import BinaryScores
from bayescal.fitting.settings import ScoreParameters, read_options
from bayescal.metrics import losses
from bayescal.support.numerics import bulk_width

ENDS = (IDENTITY, 1.0)


def naive_bayes(n, seed, far=-1e9):
    """Return scores, two fifths of them far out and negative, and labels by the others' score."""
    rng = np.random.default_rng(seed)
    score = rng.normal(-6.0, 6.0, n)
    positive = rng.random(n) < special.expit(0.7 * score + 1.0)
    out = rng.random(n) < 0.4
    return np.where(out, far * rng.gamma(2.0, size=n), score), positive & ~out


def brute(x, weight):
    """Return the shortest interval between two scores that holds a quarter of the weight."""
    return min(
        b - a
        for a in x
        for b in x
        if weight[(a <= x) & (x <= b)].sum() >= 0.25 * weight.sum() * (1.0 - 1e-12)
    )


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 40])
def test_the_width_is_that_of_the_shortest_interval_with_a_quarter(n):
    rng = np.random.default_rng(n)
    x = np.round(rng.normal(size=n), 1)
    assert bulk_width(x) == pytest.approx(brute(x, np.ones(n)))
    weight = rng.integers(1, 4, n).astype(float)
    assert bulk_width(x, weight) == pytest.approx(brute(x, weight))
    assert bulk_width(x, weight) == bulk_width(np.repeat(x, weight.astype(int)))
    assert bulk_width(np.append(x, 99.0), np.append(weight, 0.0)) == bulk_width(x, weight)


def test_of_many_scores_some_are_looked_at():
    x = np.random.default_rng(0).normal(size=200_000)
    # A quarter of normal scores lie within .319 of the mean.
    assert bulk_width(x) == pytest.approx(2 * 0.3186, rel=0.05)


@pytest.mark.parametrize(
    ("score", "has_own"),
    [
        (naive_bayes(200, 0)[0], True),
        (naive_bayes(200, 0, far=-1e6)[0], True),
        (naive_bayes(200, 0, far=-100.0)[0], False),
        (np.random.default_rng(0).normal(size=200), False),
        (np.random.default_rng(0).standard_cauchy(200), False),
        # Ties have no width, and what differs by rounding has none that means something.
        (np.repeat([0.0, 1.0, 1e9], [100, 50, 50]), False),
        (1e9 + np.r_[np.arange(60) * 1e-8, np.arange(80) * 1e6], False),
    ],
)
def test_a_warp_of_its_own_is_for_scores_much_closer_than_their_spread(score, has_own):
    data = BinaryScores(score, np.arange(score.size) % 3 == 0)
    options = read_options(ScoreParameters())
    scales = MONOTONE.asinh_scales(options, data)
    assert scales[:2] == ENDS
    assert len(scales) == 2 + has_own
    if has_own:
        assert scales[2] * data.centre_and_spread[1] == pytest.approx(bulk_width(score))
    for warp in ("none", "average", 3.0):
        told = read_options(ScoreParameters(parts=Monotone(warp=warp)))
        assert len(MONOTONE.asinh_scales(told, data)) <= 2
    assert LOGISTIC.asinh_scales(options, data) == (IDENTITY,)


@pytest.mark.slow
def test_what_the_scores_close_together_tell_is_not_lost(monkeypatch):
    new, truth = naive_bayes(4000, 99)

    def bits(seed):
        # In a combination densities recalibrated make up for most of it.
        calibrator = ScoreCalibrator(parts="monotone", draws=250, random_state=0)
        calibrator.fit(*naive_bayes(300, seed))
        return losses(calibrator.decision_function(new), truth).log_loss / truth.size

    found = np.mean([bits(seed) for seed in range(6)])
    monkeypatch.setattr(log_odds, "TINY", 0.0)
    with warnings.catch_warnings():
        # Such a fit may be unable to follow its posterior, and say so.
        warnings.simplefilter("ignore", ConvergenceWarning)
        without = np.mean([bits(seed) for seed in range(6)])
    assert found < 0.96 * without
