"""CalibratedClassifier's numbers, against the calibrators by hand, scikit-learn, and theory."""

import functools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, special
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import LeaveOneOut, ShuffleSplit, StratifiedKFold, cross_val_predict
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from bayescal import CalibratedClassifier, ScoreCalibrator, TopicCalibrator
from bayescal.support.score_checks import ScoresWarning
from bayescal.support.weighting import effective_weights

QUICK = ScoreCalibrator("gaussian", draws=200, random_state=4)
SVC = LinearSVC(random_state=0)
X, Y = make_classification(240, n_informative=5, weights=[0.7], random_state=3)
X3, CODES = make_classification(240, n_informative=5, n_classes=3, random_state=3)
Y3 = np.array(["corn", "gold", "oil"])[CODES]
XL, YL = make_multilabel_classification(240, n_classes=4, random_state=3)


def calibrator_of(classifier, k=0):
    return classifier.calibrated_classifiers_[0].calibrators[k]


@functools.cache
def two():
    return CalibratedClassifier(SVC, QUICK).fit(X, Y)


@functools.cache
def three():
    return CalibratedClassifier(SVC, QUICK).fit(X3, Y3)


@functools.cache
def labels():
    return CalibratedClassifier(OneVsRestClassifier(SVC), QUICK).fit(XL, YL)


@functools.cache
def folds():
    return CalibratedClassifier(SVC, QUICK, ensemble=True, cv=3).fit(X, Y)


class Squeezed(LinearSVC):
    """Margins that lie between 0 and how far they reach."""

    reach = 1.0

    def decision_function(self, X):
        return self.reach * special.expit(super().decision_function(X))


class TestBinary:
    def test_is_the_calibrator_on_out_of_fold_scores(self):
        classifier = two()
        scores = cross_val_predict(SVC, X, Y, cv=5, method="decision_function")
        seed = calibrator_of(classifier).random_state
        by_hand = ScoreCalibrator("gaussian", draws=200, random_state=seed).fit(scores, Y)
        new = clone(SVC).fit(X, Y).decision_function(X)
        assert_allclose(classifier.predict_proba(X), by_hand.predict_proba(new), 1e-12)
        assert_array_equal(classifier.predict_interval(X), by_hand.predict_interval(new))
        for kind in ("hdi", "simultaneous"):
            assert_array_equal(
                classifier.predict_interval(X, 0.5, kind), by_hand.predict_interval(new, 0.5, kind)
            )
        assert_array_equal(
            classifier.sample_proba(X, 9, 1), by_hand.sample_proba(new, 9, np.random.default_rng(1))
        )
        assert_allclose(
            classifier.predict_proba(X, prior=0.01), by_hand.predict_proba(new, prior=0.01), 1e-12
        )
        assert classifier.posterior_ is calibrator_of(classifier).posterior_

    def test_default_is_the_default_score_calibrator(self):
        classifier = CalibratedClassifier(SVC, random_state=1).fit(X, Y)
        assert calibrator_of(classifier).get_params() == {
            **ScoreCalibrator().get_params(),
            "random_state": calibrator_of(classifier).random_state,
            "positive": classifier.classes_[1],
            "scores_are": "scores",
        }
        lower, upper = classifier.predict_interval(X).T
        p = classifier.predict_proba(X)[:, 1]
        assert ((lower < p) & (p < upper)).mean() > 0.95

    @pytest.mark.slow
    def test_margins_between_0_and_1_are_no_probabilities(self, monkeypatch):
        """By themselves such scores, whose labels say nothing against it, are taken for these."""
        margin = special.expit(SVC.fit(X, Y).decision_function(X))
        with pytest.warns(ScoresWarning, match="all scores lie in"):
            alone = ScoreCalibrator(random_state=0).fit(margin, Y)
        squeezed = FrozenEstimator(Squeezed().fit(X, Y))
        classifier = CalibratedClassifier(squeezed, random_state=0).fit(X, Y)
        seed = calibrator_of(classifier).random_state
        told = ScoreCalibrator(scores_are="scores", random_state=seed).fit(margin, Y)
        found = classifier.predict_proba(X)
        assert_allclose(found, told.predict_proba(margin), 1e-12)
        assert np.abs(found - alone.predict_proba(margin)).max() > 0.01
        # Later ones beyond 1 are scores like others.
        monkeypatch.setattr(Squeezed, "reach", 1.5)
        assert np.isfinite(classifier.predict_proba(X)).all()

    def test_log_probabilities_do_not_round(self):
        far = X[:1] + 1e4 * clone(SVC).fit(X, Y).coef_
        assert two().predict_proba(far)[0].tolist() == [0.0, 1.0]
        assert -np.inf < two().predict_log_proba(far)[0, 0] < -700.0

    def test_random_state_seeds_and_else_the_calibrators_own(self):
        def draws(own, outer):
            calibrator = ScoreCalibrator("gaussian", draws=50, random_state=own)
            classifier = CalibratedClassifier(SVC, calibrator, random_state=outer)
            return classifier.fit(X, Y).sample_proba(X)

        assert_array_equal(draws(1, None), draws(1, None))
        assert_array_equal(draws(1, 2), draws(3, 2))
        assert not np.array_equal(draws(1, None), draws(2, None))
        assert not np.array_equal(draws(1, 1), draws(1, 2))


