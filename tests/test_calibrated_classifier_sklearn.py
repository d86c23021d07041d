"""CalibratedClassifier under scikit-learn's own checks and inside its tools."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from bayescal import CalibratedClassifier, ScoreCalibrator

QUICK = ScoreCalibrator("gaussian", draws=50)
X, Y = make_classification(200, n_informative=5, weights=[0.7], random_state=3)
X3, Y3 = make_classification(210, n_informative=5, n_classes=3, random_state=3)

CHECKED = [
    CalibratedClassifier(LogisticRegression(), QUICK, cv=3, random_state=0),
    CalibratedClassifier(DecisionTreeClassifier(random_state=0), "sigmoid", cv=3, ensemble=True),
]


@parametrize_with_checks(CHECKED)
def test_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
def test_checks_that_fit_with_the_default_calibrator():
    chosen = {"check_classifiers_train", "check_estimators_pickle", "check_fit_idempotent"}
    estimator = CalibratedClassifier(LogisticRegression(), cv=3, random_state=0)
    found = [c for _, c in estimator_checks_generator(estimator) if c.func.__name__ in chosen]
    assert {check.func.__name__ for check in found} == chosen
    for check in found:
        check(clone(estimator))


def test_the_set_of_checks_is_the_whole_one():
    names = [check.func.__name__ for _, check in estimator_checks_generator(CHECKED[1])]
    assert len(names) > 45
    # Sparse X, weights and several labels are among them, for the estimator's tags say so.
    assert {"check_estimator_sparse_array", "check_sample_weights_list"} <= set(names)
    assert "check_classifiers_multilabel_output_format_predict_proba" in names


def fitted(estimator=None, X=X, Y=Y, **parameters):
    estimator = LinearSVC() if estimator is None else estimator
    return CalibratedClassifier(estimator, QUICK, random_state=0, **parameters).fit(X, Y)


@pytest.mark.slow
def test_more_processes_give_the_same_bits():
    one, two = fitted(X=X3, Y=Y3), fitted(X=X3, Y=Y3, n_jobs=2)
    np.testing.assert_array_equal(one.sample_proba(X3), two.sample_proba(X3))


def test_grid_search_reaches_estimator_and_calibrator():
    grid = {"estimator__C": [0.01, 1.0], "calibrator__parts": ["gaussian", "laplace"]}
    search = GridSearchCV(
        CalibratedClassifier(LinearSVC(), QUICK, cv=3, random_state=0),
        grid,
        scoring="neg_log_loss",
        cv=3,
    ).fit(X, Y)
    assert set(search.best_params_) == set(grid)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    best = search.best_estimator_
    assert (
        best.calibrated_classifiers_[0].calibrators[0].parts
        == (search.best_params_["calibrator__parts"])
    )


@pytest.mark.parametrize(("features", "labels"), [(X, Y), (X3, Y3)])
def test_cross_validation(features, labels):
    classifier = CalibratedClassifier(LinearSVC(), QUICK, cv=3, random_state=0)
    p = cross_val_predict(classifier, features, labels, cv=3, method="predict_proba")
    assert p.shape == (len(labels), len(set(labels.tolist())))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    scores = cross_validate(
        classifier, features, labels, cv=3, scoring=["neg_log_loss", "roc_auc_ovr", "accuracy"]
    )
    # The commonest class alone has 0.35 of three, 0.7 of two.
    assert scores["test_accuracy"].mean() > (0.45 if labels is Y3 else 0.7)


@pytest.mark.parametrize("columns", [2, 4])
def test_scorers_read_several_labels(columns):
    rng = np.random.default_rng(0)
    labels = (X[:, :columns] + rng.normal(size=(200, columns)) > 0).astype(int)
    classifier = CalibratedClassifier(KNeighborsClassifier(), QUICK, cv=3, random_state=0)
    auc = cross_val_score(classifier, X, labels, cv=3, scoring="roc_auc")
    precision = cross_val_score(classifier, X, labels, cv=3, scoring="average_precision")
    assert auc.min() > 0.5
    assert np.isfinite(precision).all()


def test_text_in_lists():
    words = ["wheat", "corn", "gold", "oil", "ship", "rate"]
    rng = np.random.default_rng(0)
    text = [" ".join(rng.choice(words, 5, p=p)) for p in rng.dirichlet(np.ones(6), 120)]
    labels = np.array(["corn" in document for document in text])
    classifier = CalibratedClassifier(
        make_pipeline(TfidfVectorizer(), LinearSVC()), QUICK, random_state=0
    ).fit(text, labels)
    assert classifier.score(text, labels) > 0.9


def test_sparse_equals_dense():
    thin = np.where(np.abs(X) > 0.7, X, 0.0)
    dense, thinned = fitted(X=thin), fitted(X=sparse.csr_matrix(thin))
    found = thinned.predict_proba(sparse.csr_array(thin))
    np.testing.assert_allclose(found, dense.predict_proba(thin), atol=1e-4)


@pytest.mark.parametrize("library", [pd.DataFrame, pl.DataFrame])
def test_tables_in(library):
    names = [f"word{k}" for k in range(X.shape[1])]
    table = library(dict(zip(names, X.T, strict=True)))
    classifier = fitted(X=table, Y=table.__class__({"y": Y})["y"])
    assert classifier.feature_names_in_.tolist() == names
    assert classifier.n_features_in_ == X.shape[1]
    np.testing.assert_allclose(classifier.predict_proba(table), fitted().predict_proba(X), 1e-9)


def test_precomputed_kernel():
    kernel = X @ X.T
    found = fitted(SVC(kernel="precomputed"), X=kernel).predict_proba(kernel)
    np.testing.assert_allclose(found, fitted(SVC(kernel="linear")).predict_proba(X), atol=0.02)


def test_nested_in_cross_validation_with_routing():
    weight = np.where(Y == 1, 2.0, 1.0)
    with config_context(enable_metadata_routing=True):
        classifier = CalibratedClassifier(
            LinearSVC().set_fit_request(sample_weight=True), QUICK, cv=3, random_state=0
        ).set_fit_request(sample_weight=True)
        classifier.set_score_request(sample_weight=False)
        scores = cross_val_score(classifier, X, Y, cv=3, params={"sample_weight": weight})
    assert scores.mean() > 0.6
