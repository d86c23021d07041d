"""CalibratedClassifier agrees with the other estimators: attributes, files, classes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import NotFittedError
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from bayescal import CalibratedClassifier, ScoreCalibrator, load
from bayescal.text import TextCalibrator

FAST = ScoreCalibrator("gaussian", draws=200, random_state=4)
SVC = LinearSVC(random_state=0)
X, Y = make_classification(240, n_informative=5, weights=[0.7], random_state=3)


def test_the_positive_class_may_be_either():
    second = CalibratedClassifier(SVC, FAST, random_state=1).fit(X, Y)
    negative, positive = second.classes_
    first = CalibratedClassifier(SVC, FAST, random_state=1, positive=negative).fit(X, Y)
    assert first.classes_.tolist() == [negative, positive]
    np.testing.assert_array_equal(first.scores_, -second.scores_)
    assert first.fitted_problems()[""].labels.tolist() == [positive, negative]
    np.testing.assert_allclose(first.predict_proba(X), second.predict_proba(X), atol=0.02)
    assert (first.predict(X) == second.predict(X)).mean() > 0.95
    with pytest.raises(ValueError, match="positive must be a label of y"):
        CalibratedClassifier(SVC, FAST, positive="neither").fit(X, Y == 1)


def test_of_several_classes_none_is_the_positive_one():
    y = np.arange(len(X)) % 3
    with pytest.raises(ValueError, match="positive names one of two classes, got 1 with 3"):
        CalibratedClassifier(SVC, FAST, positive=1).fit(X, y)
    with pytest.raises(ValueError, match="got 1 with several labels per document"):
        CalibratedClassifier(SVC, FAST, positive=1).fit(X, np.eye(3, dtype=int)[y])


@pytest.mark.parametrize("columns", [2, 3])
def test_log_odds_are_those_of_the_probabilities(columns):
    y = np.arange(len(X)) % columns
    classifier = CalibratedClassifier(SVC, FAST, cv=3, random_state=1).fit(X, y)
    p = classifier.predict_proba(X)
    p = p[:, 1] if columns == 2 else p
    np.testing.assert_allclose(classifier.decision_function(X), np.log(p / (1 - p)), 1e-8)


def test_log_odds_of_labels_do_not_saturate():
    y = np.stack([Y[0] == Y, Y[0] != Y], axis=1).astype(int)
    model = CalibratedClassifier(OneVsRestClassifier(SVC), ScoreCalibrator("gaussian", "mle"))
    model.fit(X, y)
    far = X[:1] + 1e4 * SVC.fit(X, Y).coef_
    assert np.isfinite(model.decision_function(far)).all()
    assert np.abs(model.decision_function(far)).max() > 40.0


def test_scores_are_nan_where_no_fold_tested():
    half = [(np.arange(0, len(X), 2), np.arange(1, len(X), 2))]
    classifier = CalibratedClassifier(SVC, FAST, cv=half).fit(X, Y)
    assert np.isnan(classifier.scores_).tolist() == [k % 2 == 0 for k in range(len(X))]
    trained = clone(SVC).fit(X[::2], Y[::2])
    assert classifier.scores_[1::2].tolist() == trained.decision_function(X[1::2]).tolist()


def test_diagnostics_are_those_of_the_calibrators():
    one = CalibratedClassifier(SVC, FAST, random_state=1).fit(X, Y)
    (calibrator,) = one.calibrated_classifiers_[0].calibrators
    assert one.diagnostics_ == calibrator.diagnostics_
    folds = CalibratedClassifier(SVC, FAST, cv=2, ensemble=True, random_state=1).fit(X, Y)
    assert list(folds.diagnostics_) == ["fold 1", "fold 2"]
    with pytest.raises(AttributeError, match="no posterior"):
        _ = CalibratedClassifier(SVC, "isotonic").fit(X, Y).diagnostics_


def test_files(tmp_path):
    fitted = CalibratedClassifier(SVC, FAST, random_state=1).fit(X, Y)
    path = fitted.save(tmp_path / "model.joblib")
    read = CalibratedClassifier.load(path)
    assert read.predict_interval(X).tolist() == fitted.predict_interval(X).tolist()
    assert [each.name for each in tmp_path.iterdir()] == ["model.joblib"]


def test_files_that_cannot_be_read_or_written(tmp_path):
    fitted = CalibratedClassifier(SVC, FAST, random_state=1).fit(X, Y)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        fitted.save(tmp_path / "none" / "model.joblib")
    with pytest.raises(NotFittedError):
        CalibratedClassifier(SVC).save(tmp_path / "model.joblib")
    with pytest.raises(FileNotFoundError, match="there is no file"):
        CalibratedClassifier.load(tmp_path / "model.joblib")
    with pytest.raises(ValueError, match="a CalibratedClassifier: use CalibratedClassifier"):
        TextCalibrator.load(fitted.save(tmp_path / "model.joblib"))
    with pytest.raises(ValueError, match=r"CalibratedClassifier.load"):
        load(tmp_path / "model.joblib")
