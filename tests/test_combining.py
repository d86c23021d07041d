"""The pieces of a combination: measures, folds, standardising, combiners."""

import numpy as np
import pytest
from scipy import special
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from bayescal import ScoreCalibrator
from bayescal.calibrators.classifier.folds import TrainingDocuments
from bayescal.calibrators.classifier.targets import read_target
from bayescal.combining.combiners import bayes, read_combiner
from bayescal.combining.combiners.measures import MEASURES, best_threshold
from bayescal.combining.nested import (
    BinaryProblem,
    Inputs,
    Labelled,
    WithinRange,
    binary_problems,
    fit_nested,
    rates_of_few,
    splits_of,
)
from bayescal.text.word_models import DecisionTree
from tests.combining_tools import ByHeart, Column, views

RNG = np.random.default_rng


def labelled(X, y, folds=5):
    """Return documents whose columns are the classifiers' scores."""
    fold = np.empty(y.size, dtype=np.intp)
    splitter = StratifiedKFold(folds, shuffle=True, random_state=0)
    for k, (_, held) in enumerate(splitter.split(X, y)):
        fold[held] = k
    return Labelled(Inputs(X, np.empty((y.size, 0))), y == 1, None, fold)


def fit(name, documents, **params):
    combiner = read_combiner(name, **{"normalise": True, "weighted": False} | params)
    return combiner.fit([documents], RNG(0), None)[0]


def loss_of(measure, taken, positive, weight=None):
    """Return the loss of decisions; of "f1" it is minus F1."""
    own = np.ones(positive.size) if weight is None else weight
    pairs = ((taken, positive), (taken, ~positive), (~taken, positive))
    return MEASURES[measure].loss(*(own[one & other].sum() for one, other in pairs), own.sum())


class TestMeasures:
    def test_f1_is_scikit_learns(self):
        taken, positive = RNG(0).random((2, 50)) < 0.4
        assert loss_of("f1", taken, positive) == pytest.approx(-f1_score(positive, taken))

    def test_nothing_taken_of_nothing_is_an_f1_of_0(self):
        assert loss_of("f1", np.zeros(3, bool), np.zeros(3, bool)) == 0.0

    @pytest.mark.parametrize("measure", MEASURES)
    @pytest.mark.parametrize("seed", range(4))
    def test_the_threshold_is_the_best_of_all(self, measure, seed):
        rng = RNG(seed)
        positive = rng.random(30) < 0.3
        scores = rng.integers(0, 8, 30) + 2.0 * positive  # with ties
        weight = rng.integers(1, 4, 30).astype(float)
        cuts = [-1.0, *(np.unique(scores) + 0.5)]
        best = min(loss_of(measure, scores >= cut, positive, weight) for cut in cuts)
        found = best_threshold(measure, scores, positive, weight)
        assert loss_of(measure, scores >= found, positive, weight) == pytest.approx(best)
        assert not np.isin(found, scores)

    def test_dear_misses_lower_the_threshold(self):
        rng = RNG(0)
        positive = rng.random(2000) < 0.3
        log_odds = special.logit(0.3) + 2.0 * rng.normal(np.where(positive, 1.0, -1.0))
        cut = {name: best_threshold(name, log_odds, positive) for name in MEASURES}
        assert cut["cost_1_10"] < cut["error"] < cut["cost_10_1"]
        # Of log-odds that are right, Bayes' rule has them.
        for name in ("error", "cost_1_10", "cost_10_1"):
            assert cut[name] == pytest.approx(MEASURES[name].log_odds, abs=0.8)


def test_bayes_estimates_the_rate_in_gaps():
    """A gap has the log-odds of (k + 1/2) / (n - k + 1/2), its draws that beta's spread."""
    y = (np.arange(160) % 5 == 0).astype(int)
    gap = np.arange(160) % 3 == 0
    scores = np.where(gap, np.nan, 2.0 * y + RNG(0).normal(size=160))
    found = bayes.calibrate_scores(labelled(scores[:, None], y), 0)
    k, n = y[gap].sum(), gap.sum()
    nan = np.full((3, 1), np.nan)
    np.testing.assert_allclose(found.point(nan), np.log((k + 0.5) / (n - k + 0.5)))
    # Of each fitted document, from all others in gaps.
    others = k - y[gap]
    left_out = np.log((others + 0.5) / (n - 1 - others + 0.5))
    np.testing.assert_allclose(found.held_out[gap, 0], left_out)
    assert np.isfinite(found.held_out).all()
    draws, share = special.expit(found.draws(nan)[:, 0, 0]), (k + 0.5) / (n + 1.0)
    assert draws.mean() == pytest.approx(share, abs=0.03)
    assert draws.std() == pytest.approx(np.sqrt(share * (1.0 - share) / (n + 2.0)), rel=0.3)


