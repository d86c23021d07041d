"""The scikit-learn protocol and the habits of its users, with calibrators and classifiers."""

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
from sklearn.exceptions import SkipTestWarning
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator
from sklearn.utils.validation import check_is_fitted, validate_data

from bayescal import (
    CalibratedClassifier,
    Densities,
    OrdinalCalibrator,
    ScoreCalibrator,
    TopicCalibrator,
)
from bayescal.families import FAMILIES
from bayescal.text import TextCalibrator

RNG = np.random.default_rng(5)
SCORES = np.concatenate([RNG.normal(-1, 1, 120), RNG.normal(1, 1, 60)])
LABELS = np.repeat(["no", "yes"], [120, 60])


class OfFirstColumn:
    """Two-dimensional X, as scikit-learn's checks want it; its first column holds the scores."""

    def fit(self, X, y, sample_weight=None):
        if y is None:
            return super().fit(X, y)
        X, y = validate_data(self, X, y, dtype=np.float64)
        return super().fit(X[:, 0], y, sample_weight)

    def _column(self, X):
        check_is_fitted(self)
        return validate_data(self, X, dtype=np.float64, reset=False)[:, 0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = False, True
        tags.classifier_tags.poor_score = True  # one column of several cannot do better
        return tags


class FirstColumn(OfFirstColumn, ScoreCalibrator):
    """A calibrator of the first column."""

    def decision_function(self, X, prior=None, *, covariates=None):
        return super().decision_function(self._column(X), prior, covariates=covariates)


class FirstColumnOfGrades(OfFirstColumn, OrdinalCalibrator):
    """A calibrator of grades by the first column."""

    def predict_proba(self, X):
        return super().predict_proba(self._column(X))

    def predict(self, X):
        return super().predict(self._column(X))


# The default, with few draws, and one family without any: to these checks all families are alike.
CHECKED = [FirstColumn(draws=10, chains=1), FirstColumn(inference="mle")]


def checks():
    for estimator in CHECKED:
        yield from estimator_checks_generator(estimator)


# Its scores are random.
@pytest.mark.filterwarnings("ignore::bayescal.support.score_checks.ScoresWarning")
@pytest.mark.parametrize(
    ("estimator", "check"),
    [pytest.param(*c, id=f"{c[0].inference}-{n}") for n, c in enumerate(checks())],
)
def test_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_grades_pass_every_check_but_that_of_words():
    found = check_estimator(FirstColumnOfGrades(draws=10, chains=1), on_skip=None, on_fail=None)
    failed = {
        each["check_name"]: str(each["exception"]) for each in found if each["status"] == "failed"
    }
    assert list(failed) == ["check_classifiers_classes"]
    # Words have no order that scikit-learn's checks could state.
    assert "grades must list the labels of y from the lowest to the highest" in failed.popitem()[1]
    assert sum(each["status"] == "passed" for each in found) > 55
    with pytest.warns(SkipTestWarning, match="Can't test estimator"):
        check_estimator(OrdinalCalibrator())


def test_the_set_of_checks_is_the_whole_one():
    # scikit-learn runs hardly any check on one-dimensional estimators.
    assert sum(1 for _ in checks()) > 50 * len(CHECKED)


def test_one_dimensional_checks_pass_too():
    with pytest.warns(SkipTestWarning, match="Can't test estimator"):
        check_estimator(ScoreCalibrator(inference="mle"))


def test_an_estimator_has_few_parameters():
    assert len(ScoreCalibrator().get_params(deep=False)) <= 12


def test_options_of_a_single_part_are_nested_parameters():
    calibrator = ScoreCalibrator(Densities("gaussian"))
    assert "Densities(family='gaussian'" in repr(calibrator)
    assert calibrator.get_params()["parts__family"] == "gaussian"
    assert calibrator.set_params(parts__family="laplace").parts == Densities("laplace")
    with pytest.raises(ValueError, match=r"options of Densities are family, .* got 'famly'"):
        calibrator.set_params(parts__famly="laplace")


@pytest.mark.parametrize("scores", [SCORES, SCORES[:, None], pd.Series(SCORES)])
def test_cross_validation(scores):
    calibrator = ScoreCalibrator(inference="mle")
    probability = cross_val_predict(calibrator, scores, LABELS, cv=4, method="predict_proba")
    assert probability.shape == (180, 2)
    assert cross_val_score(calibrator, scores, LABELS, scoring="neg_log_loss").mean() > -0.6


def test_grid_search():
    grid = {
        "parts": [
            *FAMILIES,
            *(Densities(name, scale_floor=None) for name in FAMILIES),
            [Densities("laplace")],
        ]
    }
    search = GridSearchCV(ScoreCalibrator(inference="mle"), grid, scoring="neg_brier_score", cv=3)
    search.fit(SCORES, LABELS == "yes", sample_weight=np.ones(180))
    assert search.best_params_["parts"] in grid["parts"]
    assert search.predict(SCORES).shape == (180,)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


def test_score_is_accuracy():
    calibrator = ScoreCalibrator(inference="mle").fit(SCORES, LABELS)
    assert calibrator.score(SCORES, LABELS) == np.mean(calibrator.predict(SCORES) == LABELS)


# Habits of scikit-learn's users with every classifier, and with calibrators

QUICK = ScoreCalibrator("gaussian", draws=50, random_state=0)
X, Y = make_classification(200, n_informative=5, weights=[0.7], random_state=3)
MARGINS = X[:, 0] + 2.0 * Y


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
            (QUICK, MARGINS),
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
        calibrator = ScoreCalibrator("gaussian", draws=50, random_state=0).fit(MARGINS, Y)
        far = calibrator.predict_log_proba([1e6])
        assert np.isfinite(far).all()
        assert far.min() < -50.0
        found = calibrator.predict_log_proba(MARGINS, prior=0.01)
        np.testing.assert_allclose(np.exp(found), calibrator.predict_proba(MARGINS, prior=0.01))

    def test_of_topics_long_and_wide(self):
        topic = np.arange(200) % 4
        calibrator = TopicCalibrator(pooling="none", draws=50, random_state=0)
        calibrator.fit(MARGINS, Y, topic)
        table = pd.DataFrame({"score": MARGINS, "topic": topic})
        wide = MARGINS[:8].reshape(2, 4), np.arange(4)
        for arguments in ((MARGINS, topic), (table,), wide):
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
