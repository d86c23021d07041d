"""All that takes arrays refuses masked values, and what is no array, by the argument's name."""

import re
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from bayescal import (
    CalibratedClassifier,
    CombinedClassifier,
    MulticlassCalibrator,
    OnlineCombiner,
    ScoreCalibrator,
    TopicCalibrator,
    decisions,
    likelihood_ratio,
    metrics,
    monitoring,
    ranking,
    sampling,
    text,
)
from bayescal.calibrators import comparison
from bayescal.combining.indicators import ReliabilityIndicators
from bayescal.combining.tasks import PooledCombiner
from bayescal.plots import ProbabilityDisplay, ReliabilityDisplay
from bayescal.support.validation import unmasked

X, Y = make_classification(60, n_informative=4, random_state=3)
S = X[:, 0] + 2.0 * Y
P = 1.0 / (1.0 + np.exp(-S))
W, T, DRAWS = np.ones(60), np.repeat(["corn", "oil"], 30), np.tile(P, (20, 1))
Q = np.repeat([1, 2], 30)
BOTH = np.column_stack([1.0 - P, P])
PARTLY = np.where(np.arange(60) < 40, Y, np.nan)
SCORED, FORECAST, DOCUMENTS = {"scores": S, "y": Y}, {"y_true": Y, "y_prob": P}, {"X": X, "y": Y}
COUNTED, WEIGHTED = {"X": np.abs(X), "y": Y}, {"sample_weight": W}
FEW = {"draws": 20, "random_state": 0}
SVC, PAIR = LinearSVC(random_state=0), [("svm", LinearSVC()), ("naive_bayes", GaussianNB())]


def quick(**options):
    return ScoreCalibrator("gaussian", draws=20, chains=1, random_state=0, **options)


def topics():
    return TopicCalibrator("none", "gaussian", draws=20, chains=1, random_state=0)


def classifier():
    return CalibratedClassifier(SVC, quick(), cv=2)


FITTED, OF_TOPICS = quick().fit(S, Y), topics().fit(S, Y, T)
COMBINED = CombinedClassifier(PAIR, cv=2, combiner="logistic")


