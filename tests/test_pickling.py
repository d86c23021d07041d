"""Pickled calibrators give the same results to the last bit."""

import pickle

import numpy as np
import pytest

from bayescal import ScoreCalibrator


def scores_of(n, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) < n // 5
    return rng.normal(np.where(y, 1.0, -1.0)) + rng.exponential(0.5, n) * y, y


@pytest.fixture(scope="module")
def fitted():
    return ScoreCalibrator(random_state=0).fit(*scores_of(531))


@pytest.fixture(scope="module")
def again(fitted):
    return pickle.loads(pickle.dumps(fitted))


class TestDefault:
    @pytest.mark.slow
    def test_all_it_says_is_the_same(self, fitted, again):
        new = np.linspace(-6.0, 6.0, 40)
        for kind in ("pointwise", "hdi", "simultaneous"):
            np.testing.assert_array_equal(
                again.predict_interval(new, 0.8, kind, prior=0.3),
                fitted.predict_interval(new, 0.8, kind, prior=0.3),
            )
        np.testing.assert_array_equal(again.predict_proba(new), fitted.predict_proba(new))
        np.testing.assert_array_equal(again.sample_proba(new), fitted.sample_proba(new))
        assert again.posterior_.identical(fitted.posterior_)
        assert again.summary().equals(fitted.summary())
        assert again.diagnostics_ == fitted.diagnostics_
        assert again.score_problems_ == fitted.score_problems_

    def test_it_learns_on_as_the_first_would(self, fitted, again):
        x, y = scores_of(60, seed=1)
        both = [pickle.loads(pickle.dumps(each)).update(x, y) for each in (fitted, again)]
        assert both[0].posterior_.equals(both[1].posterior_)
        assert both[0].prequential_.equals(both[1].prequential_)

    @pytest.mark.slow
    def test_pickles_of_pickles_and_files_are_the_same(self, fitted, again, tmp_path):
        for each in (fitted, again):
            loaded = ScoreCalibrator.load(each.save(tmp_path / "fit.nc"))
            assert loaded.posterior_.equals(fitted.posterior_)
            assert pickle.loads(pickle.dumps(loaded)).posterior_.equals(fitted.posterior_)
