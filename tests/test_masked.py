"""Wrong arrays beside those of test_recorded.py, and odd ones that are right."""

from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
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
from bayescal.combining.indicators import ReliabilityIndicators
from bayescal.combining.tasks import PooledCombiner
from bayescal.plots import ReliabilityDisplay
from bayescal.support.validation import unmasked
from tests.test_recorded import hide

X, Y = make_classification(60, n_informative=4, random_state=3)
S = X[:, 0] + 2.0 * Y
P = 1.0 / (1.0 + np.exp(-S))
T, Q = np.repeat(["corn", "oil"], 30), np.repeat([1, 2], 30)
BOTH = np.column_stack([1.0 - P, P])
PARTLY = np.where(np.arange(60) < 40, Y, np.nan)
PAIR = [("svm", LinearSVC()), ("naive_bayes", GaussianNB())]


def quick(**options):
    return ScoreCalibrator("gaussian", draws=20, chains=1, random_state=0, **options)


def topics():
    return TopicCalibrator("none", "gaussian", draws=20, chains=1, random_state=0)


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
    (lambda: text.mutual_information([[np.nan, 1.0]] * 60, Y), "counts must be finite, got nan"),
    (lambda: metrics.top_label(Y, BOTH * np.nan), "y_prob must hold probabilities"),
    (lambda: metrics.top_label(Y[:, None], BOTH), r"y_true must have shape \(n,\)"),
    (lambda: metrics.losses(S, np.where(Y, "yes", "no")), "positive must hold booleans"),
    (lambda: metrics.losses(S, hide(Y == 1)), "positive must hold no masked value"),
    (lambda: topics().fit(hide(BOTH), np.column_stack([Y, Y])), "scores must hold no masked"),
    (lambda: topics().fit(BOTH, hide(np.column_stack([Y, Y]))), "labels must hold no masked"),
    (
        lambda: CalibratedClassifier().fit(X, hide(np.column_stack([Y, 1 - Y]))),
        "y must hold no masked",
    ),
    (lambda: monitoring.foresee(P, P, reference=(hide(P), Y)), "must hold no masked value"),
    (
        lambda: likelihood_ratio.empirical_cross_entropy(Y, S, hide(np.zeros(5))),
        "log10_prior_odds must hold no masked value",
    ),
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


OF_FEATURES = [
    partial(ranking.SVMMAPRanker(tol=10.0).fit, y=Y, qid=Q),
    ranking.SVMMAPRanker(tol=10.0).fit(X, Y, Q).predict,
    partial(PooledCombiner(cv=2).fit, y=Y, task=T),
    partial(ReliabilityIndicators(PAIR).fit, y=Y),
    *(
        partial(estimator.fit, y=Y)
        for estimator in (
            text.BernoulliNaiveBayes(),
            text.NearestNeighbours(),
            text.DecisionTree(),
            text.MutualInformationSelector(),
        )
    ),
]


@pytest.mark.parametrize("fit", OF_FEATURES)
def test_features_whose_squares_overflow_are_refused(fit):
    wrong = np.abs(X)
    wrong[1, 2] = 1e151
    for table in (wrong, sparse.csr_matrix(wrong)):
        if table is wrong or fit in OF_FEATURES[:2]:
            with pytest.raises(ValueError, match=r"^X must lie within 1e150 of 0, got 1e\+151"):
                fit(table)
