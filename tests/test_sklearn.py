"""The scikit-learn protocol: the whole set of checks, and the tools that rest on it."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import SkipTestWarning
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.utils.estimator_checks import check_estimator, estimator_checks_generator
from sklearn.utils.validation import check_is_fitted, validate_data

from bayescal import NUTS, Densities, Monotone, OrdinalCalibrator, ScoreCalibrator
from bayescal.families import FAMILIES

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


def test_clone_and_parameters():
    calibrator = ScoreCalibrator(
        [Densities("gaussian", prior_knowledge={"theta_scale": 3.0}), Monotone(n_segments=3)],
        NUTS({"tune": 500}),
        draws=7,
    )
    copy = clone(calibrator)
    assert copy.get_params() == calibrator.get_params()
    assert copy.set_params(draws=9).draws == 9
    assert copy.parts == calibrator.parts
    assert copy.parts[0] is not calibrator.parts[0]
    assert "Densities(family='gaussian'" in repr(calibrator)


def test_an_estimator_has_few_parameters():
    assert len(ScoreCalibrator().get_params(deep=False)) <= 12


def test_options_of_a_single_part_are_nested_parameters():
    calibrator = ScoreCalibrator(Densities("gaussian"))
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
