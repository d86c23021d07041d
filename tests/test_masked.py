"""A masked value is no value: all that takes arrays refuses one, by its name."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from bayescal import (
    CalibratedClassifier,
    CombinedClassifier,
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
from bayescal.combining import online
from bayescal.combining.indicators import ReliabilityIndicators
from bayescal.combining.tasks import PooledCombiner
from bayescal.plots import ProbabilityDisplay, ReliabilityDisplay
from bayescal.support.validation import unmasked

pytestmark = pytest.mark.one_era

X, Y = make_classification(60, n_informative=4, random_state=3)
S = X[:, 0] + 2.0 * Y
P = 1.0 / (1.0 + np.exp(-S))
W, T, DRAWS = np.ones(60), np.repeat(["corn", "oil"], 30), np.tile(P, (20, 1))
Q = np.repeat([1, 2], 30)
BOTH = np.column_stack([1.0 - P, P])
PARTLY = np.where(np.arange(60) < 40, Y, np.nan)
SVC, PAIR = LinearSVC(random_state=0), [("svm", LinearSVC()), ("naive_bayes", GaussianNB())]


def quick(**options):
    return ScoreCalibrator("gaussian", draws=20, chains=1, random_state=0, **options)


def topics():
    return TopicCalibrator("none", "gaussian", draws=20, chains=1, random_state=0)


def classifier():
    return CalibratedClassifier(SVC, quick(), cv=2)


def ranker():
    return ranking.SVMMAPRanker(tol=10.0)


# What is called, and its arrays: each is masked in turn.
CASES = {
    "ScoreCalibrator.fit": (
        lambda **a: quick().fit(**a),
        {"scores": S, "y": Y, "sample_weight": W},
    ),
    "ScoreCalibrator.update": (
        lambda **a: quick().fit(S, Y).update(**a),
        {"scores": S, "labels": Y, "sample_weight": W},
    ),
    "ScoreCalibrator.predict_proba": (
        lambda **a: quick().fit(S, Y).predict_proba(**a),
        {"scores": S, "prior": P},
    ),
    "ScoreCalibrator.predict_interval": (
        lambda **a: quick().fit(S, Y).predict_interval(**a),
        {"scores": S, "prior": P},
    ),
    "TopicCalibrator.fit": (
        lambda **a: topics().fit(**a),
        {"scores": S, "labels": Y, "topics": T, "sample_weight": W},
    ),
    "TopicCalibrator.fit wide": (
        lambda **a: topics().fit(**a),
        {"scores": np.column_stack([S, S]), "labels": np.column_stack([Y, Y]), "sample_weight": W},
    ),
    "TopicCalibrator.predict_proba": (
        lambda **a: topics().fit(S, Y, T).predict_proba(**a),
        {"scores": S, "topics": T, "prior": P},
    ),
    "CalibratedClassifier.fit": (
        lambda X, y, w: classifier().fit(X, y, w),
        {"X": X, "y": Y, "w": W},
    ),
    "CalibratedClassifier.predict_proba": (
        lambda X: classifier().fit(globals()["X"], Y).predict_proba(X),
        {"X": X},
    ),
    "CalibratedClassifier of labels": (
        lambda y: classifier().fit(X, y),
        {"y": np.column_stack([Y, 1 - Y])},
    ),
    "probabilities": (
        lambda X, y: CalibratedClassifier("probabilities", quick()).fit(X, y),
        {"X": BOTH, "y": Y},
    ),
    "CombinedClassifier.fit": (
        lambda X, y, w: CombinedClassifier(PAIR, cv=2, combiner="logistic").fit(X, y, w),
        {"X": X, "y": Y, "w": W},
    ),
    "CombinedClassifier.predict": (
        lambda X: (
            CombinedClassifier(PAIR, cv=2, combiner="logistic").fit(globals()["X"], Y).predict(X)
        ),
        {"X": X},
    ),
    "OnlineCombiner.fit": (
        lambda **a: OnlineCombiner("winnow").fit(**a),
        {"P": BOTH, "y": Y, "awake": BOTH > 0.0, "classes": np.arange(2)},
    ),
    "OnlineCombiner with indicators": (
        lambda **a: OnlineCombiner().fit(BOTH, Y, **a),
        {"indicators": BOTH},
    ),
    "PooledCombiner.fit": (
        lambda X, y, task: PooledCombiner(cv=2).fit(X, y, task),
        {"X": X, "y": Y, "task": T},
    ),
    "ReliabilityIndicators.fit": (
        lambda X, y: ReliabilityIndicators(PAIR).fit(X, y),
        {"X": np.abs(X), "y": Y},
    ),
    "best_mixture": (online.best_mixture, {"P": BOTH, "y": Y}),
    "weighted_majority_loss": (
        lambda losses: online.weighted_majority_loss(losses, 0.5),
        {"losses": P},
    ),
    "brier_score": (metrics.brier_score, {"y_true": Y, "y_prob": P, "sample_weight": W}),
    "log_loss": (metrics.log_loss, {"y_true": Y, "y_prob": P, "sample_weight": W}),
    "calibration_error": (metrics.calibration_error, {"y_true": Y, "y_prob": P}),
    "calibration_verdict": (metrics.calibration_verdict, {"y_true": Y, "y_prob": P}),
    "calibration_evidence": (metrics.calibration_evidence, {"y_true": Y, "y_prob": P}),
    "reliability_curve": (metrics.reliability_curve, {"y_true": Y, "y_prob": P}),
    "spiegelhalter_test": (metrics.spiegelhalter_test, {"y_true": Y, "y_prob": P}),
    "top_label": (metrics.top_label, {"y_true": Y, "y_prob": BOTH}),
    "losses": (metrics.losses, {"log_odds": S, "positive": Y == 1, "sample_weight": W}),
    "pointwise_losses": (metrics.pointwise_losses, {"y_true": Y, "y_prob": P}),
    "bootstrap_interval": (
        lambda **a: metrics.bootstrap_interval(metrics.brier_score, **a, resamples=10),
        {"y_true": Y, "y_prob": P, "sample_weight": W},
    ),
    "posterior_interval": (
        lambda **a: metrics.posterior_interval(metrics.brier_score, **a),
        {"y_true": Y, "draws": DRAWS, "sample_weight": W},
    ),
    "decide": (decisions.decide, {"draws": DRAWS, "costs": np.array([[0.0, 5.0], [1.0, 0.0]])}),
    "with_abstention": (
        decisions.with_abstention,
        {"costs": np.tile([[0.0, 5.0], [1.0, 0.0]], (60, 1, 1)), "abstain_cost": W},
    ),
    "value_of_label": (
        lambda **a: decisions.value_of_label(costs=[[0, 5], [1, 0]], **a),
        {"draws": DRAWS, "candidates": np.arange(60)},
    ),
    "count_positives": (decisions.count_positives, {"draws": DRAWS}),
    "threshold_for_recall": (
        lambda **a: decisions.threshold_for_recall(recall=0.5, **a),
        {"scores": S, "draws": DRAWS},
    ),
    "thresholds_by_topic": (
        lambda **a: decisions.thresholds_by_topic(topics().fit(S, Y, T), recall=0.5, **a),
        {"scores": S, "topics": T},
    ),
    "estimate_prior": (
        lambda scores: monitoring.estimate_prior(quick().fit(S, Y), scores),
        {"scores": S},
    ),
    "prior_by_em": (
        monitoring.prior_by_em,
        {"y_prob": np.column_stack([BOTH / 2, BOTH / 2]), "prior": np.full(4, 0.25)},
    ),
    "prior_posterior": (monitoring.prior_posterior, {"log_ratio": DRAWS, "sample_weight": W}),
    "DriftMonitor.update": (
        lambda **a: monitoring.DriftMonitor(quick().fit(S, Y)).update(**a),
        {"scores": S, "labels": Y},
    ),
    "paired_bootstrap": (
        lambda a, b, g: comparison.paired_bootstrap(a, b, groups=g, resamples=10),
        {"a": S, "b": P, "g": Q},
    ),
    "paired_sign_test": (comparison.paired_sign_test, {"loss_a": S, "loss_b": P}),
    "SVMMAPRanker.fit": (lambda **a: ranker().fit(**a), {"X": X, "y": Y, "qid": Q}),
    "SVMMAPRanker.predict": (lambda X: ranker().fit(globals()["X"], Y, Q).predict(X), {"X": X}),
    "average_precision": (ranking.average_precision, {"y": Y, "scores": S, "qid": Q}),
    "ndcg": (ranking.ndcg, {"y": Y, "scores": S}),
    "BinnedFunctions.fit": (lambda X: ranking.BinnedFunctions().fit(X), {"X": X}),
    "percentiles_within_queries": (ranking.percentiles_within_queries, {"X": X, "qid": Q}),
    "qid_from_group_sizes": (ranking.qid_from_group_sizes, {"sizes": Q}),
    "RelevanceCalibrator.fit": (
        lambda **a: ranking.RelevanceCalibrator().fit(**a),
        {"scores": S, "y": Y, "qid": Q},
    ),
    "naive Bayes": (lambda X, y: text.BernoulliNaiveBayes().fit(X, y), {"X": np.abs(X), "y": Y}),
    "naive Bayes, later": (
        lambda X: text.BernoulliNaiveBayes().fit(np.abs(globals()["X"]), Y).predict(X),
        {"X": np.abs(X)},
    ),
    "NearestNeighbours.fit": (
        lambda X, y: text.NearestNeighbours().fit(X, y),
        {"X": np.abs(X), "y": Y},
    ),
    "DecisionTree.fit": (lambda X, y: text.DecisionTree().fit(X, y), {"X": np.abs(X), "y": Y}),
    "MutualInformationSelector.fit": (
        lambda X, y: text.MutualInformationSelector().fit(X, y),
        {"X": np.abs(X), "y": Y},
    ),
    "mutual_information": (text.mutual_information, {"counts": np.abs(X), "positive": Y == 1}),
    "cross_val_scores": (
        lambda labels: text.cross_val_scores(GaussianNB(), X, labels),
        {"labels": Y},
    ),
    "audit": (
        lambda **a: monitoring.audit(draws=20, random_state=0, **a),
        {"y": Y, "p": P, "sites": Q, "sample_weight": W},
    ),
    "Recalibrator.fit": (
        lambda **a: monitoring.Recalibrator("partial", draws=20).fit(**a),
        {"p": P, "y": Y, "sites": Q, "sample_weight": W},
    ),
    "foresee": (
        lambda p, s, y: monitoring.foresee(p, p, reference=(s, y)),
        {"p": P, "s": P, "y": Y},
    ),
    "shares_posterior": (
        monitoring.shares_posterior,
        {"ratio": np.tile(BOTH, (5, 1, 1)), "classes": np.arange(2)},
    ),
    "plan_sample": (
        lambda **a: sampling.plan_sample(n=9, random_state=0, **a),
        {"scores": S, "labels": PARTLY, "groups": np.arange(60) // 2},
    ),
    "stop_review": (
        lambda **a: sampling.stop_review(recall=0.5, random_state=0, **a),
        {"scores": S, "labels": PARTLY},
    ),
    "cllr": (likelihood_ratio.cllr, {"y_true": Y, "log10_lr": S, "sample_weight": W}),
    "empirical_cross_entropy": (
        lambda odds: likelihood_ratio.empirical_cross_entropy(Y, S, odds),
        {"odds": np.zeros(5)},
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
    "ReliabilityDisplay": (
        lambda **a: ReliabilityDisplay.from_predictions(**a),
        {"y_true": Y, "y_prob": P},
    ),
    "ReliabilityDisplay with pos_label": (
        lambda y_true: ReliabilityDisplay.from_predictions(y_true, P, pos_label=0),
        {"y_true": Y},
    ),
    "ProbabilityDisplay": (
        lambda scores, y: ProbabilityDisplay.from_estimator(quick().fit(S, Y), scores, y),
        {"scores": S, "y": Y},
    ),
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
    ("shares_posterior", "classes"),
    ("source_weights", "a"),
    ("class_verdict", "classes"),
    ("paired_bootstrap", "g"),
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


# What is no probability, no cost, no prior or out of reach, and what its message names.
WRONG = [
    (lambda: decisions.expected_sets(BOTH - 0.5), "y_prob must hold probabilities"),
    (lambda: decisions.expected_sets(P), r"y_prob must have shape \(n, classes\)"),
    (lambda: decisions.conformal_sets(BOTH, Y, -BOTH), "new_prob must hold probabilities"),
    (lambda: decisions.set_coverage(BOTH, Y), "sets must hold booleans"),
    (lambda: decisions.set_coverage(BOTH > 0.3, Y[:, None, None]), r"y_true must have shape \(n,"),
    (lambda: metrics.class_verdict(Y, BOTH, draws=[-BOTH]), "draws must lie between 0 and 1"),
    (lambda: metrics.class_verdict(Y, BOTH, draws=[np.nan * BOTH]), "draws must lie between 0"),
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
]


@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_messages_name_the_argument(wrong, message):
    with pytest.raises(ValueError, match=message):
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