class TestFolds:
    def test_ensemble_averages_pairs(self):
        classifier = folds()
        assert (
            len({pair.calibrators[0].random_state for pair in folds().calibrated_classifiers_}) == 3
        )
        for pair, (train, test) in zip(
            classifier.calibrated_classifiers_, StratifiedKFold(3).split(X, Y), strict=True
        ):
            model = LinearSVC(random_state=0).fit(X[train], Y[train])
            assert_array_equal(pair.estimator.coef_, model.coef_)
            observed = pair.calibrators[0].posterior_["observed_data"]["score"]
            assert_array_equal(observed, model.decision_function(X[test]))
        mean = np.mean([p.predict_proba(X) for p in classifier.calibrated_classifiers_], axis=0)
        assert_allclose(classifier.predict_proba(X), mean, atol=1e-12)
        assert list(classifier.posterior_.children) == ["fold_1", "fold_2", "fold_3"]

    def test_ensemble_interval_is_of_the_mean_of_draws(self):
        each = [
            pair.calibrators[0].sample_proba(pair.estimator.decision_function(X))
            for pair in folds().calibrated_classifiers_
        ]
        expected = np.quantile(np.mean(each, axis=0), [0.1, 0.9], axis=0).T
        assert_allclose(folds().predict_interval(X, 0.8), expected)
        assert (np.diff(folds().predict_interval(X, 0.8, "hdi")) >= 0).all()

    def test_frozen_is_calibrated_on_all_documents_and_left_alone(self):
        base = LinearSVC(random_state=0).fit(X[:120], Y[:120])
        before = base.coef_.copy()
        classifier = CalibratedClassifier(FrozenEstimator(base), QUICK).fit(X[120:], Y[120:])
        observed = calibrator_of(classifier).posterior_["observed_data"]["score"]
        assert_array_equal(observed, base.decision_function(X[120:]))
        assert_array_equal(base.coef_, before)
        again = CalibratedClassifier(FrozenEstimator(base), QUICK, cv=2, ensemble=True)
        again.fit(X[120:], Y[120:])
        assert_array_equal(classifier.predict_proba(X), again.predict_proba(X))

    def test_splits_may_leave_documents_out(self):
        one = [next(iter(StratifiedKFold(2).split(X, Y)))]
        classifier = CalibratedClassifier(SVC, QUICK, cv=one).fit(X, Y)
        assert calibrator_of(classifier).posterior_["observed_data"].sizes["document"] == 120
        masks = [tuple(np.isin(np.arange(240), part) for part in one[0])]
        same = CalibratedClassifier(SVC, QUICK, cv=masks).fit(X, Y)
        assert_array_equal(classifier.predict_proba(X), same.predict_proba(X))
        single = CalibratedClassifier(SVC, QUICK, cv=LeaveOneOut()).fit(X[:40], Y[:40])
        assert calibrator_of(single).posterior_["observed_data"].sizes["document"] == 40

    def test_repetition_needs_an_ensemble(self):
        cv = ShuffleSplit(3, random_state=0)
        with pytest.raises(ValueError, match="cv must test no document twice with ensemble=False"):
            CalibratedClassifier(SVC, QUICK, cv=cv).fit(X, Y)
        CalibratedClassifier(SVC, QUICK, cv=cv, ensemble=True).fit(X, Y)