class TestWithinRange:
    def test_columns_get_mean_0_and_sd_1(self):
        columns = RNG(0).normal(5.0, 3.0, (40, 3))
        z = WithinRange.of(columns).apply(columns)
        np.testing.assert_allclose(z.mean(axis=0), 0.0, atol=1e-12)
        np.testing.assert_allclose(z.std(axis=0), 1.0)
        # The dissertation's division by the root mean square does not do that.
        wrong = (columns - columns.mean(axis=0)) / np.sqrt((columns**2).mean(axis=0))
        assert (wrong.std(axis=0) < 0.6).all()

    def test_weights_are_repetitions(self):
        columns = RNG(0).normal(size=(4, 2))
        weight = np.array([2.0, 0.0, 1.0, 3.0])
        one = WithinRange.of(columns, weight)
        other = WithinRange.of(np.repeat(columns, weight.astype(int), axis=0))
        np.testing.assert_allclose(one.scaler.mean_, other.scaler.mean_)
        np.testing.assert_allclose(one.scaler.scale_, other.scaler.scale_)

    def test_a_column_of_equal_numbers_stays_finite(self):
        scale = WithinRange.of(np.full((5, 1), 0.1))
        z = scale.scaler.transform(np.array([[0.1], [1.1]]))
        np.testing.assert_allclose(z, [[0.0], [1.0]], atol=1e-12)
        np.testing.assert_allclose(scale.apply(np.array([[1.1]])), [[0.0]], atol=1e-12)


class TestFolds:
    @pytest.mark.parametrize("rarer", [0, 1])
    def test_never_more_folds_than_documents_of_the_rarer_class(self, rarer):
        (problem,) = binary_problems(read_target([1 - rarer] * 20 + [rarer] * 3, 23))
        splits = splits_of(problem, 5, np.zeros((23, 1)), {})
        assert len(splits) == 3
        for train, held in splits:
            assert (problem.positive[held] == rarer).sum() == 1
            assert (problem.positive[train] == rarer).sum() == 2

    def test_a_single_document_of_a_class_is_refused(self):
        target = read_target(["a"] * 20 + ["b"], 21)
        with pytest.raises(ValueError, match=r"y must hold at least two documents.*got 1 \('b'\)"):
            rates_of_few(target, None)

    def test_one_of_several_classes_with_a_single_document_has_its_base_rate(self):
        target = read_target(["a"] * 10 + ["b"] * 9 + ["c"], 20)
        for weight, rate in ((None, [2.0, 20.0]), (np.full(20, 3.0), [4.0, 58.0])):
            with pytest.warns(UserWarning, match=r"y holds classes .* \('c'\): .* base rate"):
                rates = rates_of_few(target, weight)
            assert np.isnan(rates[:2]).all()
            assert rates[2].tolist() == rate

    def test_a_document_held_out_twice_is_refused(self):
        (problem,) = binary_problems(read_target([0, 1, 0, 1], 4))
        splits = [([0, 1, 2], [3]), ([0, 1], [2, 3])]
        with pytest.raises(ValueError, match="cv must test no document twice"):
            splits_of(problem, splits, np.zeros((4, 1)), {})

    def test_what_is_said_of_a_document_was_fitted_without_it(self):
        rng = RNG(0)
        X, y = rng.normal(size=(60, 2)), (rng.random(60) < 0.5).astype(int)
        target = read_target(y, 60)
        splits = splits_of(target, 5, X, {})
        classifiers = {"heart": ByHeart(), "nb": GaussianNB()}
        documents = {name: TrainingDocuments(X, target, {}) for name in classifiers}
        (found,) = fit_nested(classifiers, None, [BinaryProblem(documents, splits)], None, None)
        np.testing.assert_array_equal(found.rows, np.arange(60))
        # By heart it knows the documents that it was fitted on, and held-out ones not at all.
        assert abs(roc_auc_score(y, found.labelled.inputs.scores[:, 0]) - 0.5) < 0.25
        assert roc_auc_score(y, found.members.inputs(X).scores[:, 0]) == 1.0
        for k, (train, held) in enumerate(splits):
            assert (found.labelled.fold[held] == k).all()
            own = GaussianNB().fit(X[train], y[train]).predict_joint_log_proba(X[held])
            expected = own[:, 1] - own[:, 0]
            np.testing.assert_allclose(found.labelled.inputs.scores[held, 1], expected, atol=1e-9)


