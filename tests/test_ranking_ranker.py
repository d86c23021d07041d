"""SVMMAPRanker: scikit-learn's checks, pipelines, searches, sparse features, paths, bad input."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayescal.ranking import QueriesLeftOutWarning, SVMMAPRanker, average_precision
from bayescal.ranking.problem import LOSSES
from tests.ranking_data import OneQuery, linear_queries

X, Y, QID = linear_queries()
RANKER = SVMMAPRanker(C=10.0)

ONE_CLASS = "the labels of this check are all relevant, and rank nothing"


class Ranker(OneQuery, SVMMAPRanker):
    pass


@parametrize_with_checks(
    [Ranker(relevance_threshold=1), Ranker(loss="roc", relevance_threshold=1)],
    expected_failed_checks=lambda _: {
        "check_estimators_dtypes": ONE_CLASS,
        "check_fit2d_1feature": ONE_CLASS,
    },
)
def test_every_check_of_scikit_learn(estimator, check):
    check(estimator)


class TestFit:
    @pytest.mark.parametrize("loss", LOSSES)
    def test_ranks_what_is_linear(self, loss):
        ranker = SVMMAPRanker(10.0, loss=loss).fit(X, Y, QID)
        assert ranker.dual_gap_ <= ranker.tol
        bound = ranker.coef_ @ ranker.coef_ / 2 + ranker.C * ranker.slack_
        assert ranker.objective_ == pytest.approx(bound)
        assert ranker.n_queries_ == 12
        assert ranker.n_queries_left_out_ == 0
        new, truth, queries = linear_queries(seed=1, n_queries=30)
        assert ranker.score(new, truth, qid=queries) > 0.8
        guess = np.random.default_rng(0).normal(size=truth.size)
        assert average_precision(truth, guess, queries).mean() < 0.5

    def test_order_of_documents_and_names_of_queries_do_not_matter(self):
        tight = clone(RANKER).set_params(tol=1e-6)
        expected = clone(tight).fit(X, Y, QID)
        order = np.argsort(QID, kind="stable")
        names = [("query", int(q)) for q in QID[order]]
        found = clone(tight).fit(X[order], Y[order], qid=names)
        assert found.objective_ == pytest.approx(expected.objective_, rel=1e-5)
        assert found.coef_ == pytest.approx(expected.coef_, rel=2e-2, abs=1e-3)

    def test_offsets_and_constants_of_each_query_change_nothing(self):
        offset = 10.0 * np.random.default_rng(1).normal(size=(12, X.shape[1]))[QID]
        found, expected = (clone(RANKER).fit(each, Y, QID) for each in (X + offset, X))
        assert found.coef_ == pytest.approx(expected.coef_, rel=1e-6, abs=1e-9)
        found = clone(RANKER).fit(np.column_stack([X, QID, np.ones(QID.size)]), Y, QID)
        assert np.abs(found.coef_[-2:]).max() < 1e-9

    @pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix, sparse.coo_array])
    def test_sparse_features_are_taken_as_they_are(self, kind):
        few = np.where(np.abs(X) > 1.0, X, 0.0)
        dense, thin = (SVMMAPRanker(10.0).fit(x, Y, QID) for x in (few, kind(few)))
        assert thin.coef_ == pytest.approx(dense.coef_, rel=1e-8)
        assert thin.predict(kind(few)) == pytest.approx(dense.predict(few), rel=1e-8)

    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
    def test_single_precision(self, kind):
        single = kind(X.astype(np.float32))
        found = SVMMAPRanker(10.0, tol=1e-4).fit(single, Y, QID)
        expected = SVMMAPRanker(10.0, tol=1e-4).fit(X, Y, QID)
        assert found.coef_.dtype == np.float64
        assert found.objective_ == pytest.approx(expected.objective_, rel=1e-4)
        assert found.predict(single) == pytest.approx(X @ found.coef_, abs=1e-5)

    def test_many_sparse_features_are_never_made_dense(self):
        # As numbers of 8 bytes the dense features would take 24 GB.
        rng = np.random.default_rng(0)
        words = sparse.random_array((3000, 1_000_000), density=1e-5, rng=rng, format="csr")
        y, qid = rng.integers(0, 2, 3000), np.repeat([1, 2, 3], 1000)
        ranker = SVMMAPRanker(1.0, tol=0.5).fit(words, y, qid)
        assert ranker.decision_function(words).shape == (3000,)

    def test_grades_with_a_threshold(self):
        grades = Y * (1 + np.arange(Y.size) % 3)
        found = clone(RANKER).set_params(relevance_threshold=1).fit(X, grades, QID)
        assert found.coef_.tolist() == clone(RANKER).fit(X, Y, QID).coef_.tolist()
        assert found.score(X, grades, qid=QID) == clone(RANKER).fit(X, Y, QID).score(X, Y, qid=QID)
        of_two = clone(RANKER).fit(X, np.where(Y, 7.0, -3.0), QID)
        assert of_two.relevance_threshold_ == 7.0
        assert of_two.coef_.tolist() == found.coef_.tolist()

    def test_forgotten_queries_are_an_error(self):
        found = clone(RANKER).fit(X, Y, QID)
        message = r"qid must hold the query of each document, got None: .* such as \[1\] \* 300"
        for forgetful in (clone(RANKER).fit, found.score, partial(RANKER.fit_path, [1.0])):
            with pytest.raises(ValueError, match=message):
                forgetful(X, Y)

    def test_a_single_pair_of_documents(self):
        """min w^2/2 + C max(0, 1 - 1/2 - 2 w): w = C 2 until the pair has its margin 1/4."""
        for cost, expected in ((0.05, 0.1), (5.0, 0.25)):
            found = SVMMAPRanker(cost, tol=1e-9).fit([[1.0], [0.0]], [1, 0], [1, 1])
            assert found.coef_.item() == pytest.approx(expected, rel=1e-6)

    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("value", [0.0, 1.0])
    def test_features_that_are_all_alike(self, loss, value):
        """All scores are tied, whatever the coefficients."""
        alike = np.full_like(X, value)
        found = SVMMAPRanker(10.0, loss=loss).fit(alike, Y, QID)
        assert np.abs(found.coef_).max() < 1e-12
        assert found.dual_gap_ < 1e-9
        assert found.n_iter_ <= 5
        if loss == "map":
            assert found.slack_ == pytest.approx(1.0 - found.score(alike, Y, qid=QID), abs=1e-12)
        else:
            assert found.slack_ == pytest.approx(1.0, abs=1e-12)

    @pytest.mark.parametrize("loss", LOSSES)
    def test_features_in_other_units_are_another_cost(self, loss):
        """w.x is the same for features times a and coefficients over a, and the cost a^2 C."""
        options = {"loss": loss, "tol": 1e-6}
        found = SVMMAPRanker(1e10, **options).fit(1e-5 * X, Y, QID)
        expected = SVMMAPRanker(1.0, **options).fit(X, Y, QID)
        assert found.slack_ == pytest.approx(expected.slack_, rel=1e-4)
        assert 1e-5 * found.coef_ == pytest.approx(expected.coef_, rel=2e-2, abs=1e-3)


class TestPath:
    def test_is_as_good_as_fits_of_their_own(self):
        ranker = SVMMAPRanker(tol=1e-4)
        costs = [0.1, 10.0, 1.0]
        path = ranker.fit_path(costs, X, Y, QID)
        assert [each.C for each in path] == costs
        assert not hasattr(ranker, "coef_")
        for each in path:
            own = clone(each).fit(X, Y, QID)
            assert each.dual_gap_ <= 1e-4
            assert each.objective_ == pytest.approx(own.objective_, rel=1e-4)
            assert each.predict(X).shape == Y.shape

    def test_says_what_is_wrong(self):
        with pytest.raises(ValueError, match="C must be positive and finite, got 0"):
            SVMMAPRanker().fit_path([1.0, 0.0], X, Y, QID)
        assert SVMMAPRanker().fit_path([], X, Y, QID) == []


class TestRouting:
    def test_grid_search_over_a_pipeline_with_groups_of_queries(self):
        with config_context(enable_metadata_routing=True):
            ranker = SVMMAPRanker().set_fit_request(qid=True).set_score_request(qid=True)
            search = GridSearchCV(
                make_pipeline(StandardScaler(), ranker),
                {"svmmapranker__C": [1e-6, 10.0], "svmmapranker__loss": list(LOSSES)},
                cv=GroupKFold(4),
            )
            search.fit(X, Y, qid=QID, groups=QID)
            assert np.isfinite(search.cv_results_["mean_test_score"]).all()
            assert search.best_score_ > 0.8
            assert search.score(X, Y, qid=QID) > 0.8
            fold = next(GroupKFold(4).split(X, Y, QID))
            best = clone(search.best_estimator_).fit(X[fold[0]], Y[fold[0]], qid=QID[fold[0]])
            own = best.score(X[fold[1]], Y[fold[1]], qid=QID[fold[1]])
            assert search.cv_results_["split0_test_score"].max() == pytest.approx(own)


class TestBadInput:
    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"C": 0.0}, "C must be positive and finite, got 0.0"),
            ({"tol": -1.0}, "tol must be positive and finite, got -1.0"),
            ({"max_iter": 0}, "max_iter must be a positive whole number, got 0"),
            ({"loss": "ndcg"}, "loss must be one of 'map', 'roc', got 'ndcg'"),
            ({"ties": None}, "ties must be one of 'pessimistic', 'expected', got None"),
            ({"relevance_threshold": np.nan}, "relevance_threshold must be finite, got nan"),
            ({"relevance_threshold": 9}, "got only 1 class: 0 relevant of 300 samples, in 12 quer"),
        ],
    )
    def test_parameters(self, options, message):
        with pytest.raises(ValueError, match=message):
            clone(RANKER).set_params(**options).fit(X, Y, QID)

    @pytest.mark.parametrize(
        ("x", "y", "qid", "message"),
        [
            (X, Y, QID[:-1], "qid and y must have the same length, got 299 and 300"),
            (X, Y, [*QID[:-1], None], "qid must not be missing, got None at position 299"),
            (X, Y + QID % 3, QID, r"got 4 grades \(0, 1, 2, 3\) and no threshold"),
            (X, np.ones(300), QID, "got only 1 class: 300 relevant of 300 samples, in 12 queries"),
            (X, QID % 2, QID, "got 1 class a query: 150 relevant of 300 samples, in 12 queries"),
            (X, np.append(Y[:-1], np.nan), QID, "Input y contains NaN"),
            (np.where(X > 2, np.nan, X), Y, QID, "Input X contains NaN"),
        ],
    )
    def test_documents(self, x, y, qid, message):
        with pytest.raises(ValueError, match=message):
            clone(RANKER).fit(x, y, qid)

    def test_queries_of_one_class_are_left_out_with_their_number(self):
        y = np.where(QID < 3, 1, np.where(QID < 5, 0, Y))
        with pytest.warns(QueriesLeftOutWarning, match="^5 of 12 queries are left out") as told:
            found = clone(RANKER).fit(X, y, QID)
        assert told[0].filename == __file__
        assert (found.n_queries_, found.n_queries_left_out_) == (7, 5)
        rest = QID >= 5
        expected = clone(RANKER).fit(X[rest], Y[rest], QID[rest])
        assert found.coef_ == pytest.approx(expected.coef_, rel=1e-9)
        with pytest.warns(QueriesLeftOutWarning, match="^5 of 12 .* over the other 7: .* for"):
            score = found.score(X, y, qid=QID)
        assert score == expected.score(X[rest], Y[rest], qid=QID[rest])

    def test_too_few_passes_are_reported(self):
        with pytest.warns(ConvergenceWarning, match="after 1 passes, above tol=1e-09") as told:
            found = SVMMAPRanker(100.0, tol=1e-9, max_iter=1).fit(X, Y, QID)
        assert told[0].filename == __file__
        assert found.dual_gap_ > 1e-9

    def test_weights_of_documents(self):
        ranker = clone(RANKER).fit(X, Y, QID)
        with pytest.raises(ValueError, match="sample_weight must be None"):
            ranker.score(X, Y, np.ones(Y.size), QID)

    def test_before_fit(self):
        with pytest.raises(NotFittedError, match="SVMMAPRanker instance is not fitted"):
            SVMMAPRanker().score(sparse.csr_array(X), Y, qid=QID)

    @pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.coo_array])
    def test_another_number_of_features(self, kind):
        ranker = clone(RANKER).fit(kind(X), Y, QID)
        assert ranker.n_features_in_ == X.shape[1]
        for wrong in (X[:, :-1], np.column_stack([X, Y])):
            for ask in (ranker.predict, lambda x: ranker.score(x, Y, qid=QID)):
                message = f"X has {wrong.shape[1]} features, but SVMMAPRanker is expecting"
                with pytest.raises(ValueError, match=message):
                    ask(kind(wrong))
        # A refused X changes nothing.
        assert ranker.predict(kind(X[:3])).shape == (3,)


X_OF_TWO = [[2.0, 1.0], [1.0, 2.0], [1.0, 0.0], [0.0, 1.0]]
NO_NUMBERS = {"NA": pd.NA, "NaT": pd.NaT, "text": "x", "date": np.datetime64("2026-01-01")}


@pytest.mark.parametrize("value", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_values_that_are_no_numbers_are_named_with_their_place(value):
    X, y = np.asarray(X_OF_TWO, dtype=object), np.asarray([1, 0, 1, 0], dtype=object)
    X[2, 1] = y[3] = value
    good = SVMMAPRanker().fit(X_OF_TWO, [1, 0, 1, 0], [1] * 4)
    for use in (
        lambda: clone(good).fit(X, [1, 0, 1, 0], [1] * 4),
        lambda: good.decision_function(X),
    ):
        with pytest.raises(
            ValueError, match=r"X must hold real numbers, got .* at row 2, column 1"
        ):
            use()
    with pytest.raises(ValueError, match=r"y must hold real numbers, got .* at position 3: leave"):
        clone(good).fit(X_OF_TWO, y, [1] * 4)