class TestSeveralClasses:
    def test_one_vs_rest_normalised(self):
        classifier = three()
        scores = cross_val_predict(SVC, X3, Y3, cv=5, method="decision_function")
        new = LinearSVC(random_state=0).fit(X3, Y3).decision_function(X3)
        apart, seeds = (
            np.empty((240, 3)),
            [calibrator_of(classifier, k).random_state for k in range(3)],
        )
        assert len(set(seeds)) == 3
        for k, name in enumerate(classifier.classes_):
            by_hand = ScoreCalibrator("gaussian", draws=200, random_state=seeds[k])
            by_hand.fit(scores[:, k], name == Y3)
            apart[:, k] = by_hand.predict_proba(new[:, k])[:, 1]
        expected = apart / apart.sum(axis=1, keepdims=True)
        assert_allclose(classifier.predict_proba(X3), expected, rtol=1e-12)
        assert_array_equal(classifier.predict(X3), classifier.classes_[expected.argmax(axis=1)])
        assert list(classifier.posterior_.children) == ["corn", "gold", "oil"]
        assert classifier.posterior_["gold/posterior/mu"].sizes["draw"] == 200

    def test_every_draw_lies_on_the_simplex(self):
        classifier, draws = three(), three().sample_proba(X3)
        assert draws.shape == (800, 240, 3)
        assert_allclose(draws.sum(axis=2), 1.0)
        apart = [
            calibrator_of(classifier, k).sample_proba(s)
            for k, s in enumerate(LinearSVC(random_state=0).fit(X3, Y3).decision_function(X3).T)
        ]
        assert_allclose(draws[:, :, 0], apart[0] / sum(apart))
        expected = np.quantile(draws, [0.05, 0.95], axis=0)
        # Ends are sorted as numbers of 32 bits.
        found, rounding = classifier.predict_interval(X3), np.finfo(np.float32).eps
        assert_allclose(found, np.moveaxis(expected, 0, -1), rtol=rounding)
        assert found.dtype == np.float64
        shortest = classifier.predict_interval(X3, kind="hdi")
        assert (np.diff(shortest) <= np.diff(found) + rounding).all()

    @pytest.mark.parametrize("by_name", [dict, pd.Series])
    def test_priors_of_classes_by_name_in_any_order(self, by_name):
        named = by_name({"oil": 0.5, "corn": 0.2, "gold": 0.3})
        expected = three().predict_proba(X3, prior=[0.2, 0.3, 0.5])
        assert_array_equal(three().predict_proba(X3, prior=named), expected)
        message = "one value for each of 'corn', 'gold', 'oil', by name"
        with pytest.raises(ValueError, match=message):
            three().predict_proba(X3, prior=by_name({"oil": 0.5, "corn": 0.5}))

    @pytest.mark.parametrize("prior", [[0.9, 0.1], np.array([0.9, 0.1]), {1: 0.1, 0: 0.9}])
    def test_priors_of_both_of_two_classes_are_no_draws(self, prior):
        two = CalibratedClassifier(SVC, QUICK).fit(X3, (Y3 == "oil").astype(int))
        expected = two.predict_proba(X3, prior=0.1)
        assert_array_equal(two.predict_proba(X3, prior=prior), expected)
        with pytest.raises(ValueError, match=r"prior must sum to 1 over the classes, got 0\.6"):
            two.predict_proba(X3, prior={0: 0.3, 1: 0.3})
        with pytest.raises(ValueError, match="2 numbers that sum to 1, as those of classes"):
            calibrator_of(two, 0).predict_proba([0.0], prior=[0.9, 0.1])
        with pytest.raises(ValueError, match=r"prior must lie between .* got 0\.0"):
            two.predict_proba(X3, prior=[0.3, 0.2, 0.0])

    def test_prior_of_each_class(self):
        classifier = three()
        shifted = classifier.predict_proba(X3, prior=[0.9, 0.05, 0.05])
        assert (shifted[:, 0] > classifier.predict_proba(X3)[:, 0]).all()
        assert_allclose(shifted.sum(axis=1), 1.0)
        with pytest.raises(ValueError, match=r"prior must sum to 1 over the classes, got 1\.2"):
            classifier.predict_proba(X3, prior=[0.9, 0.2, 0.1])
        with pytest.raises(ValueError, match="one value for each of the 3 classes"):
            classifier.predict_proba(X3, prior=0.5)

    @pytest.mark.slow
    def test_pooled_over_classes(self):
        topics = TopicCalibrator(draws=100, random_state=0)
        classifier = CalibratedClassifier(SVC, topics).fit(X3, Y3)
        assert calibrator_of(classifier).topics_.tolist() == ["corn", "gold", "oil"]
        assert_allclose(classifier.predict_proba(X3).sum(axis=1), 1.0)
        assert_allclose(classifier.sample_proba(X3, 7).sum(axis=2), 1.0)


