"""CalibratedClassifier's error messages, and the routing of weights and groups."""

from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.cluster import KMeans
from sklearn.datasets import make_classification, make_multilabel_classification
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneOut
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from bayescal import CalibratedClassifier, ScoreCalibrator, TopicCalibrator

QUICK = ScoreCalibrator("gaussian", draws=50, random_state=4)
X, Y = make_classification(120, n_informative=5, weights=[0.7], random_state=3)
X4, Y4 = make_classification(160, n_informative=6, n_classes=4, random_state=3)
XL, YL = make_multilabel_classification(120, n_classes=3, random_state=3)


class Recorder(ClassifierMixin, BaseEstimator):
    """A classifier that keeps what its fits got; its score is the first feature."""

    seen: ClassVar[list] = []

    def fit(self, X, y, sample_weight=None, shift=0.0):
        self.classes_ = np.unique(y)
        Recorder.seen.append((X, sample_weight, shift))
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


@pytest.fixture(autouse=True)
def _forget():
    Recorder.seen = []


class Shifty(LogisticRegression):
    """A calibrator whose probabilities are not."""

    def predict_proba(self, X):
        return super().predict_proba(X) + 0.5


def refuse(match, estimator=None, calibrator=QUICK, X=X, Y=Y, weight=None, **parameters):
    estimator = LinearSVC() if estimator is None else estimator
    with pytest.raises(ValueError, match=match):
        CalibratedClassifier(estimator, calibrator, **parameters).fit(X, Y, weight)


