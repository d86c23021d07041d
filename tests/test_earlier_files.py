"""Files that version 0.1.0 saved: they load, predict the same, and show raw score units."""

import json
from pathlib import Path

import numpy as np
import pytest

from bayescal import ScoreCalibrator, TopicCalibrator, load

FILES = Path(__file__).parent / "files_of_0_1_0"
PREDICTIONS = json.loads((FILES / "predictions.json").read_text())
SCORES = PREDICTIONS["scores"]


@pytest.mark.parametrize("name", ["combined", "monotone"])
def test_a_calibrator_predicts_the_same(name):
    calibrator = load(FILES / f"{name}.nc")
    expected = PREDICTIONS[name]
    np.testing.assert_allclose(calibrator.predict_proba(SCORES)[:, 1], expected["proba"], rtol=1e-9)
    np.testing.assert_allclose(calibrator.predict_interval(SCORES), expected["interval"], rtol=1e-9)


def test_topics_predict_the_same():
    calibrator = TopicCalibrator.load(FILES / "topics.nc")
    where, expected = (SCORES, ["a"] * len(SCORES)), PREDICTIONS["topics"]
    np.testing.assert_allclose(calibrator.predict_proba(*where)[:, 1], expected["proba"], rtol=1e-9)
    np.testing.assert_allclose(calibrator.predict_interval(*where), expected["interval"], rtol=1e-9)


@pytest.mark.parametrize("name", ["combined", "monotone"])
def test_the_tree_is_what_a_fit_has_now(name, tmp_path):
    calibrator = load(FILES / f"{name}.nc")
    observed = calibrator.results_["observed_data"]
    # Version 0.1 had no lapses.
    now = ScoreCalibrator(**calibrator.get_params() | {"lapse": 0.0})
    fitted = now.fit(observed["score"], observed["label"])
    assert set(calibrator.posterior_.groups) == set(fitted.posterior_.groups)
    for group in fitted.posterior_.groups:
        ours, theirs = fitted.posterior_[group].dataset, calibrator.posterior_[group].dataset
        assert set(ours.variables) == set(theirs.variables), group
        assert ours.sizes == theirs.sizes, group
    again = load(calibrator.save(tmp_path / "again.nc"))
    np.testing.assert_array_equal(again.predict_proba(SCORES), calibrator.predict_proba(SCORES))
    assert again.summary().equals(calibrator.summary())


def test_topics_gain_topics(tmp_path):
    calibrator = TopicCalibrator.load(FILES / "topics.nc")
    assert calibrator.diagnostics_.ok
    calibrator.add_topics([-1.0, 0.0, 2.0], [0, 0, 1], ["new"] * 3)
    assert calibrator.diagnostics_.ok
    assert calibrator.topics_.tolist()[-1] == "new"
    assert calibrator.posterior_["topics"]["resolved"].ndim == 0
    again = TopicCalibrator.load(calibrator.save(tmp_path / "topics.nc"))
    assert again.posterior_.equals(calibrator.posterior_)
    assert np.isfinite(calibrator.predict_proba([0.5], ["new"])).all()