class TestSeveralLabels:
    def test_each_label_by_itself(self):
        classifier = labels()
        p, band = classifier.predict_proba(XL), classifier.predict_interval(XL)
        assert p.shape == (240, 4)
        assert band.shape == (240, 4, 2)
        assert classifier.sample_proba(XL, 5).shape == (5, 240, 4)
        assert_array_equal(classifier.predict(XL), p > 0.5)
        folds = list(StratifiedKFold(5).split(XL, YL[:, 2]))
        column = CalibratedClassifier(SVC, QUICK, cv=folds).fit(XL, YL[:, 2])
        column_again = CalibratedClassifier(OneVsRestClassifier(SVC), QUICK, cv=folds)
        together = column_again.fit(XL, YL).predict_proba(XL)[:, 2]
        # The same scores; draws differ by their seeds.
        assert_allclose(column.predict_proba(XL)[:, 1], together, atol=0.02)

    @pytest.mark.slow
    def test_pooled_is_the_topic_calibrator_on_out_of_fold_scores(self):
        base, topics = OneVsRestClassifier(SVC), TopicCalibrator(draws=100, random_state=0)
        names = ["wheat", "corn", "oil", "gold"]  # not in the order that topics_ has
        table = pd.DataFrame(YL, columns=names)
        classifier = CalibratedClassifier(base, topics).fit(XL, table)
        assert classifier.labels_.tolist() == names
        scores = cross_val_predict(base, XL, YL, cv=5, method="decision_function")
        seed = calibrator_of(classifier).random_state
        by_hand = TopicCalibrator(draws=100, random_state=seed).fit(scores, YL, names)
        new = OneVsRestClassifier(SVC).fit(XL, YL).decision_function(XL)
        assert_allclose(classifier.predict_proba(XL), by_hand.predict_proba(new, names), rtol=1e-12)
        assert_array_equal(classifier.predict_interval(XL), by_hand.predict_interval(new, names))
        priors = dict(zip(names, [0.1, 0.2, 0.3, 0.4], strict=True))
        assert_array_equal(
            classifier.predict_interval(XL, kind="hdi", prior=list(priors.values())),
            by_hand.predict_interval(new, names, kind="hdi", prior=priors),
        )
        draws = classifier.sample_proba(XL)
        assert_allclose(
            np.quantile(draws, [0.05, 0.95], axis=0),
            np.moveaxis(classifier.predict_interval(XL), -1, 0),
            atol=1e-3,
        )
        assert classifier.posterior_ is calibrator_of(classifier).posterior_

    def test_sparse_labels(self):
        thin = CalibratedClassifier(OneVsRestClassifier(SVC), QUICK).fit(XL, sparse.csr_matrix(YL))
        assert_array_equal(labels().predict_proba(XL), thin.predict_proba(XL))

    def test_raw_scores_reach_through_wrappers(self):
        # MultiOutputClassifier has no decision_function, nor LinearSVC a predict_proba.
        plain = labels()
        wrapped = CalibratedClassifier(MultiOutputClassifier(SVC), QUICK).fit(XL, YL)
        assert_allclose(wrapped.predict_proba(XL), plain.predict_proba(XL))
        piped = make_pipeline(StandardScaler(with_std=False), MultiOutputClassifier(SVC))
        found = CalibratedClassifier(piped, QUICK).fit(XL, YL).predict_proba(XL)
        assert np.abs(found - plain.predict_proba(XL)).max() < 0.2
        frozen = FrozenEstimator(piped.fit(XL[:120], YL[:120]))
        assert CalibratedClassifier(frozen, QUICK).fit(XL[120:], YL[120:]).score(XL, YL) > 0.2

    @pytest.mark.parametrize("base", [RandomForestClassifier(20), KNeighborsClassifier()])
    def test_lists_of_probabilities(self, base):
        classifier = CalibratedClassifier(base, QUICK).fit(XL, YL)
        assert np.isfinite(classifier.predict_log_proba(XL)).all()


