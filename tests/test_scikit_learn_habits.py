"""Habits of scikit-learn's users with every classifier, and with calibrators."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from joblib import parallel_config
from scipy.special import expit
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.ensemble import BaggingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags

from bayescal import CalibratedClassifier, ScoreCalibrator, TopicCalibrator
from bayescal.text import TextCalibrator

QUICK = ScoreCalibrator("gaussian", draws=50, random_state=0)
X, Y = make_classification(200, n_informative=5, weights=[0.7], random_state=3)
SCORES = X[:, 0] + 2.0 * Y


class TestParametersOfScikitLearnsMethods:
    @pytest.mark.parametrize(
        ("method", "names"),
        [
            ("sigmoid", ["a_", "b_"]),
            ("temperature", ["beta_"]),
            ("isotonic", ["X_thresholds_", "y_thresholds_"]),
        ],
    )
    @pytest.mark.parametrize("ensemble", [False, True])
    def test_are_attributes_of_the_calibrator(self, method, names, ensemble):
        base = LinearSVC(random_state=0)
        mine = CalibratedClassifier(base, method, ensemble=ensemble).fit(X, Y)
        theirs = CalibratedClassifierCV(base, method=method, ensemble=ensemble).fit(X, Y)
        pairs = zip(mine.calibrated_classifiers_, theirs.calibrated_classifiers_, strict=True)
        for one, other in pairs:
            for name in names:
                found = getattr(one.calibrators[0], name)
                np.testing.assert_allclose(found, getattr(other.calibrators[0], name))

    def test_what_there_is_not_is_an_attribute_error(self):
        calibrator = CalibratedClassifier(LinearSVC(), "sigmoid").fit(X, Y)
        calibrator = calibrator.calibrated_classifiers_[0].calibrators[0]
        for same in (calibrator, copy.deepcopy(calibrator), pickle.loads(pickle.dumps(calibrator))):
            assert same.a_ == calibrator.a_
            assert not hasattr(same, "beta_")
            assert not hasattr(same, "no_such")
        assert not hasattr(type(calibrator)("sigmoid"), "a_")


class Steps:
    """Somebody's calibrator that knows nothing of scikit-learn: shares of positives in bins."""

    def fit(self, scores, labels):
        self.edges = np.quantile(scores, [0.25, 0.5, 0.75])
        place = np.searchsorted(self.edges, scores[:, 0])
        self.share = np.array([labels[place == k].mean() for k in range(4)])

    def predict(self, scores):
        return self.share[np.searchsorted(self.edges, scores[:, 0])]


class Returning(Steps):
    def fit(self, scores, labels):
        super().fit(scores, labels)
        return self


class TestForeignCalibrators:
    @pytest.mark.parametrize("calibrator", [Steps(), Returning()])
    def test_need_fit_and_predict_alone(self, calibrator):
        base = FrozenEstimator(GaussianNB().fit(X, Y))
        classifier = CalibratedClassifier(base, calibrator).fit(X, Y)
        by_hand = Returning().fit(classifier.calibrated_classifiers_[0].scores(X), Y)
        scores = classifier.calibrated_classifiers_[0].scores(X)
        np.testing.assert_allclose(classifier.predict_proba(X)[:, 1], by_hand.predict(scores))
        assert not hasattr(calibrator, "share")

    def test_beta_calibration_of_probabilities(self):
        betacal = pytest.importorskip("betacal")
        base = GaussianNB().fit(X, Y)
        beta = make_pipeline(FunctionTransformer(expit), betacal.BetaCalibration("abm"))
        found = CalibratedClassifier(FrozenEstimator(base), beta).fit(X, Y).predict_proba(X)
        p = base.predict_proba(X)[:, 1]
        np.testing.assert_allclose(found[:, 1], betacal.BetaCalibration("abm").fit(p, Y).predict(p))


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_probabilities_of_0_raise_no_warning(n_jobs):
    # Workers of the classifier take logarithms of 0 where numpy's state of errors does not reach.
    bagged = BaggingClassifier(DecisionTreeClassifier(), 4, n_jobs=n_jobs, random_state=0)
    with parallel_config("threading"):
        p = CalibratedClassifier(bagged, "sigmoid", cv=2).fit(X, Y).predict_proba(X)
    assert np.isfinite(p).all()


class TestLogProbabilities:
    @pytest.mark.parametrize(
        ("classifier", "inputs"),
        [
            (QUICK, SCORES),
            (CalibratedClassifier(LogisticRegression(), QUICK), X),
            (
                TextCalibrator(calibrator=QUICK),
                [f"{'corn' if y else 'gold'} word{k % 7}" for k, y in enumerate(Y)],
            ),
        ],
        ids=["scores", "classifier", "texts"],
    )
    def test_are_logarithms(self, classifier, inputs):
        classifier.fit(inputs, Y)
        np.testing.assert_allclose(
            np.exp(classifier.predict_log_proba(inputs)), classifier.predict_proba(inputs)
        )

    def test_do_not_round_and_know_priors(self):
        calibrator = ScoreCalibrator("gaussian", draws=50, random_state=0).fit(SCORES, Y)
        far = calibrator.predict_log_proba([1e6])
        assert np.isfinite(far).all()
        assert far.min() < -50.0
        found = calibrator.predict_log_proba(SCORES, prior=0.01)
        np.testing.assert_allclose(np.exp(found), calibrator.predict_proba(SCORES, prior=0.01))

    def test_of_topics_long_and_wide(self):
        topic = np.arange(200) % 4
        calibrator = TopicCalibrator(pooling="none", draws=50, random_state=0)
        calibrator.fit(SCORES, Y, topic)
        table = pd.DataFrame({"score": SCORES, "topic": topic})
        wide = SCORES[:8].reshape(2, 4), np.arange(4)
        for arguments in ((SCORES, topic), (table,), wide):
            found = calibrator.predict_log_proba(*arguments)
            np.testing.assert_allclose(np.exp(found), calibrator.predict_proba(*arguments))


def test_tags_of_topics():
    tags = get_tags(TopicCalibrator())
    assert tags.estimator_type == "classifier"
    assert tags.classifier_tags.multi_label
    assert not tags.classifier_tags.multi_class
    assert tags.input_tags.one_d_array
    assert tags.input_tags.two_d_array
    assert not tags.target_tags.required
    assert tags.target_tags.two_d_labels
