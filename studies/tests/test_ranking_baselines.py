"""The baselines: what they rank by, inside scikit-learn, and where SVM-MAP is better or not."""

from importlib.util import find_spec

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayescal.ranking import SVMMAPRanker, average_precision
from studies.papers.svm_map.baselines import (
    BASELINES,
    BestFunctionRanker,
    ClassifierRanker,
    LambdaRanker,
)
from tests.ranking_data import OneQuery, linear_queries

X, Y, QID = linear_queries()
ONE_CLASS = "the labels of this check are all relevant, and rank nothing"
NEEDS_LIGHTGBM = pytest.mark.skipif(find_spec("lightgbm") is None, reason="needs lightgbm")


class ByClassifier(OneQuery, ClassifierRanker):
    pass


class ByFunction(OneQuery, BestFunctionRanker):
    pass


@parametrize_with_checks(
    [ByClassifier(LogisticRegression(), relevance_threshold=1), ByFunction(relevance_threshold=1)],
    expected_failed_checks=lambda _: {
        "check_estimators_dtypes": ONE_CLASS,
        "check_fit2d_1feature": ONE_CLASS,
    },
)
def test_every_check_of_scikit_learn(estimator, check):
    check(estimator)


class TestBestFunction:
    def test_is_the_feature_of_the_highest_measure(self):
        values = [average_precision(Y, column, QID).mean() for column in X.T]
        order = np.argsort(values)[::-1]
        for place in (1, 2, 3):
            ranker = BestFunctionRanker(place).fit(X, Y, QID)
            assert ranker.feature_ == order[place - 1]
            assert ranker.predict(X).tolist() == X[:, ranker.feature_].tolist()
            assert ranker.score(X, Y, qid=QID) == values[order[place - 1]]
            assert ranker.mean_average_precisions_.tolist() == values

    def test_of_sparse_features(self):
        thin = sparse.csr_array(np.where(X > 0, X, 0))
        found = BestFunctionRanker().fit(thin, Y, QID)
        assert found.predict(thin).tolist() == thin.toarray()[:, found.feature_].tolist()

    def test_there_must_be_so_many(self):
        with pytest.raises(ValueError, match=r"6 feature\(s\), got 7"):
            BestFunctionRanker(7).fit(X, Y, QID)


class TestClassifier:
    def test_is_the_classifier_on_all_documents(self):
        svm = LinearSVC(C=0.1, dual=False)
        found = ClassifierRanker(svm).fit(X, Y, QID)
        assert found.predict(X).tolist() == svm.fit(X, Y == 1).decision_function(X).tolist()

    def test_grades_with_a_threshold(self):
        grades = Y * (1 + np.arange(Y.size) % 3)
        found = ClassifierRanker(LogisticRegression(), relevance_threshold=1).fit(X, grades, QID)
        same = ClassifierRanker(LogisticRegression()).fit(X, Y, QID)
        assert found.predict(X).tolist() == same.predict(X).tolist()

    def test_one_class(self):
        with pytest.raises(ValueError, match="got only 1 class: 300 relevant of 300 samples"):
            ClassifierRanker(LogisticRegression()).fit(X, np.ones(300), QID)

    def test_something_else(self):
        with pytest.raises(ValueError, match="must be a classifier instance, got 'svm'"):
            ClassifierRanker("svm").fit(X, Y, QID)


class TestRegistry:
    @pytest.mark.parametrize("name", BASELINES)
    def test_every_baseline_ranks_better_than_chance(self, name):
        baseline = BASELINES[name]
        if not baseline.installed:
            pytest.skip("needs lightgbm")
        features = baseline.features(X, QID)
        ranker = baseline.make(1.0, relevance_threshold=1).fit(features, Y, qid=QID)
        chance = average_precision(Y, np.random.default_rng(0).random(Y.size), QID).mean()
        assert ranker.score(features, Y, qid=QID) > 0.7 > 0.45 > chance

    @pytest.mark.parametrize("name", ["SVM-ROC", "SVMacc", "SVMacc2", "logistic"])
    def test_sparse_features(self, name):
        few = np.where(np.abs(X) > 1.0, X, 0.0)
        dense, thin = (
            BASELINES[name].make(0.1).fit(x, Y, qid=QID) for x in (few, sparse.csr_array(few))
        )
        assert thin.predict(few) == pytest.approx(dense.predict(few), rel=1e-2, abs=1e-2)

    def test_variants_of_the_accuracy(self):
        x = X + 50.0 * QID[:, None]  # an offset of every query
        for name, immune in (("SVMacc", False), ("SVMacc3", True), ("SVMacc4", True)):
            found, same = (BASELINES[name].features(each, QID) for each in (x, X))
            assert np.allclose(found, same) == immune
            assert found.shape[1] == (300 if immune else 6)
            assert not immune or set(np.unique(found)) == {0.0, 1.0}
        weight = BASELINES["SVMacc2"].make(1.0).classifier.class_weight
        assert (BASELINES["SVMacc"].make(1.0).classifier.class_weight, weight) == (None, "balanced")

    def test_offsets_of_queries_cost_the_classifier_and_not_the_ranker(self):
        """The case for ranking SVMs: the queries share no threshold."""
        offset = 10.0 * np.random.default_rng(0).normal(size=(12, 6))[QID]
        ranker = SVMMAPRanker(10.0).fit(X + offset, Y, QID)
        svm = BASELINES["SVMacc"].make(1.0).fit(X + offset, Y, QID)
        assert svm.score(X, Y, qid=QID) < ranker.score(X, Y, qid=QID) - 0.1


class TestLambdaRanker:
    @NEEDS_LIGHTGBM
    def test_ranks_and_does_not_mind_the_order(self):
        order = np.argsort(QID, kind="stable")
        first = LambdaRanker(20).fit(X, Y, QID)
        again = LambdaRanker(20).fit(X[order], Y[order], QID[order])
        assert first.score(X, Y, qid=QID) > 0.8
        assert again.predict(X) == pytest.approx(first.predict(X), abs=1e-6)

    def test_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "lightgbm", None)
        with pytest.raises(ImportError, match="pip install lightgbm"):
            LambdaRanker().fit(X, Y, QID)