class TestScores:
    def test_naive_bayes_is_not_rounded(self):
        rng = np.random.default_rng(0)
        labels = np.repeat([0, 1, 2], 60)
        words = rng.random((180, 400)) < 0.1 + 0.3 * (np.arange(400) % 3 == labels[:, None])
        classifier = CalibratedClassifier(BernoulliNB(), QUICK).fit(words, labels)
        model = BernoulliNB().fit(words, labels)
        log_p = model.predict_log_proba(words)
        assert (model.predict_proba(words) == 1.0).any()
        found = classifier.calibrated_classifiers_[0].scores(words)
        for k in range(3):
            others = special.logsumexp(np.delete(log_p, k, axis=1), axis=1)
            assert_allclose(found[:, k], log_p[:, k] - others, rtol=1e-9)
        assert np.abs(found).max() > 40.0
        assert np.unique(found[:, 0]).size == 180

    def test_probabilities_of_exactly_0_and_1_have_a_place_in_line(self):
        forest = RandomForestClassifier(20, random_state=0).fit(X[:120], Y[:120])
        p = forest.predict_proba(X)[:, 1]
        assert ((p == 0) | (p == 1)).any()
        classifier = CalibratedClassifier(FrozenEstimator(forest), QUICK).fit(X, Y)
        scores = classifier.calibrated_classifiers_[0].scores(X)[:, 0]
        inside = (p > 0) & (p < 1)
        assert_allclose(scores[inside], special.logit(p[inside]))
        # Half the odds of the smallest probability above 0, twice those of the largest below 1.
        assert_allclose(scores[p == 0], special.logit(p[inside].min()) - np.log(2.0))
        assert_allclose(scores[p == 1], special.logit(p[inside].max()) + np.log(2.0))

    def test_log_odds_of_a_calibrated_classifier_need_little(self):
        calibrator = ScoreCalibrator(scores_are="log_odds", random_state=0)
        rng = np.random.default_rng(0)
        features = rng.normal(size=(600, 1))
        labels = rng.random(600) < special.expit(2.0 * features[:, 0])
        model = LogisticRegression(C=1e6)
        classifier = CalibratedClassifier(model, calibrator).fit(features, labels)
        before = model.fit(features, labels).predict_proba(features)
        assert np.abs(classifier.predict_proba(features) - before).mean() < 0.03


PAIRWISE = [
    (method, j in (0, 3), classes, j > 1)
    for method in ("sigmoid", "isotonic", "temperature")
    for j, classes in enumerate((2, 3, 2, 3))
]


