"""CombinedClassifier: targets, what it hands on, bad input, scikit-learn's habits, its bands."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, special
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from bayescal import CombinedClassifier, ScoreCalibrator
from bayescal.combining.combiners import bayes
from bayescal.combining.combiners.measures import MEASURES, best_threshold
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from tests.combining_tools import Column, columns, views
from tests.sizes import size

PAIR = [("logistic", LogisticRegression()), ("nb", GaussianNB())]
X, Y = make_classification(160, n_informative=5, weights=[0.7], random_state=3)
X3, Y3 = make_classification(180, n_informative=5, n_classes=3, random_state=3)


def combined(**params):
    return CombinedClassifier(PAIR, **{"combiner": "logistic", "random_state": 0} | params)


CHECKED = [combined(cv=3), combined(combiner=RidgeClassifier(), cv=3)]


@parametrize_with_checks(CHECKED)
def test_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def binary():
    return combined(combiner="bayes").fit(X, Y)


@pytest.fixture(scope="module")
def several():
    return combined(combiner="bayes", cv=3).fit(X3, np.array(["a", "b", "c"])[Y3])


class TestTargets:
    @pytest.mark.slow
    def test_two_classes(self, binary):
        p = binary.predict_proba(X)
        assert_allclose(p.sum(axis=1), 1.0)
        assert_allclose(special.logit(p[:, 1]), binary.decision_function(X), atol=1e-9)
        assert_array_equal(binary.predict(X), (p[:, 1] > 0.5).astype(int))
        assert binary.scores_.shape == Y.shape
        assert np.isfinite(binary.scores_).all()

    @pytest.mark.slow
    def test_several_classes_are_binary_problems_whose_probabilities_sum_to_one(self, several):
        assert several.classes_.tolist() == ["a", "b", "c"]
        p, draws = several.predict_proba(X3), several.sample_proba(X3[:9])
        assert_allclose(p.sum(axis=1), 1.0)
        assert_allclose(draws.sum(axis=2), 1.0)
        assert several.scores_.shape == (180, 3)
        assert several.predict_interval(X3[:9]).shape == (9, 3, 2)
        assert_array_equal(several.predict(X3), several.classes_[p.argmax(axis=1)])
        assert (several.predict(X3) == np.array(["a", "b", "c"])[Y3]).mean() > 0.7
        assert set(several.weights().index.get_level_values("problem")) == {"a", "b", "c"}

    def test_several_labels(self):
        labels = pd.DataFrame({"rare": (Y3 == 0) & (X3[:, 0] > 0), "common": Y3 > 0}).astype(int)
        found = combined().fit(X3, labels)
        assert found.labels_.tolist() == ["rare", "common"]
        assert found.predict_proba(X3).shape == found.predict(X3).shape == (180, 2)
        # Each label is a problem of its own.
        alone = combined().fit(X3, labels["common"])
        assert_allclose(found.predict_proba(X3)[:, 1], alone.predict_proba(X3)[:, 1], atol=1e-6)

    @pytest.mark.slow
    def test_the_first_class_may_be_the_positive_one(self, binary):
        turned = combined(combiner="bayes", positive=0).fit(X, Y)
        assert turned.classes_.tolist() == [0, 1]
        other = turned.predict_proba(X)[:, 0]
        assert_allclose(other, binary.predict_proba(X)[:, 0], atol=0.1)
        assert np.corrcoef(other, binary.predict_proba(X)[:, 0])[0, 1] > 0.99


class TestBayes:
    @pytest.mark.slow
    def test_bands_hold_the_point_and_seeds_fix_all(self, binary):
        lower, upper = binary.predict_interval(X, level=0.95).T
        p = binary.predict_proba(X)[:, 1]
        assert ((lower <= p) & (p <= upper)).mean() > 0.95
        again = combined(combiner="bayes").fit(X, Y)
        assert_array_equal(again.predict_proba(X), binary.predict_proba(X))
        assert_array_equal(again.predict_interval(X), binary.predict_interval(X))
        draws = binary.sample_proba(X[:3])
        assert_allclose(np.quantile(draws, [0.05, 0.95], axis=0).T, binary.predict_interval(X[:3]))
        many = np.repeat(X, 60, axis=0)  # more than a block of documents
        # Their curves are read off tables.
        assert_allclose(binary.predict_interval(many)[::60], binary.predict_interval(X), atol=1e-5)
        some = binary.sample_proba(X[:3], draws=7, random_state=0)
        assert some.shape == (7, 3)
        assert np.isin(some, draws).all()
        shortest = binary.predict_interval(X, kind="hdi")
        assert (np.ptp(shortest, axis=1) <= np.ptp(binary.predict_interval(X), axis=1) + 1e-9).all()
        with pytest.raises(ValueError, match=r"kind must be one of .* got 'simultaneous'"):
            binary.predict_interval(X, kind="simultaneous")

    @pytest.mark.slow
    def test_bands_hold_the_truth_and_narrow(self):
        """Independent views of the label: the true log-odds are the sum of theirs."""
        new, _, truth = views(300, np.random.default_rng(9), share=0.2)
        widths, seeds = [], size(4, 8)
        # Of 12 seeds .80 and .93 of the documents; one seed differs from others by .19 and .08, for
        # what a few labels are off by moves all documents together.
        for n, least in ((60, 0.6), (600, 0.85)):
            held = []
            for seed in range(seeds):
                documents, y, _ = views(n, np.random.default_rng(seed), share=0.2)
                found = CombinedClassifier(columns(), random_state=seed).fit(documents, y)
                lower, upper = found.predict_interval(new).T
                p = special.expit(truth)
                held.append(np.mean((lower <= p) & (p <= upper)))
                widths.append(np.mean(upper - lower))
            assert np.mean(held) > least
        assert np.mean(widths[seeds:]) < 0.5 * np.mean(widths[:seeds])

    def test_costs_are_cut_by_bayes_rule(self, binary):
        assert binary.thresholds_["error"] == 0.0
        assert binary.thresholds_["cost_1_10"] == pytest.approx(-np.log(10.0))
        taken = binary.decide(X, "cost_1_10")
        assert_array_equal(taken, binary.predict_proba(X)[:, 1] >= 1.0 / 11.0)

    def test_scores_feed_every_display(self, binary):
        """Calibrate the held-out scores as any score: their log-odds are nearly right."""
        calibrator = ScoreCalibrator(scores_are="log_odds", random_state=0).fit(binary.scores_, Y)
        at = np.linspace(-2.0, 2.0, 5)
        assert_allclose(calibrator.decision_function(at), at, atol=0.8)


class Squares(TransformerMixin, BaseEstimator):
    """Indicators of any documents, which remember how many they were fitted on."""

    def fit(self, X, y):
        self.n_, self.labels_ = len(X), set(np.unique(y).tolist())
        return self

    def transform(self, X):
        return np.c_[np.asarray(X)[:, :2] ** 2, np.full(len(X), float(self.n_))]


class TestIndicators:
    def test_they_are_fitted_in_folds_and_seen_by_the_combiner(self):
        found = combined(indicators=Squares()).fit(X, Y)
        indicators = found._combined[0].labelled.inputs.indicators
        assert set(indicators[:, 2]) == {128.0}  # four fifths of the documents
        assert found._members[0].indicators.n_ == 160
        assert found._combined[0].model.classifier.coef_.shape == (1, 5)

    @pytest.mark.slow
    def test_they_move_the_bayesian_combination_where_they_tell(self):
        rng = np.random.default_rng(0)
        documents, y, _ = views(500, rng, sds=(1.0, 1.0))
        documents = np.c_[documents, rng.normal(np.where(y == 1, 0.9, -0.9))]

        class Third(Squares):
            def transform(self, X):
                return np.asarray(X)[:, [2]]

        new, truth, _ = views(1000, rng, sds=(1.0, 1.0))
        new = np.c_[new, rng.normal(np.where(truth == 1, 0.9, -0.9))]
        with_it, without = (
            CombinedClassifier(columns(2), indicators=each, random_state=0).fit(documents, y)
            for each in (Third(), None)
        )
        gain = log_loss(truth, without.predict_proba(new)) - log_loss(
            truth, with_it.predict_proba(new)
        )
        assert gain > 0.03
        assert with_it.weights().loc[("1", "indicator 0"), "lower"] > 0.0

    def test_what_is_not_finite_is_named(self):
        class Broken(Squares):
            def transform(self, X):
                out = super().transform(X)
                out[1, 1] = np.inf
                return out

        with pytest.raises(ValueError, match="indicators must be finite, got inf in column 1"):
            combined(indicators=Broken()).fit(X, Y)


# The first of two systems did not score a third of the documents, few of which are positive.
GAPS = np.where([[True, False]] & (np.arange(160) % 3 == 0)[:, None], np.nan, X[:, :2])
SYSTEMS = [("first", Column(0)), ("second", Column(1))]


class TestGaps:
    def test_stacking_fills_in_the_mean_and_adds_an_intercept_of_gaps(self):
        found = CombinedClassifier(SYSTEMS, combiner="logistic", allow_missing=True).fit(GAPS, Y)
        gap = np.isnan(GAPS[:, :1])
        filled = np.hstack([np.where(gap, np.nanmean(GAPS[:, 0]), GAPS[:, :1]), GAPS[:, 1:], gap])
        pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))
        expected = pipeline.fit(filled, Y).decision_function(filled)
        assert_allclose(found.decision_function(GAPS), expected, rtol=1e-4)
        assert np.isnan(found.base_scores_[0]).sum() == gap.sum()

    def test_gaps_that_were_not_fitted(self):
        found = CombinedClassifier(SYSTEMS, combiner="logistic", allow_missing=True).fit(GAPS, Y)
        with pytest.raises(ValueError, match="'second' must give numbers, got nan for document 0"):
            found.predict(GAPS[:, ::-1])

    def test_where_gaps_mean_nothing(self):
        of_negatives = np.where(Y[:, None] == 1, np.nan, GAPS)
        with pytest.raises(ValueError, match="score documents of both classes, got one class of"):
            CombinedClassifier(SYSTEMS, allow_missing=True).fit(of_negatives, Y)


class Nan(Column):
    def decision_function(self, X):
        return np.where(np.arange(len(X)) == 2, np.nan, 1.0)


class TestBadInput:
    def test_of_classifiers(self):
        # Further ones are those of ReliabilityIndicators, which reads the same argument.
        with pytest.raises(ValueError, match=r"must be a list of \(name, classifier\), got Gauss"):
            CombinedClassifier(GaussianNB()).fit(X, Y)

    def test_nan_names_the_classifier(self):
        with pytest.raises(ValueError, match="classifier 'broken' must give numbers, got nan for"):
            CombinedClassifier([*PAIR, ("broken", Nan())]).fit(X, Y)

    def test_a_class_of_one_document(self):
        y = np.zeros(160, dtype=int)
        y[5] = 1
        with pytest.raises(ValueError, match=r"y must hold at least two documents .*, got 1 \(1\)"):
            combined().fit(X, y)

    @pytest.mark.slow
    def test_of_several_labels_those_that_hardly_vary_have_their_base_rates(self):
        few = np.arange(160)
        labels = np.stack([Y, few == 5, few != 7, few < 0], axis=1).astype(int)
        with pytest.warns(
            UserWarning, match=r"y holds .*\(1, 2, 3\): their probability is the base"
        ):
            found = combined(combiner="bayes").fit(X, labels)
        p, draws = found.predict_proba(X), found.sample_proba(X)
        rates = np.array([2.0, 160.0, 1.0]) / 162.0
        assert_allclose(p[:, 1:], np.tile(rates, (160, 1)), rtol=1e-12)
        assert_allclose(draws.mean(axis=(0, 1))[1:], rates, atol=2e-3)
        alone = combined(combiner="bayes").fit(X, Y)
        assert_allclose(p[:, 0], alone.predict_proba(X)[:, 1], atol=1e-9)
        lower, upper = np.moveaxis(found.predict_interval(X), -1, 0)
        assert (np.ptp(lower[:, 1:], axis=0) == 0.0).all()
        assert ((lower[0, 1:] < rates) & (rates < upper[0, 1:])).all()
        assert found.predict(X)[:, 1:].tolist() == [[0, 1, 0]] * 160
        assert found.decide(X, "cost_1_10")[0, 1:].tolist() == [False, True, False]
        assert list(found.fitted_problems()) == ["0"]
        assert found.problem_scores(X).shape == (160, 1)
        assert set(found.labelled_scores(X, labels)["topic"]) == {"0"}
        assert found.scores_.shape == (160, 4)
        assert np.isnan(found.thresholds_["f1"]).tolist() == [False, True, True, True]

    @pytest.mark.slow
    def test_two_documents_of_a_class_are_enough(self):
        y = np.zeros(160, dtype=int)
        y[[5, 9]] = 1
        found = combined(combiner="bayes").fit(X, y)
        assert np.isfinite(found.predict_proba(X)).all()

    def test_measures_and_posteriors(self, binary):
        with pytest.raises(ValueError, match="measure must be one of 'error'"):
            combined(measure="accuracy").fit(X, Y)
        with pytest.raises(ValueError, match=r"combiner must be a classifier or .* got None"):
            combined(combiner=None).fit(X, Y)
        with pytest.raises(ValueError, match="indicators must be a transformer, got True"):
            combined(indicators=True).fit(X, Y)
        with pytest.raises(ValueError, match="combiner 'logistic' has no posterior"):
            combined().fit(X, Y).predict_interval(X)
        with pytest.raises(ValueError, match="draws must be a whole number from 1 to 1000, got 0"):
            binary.sample_proba(X, draws=0)
        with pytest.raises(AttributeError, match="predict_proba"):
            combined(combiner=RidgeClassifier()).fit(X, Y).predict_proba(X)

    def test_weights_that_a_classifier_cannot_take(self):
        classifiers = [*PAIR, ("knn", KNeighborsClassifier())]
        with pytest.warns(UserWarning, match=r"classifier 'knn' \(KNeighborsClassifier\) takes no"):
            CombinedClassifier(classifiers).fit(X, Y, sample_weight=np.ones(160))


class TestWhatIsHandedOn:
    @pytest.mark.slow
    def test_probabilities_of_0_and_1_have_finite_log_odds(self):
        classifiers = [("tree", DecisionTreeClassifier(random_state=0)), *PAIR]
        found = CombinedClassifier(classifiers, random_state=0).fit(X, Y)
        assert np.isfinite(found.base_scores_[0]).all()
        assert np.isfinite(found.decision_function(X)).all()

    @pytest.mark.slow
    def test_frozen_classifiers_are_not_fitted_again(self):
        first = GaussianNB().fit(X[:60], Y[:60])
        found = CombinedClassifier([("frozen", FrozenEstimator(first)), *PAIR], random_state=0)
        found.fit(X[60:], Y[60:])
        own = first.predict_joint_log_proba(X[60:])
        assert_allclose(found.base_scores_[0][:, 0], own[:, 1] - own[:, 0], atol=1e-6)

    def test_groups_go_to_the_splitter(self):
        groups = np.arange(160) // 4
        found = combined(cv=GroupKFold(4)).fit(X, Y, groups=groups)
        fold = found._combined[0].labelled.fold
        assert all(np.unique(fold[groups == g]).size == 1 for g in range(40))

    def test_metadata_routing(self):
        with config_context(enable_metadata_routing=True):
            seen = LogisticRegression().set_fit_request(sample_weight=True)
            blind = GaussianNB().set_fit_request(sample_weight=False)
            found = CombinedClassifier([("a", seen), ("b", blind)], combiner="logistic")
            weight = np.where(Y == 1, 5.0, 1.0)
            found.fit(X, Y, sample_weight=weight)
            alone = LogisticRegression().fit(X, Y, sample_weight=weight)
            assert_allclose(found.classifiers_[0]["a"].coef_, alone.coef_)
            assert_allclose(found.classifiers_[0]["b"].theta_, GaussianNB().fit(X, Y).theta_)

    @pytest.mark.slow
    @pytest.mark.parametrize("n_jobs", [None, 2])
    def test_a_combiner_of_the_users_gets_the_weights(self, n_jobs):
        """Its own fit and those of the folds each get the weights of their documents."""
        weight = np.where(Y == 1, 5.0, 1.0)
        pair = [("a", GaussianNB()), ("b", LogisticRegression())]
        made = CombinedClassifier(
            pair, combiner=LogisticRegression(), cv=4, n_jobs=n_jobs, random_state=0
        )
        plain, weighted = (clone(made).fit(X, Y, sample_weight=w) for w in (None, weight))
        combined = weighted._combined[0]
        scaler = StandardScaler()
        inputs = scaler.fit_transform(combined.labelled.inputs.matrix, sample_weight=weight)
        alone = LogisticRegression().fit(inputs, Y, sample_weight=weight)
        assert_allclose(combined.model.classifier.coef_, alone.coef_, rtol=1e-6)
        assert_allclose(combined.model.scaler.mean_, scaler.mean_)
        # Held-out scores are by weighted combinations too: positives weigh more.
        assert (weighted.scores_ - plain.scores_).mean() > 1.0
        held = combined.labelled.fold == 2
        scaler = StandardScaler().fit(combined.labelled.inputs.matrix[~held], None, weight[~held])
        rest = scaler.transform(combined.labelled.inputs.matrix)
        other = LogisticRegression().fit(rest[~held], Y[~held], sample_weight=weight[~held])
        assert_allclose(weighted.scores_[held], other.decision_function(rest[held]), rtol=1e-6)
        # So are thresholds.
        for measure in MEASURES:
            best = best_threshold(measure, weighted.scores_, Y == 1, weight)
            assert weighted.thresholds_[measure] == pytest.approx(best)

    def test_a_combiner_without_weights_is_refused_beside_them(self):
        pair = [("a", GaussianNB()), ("b", LogisticRegression())]
        combined = CombinedClassifier(pair, combiner=KNeighborsClassifier())
        with pytest.raises(ValueError, match="takes no sample_weight"):
            combined.fit(X, Y, sample_weight=np.ones(160))
        assert combined.fit(X, Y).predict(X).shape == (160,)

    @pytest.mark.slow
    def test_a_fit_with_uneven_draws_warns(self, monkeypatch):
        real = bayes.engine.draw_weights

        def uneven(*arguments):
            return [replace(each, pareto_k=0.93) for each in real(*arguments)]

        monkeypatch.setattr(bayes.engine, "draw_weights", uneven)
        with pytest.warns(ConvergenceWarning, match=r"weights are uneven \(Pareto k 0.93\)"):
            CombinedClassifier(PAIR, cv=3, random_state=0).fit(X[:80], Y[:80])

    @pytest.mark.slow
    def test_texts_without_words_are_answered(self):
        """One of them does not stop a batch: its scores are those of no known word."""
        texts = np.array([f"{'corn' if k % 3 else 'oil'} price {k % 5}" for k in range(60)])
        pair = [
            (name, make_pipeline(CountVectorizer(), each))
            for name, each in (("a", MultinomialNB()), ("b", LogisticRegression()))
        ]
        found = CombinedClassifier(pair, cv=3, random_state=0).fit(texts, np.arange(60) % 3 > 0)
        p = found.predict_proba(np.array(["corn", "", "unknown"], dtype=object))
        assert np.isfinite(p).all()
        assert p[1].tolist() == p[2].tolist()

    @pytest.mark.slow
    def test_weights_are_repetitions_to_the_bayesian_combination(self):
        documents, y, _ = views(80, np.random.default_rng(0))
        weight = np.random.default_rng(1).integers(1, 3, 80)
        rows = np.repeat(np.arange(80), weight)
        fold = np.arange(80) % 4
        one = CombinedClassifier(columns(), cv=_splits(fold), random_state=0)
        other = CombinedClassifier(columns(), cv=_splits(fold[rows]), random_state=0)
        one.fit(documents, y, sample_weight=weight)
        other.fit(documents[rows], y[rows])
        assert_allclose(one.predict_proba(documents), other.predict_proba(documents), atol=0.04)

    @pytest.mark.slow
    def test_sparse_documents_jobs_and_pickles(self):
        dense = CombinedClassifier(PAIR[:1], combiner="logistic", random_state=0)
        found = clone(dense).fit(X, Y)
        same = clone(dense).set_params(n_jobs=2).fit(sparse.csr_array(X), Y)
        assert_allclose(found.predict_proba(X), same.predict_proba(sparse.csr_array(X)), atol=1e-5)
        again = pickle.loads(pickle.dumps(found))
        assert_array_equal(again.predict_proba(X), found.predict_proba(X))

    def test_predictions_by_a_measure(self):
        by_f1 = combined(measure="f1").fit(X, Y)
        assert_array_equal(by_f1.predict(X), by_f1.decide(X, "f1").astype(int))
        assert_array_equal(
            by_f1.decide(X, "f1"), by_f1.decision_function(X) >= by_f1.thresholds_["f1"][0]
        )

    def test_folds_that_leave_documents_out(self):
        splits = list(StratifiedKFold(4).split(X, Y))[:3]
        found = combined(cv=splits).fit(X, Y)
        assert np.isnan(found.scores_).sum() == 40


def _splits(fold):
    return [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in np.unique(fold)]
