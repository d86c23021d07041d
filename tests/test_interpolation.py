"""Curves read off a table are the curves themselves, to the stated tolerance."""

import numpy as np
import pytest
from scipy import special

from bayescal import ScoreCalibrator
from bayescal.families import FAMILIES
from bayescal.results import interpolation

RNG = np.random.default_rng(0)
POSITIVE = np.arange(120) < 20
SCORES = np.where(POSITIVE, 1 + RNG.gumbel(size=120), RNG.standard_t(4, size=120) - 1)
MANY = np.r_[RNG.standard_t(2, size=20_000), -1e6, 1e6, -1e90, 1e90]
SOME = np.r_[RNG.choice(20_000, 1500), np.arange(20_000, 20_004)]


@pytest.mark.parametrize("family", sorted(FAMILIES))
@pytest.mark.parametrize("point", ["predictive", "mean"])
def test_many_scores_get_the_answers_of_few(family, point):
    calibrator = ScoreCalibrator(family, draws=500, point=point, random_state=1)
    calibrator.fit(SCORES, POSITIVE)
    tabulated, direct = calibrator.predict_proba(MANY)[SOME], calibrator.predict_proba(MANY[SOME])
    assert tabulated == pytest.approx(direct, abs=interpolation.POINT_TOLERANCE)
    bands = calibrator.predict_interval(MANY)[SOME], calibrator.predict_interval(MANY[SOME])
    assert bands[0] == pytest.approx(bands[1], abs=interpolation.BAND_TOLERANCE)
    log_odds = calibrator.decision_function(MANY)[SOME], calibrator.decision_function(MANY[SOME])
    near = np.abs(log_odds[1]) < interpolation.SATURATED
    assert log_odds[0][near] == pytest.approx(log_odds[1][near], rel=2e-3, abs=2e-3)


@pytest.mark.parametrize(
    "curve",
    [
        lambda s: 5 * s,
        lambda s: np.where(s < 0.123, -3.0, 40 * (s - 0.123) - 3.0),  # a kink
        lambda s: 3 * np.sin(9 * s),
        lambda s: np.stack([s, -(s**2), np.tanh(50 * s)]),
    ],
)
def test_any_curve(curve):
    scores = RNG.uniform(-2, 2, 5000)
    found = interpolation.evaluate(curve, scores, 0.0, 1.0, band=False)
    expected = curve(scores)
    assert found.shape == expected.shape
    assert special.expit(found) == pytest.approx(special.expit(expected), abs=1e-4)


def test_few_points_are_evaluated():
    calls = []

    def curve(s):
        calls.append(s.size)
        return 3 * np.sin(s)

    interpolation.evaluate(curve, RNG.normal(size=1_000_000), 0.0, 1.0, band=False)
    assert sum(calls) < 5000
    calls.clear()
    interpolation.evaluate(curve, RNG.normal(size=interpolation.DIRECT), 0.0, 1.0, band=False)
    assert calls == [interpolation.DIRECT]


def test_equal_scores():
    same = np.full(5000, 0.7)
    assert interpolation.evaluate(lambda s: 2 * s, same, 0.0, 1.0, band=False) == pytest.approx(1.4)