class TestOtherCalibrators:
    # Each method with each number of classes; folds and weights in turn.
    @pytest.mark.parametrize(("method", "ensemble", "classes", "weighted"), PAIRWISE)
    def test_methods_are_those_of_scikit_learn(self, method, ensemble, classes, weighted):
        features, labels = (X, Y) if classes == 2 else (X3, Y3)
        weight = np.random.default_rng(0).uniform(0.5, 2.0, 240) if weighted else None
        mine = CalibratedClassifier(SVC, method, ensemble=ensemble)
        other = CalibratedClassifierCV(SVC, method=method, ensemble=ensemble)
        assert_allclose(
            mine.fit(features, labels, weight).predict_proba(features),
            other.fit(features, labels, weight).predict_proba(features),
            atol=1e-9,
        )

    @pytest.mark.parametrize(("features", "labels"), [(X, Y), (X3, Y3)], ids=["two", "three"])
    def test_temperature_of_probabilities_is_that_of_scikit_learn(self, features, labels):
        # Without a decision_function the logarithms of probabilities are divided by it.
        known = FrozenEstimator(GaussianNB().fit(features[:120], labels[:120]))
        mine = CalibratedClassifier(known, "temperature").fit(features[120:], labels[120:])
        other = CalibratedClassifierCV(known, method="temperature")
        other.fit(features[120:], labels[120:])
        assert_allclose(mine.predict_proba(features), other.predict_proba(features), atol=1e-6)

    @pytest.mark.parametrize("method", ["sigmoid", "temperature"])
    def test_methods_weigh_by_inclusion(self, method):
        chance = np.where(Y3 == 0, 0.25, 0.5)
        known = FrozenEstimator(LinearSVC(random_state=0).fit(X3, Y3))
        sampled = CalibratedClassifier(known, method).fit(X3, Y3, inclusion=chance)
        weight = effective_weights(None, chance, len(Y3))
        weighted = CalibratedClassifier(known, method).fit(X3, Y3, weight)
        assert_allclose(sampled.predict_proba(X3), weighted.predict_proba(X3))

    def test_logistic_regression(self):
        platt = LogisticRegression(C=np.inf)
        found = CalibratedClassifier(SVC, platt).fit(X, Y).predict_proba(X)
        scores = cross_val_predict(SVC, X, Y, cv=5, method="decision_function")[:, None]
        new = LinearSVC(random_state=0).fit(X, Y).decision_function(X)[:, None]
        assert_allclose(found, platt.fit(scores, Y).predict_proba(new), rtol=1e-9)

    def test_isotonic_regression_is_the_method(self):
        clipped = IsotonicRegression(out_of_bounds="clip")
        assert_allclose(
            CalibratedClassifier(SVC, clipped).fit(X, Y).predict_proba(X),
            CalibratedClassifier(SVC, "isotonic").fit(X, Y).predict_proba(X),
        )

    def test_classes_that_no_calibrator_gives_a_chance_share_it(self):
        # Isotonic steps are 0 for many documents, now and then for all classes of one.
        p = CalibratedClassifier(SVC, "isotonic").fit(X3, Y3).predict_proba(X3)
        assert_allclose(p.sum(axis=1), 1.0)

    @pytest.mark.parametrize("calibrator", ["sigmoid", "temperature", LogisticRegression()])
    @pytest.mark.parametrize("labels", [Y, CODES], ids=["two", "three"])
    def test_they_have_no_intervals(self, calibrator, labels):
        classifier = CalibratedClassifier(SVC, calibrator).fit(X3, labels)
        for call in (classifier.predict_interval, classifier.sample_proba):
            with pytest.raises(ValueError, match="no intervals, draws, plots or reports"):
                call(X3)
        with pytest.raises(AttributeError, match="has no posterior"):
            _ = classifier.posterior_
        if labels is not Y3:
            with pytest.raises(ValueError, match=r"prior (needs a calibrator|must hold one value)"):
                classifier.predict_proba(X3, prior=0.1)
