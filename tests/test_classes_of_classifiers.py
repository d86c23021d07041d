"""CalibratedClassifier of several classes: one map for all, its errors, and the old way."""

import numpy as np
import pandas as pd
import pytest
from scipy import special
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict

from bayescal import CalibratedClassifier, MulticlassCalibrator, ScoreCalibrator
from bayescal.calibrators.classifier.score_maps import read_calibrator
from bayescal.calibrators.classifier.targets import BINARY, MULTICLASS, MULTILABEL

# Chains are short here, where no number depends on their length.
pytestmark = pytest.mark.filterwarnings(
    "ignore::bayescal.fitting.results.diagnostics.ConvergenceWarning"
)
X, CODES = make_classification(300, n_informative=5, n_classes=3, random_state=3)
Y = np.array(["corn", "gold", "oil"])[CODES]
BASE = LogisticRegression()
JOINT = MulticlassCalibrator(draws=10, chains=2)


@pytest.fixture(scope="module")
def fitted():
    return CalibratedClassifier(BASE, JOINT, cv=3, random_state=0).fit(X, Y)


def joint_of(classifier, fold=0):
    return classifier.calibrated_classifiers_[fold].calibrators[0]


@pytest.mark.slow
def test_is_the_map_of_out_of_fold_scores(fitted):
    logits = cross_val_predict(BASE, X, Y, cv=3, method="decision_function")
    own = joint_of(fitted)
    by_hand = MulticlassCalibrator(draws=10, chains=2, random_state=own.random_state)
    by_hand.fit(logits, Y, classes=fitted.classes_)
    new = LogisticRegression().fit(X, Y).decision_function(X)
    np.testing.assert_allclose(fitted.predict_proba(X), by_hand.predict_proba(new), rtol=1e-10)
    np.testing.assert_allclose(fitted.sample_proba(X), by_hand.sample_proba(new), rtol=1e-10)
    found = fitted.predict_interval(X, 0.8)
    np.testing.assert_allclose(found, by_hand.predict_interval(new, 0.8), atol=1e-6)
    prior = {"oil": 0.2, "corn": 0.7, "gold": 0.1}
    np.testing.assert_allclose(
        fitted.predict_proba(X, prior), by_hand.predict_proba(new, prior), rtol=1e-10
    )
    odds = special.logit(fitted.predict_proba(X))
    np.testing.assert_allclose(fitted.decision_function(X), odds, rtol=1e-9)
    assert fitted.posterior_ is own.posterior_
    assert fitted.diagnostics_ == own.diagnostics_
    pd.testing.assert_frame_equal(fitted.summary(0.8), own.summary(0.8))


@pytest.mark.slow
def test_probabilities_become_log_probabilities():
    forest = RandomForestClassifier(20, random_state=0).fit(X[:100], Y[:100])
    classifier = CalibratedClassifier(FrozenEstimator(forest), JOINT, random_state=0)
    classifier.fit(X[100:200], Y[100:200])
    p = np.clip(forest.predict_proba(X[200:]), 1e-9, None)
    inside = (forest.predict_proba(X[200:]) > 0.0).all(axis=1)
    own = joint_of(classifier).predict_proba(np.log(p))
    np.testing.assert_allclose(classifier.predict_proba(X[200:])[inside], own[inside], rtol=1e-9)
    matrix = CalibratedClassifier("probabilities", JOINT, random_state=0)
    matrix.fit(forest.predict_proba(X[100:200]), Y[100:200])
    np.testing.assert_allclose(
        matrix.predict_proba(forest.predict_proba(X[200:])), classifier.predict_proba(X[200:])
    )


@pytest.mark.slow
def test_folds_average_probabilities_and_draws():
    classifier = CalibratedClassifier(BASE, JOINT, cv=2, ensemble=True, random_state=0).fit(X, Y)
    each = [
        joint_of(classifier, k).predict_proba(pair.estimator.decision_function(X))
        for k, pair in enumerate(classifier.calibrated_classifiers_)
    ]
    np.testing.assert_allclose(classifier.predict_proba(X), np.mean(each, axis=0), rtol=1e-10)
    draws = classifier.sample_proba(X[:5])
    assert draws.shape == (20, 5, 3)
    np.testing.assert_allclose(draws.sum(axis=2), 1.0)
    assert set(classifier.diagnostics_) == {"fold 1", "fold 2"}
    assert set(classifier.posterior_.children) == {"fold_1", "fold_2"}
    assert classifier.summary().index.names[0] == "fold"


