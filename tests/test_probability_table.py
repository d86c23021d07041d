"""Tables of probabilities keep the index of identifiers, and hold what the methods answer."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression

from bayescal import (
    CalibratedClassifier,
    MulticlassCalibrator,
    OrdinalCalibrator,
    ScoreCalibrator,
    TopicCalibrator,
)
from bayescal.calibrators import probability_table

RNG = np.random.default_rng(0)
LABELS = np.arange(60) % 2
SCORES = RNG.normal(2.0 * LABELS)
IDS = [f"DOC-{k:03d}" for k in RNG.permutation(60)]
SERIES = pd.Series(SCORES, index=IDS)
FAST = {"draws": 50, "random_state": 0}


@pytest.fixture(scope="module")
def calibrator():
    return ScoreCalibrator("gaussian", **FAST).fit(SCORES, LABELS)


def test_identifiers_stay_beside_their_probabilities(calibrator):
    shuffled = SERIES.sample(frac=1.0, random_state=1)
    table = probability_table(calibrator, shuffled, level=0.8)
    assert table.index.equals(shuffled.index)
    whole = probability_table(calibrator, SERIES, level=0.8)
    pd.testing.assert_frame_equal(table.loc[IDS], whole)
    assert_allclose(whole["probability"], calibrator.predict_proba(SCORES)[:, 1])
    ends = calibrator.predict_interval(SCORES, 0.8)
    assert_allclose(whole[["lower", "upper"]], ends)


def test_the_probability_is_that_of_the_positive_class_whatever_its_name():
    words = np.where(LABELS == 1, "died", "survived")
    fitted = ScoreCalibrator("gaussian", positive="died", **FAST).fit(SCORES, words)
    table = probability_table(fitted, SERIES)
    died = fitted.classes_.tolist().index("died")
    assert_allclose(table["probability"], fitted.predict_proba(SCORES)[:, died])
    assert (table["lower"] < table["probability"]).all()
    assert (table["probability"] < table["upper"]).all()


def test_a_prior_and_topics_are_passed_on(calibrator):
    table = probability_table(calibrator, SERIES, prior=0.9)
    assert_allclose(table["probability"], calibrator.predict_proba(SCORES, prior=0.9)[:, 1])
    topics = np.repeat(["corn", "wheat"], 30)
    pooled = TopicCalibrator("none", **FAST).fit(SCORES, LABELS, topics)
    frame = pd.DataFrame({"score": SCORES, "topic": topics}, index=IDS)
    answered = probability_table(pooled, frame)
    assert answered.index.equals(frame.index)
    assert_allclose(answered["probability"], pooled.predict_proba(SCORES, topics=topics)[:, 1])


@pytest.mark.parametrize("positive", ["died", "survived"])
def test_features_of_a_classifier_keep_their_index(positive):
    features = pd.DataFrame({"length": SCORES, "age": RNG.normal(size=60)}, index=IDS)
    calibrator = ScoreCalibrator("gaussian", **FAST)
    model = CalibratedClassifier(LogisticRegression(), calibrator, cv=2, positive=positive)
    model.fit(features, np.where(LABELS == 1, "died", "survived"))
    table = probability_table(model, features)
    assert table.index.tolist() == IDS
    column = model.classes_.tolist().index(positive)
    assert_allclose(table["probability"], model.predict_proba(features)[:, column])
    assert (table["lower"] < table["probability"]).all()


def test_several_classes_have_columns_by_name():
    names = np.array(["a", "b", "c"])[np.arange(60) % 3]
    wide = pd.DataFrame(RNG.normal(size=(60, 3)) + 2.0 * np.eye(3)[np.arange(60) % 3], index=IDS)
    fitted = MulticlassCalibrator(random_state=0).fit(wide.to_numpy(), names)
    table = probability_table(fitted, wide)
    assert_allclose(table[["P(a)", "P(b)", "P(c)"]], fitted.predict_proba(wide))
    assert_allclose(table[["lower(b)", "upper(b)"]], fitted.predict_interval(wide)[:, 1])


def test_grades_have_the_probability_of_reaching_each():
    grades = np.array(["low", "mid", "high"])[(SCORES > 0.0).astype(int) + (SCORES > 1.5)]
    fitted = OrdinalCalibrator(grades=["low", "mid", "high"], random_state=0)
    table = probability_table(fitted.fit(SCORES, grades), SERIES)
    assert table.columns.tolist() == [
        f"{kind}(>= {grade})" for kind in ("P", "lower", "upper") for grade in ("mid", "high")
    ]
    assert_allclose(table["P(>= high)"], fitted.exceedance(SCORES)[:, 1])


def test_dask_collections_are_refused(calibrator):
    with pytest.raises(ValueError, match="use predict_proba"):
        probability_table(calibrator, da.from_array(SCORES, chunks=20))
