"""Shortest intervals and simultaneous bands, against ArviZ and by counting."""

import arviz_stats
import numpy as np
import pytest
import scipy.stats as st

from bayescal import ScoreCalibrator
from bayescal.fitting.curves.curves import highest_density, quantiles, simultaneous_tail

RNG = np.random.default_rng(5)
SCORES = np.concatenate([RNG.gumbel(-2, 1, 60), RNG.gumbel(1, 1.5, 8)])
POSITIVE = np.arange(68) >= 60
X = np.linspace(-5, 6, 40)


@pytest.fixture(scope="module")
def calibrator():
    return ScoreCalibrator("asymmetric_laplace", random_state=0).fit(SCORES, POSITIVE)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95])
def test_hdi_is_arviz_s_and_the_shortest(calibrator, level):
    draws = calibrator.sample_proba(X)
    interval = calibrator.predict_interval(X, level, kind="hdi")
    theirs = np.array([arviz_stats.hdi(draws[:, k], prob=level) for k in range(X.size)])
    # ArviZ holds one draw more or less; which of two equally short intervals wins is chance.
    assert np.diff(interval) == pytest.approx(np.diff(theirs), abs=1e-2)
    assert np.quantile(np.abs(np.diff(interval) - np.diff(theirs)), 0.9) < 2e-3
    assert np.median(np.abs(interval - theirs)) < 1e-3
    inside = (draws >= interval[:, 0]) & (draws <= interval[:, 1])
    assert np.all(inside.mean(axis=0) >= level)
    equal_tailed = calibrator.predict_interval(X, level)
    assert np.all(np.diff(interval) <= np.diff(equal_tailed) + 1e-3)
    assert np.diff(equal_tailed).sum() > 1.01 * np.diff(interval).sum()


@pytest.mark.parametrize("draws", [1, 2, 7, 4000])
def test_quantiles_are_numpy_s_to_the_last_bit(draws):
    levels = np.array([0.0, 0.025, 0.05, 1 / 3, 0.5, 0.77, 0.95, 1.0])
    for values in (RNG.normal(size=(draws, 50)), RNG.integers(0, 3, (draws, 50)) * 1e-3):
        before = values.copy()
        found = quantiles(values, levels)
        np.testing.assert_array_equal(found, np.quantile(values, levels, axis=0))
        np.testing.assert_array_equal(values, before)


def test_hdi_of_a_known_density():
    values = RNG.exponential(size=(200_000, 1))
    low, high = highest_density(values, 0.9)
    assert low.item() < 0.01
    assert high.item() == pytest.approx(-np.log(0.1), abs=0.03)


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_simultaneous_bands_hold_whole_curves(calibrator, level):
    x = np.linspace(SCORES.min(), SCORES.max(), 500)
    curves = calibrator.sample_proba(x)
    share = {}
    for kind in ("pointwise", "simultaneous"):
        low, high = calibrator.predict_interval(x, level, kind=kind).T
        share[kind] = np.mean(np.all((curves >= low - 1e-9) & (curves <= high + 1e-9), axis=1))
    assert share["simultaneous"] == pytest.approx(level, abs=0.01)
    assert share["pointwise"] < level - 0.1


def test_simultaneous_tail_of_crossing_curves():
    # Two points, independent: the band holds (1 - 2 t)^2 of the curves.
    curves = RNG.random((100_000, 2))
    assert simultaneous_tail(curves, 0.81) == pytest.approx(0.05, abs=0.002)


class TestPrior:
    def test_shift_is_bayes_rule(self, calibrator):
        own = 9 / 70
        shifted = calibrator.decision_function(X, prior=0.01)
        move = np.log(0.01 / 0.99) - np.log(own / (1 - own))
        assert shifted == pytest.approx(calibrator.decision_function(X) + move, abs=0.02)
        band = calibrator.predict_interval(X, prior=0.01)
        assert np.all(band[:, 1] < calibrator.predict_interval(X)[:, 1])
        assert calibrator.predict_proba(X, prior=0.01)[:, 1] == pytest.approx(
            1 / (1 + np.exp(-shifted))
        )
        assert (calibrator.predict(X, prior=0.999) == 1).mean() > (calibrator.predict(X)).mean()

    def test_a_sharp_distribution_is_a_number_and_a_wide_one_widens(self, calibrator):
        number = calibrator.predict_interval(X, prior=0.1)
        sharp = calibrator.predict_interval(X, prior=st.beta(1e6, 9e6))
        wide = calibrator.predict_interval(X, prior=st.beta(1, 9))
        assert sharp == pytest.approx(number, abs=2e-3)
        assert np.diff(wide).sum() > 1.1 * np.diff(number).sum()
        drawn = calibrator.predict_interval(X, prior=st.beta(1, 9).rvs(50_000, random_state=0))
        assert drawn == pytest.approx(wide, abs=0.02)
        # P(+ | s, data) knows the prior by its mean alone.
        assert calibrator.decision_function(X, prior=st.beta(1, 9)) == pytest.approx(
            calibrator.decision_function(X, prior=0.1), abs=2e-3
        )

    @pytest.mark.parametrize("inference", ["mle", "exact"])
    def test_own_prior_given_back_changes_nothing(self, inference):
        fitted = ScoreCalibrator("asymmetric_laplace", inference, random_state=0).fit(
            SCORES, POSITIVE
        )
        own = fitted.mle_.prior if inference == "mle" else fitted.posterior_["posterior"]["prior"]
        expected = fitted.decision_function(X)
        assert fitted.decision_function(X, np.ravel(own)) == pytest.approx(expected, abs=1e-3)

    @pytest.mark.parametrize("prior", [0.0, 1.0, -0.1, 1.5, np.nan, "rare", [0.2, 1.2], []])
    def test_priors_that_are_none(self, calibrator, prior):
        with pytest.raises(ValueError, match="prior must"):
            calibrator.predict_proba(X, prior=prior)
        with pytest.raises(ValueError, match="prior must"):
            calibrator.predict_interval(X, prior=st.norm(0, 1))


def test_an_unknown_kind_is_refused():
    calibrator = ScoreCalibrator("gaussian", draws=20, random_state=0)
    calibrator.fit([-1.0, 0.0, 0.5, 2.0], [0, 1, 0, 1])
    with pytest.raises(ValueError, match=r"kind must be one of .* got 'wald'"):
        calibrator.predict_interval([0.0], kind="wald")