ONES = np.ones(120)
REFUSED = [
    ("must be one of 'auto', 'one_vs_rest', 'sigmoid'", {"calibrator": "platt"}),
    ("must have out_of_bounds='clip'", {"calibrator": IsotonicRegression()}),
    ("use scores_are='log_odds'", {"calibrator": ScoreCalibrator(scores_are="probabilities")}),
    (
        r"must hold labels that the estimator was fitted on, \[0, 1, 2\], got 3",
        {"estimator": FrozenEstimator(LinearSVC().fit(X4[Y4 < 3], Y4[Y4 < 3])), "X": X4, "Y": Y4},
    ),
    (
        "the training part of fold 1 holds no document of class 0: use fewer folds",
        {"X": X4, "Y": np.sort(Y4), "cv": KFold(4)},
    ),
    ("test part of a fold, holds no document of class", {"cv": LeaveOneOut(), "ensemble": True}),
    (
        "training part of fold 1 holds no document with label 0",
        {
            "estimator": OneVsRestClassifier(LinearSVC()),
            "X": XL,
            "Y": np.tile((np.arange(120) // 2 == 2)[:, None], 3),
        },
    ),
    ("at least one label that two documents have", {"X": XL, "Y": np.ones_like(YL)}),
    ("cv must give at least one split", {"cv": []}),
    ("y must hold at least two classes, got one class only: 1", {"Y": np.ones(120, int)}),
    (
        "y must hold text, numbers or booleans, got datetime",
        {"Y": np.array(["2020", "2021", "2022"], "M8[s]")[np.arange(120) % 3]},
    ),
    ("calibrate them one by one", {"Y": np.stack([Y4[:120], Y4[:120]], axis=1)}),
    ("X and y must have the same length, got 120 and 7", {"Y": Y[:7]}),
    ("'groups' parameter should not be None", {"cv": GroupKFold(3)}),
    (
        "takes no sample_weight: choose one",
        {"calibrator": make_pipeline(LogisticRegression()), "weight": ONES},
    ),
    ("sample_weight must not be negative", {"weight": -ONES}),
    ("sample_weight must not be all zero", {"weight": 0 * ONES}),
]


@pytest.mark.parametrize(("match", "options"), REFUSED)
def test_is_refused(match, options):
    refuse(match, **options)


class TestCalibrators:
    @pytest.mark.parametrize(
        ("calibrator", "reason"),
        [
            (StandardScaler(), "neither predict_proba nor predict"),
            (KMeans(), "the predict of a clusterer gives labels"),
            (SVC(), "the predict of a classifier gives labels"),
            (ScoreCalibrator, "a class, not an instance"),
            (3, "no fit"),
            ({"a": 1}, "no fit"),
        ],
    )
    def test_that_are_none(self, calibrator, reason):
        refuse(f"calibrator must be an estimator of probabilities.*{reason}", calibrator=calibrator)

    def test_that_would_clip_scores(self):
        betacal = pytest.importorskip("betacal")
        refuse("BetaCalibration takes probabilities", calibrator=betacal.BetaCalibration("abm"))

    def test_values_beyond_0_and_1(self):
        for calibrator in (LinearRegression(), Shifty()):
            classifier = CalibratedClassifier(LinearSVC(), calibrator).fit(X, Y)
            with pytest.raises(ValueError, match="must give probabilities between 0 and 1, got"):
                classifier.predict_proba(100 * X)


class TestEstimators:
    def test_without_scores(self):
        refuse("estimator must have fit and decision_function or predict_proba", KMeans())
        refuse("MultiOutputClassifier has neither", MultiOutputClassifier(LinearSVC()))
        piped = make_pipeline(StandardScaler(), LinearRegression())
        refuse("LinearRegression has neither", piped)

    def test_that_are_none(self):
        for estimator in (LinearSVC, "svm", StandardScaler):
            refuse("estimator must be a classifier instance", estimator)

    @pytest.mark.parametrize("classes", [3, 4])
    def test_columns_for_pairs_of_classes(self, classes):
        # Three classes have as many pairs.
        pairs = SVC(decision_function_shape="ovo")
        some = np.isin(Y4, range(classes))
        for base in (
            pairs,
            make_pipeline(StandardScaler(), pairs),
            GridSearchCV(pairs, {"C": [1.0]}, cv=2),
            FrozenEstimator(pairs.fit(X4[some], Y4[some])),
        ):
            refuse("set decision_function_shape='ovr'", base, X=X4[some], Y=Y4[some])
        two = Y4 < 2
        CalibratedClassifier(pairs, "sigmoid").fit(X4[two], Y4[two])

    def test_not_fitted(self):
        with pytest.raises(NotFittedError):
            CalibratedClassifier(FrozenEstimator(LinearSVC()), QUICK).fit(X, Y)
        for method in ("predict", "predict_proba", "predict_interval", "sample_proba"):
            with pytest.raises(NotFittedError):
                getattr(CalibratedClassifier(LinearSVC()), method)(X)


class TestFolds:
    @pytest.mark.parametrize("ensemble", [True, False])
    @pytest.mark.parametrize("rows", [[3, 4], [3, 50], slice(2, None)])
    def test_a_label_that_a_fold_lacks_has_its_base_rate(self, rows, ensemble):
        """Both documents, or all but both, in one fold; or one in each of two folds of three."""
        rare = YL.copy()
        rare[:, 1] = 0
        rare[rows, 1] = 1
        names = pd.DataFrame(rare, columns=["corn", "gold", "oil"])
        base, calibrator = OneVsRestClassifier(LinearSVC()), ScoreCalibrator(inference="mle")
        settings = {"cv": KFold(3), "ensemble": ensemble}
        classifier = CalibratedClassifier(base, calibrator, **settings)
        held_out = not ensemble and rows == [3, 50]  # each trains where the other is held out
        if held_out:
            found = classifier.fit(XL, names).predict_proba(XL)[:, 1]
            assert np.ptp(found) > 0.0
            return
        with pytest.warns(UserWarning, match=r"too few folds \('gold'\).* a splitter that strat"):
            classifier.fit(XL, names)
        found = classifier.predict_proba(XL)
        k, n = rare[:, 1].sum(), len(rare)
        np.testing.assert_allclose(found[:, 1], (k + 1.0) / (n + 2.0))
        assert (np.ptp(found[:, [0, 2]], axis=0) > 0.1).all()

    def test_pooled_labels_may_lack_positives_in_a_test_part(self):
        rare = YL.copy()
        rare[:, 1] = 0
        rare[[3, 50], 1] = 1  # in two of three folds
        topics = TopicCalibrator(parts="gaussian", draws=50, random_state=0)
        base = OneVsRestClassifier(LinearSVC())
        pooled = CalibratedClassifier(base, topics, cv=3, ensemble=True).fit(XL, rare)
        assert pooled.predict_interval(XL).shape == (120, 3, 2)


class TestWeights:
    def test_reach_estimator_and_calibrator(self):
        weight = np.random.default_rng(0).uniform(1, 2, 120)
        classifier = CalibratedClassifier(Recorder(), QUICK, cv=3).fit(X, Y, weight)
        assert sorted(len(w) for _, w, _ in Recorder.seen) == [80, 80, 80, 120]
        for features, given, _ in Recorder.seen:
            row = np.flatnonzero((X[:, None, 0] == features[None, :, 0]).any(axis=1))
            np.testing.assert_array_equal(given, weight[row])
        kept = classifier.posterior_["constant_data"]["weight"]
        np.testing.assert_array_equal(kept, weight)

    def test_weight_of_2_is_a_repetition(self):
        weight = np.where(np.arange(120) % 3 == 0, 2.0, 1.0)
        base = LogisticRegression(tol=1e-10).fit(X, Y)
        once = CalibratedClassifier(FrozenEstimator(base), QUICK).fit(X, Y, weight)
        rows = np.repeat(np.arange(120), weight.astype(int))
        twice = CalibratedClassifier(FrozenEstimator(base), QUICK).fit(X[rows], Y[rows])
        np.testing.assert_allclose(once.predict_proba(X), twice.predict_proba(X), atol=1e-6)
        without = CalibratedClassifier(FrozenEstimator(base), QUICK).fit(X, Y)
        assert np.abs(without.predict_proba(X) - once.predict_proba(X)).max() > 1e-3

    def test_of_a_frozen_estimator_go_to_the_calibrator(self):
        base = FrozenEstimator(KNeighborsClassifier().fit(X, Y))
        weight = np.linspace(1, 2, 120)
        for routed in (False, True):
            with config_context(enable_metadata_routing=routed):
                classifier = CalibratedClassifier(base, QUICK).fit(X, Y, weight)
            kept = classifier.posterior_["constant_data"]["weight"]
            np.testing.assert_array_equal(kept, weight)


class TestRouting:
    def test_estimator_gets_what_it_requests(self):
        weight = np.linspace(1, 2, 120)
        with config_context(enable_metadata_routing=True):
            for asked, expected in ((True, [80, 80, 80, 120]), (False, [])):
                Recorder.seen = []
                base = Recorder().set_fit_request(sample_weight=asked, shift=True)
                classifier = CalibratedClassifier(base, QUICK, cv=3)
                classifier.fit(X, Y, sample_weight=weight, shift=3.0)
                given = [len(w) for _, w, _ in Recorder.seen if w is not None]
                assert sorted(given) == expected
                assert {shift for _, _, shift in Recorder.seen} == {3.0}
                kept = classifier.posterior_["constant_data"]["weight"]
                np.testing.assert_array_equal(kept, weight)

    def test_the_last_step_of_a_pipeline_takes_weights(self):
        weight = np.linspace(1, 2, 120)
        inner = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), Recorder()))
        Recorder.seen = []
        CalibratedClassifier(inner, QUICK, cv=3).fit(X, Y, sample_weight=weight)
        assert sorted(len(w) for _, w, _ in Recorder.seen) == [80, 80, 80, 120]

    def test_weights_of_a_classifier_that_takes_none_reach_the_calibrators(self):
        weight = np.linspace(1, 2, 120)
        for estimator in (KNeighborsClassifier(), make_pipeline(KNeighborsClassifier())):
            with pytest.warns(UserWarning, match="takes no sample_weight: the weights reach the"):
                fitted = CalibratedClassifier(estimator, QUICK, cv=3).fit(X, Y, weight)
            np.testing.assert_array_equal(fitted.posterior_["constant_data"]["weight"], weight)

    def test_weights_that_nobody_decided_on(self):
        with config_context(enable_metadata_routing=True):
            with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
                CalibratedClassifier(Recorder(), QUICK).fit(X, Y, sample_weight=np.ones(120))
            default = CalibratedClassifier(None, QUICK).fit(X, Y, sample_weight=np.ones(120))
        assert isinstance(default.calibrated_classifiers_[0].estimator, LinearSVC)

    @pytest.mark.parametrize("routed", [False, True])
    @pytest.mark.parametrize("ensemble", [False, True])
    def test_groups_stay_together(self, routed, ensemble):
        group = np.arange(120) // 6
        with config_context(enable_metadata_routing=routed):
            CalibratedClassifier(Recorder(), QUICK, cv=GroupKFold(4), ensemble=ensemble).fit(
                X, Y, groups=group
            )
        parts = [features for features, _, _ in Recorder.seen if len(features) < 120]
        assert len(parts) == 4
        for features in parts:
            trained = np.isin(X[:, 0], features[:, 0])
            for one in range(20):
                assert trained[group == one].all() or not trained[group == one].any()

    def test_fit_parameters_without_routing(self):
        CalibratedClassifier(Recorder(), QUICK, cv=3).fit(X, Y, shift=np.arange(120.0))
        assert sorted(len(shift) for _, _, shift in Recorder.seen) == [80, 80, 80, 120]
        with pytest.raises(TypeError, match="no_such_thing"):
            CalibratedClassifier(Recorder(), QUICK).fit(X, Y, no_such_thing=1)