# What is called, and its arrays: each is masked in turn.
CASES = {
    "ScoreCalibrator.fit": (quick().fit, SCORED | WEIGHTED),
    "ScoreCalibrator.update": (FITTED.update, {"scores": S, "labels": Y, **WEIGHTED}),
    "ScoreCalibrator.predict_proba": (FITTED.predict_proba, {"scores": S, "prior": P}),
    "ScoreCalibrator.predict_interval": (FITTED.predict_interval, {"scores": S, "prior": P}),
    "TopicCalibrator.fit": (topics().fit, {"scores": S, "labels": Y, "topics": T, **WEIGHTED}),
    "TopicCalibrator.fit wide": (
        topics().fit,
        {"scores": np.column_stack([S, S]), "labels": np.column_stack([Y, Y]), **WEIGHTED},
    ),
    "TopicCalibrator.predict": (OF_TOPICS.predict_proba, {"scores": S, "topics": T, "prior": P}),
    "CalibratedClassifier.fit": (classifier().fit, DOCUMENTS | WEIGHTED),
    "CalibratedClassifier.predict_proba": (classifier().fit(X, Y).predict_proba, {"X": X}),
    "classifier of labels": (partial(classifier().fit, X), {"y": np.column_stack([Y, 1 - Y])}),
    "probabilities": (CalibratedClassifier("probabilities", quick()).fit, {"X": BOTH, "y": Y}),
    "CombinedClassifier.fit": (COMBINED.fit, DOCUMENTS | WEIGHTED),
    "CombinedClassifier.predict": (clone(COMBINED).fit(X, Y).predict, {"X": X}),
    "OnlineCombiner.fit": (
        OnlineCombiner("winnow").fit,
        {"P": BOTH, "y": Y, "awake": BOTH > 0.0, "classes": np.arange(2)},
    ),
    "OnlineCombiner, indicators": (partial(OnlineCombiner().fit, BOTH, Y), {"indicators": BOTH}),
    "PooledCombiner.fit": (PooledCombiner(cv=2).fit, {**DOCUMENTS, "task": T}),
    "ReliabilityIndicators.fit": (ReliabilityIndicators(PAIR).fit, COUNTED),
    "brier_score": (metrics.brier_score, FORECAST | WEIGHTED),
    "log_loss": (metrics.log_loss, FORECAST | WEIGHTED),
    "calibration_error": (metrics.calibration_error, FORECAST),
    "calibration_verdict": (metrics.calibration_verdict, FORECAST),
    "reliability_curve": (metrics.reliability_curve, FORECAST),
    "spiegelhalter_test": (metrics.spiegelhalter_test, FORECAST),
    "top_label": (metrics.top_label, {"y_true": Y, "y_prob": BOTH}),
    "losses": (metrics.losses, {"log_odds": S, "positive": Y == 1, **WEIGHTED}),
    "pointwise_losses": (metrics.pointwise_losses, FORECAST),
    "bootstrap_interval": (
        partial(metrics.bootstrap_interval, metrics.brier_score, resamples=10),
        FORECAST | WEIGHTED,
    ),
    "posterior_interval": (
        partial(metrics.posterior_interval, metrics.brier_score),
        {"y_true": Y, "draws": DRAWS, **WEIGHTED},
    ),
    "decide": (decisions.decide, {"draws": DRAWS, "costs": np.array([[0.0, 5.0], [1.0, 0.0]])}),
    "with_abstention": (
        decisions.with_abstention,
        {"costs": np.tile([[0.0, 5.0], [1.0, 0.0]], (60, 1, 1)), "abstain_cost": W},
    ),
    "value_of_label": (
        partial(decisions.value_of_label, costs=[[0, 5], [1, 0]]),
        {"draws": DRAWS, "candidates": np.arange(60)},
    ),
    "count_positives": (decisions.count_positives, {"draws": DRAWS}),
    "threshold_for_recall": (
        partial(decisions.threshold_for_recall, recall=0.5),
        {"scores": S, "draws": DRAWS},
    ),
    "thresholds_by_topic": (
        partial(decisions.thresholds_by_topic, OF_TOPICS, recall=0.5),
        {"scores": S, "topics": T},
    ),
    "estimate_prior": (partial(monitoring.estimate_prior, FITTED), {"scores": S}),
    "DriftMonitor.update": (monitoring.DriftMonitor(FITTED).update, {"scores": S, "labels": Y}),
    "paired_bootstrap": (
        partial(comparison.paired_bootstrap, resamples=10),
        {"loss_a": S, "loss_b": P, "groups": Q},
    ),
    "SVMMAPRanker.fit": (ranking.SVMMAPRanker(tol=10.0).fit, {**DOCUMENTS, "qid": Q}),
    "SVMMAPRanker.predict": (ranking.SVMMAPRanker(tol=10.0).fit(X, Y, Q).predict, {"X": X}),
    "average_precision": (ranking.average_precision, {"y": Y, "scores": S, "qid": Q}),
    "RelevanceCalibrator.fit": (ranking.RelevanceCalibrator().fit, {**SCORED, "qid": Q}),
    "naive Bayes": (text.BernoulliNaiveBayes().fit, COUNTED),
    "naive Bayes, later": (text.BernoulliNaiveBayes().fit(**COUNTED).predict, {"X": np.abs(X)}),
    "NearestNeighbours.fit": (text.NearestNeighbours().fit, COUNTED),
    "DecisionTree.fit": (text.DecisionTree().fit, COUNTED),
    "MutualInformationSelector.fit": (text.MutualInformationSelector().fit, COUNTED),
    "mutual_information": (text.mutual_information, {"counts": np.abs(X), "positive": Y == 1}),
    "cross_val_scores": (partial(text.cross_val_scores, GaussianNB(), X), {"labels": Y}),
    "audit": (partial(monitoring.audit, **FEW), {"y": Y, "p": P, "sites": Q, **WEIGHTED}),
    "Recalibrator.fit": (
        monitoring.Recalibrator("partial", draws=20).fit,
        {"p": P, "y": Y, "sites": Q, **WEIGHTED},
    ),
    "foresee": (
        lambda p, s, y: monitoring.foresee(p, p, reference=(s, y)),
        {"p": P, "s": P, "y": Y},
    ),
    "plan_sample": (
        partial(sampling.plan_sample, n=9, random_state=0),
        {"scores": S, "labels": PARTLY, "groups": np.arange(60) // 2},
    ),
    "stop_review": (
        partial(sampling.stop_review, recall=0.5, random_state=0),
        {"scores": S, "labels": PARTLY},
    ),
    "cllr": (likelihood_ratio.cllr, {"y_true": Y, "log10_lr": S, **WEIGHTED}),
    "empirical_cross_entropy": (
        partial(likelihood_ratio.empirical_cross_entropy, Y, S),
        {"log10_prior_odds": np.zeros(5)},
    ),
    "source_weights": (
        likelihood_ratio.source_weights,
        {"y_true": Y, "a": np.arange(60), "b": np.arange(60) + 60 * (Y == 0)},
    ),
    "class_verdict": (
        metrics.class_verdict,
        {"y_true": Y, "y_prob": BOTH, "classes": np.arange(2), "draws": np.tile(BOTH, (5, 1, 1))},
    ),
    "conformal_sets": (decisions.conformal_sets, {"y_prob": BOTH, "y_true": Y, "new_prob": BOTH}),
    "set_coverage": (decisions.set_coverage, {"sets": BOTH > 0.3, "y_true": Y}),
    "ReliabilityDisplay": (ReliabilityDisplay.from_predictions, FORECAST),
    "ReliabilityDisplay with pos_label": (
        lambda y_true: ReliabilityDisplay.from_predictions(y_true, P, pos_label=0),
        {"y_true": Y},
    ),
    "ProbabilityDisplay": (partial(ProbabilityDisplay.from_estimator, FITTED), SCORED),
}


def hide(values):
    """Return values of which one is masked."""
    mask = np.zeros(np.shape(values), dtype=bool)
    mask.flat[min(3, mask.size - 1)] = True
    return np.ma.MaskedArray(values, mask)


@pytest.mark.parametrize(
    ("name", "argument"), [(name, each) for name, (_, arrays) in CASES.items() for each in arrays]
)
def test_is_refused(name, argument):
    function, arrays = CASES[name]
    refused = r"must hold no masked value, got 1 of \d+|must not be missing"
    with pytest.raises(ValueError, match=refused):
        function(**arrays | {argument: hide(arrays[argument])})


# Names of groups, and positions of classes.
NAMED = [
    ("audit", "sites"),
    ("plan_sample", "groups"),
    ("Recalibrator.fit", "sites"),
    ("set_coverage", "y_true"),
    ("source_weights", "a"),
    ("class_verdict", "classes"),
    ("paired_bootstrap", "groups"),
    ("average_precision", "qid"),
]


@pytest.mark.parametrize(("name", "argument"), NAMED)
@pytest.mark.parametrize("blank", [None, pd.NA, np.nan])
def test_missing_names_are_refused(name, argument, blank):
    function, arrays = CASES[name]
    values = arrays[argument].astype(object)
    values[1] = blank
    with pytest.raises(ValueError, match=r"(one type|missing), got .* at position 1: leave"):
        function(**arrays | {argument: values})


@pytest.mark.parametrize("blank", [None, pd.NA, pd.NaT])
def test_missing_labels_of_a_review_are_documents_not_read(blank):
    labels = np.where(np.isnan(PARTLY), blank, Y)
    expected = sampling.plan_sample(S, 9, labels=PARTLY, random_state=0)
    found = sampling.plan_sample(S, 9, labels=labels, random_state=0)
    np.testing.assert_array_equal(found.documents, expected.documents)


def test_sources_are_text_whatever_array_holds_them():
    names = np.array(["ann", "bob"])[Y]
    a, b = names, pd.Series(np.where(Y, names, "cid"), dtype=object)
    expected = likelihood_ratio.source_weights(Y, a, b.to_numpy(str))
    np.testing.assert_array_equal(likelihood_ratio.source_weights(Y, a, b), expected)


def with_one(value):
    def put(values):
        out = np.array(values, dtype=object)
        out.flat[min(3, out.size - 1)] = value
        return out

    return put


KINDS = {
    "a dict among values": with_one({}),
    "rows of several lengths": lambda values: [[1, 2], [3], *([1] * (len(values) - 2))],
    "a set": lambda values: {1, 2},
    "a function": lambda values: len,
    "a word": lambda values: "word",
    "a generator": lambda values: (each for each in values),
}
# Identifiers and texts may come from a generator.
FROM_GENERATORS = {"qid"}


@pytest.mark.parametrize(
    ("name", "argument"), [(name, each) for name, (_, arrays) in CASES.items() for each in arrays]
)
def test_what_is_no_array_is_refused(name, argument):
    function, arrays = CASES[name]
    for kind, made in KINDS.items():
        if kind == "a generator" and argument in FROM_GENERATORS:
            continue
        with pytest.raises((ValueError, TypeError)) as refused:
            function(**arrays | {argument: made(arrays[argument])})
        if refused.type is not ValueError:
            # As scikit-learn's checks expect, and named all the same.
            assert re.match(rf"({argument} must hold|the classifier \w+ ref)", str(refused.value))


SECONDS = Y * np.timedelta64(1, "s")  # numpy takes a second for equal to 1
SOURCES = np.arange(60) * np.timedelta64(1, "s")
FLAWED = pd.DataFrame(X).astype(object)
FLAWED.iloc[3, 1] = pd.NA
TEXTS = ["wheat price" if y else "oil price" for y in Y]


def by_topic(scores, names):
    return decisions.thresholds_by_topic(topics().fit(S, Y, T), scores, names, recall=0.5)


def shifted(label):
    return [label, *Y[1:].tolist()]


# What is no probability, no cost, no prior or out of reach, and what its message names.
WRONG = [
    (lambda: decisions.expected_sets(BOTH - 0.5), "y_prob must hold probabilities"),
    (lambda: decisions.expected_sets(P), r"y_prob must have shape \(n, classes\)"),
    (lambda: decisions.conformal_sets(BOTH, Y, -BOTH), "new_prob must hold probabilities"),
    (lambda: decisions.set_coverage(BOTH, Y), "sets must hold booleans"),
    (lambda: decisions.set_coverage(BOTH > 0.3, Y[:, None, None]), r"y_true must have shape \(n,"),
    (lambda: metrics.class_verdict(Y, BOTH, draws=[-BOTH]), "draws must hold probabilities"),
    (lambda: metrics.class_verdict(Y, BOTH, draws=[np.nan * BOTH]), "draws must hold prob"),
    (lambda: metrics.calibration_verdict(Y, P, draws=[P * 1j]), "draws must be real numbers"),
    (lambda: quick().fit(S, Y).update(S, Y + 0j), "labels must hold text, real numbers"),
    (lambda: monitoring.foresee(P, P, reference=(P, Y + 0j)), "labels must hold text, real"),
    (lambda: metrics.log_loss(Y + 0j, P), "y_true must hold text, real numbers or booleans"),
    (lambda: decisions.count_positives([P * 1j]), "draws must be real numbers"),
    (lambda: decisions.count_positives([[pd.NA, 0.5]]), "draws must be real numbers"),
    (lambda: decisions.decide([P], np.eye(2) * 1j), "costs must be real numbers"),
    (lambda: quick().fit(S, Y).predict_proba(S, prior=0.5j), "prior must be a number"),
    (lambda: quick().fit(S, Y).predict_proba(S, prior=[0.5, np.inf]), "prior must lie between"),
    (lambda: sampling.plan_sample(S, 9, labels=Y * 1j), "labels must be real numbers"),
    (lambda: likelihood_ratio.devpav(Y, S * 1e160), "log10_lr must lie within"),
    (lambda: likelihood_ratio.empirical_cross_entropy(Y, S, 400.0), "log10_prior_odds must lie"),
    (lambda: metrics.log_loss(SECONDS, P), "y_true must hold text, numbers or booleans, got time"),
    (lambda: quick().fit(S, SECONDS), "y must hold text, numbers or booleans, got timedelta64"),
    (lambda: MulticlassCalibrator().fit(BOTH, SECONDS), "y must hold text, numbers or booleans"),
    (lambda: text.mutual_information(P, Y), r"counts must have shape \(documents, words\)"),
    (lambda: metrics.top_label(Y, BOTH * np.nan), "y_prob must hold probabilities"),
    (lambda: metrics.top_label(Y[:, None], BOTH), r"y_true must have shape \(n,\)"),
    (lambda: metrics.losses(S, np.where(Y, "yes", "no")), "positive must hold booleans"),
    (lambda: metrics.losses(S, hide(Y == 1)), "positive must hold no masked value"),
    (
        lambda: metrics.class_verdict(Y, BOTH, draws=[0.9 * BOTH] * 5),
        "draws must sum to 1 .* got 0.9",
    ),
    (lambda: decisions.with_abstention([[0.0, np.nan], [1.0, 0.0]], 0.4), "costs must be finite"),
    (lambda: by_topic(S, [None, *T[1:]]), "topics must hold labels of one type, got None"),
    (lambda: by_topic(S, T.astype("S")), "topics must hold text, numbers or booleans, got bytes"),
    (lambda: by_topic(None, T), "scores must be an array"),
    (lambda: by_topic(S[:, None], T), r"\(n,\), or a column for each of 2 topics, got \(60, 1\)"),
    (lambda: ranking.average_precision(Y, S, 0.5), "qid must hold the query of each document"),
    (lambda: likelihood_ratio.source_weights(Y, SOURCES, Q), "of one type, got dates and numbers"),
    (
        lambda: ReliabilityDisplay.from_predictions(shifted(pd.NA), P, pos_label=1),
        "y_true must hold labels of one type, got <NA> at position 0",
    ),
    (
        lambda: ReliabilityDisplay.from_predictions(Y, P, pos_label="yes"),
        "pos_label must be one of the labels of y_true, 0, 1; got 'yes'",
    ),
    (
        lambda: text.TextCalibrator(folds=2).fit(TEXTS, shifted(None)),
        "y must hold labels of one type, got None at position 0",
    ),
    (lambda: text.TextCalibrator().fit(None, Y), "X must be a sequence of documents, got NoneType"),
    (
        lambda: CombinedClassifier(PAIR, cv=2).fit(FLAWED, Y),
        "the classifier LinearSVC refused X, or another argument: .*NAType",
    ),
    (lambda: quick().fit([10**400, *S[1:].tolist()], Y), "scores must be real numbers"),
    (lambda: quick().fit(np.zeros(60, [("a", float)]), Y), "scores must be real numbers"),
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_messages_name_the_argument(wrong, message):
    with pytest.raises((ValueError, TypeError), match=message):
        wrong()


def test_an_array_without_masked_values_is_an_array_like_others():
    whole = np.ma.MaskedArray(S, np.zeros(60, dtype=bool))
    found = quick().fit(whole, np.ma.MaskedArray(Y)).predict_proba(whole)
    np.testing.assert_array_equal(found, quick().fit(S, Y).predict_proba(S))
    assert unmasked([1, 2], "y") == [1, 2]


@pytest.mark.parametrize("blank", [None, pd.NA, np.nan, pd.NaT])
def test_missing_outcomes_are_refused_by_metrics(blank):
    for outcomes in ([blank, 1, 0], pd.Series([1, blank, 0], dtype=object)):
        with pytest.raises(ValueError, match=r"y_true must .*leave unlabelled documents out"):
            metrics.log_loss(outcomes, [0.1, 0.2, 0.3])


def test_outcomes_of_type_object_are_as_good_as_numbers():
    for outcomes in (np.array([True, False, True], object), pd.array([1, 0, 1], dtype="Int64")):
        assert metrics.log_loss(outcomes, [0.1, 0.2, 0.3]) == pytest.approx(1.2432338162)


def test_masked_labels_of_a_combiner_are_called_what_they_are():
    y = np.ma.array([0, 1, 0, 1], mask=[0, 1, 0, 0])
    with pytest.raises(ValueError, match="y must hold no masked value"):
        OnlineCombiner().fit(np.full((4, 2), 0.3), y)


def test_queries_in_a_pyarrow_column_are_those_of_a_list():
    """Its items are no numbers themselves, so that later queries would all be new ones."""
    column = pa.chunked_array([pa.array(Q[:20]), pa.array(Q[20:])])
    assert ranking.average_precision(Y, S, column).index.tolist() == [1, 2]


def test_what_looks_odd_and_is_right_is_taken():
    model = text.TextCalibrator("naive_bayes", words=2, folds=2, calibrator=quick())
    expected = model.fit(TEXTS, Y).predict_proba(TEXTS)
    np.testing.assert_array_equal(model.predict_proba(pa.array(TEXTS)), expected)
    assert metrics.class_verdict(Y, BOTH, draws=np.tile(BOTH, (20, 1, 1))).with_bands
    assert metrics.log_loss([1, 1], [1.0, 1.0]) == 0.0
    assert metrics.score_decomposition([0, 0], [0.5, 0.5], score=metrics.log_loss).uncertainty == 0


def test_the_order_of_memory_decides_nothing():
    """`detectable` is where a p-value crosses a limit: rounding moved it from 2.26 to 2.38."""
    expected, found = (metrics.class_verdict(Y, p) for p in (BOTH, np.asfortranarray(BOTH)))
    assert found.detectable == expected.detectable


@pytest.mark.parametrize(
    "name",
    [
        "SVMMAPRanker.fit",
        "SVMMAPRanker.predict",
        "PooledCombiner.fit",
        "ReliabilityIndicators.fit",
        "naive Bayes",
        "NearestNeighbours.fit",
        "DecisionTree.fit",
        "MutualInformationSelector.fit",
    ],
)
def test_features_whose_squares_overflow_are_refused(name):
    function, arrays = CASES[name]
    wrong = arrays["X"].astype(float)
    wrong[1, 2] = 1e151
    for table in (wrong, sparse.csr_matrix(wrong)):
        if table is wrong or name.startswith("SVMMAPRanker"):
            with pytest.raises(ValueError, match=r"^X must lie within 1e150 of 0, got 1e\+151"):
                function(**arrays | {"X": table})
