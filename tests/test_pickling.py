"""Pickles of fitted calibrators: small, and what they give back is the same to the last bit."""

import pickle

import numpy as np
import pytest
import xarray as xr
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

from bayescal import CalibratedClassifier, ScoreCalibrator
from bayescal.parts import stack
from bayescal.results import pickling

pytestmark = pytest.mark.one_era


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

    def test_pickles_of_pickles_and_files_are_the_same(self, fitted, again, tmp_path):
        assert pickle.dumps(again) == pickle.dumps(pickle.loads(pickle.dumps(again)))
        for each in (fitted, again):
            loaded = ScoreCalibrator.load(each.save(tmp_path / "fit.nc"))
            assert loaded.posterior_.equals(fitted.posterior_)
            assert pickle.loads(pickle.dumps(loaded)).posterior_.equals(fitted.posterior_)

    @pytest.mark.parametrize("n", [120, 531, 2000])
    def test_at_most_300_kilobytes(self, n):
        calibrator = ScoreCalibrator(random_state=0).fit(*scores_of(n))
        drawn = sum(group.nbytes for group in calibrator._results.groups.values())
        assert len(pickle.dumps(calibrator)) < min(300_000, 0.3 * drawn)

    def test_nor_do_those_of_classifiers(self):
        X, y = make_classification(2000, n_features=20, random_state=0)
        classifier = CalibratedClassifier(LinearSVC(), random_state=0).fit(X, y)
        (pair,) = classifier.calibrated_classifiers_
        assert len(pickle.dumps(pair.calibrators[0])) < 300_000


def test_draws_of_all_digits_are_kept_whole(monkeypatch):
    """Such as those of NUTS, of one part alone, and of files that earlier versions wrote."""
    monkeypatch.setattr(stack, "with_kept_digits", dict)
    whole = ScoreCalibrator(draws=250, random_state=0).fit(*scores_of(120))
    pickled = pickle.dumps(whole)
    assert pickle.loads(pickled).posterior_.identical(whole.posterior_)
    assert len(pickled) > 8 * 4 * 250 * 20


ARRAYS = {
    "scores": ("document", np.random.default_rng(0).normal(size=3000)),
    "labels": ("document", np.arange(3000) % 3 // 2),
    "the same weight": ("document", np.full(3000, 0.25)),
    "weights": ("document", 0.1 * np.arange(3000)),
    "one": ("document", np.array([1.5])),
    "none": ("document", np.array([])),
    "not finite": ("document", np.array([np.nan, np.inf, -np.inf])),
    "nothing but nan": ("document", np.full(300, np.nan)),
    "infinite": ("document", np.full(300, np.inf)),
    "negative zero": ("document", np.full(300, -0.0)),
    "number": ((), np.array(2.5)),
    "words": ("document", np.array(["a", "bc"])),
    "yes or no": ("document", np.arange(300) % 2 == 0),
    "largest integers": ("document", np.array([0, 2**62, -(2**62)])),
    "scales": (("chain", "draw"), np.random.default_rng(0).choice([1.0, 3.0, np.inf], (4, 100))),
    "draws with nan": (("chain", "draw"), np.where(np.eye(4, 300) > 0, np.nan, 1.0)),
    "families": (("chain", "draw", "klass"), np.ones((4, 100, 2), np.int8)),
    "256": ("document", np.arange(1024.0) % 256),
    "257": ("document", np.arange(1028.0) % 257),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_every_array_comes_back_as_it_was(name):
    dims, values = ARRAYS[name]
    attrs = {"long_name": name}
    group = xr.Dataset({"x": (dims, values, attrs)}, attrs={"kind": name})
    back = pickling.unpack(pickle.loads(pickle.dumps(pickling.pack({"a/b": group}))))["a/b"]
    assert back.identical(group)
    assert back["x"].dtype == values.dtype
    assert back["x"].values.tobytes() == values.tobytes()


def test_an_array_that_a_kind_would_change_is_kept_whole(monkeypatch):
    class Wrong(pickling.Few):
        @property
        def array(self):
            return super().array + 1

    labels = xr.Variable(*ARRAYS["labels"])
    assert isinstance(pickling._kept(labels), pickling.Few)
    monkeypatch.setattr(pickling, "KINDS", (Wrong,))
    assert pickling._kept(labels) is labels.values