class TestPredictions:
    def test_arguments(self):
        two = CalibratedClassifier(LinearSVC(), QUICK).fit(X, Y)
        four = CalibratedClassifier(LinearSVC(), QUICK).fit(X4, Y4)
        folds = CalibratedClassifier(LinearSVC(), QUICK, ensemble=True).fit(X, Y)
        with pytest.raises(ValueError, match="level must lie between 0 and 1"):
            two.predict_interval(X, 95)
        with pytest.raises(ValueError, match="kind must be one of"):
            two.predict_interval(X, kind="wald")
        with pytest.raises(ValueError, match="draws must be a whole number from 1 to 200, got 201"):
            four.sample_proba(X4, 201)
        for classifier, features in ((four, X4), (folds, X)):
            with pytest.raises(ValueError, match="is a band for one curve"):
                classifier.predict_interval(features, kind="simultaneous")

    def test_maximum_likelihood_has_no_interval(self):
        point = ScoreCalibrator(inference="mle")
        classifier = CalibratedClassifier(LinearSVC(), point).fit(X, Y)
        with pytest.raises(ValueError, match="needs a posterior and inference='mle' has none"):
            classifier.predict_interval(X)
        with pytest.raises(AttributeError, match="has no posterior"):
            _ = classifier.posterior_


def test_parameters_of_scikit_learn_s_classifier_are_explained():
    with pytest.raises(TypeError, match=r"takes calibrator= in place of .*calibrator='isotonic'"):
        CalibratedClassifier(method="isotonic")
    with pytest.raises(ValueError, match=r"cv must be .*'prefit': .*FrozenEstimator"):
        CalibratedClassifier(cv="prefit").fit([[0.0], [1.0]] * 4, [0, 1] * 4)
    parameters = CalibratedClassifier(cv=3).get_params()
    assert "method" not in parameters
    assert clone(CalibratedClassifier(cv=3)).get_params() == parameters