class TestCombiners:
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "combiner", ["logistic", DecisionTree(), HistGradientBoostingClassifier(random_state=0)]
    )
    def test_held_out_scores_are_of_models_that_had_not_seen_the_label(self, combiner):
        X, y, _ = views(150, RNG(0))
        documents = labelled(X, y)
        flipped = y.copy()
        held = documents.fold == 2
        flipped[held] = 1 - flipped[held]
        other = Labelled(documents.inputs, flipped == 1, None, documents.fold)
        np.testing.assert_allclose(
            fit(combiner, documents).held_out[held], fit(combiner, other).held_out[held], atol=1e-6
        )

    def test_one_calibrator_is_fitted_to_each_classifier(self, monkeypatch):
        fits, calibrate = [], ScoreCalibrator.fit
        monkeypatch.setattr(
            ScoreCalibrator, "fit", lambda *each: fits.append(each) or calibrate(*each)
        )
        X, y, _ = views(60, RNG(0))
        fit("bayes", labelled(X, y))
        assert len(fits) == X.shape[1]

    def test_without_normalising_a_column_of_large_numbers_wins(self):
        X, y, _ = views(300, RNG(0), sds=(0.5, 1.0))
        X = X * [1e-3, 1e3]
        inputs = Inputs(X, np.empty((300, 0)))
        neighbours = KNeighborsClassifier(30)  # distances are those along the large column
        good, bad = (
            roc_auc_score(y, fit(neighbours, labelled(X, y), normalise=n).score(inputs))
            for n in (True, False)
        )
        assert good > bad + 0.02

    def test_it_finds_weights_that_depend_on_where(self):
        """A classifier that is right on one side and wrong on the other: no constant weight."""
        rng = RNG(0)
        side = rng.choice([-1.0, 1.0], 600)
        y = (rng.random(600) < 0.5).astype(int)
        X = np.c_[side * (2 * y - 1) + 0.5 * rng.normal(size=600)]
        documents = labelled(X, y)
        documents = Labelled(Inputs(X, side[:, None]), documents.positive, None, documents.fold)
        boosting = HistGradientBoostingClassifier(early_stopping=False)
        for combiner, low, high in ((boosting, 0.95, 1.0), ("logistic", 0.4, 0.6)):
            found = fit(combiner, documents)
            assert low < roc_auc_score(y, found.held_out) <= high, combiner

    def test_any_classifier_stacks(self):
        X, y, _ = views(100, RNG(0))
        found = fit(LogisticRegression(C=3.0), labelled(X, y))
        z = (X - X.mean(axis=0)) / X.std(axis=0)
        own = LogisticRegression(C=3.0).fit(z, y).decision_function(z)
        np.testing.assert_allclose(found.score(Inputs(X, np.empty((100, 0)))), own, atol=1e-4)

    def test_unknown_names_and_missing_weights_are_refused(self):
        with pytest.raises(ValueError, match=r"combiner must be one of 'logistic'.*got 'mean'"):
            read_combiner("mean", normalise=True, weighted=False)
        with pytest.raises(ValueError, match=r"combiner DecisionTree.* takes no sample_weight"):
            read_combiner(DecisionTree(), normalise=True, weighted=True)

    @pytest.mark.parametrize(
        ("combiner", "log_odds"),
        [
            (LogisticRegression(), True),
            (HistGradientBoostingClassifier(), True),
            (DecisionTree(), True),
            (make_pipeline(StandardScaler(), LogisticRegression()), True),
            (GaussianNB(), True),
            (SVC(), False),
        ],
    )
    def test_scores_that_are_log_odds_give_probabilities(self, combiner, log_odds):
        method = read_combiner(combiner, normalise=True, weighted=False)
        assert method.gives_log_odds == log_odds
        X, y, _ = views(100, RNG(0))
        fitted = fit(combiner, labelled(X, y)).model
        z = fitted.scaler.transform(X)
        if log_odds:
            p = fitted.classifier.predict_proba(z)[:, 1]
            inputs = Inputs(X, np.empty((100, 0)))
            np.testing.assert_allclose(special.expit(fitted.score(inputs)), p, atol=1e-9)


def test_column_scores_are_what_they_say():
    assert Column(1).fit(np.zeros((2, 2)), [0, 1]).decision_function([[1.0, 2.0]]).tolist() == [2.0]