@pytest.mark.parametrize("calibrator", [None, "auto"])
def test_default_is_one_map_above_two_classes(calibrator):
    chosen = {kind: read_calibrator(calibrator, kind) for kind in (BINARY, MULTICLASS, MULTILABEL)}
    assert isinstance(chosen[MULTICLASS], MulticlassCalibrator)
    assert isinstance(chosen[BINARY], ScoreCalibrator)
    assert isinstance(chosen[MULTILABEL], ScoreCalibrator)


@pytest.mark.slow
def test_one_against_the_rest_is_as_before():
    frozen = FrozenEstimator(LogisticRegression().fit(X[:200], Y[:200]))
    old, same = (
        CalibratedClassifier(frozen, calibrator, random_state=0).fit(X[200:260], Y[200:260])
        for calibrator in ("one_vs_rest", ScoreCalibrator())
    )
    np.testing.assert_array_equal(old.predict_proba(X), same.predict_proba(X))
    assert list(old.fitted_problems()) == ["corn", "gold", "oil"]


@pytest.mark.slow
def test_classes_without_documents_have_columns():
    frozen = FrozenEstimator(LogisticRegression().fit(X[:100], Y[:100]))
    some = np.flatnonzero(Y[100:] != "oil") + 100
    classifier = CalibratedClassifier(frozen, JOINT, random_state=0).fit(X[some], Y[some])
    assert classifier.classes_.tolist() == ["corn", "gold", "oil"]
    p = classifier.predict_proba(X)
    assert np.ptp(p[:, 2]) > 0.02  # it has a map, not a base rate
    fewer = CalibratedClassifier(frozen, JOINT, random_state=0).fit(X[100:102], Y[100:102])
    np.testing.assert_allclose(fewer.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.slow
def test_weights_equal_repetition():
    frozen = FrozenEstimator(LogisticRegression().fit(X[:200], Y[:200]))
    rows = np.r_[200:260, 200:230]
    weight = np.r_[np.full(30, 2.0), np.ones(30)]
    joint = MulticlassCalibrator(draws=50)
    one = CalibratedClassifier(frozen, joint, random_state=0).fit(X[200:260], Y[200:260], weight)
    two = CalibratedClassifier(frozen, joint, random_state=0).fit(X[rows], Y[rows])
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=0.05)


def test_no_class_has_a_curve_of_its_own(fitted):
    with pytest.raises(AttributeError, match="calibrated by one map"):
        fitted.fitted_problems()
    assert fitted.several_classes


MATRIX = special.softmax(LogisticRegression().fit(X, Y).decision_function(X), axis=1)


@pytest.mark.parametrize(
    ("calibrator", "features", "labels", "message"),
    [
        (JOINT, X, Y == "oil", "must have more than two exclusive classes, got a binary y"),
        (
            MulticlassCalibrator(exchangeable=True),
            X,
            Y,
            "exchangeable=False, got True: a classifier's columns",
        ),
        (JOINT, 0.9 * MATRIX, Y, "sum to 1 over the classes, those of row .* sum to 0.9"),
        (JOINT, MATRIX[:, :2] / MATRIX[:, :2].sum(1, keepdims=True), Y, "a column of probab"),
        (JOINT, np.where(np.arange(300)[:, None] == 7, np.nan, MATRIX), Y, "probabilities from"),
        (JOINT, MATRIX, np.full(300, "oil"), "a column of probabilities for each class"),
        (JOINT, X, np.full(300, "oil"), "at least two classes, got one class only"),
    ],
)
def test_bad_inputs(calibrator, features, labels, message):
    estimator = BASE if features is X else "probabilities"
    classifier = CalibratedClassifier(estimator, calibrator, cv=2, random_state=0)
    with pytest.raises(ValueError, match=message):
        classifier.fit(features, labels)


@pytest.mark.parametrize(
    ("prior", "message"),
    [([0.5, 0.5], "one value for each"), ([0.5, 0.6, 0.1], "sum to 1"), ([1.5, -0.5, 0], "negat")],
)
def test_bad_shares(fitted, prior, message):
    with pytest.raises(ValueError, match=message):
        fitted.predict_proba(X, prior)
