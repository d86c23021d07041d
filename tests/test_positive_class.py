"""`positive=` decides what is reported, and never the order that scikit-learn relies on."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_predict, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from bayescal import (
    CalibratedClassifier,
    CombinedClassifier,
    ScoreCalibrator,
    TopicCalibrator,
    load,
)
from bayescal.monitoring import DriftMonitor, Recalibrator
from bayescal.plots import TopicForestDisplay
from bayescal.support.labels import negative_and_positive, position_by_words
from bayescal.support.score_checks import ScoresWarning
from bayescal.text import TextCalibrator
from bayescal.text.word_models import MultinomialNaiveBayes

LABELS = [[0, 1], ["Responsive", "nonresponsive"], [False, True]]
FAST = {"draws": 50, "random_state": 0}
QUICK = ScoreCalibrator("gaussian", **FAST)
X, CODES = make_classification(120, n_informative=4, class_sep=1.5, weights=[0.6], random_state=3)
SVC = LinearSVC(random_state=0)
# Larger for the first class.
SCORES = -SVC.fit(X[::2], CODES[::2]).decision_function(X)
PAIR = [("svm", SVC), ("naive_bayes", GaussianNB())]
ESTIMATORS = {
    "ScoreCalibrator": (QUICK, SCORES),
    "mle": (ScoreCalibrator(inference="mle"), SCORES),
    "CalibratedClassifier": (CalibratedClassifier(SVC, QUICK, cv=2), X),
    "ensemble": (CalibratedClassifier(SVC, QUICK, cv=2, ensemble=True), X),
    "sigmoid": (CalibratedClassifier(GaussianNB(), "sigmoid", cv=2), X),
    "CombinedClassifier": (CombinedClassifier(PAIR, combiner="logistic", cv=2), X),
}


@pytest.mark.parametrize("labels", LABELS, ids=lambda labels: type(labels[0]).__name__)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_scikit_learn_reads_every_estimator(name, labels):
    estimator, features = ESTIMATORS[name]
    estimator, y = clone(estimator).set_params(positive=labels[0]), np.array(labels)[CODES]
    fitted = estimator.fit(features, y)
    assert fitted.classes_.tolist() == labels
    p = fitted.predict_proba(features)
    assert p[CODES == 1, 1].mean() > 0.7
    assert p[CODES == 0, 1].mean() < 0.3
    assert (fitted.predict(features) == y).mean() > 0.85
    np.testing.assert_allclose(fitted.predict_log_proba(features), np.log(p), atol=1e-6)
    log_odds = np.log(p[:, 1]) - np.log(p[:, 0])
    np.testing.assert_allclose(fitted.decision_function(features), log_odds, rtol=1e-6, atol=1e-6)
    # "roc_auc" calls decision_function, the others predict_proba.
    for scoring, least in (("roc_auc", 0.85), ("neg_log_loss", -0.5), ("accuracy", 0.8)):
        assert cross_val_score(estimator, features, y, scoring=scoring, cv=2).min() > least
    with warnings.catch_warnings():
        # It passes codes for labels, among which text is not found.
        warnings.filterwarnings("ignore", "positive='Responsive' is no label of y")
        columns = cross_val_predict(estimator, features, y, method="predict_proba", cv=2)
    assert roc_auc_score(CODES, columns[:, 1]) > 0.85


@pytest.mark.parametrize("name", ["ScoreCalibrator", "CalibratedClassifier", "ensemble"])
def test_bands_draws_priors_and_problems_are_about_the_positive_class(name):
    estimator, features = ESTIMATORS[name]
    fitted = clone(estimator).set_params(positive=0).fit(features, CODES)
    p = fitted.predict_proba(features)
    lower, upper = fitted.predict_interval(features, 0.99).T
    assert ((lower <= p[:, 0]) & (p[:, 0] <= upper)).mean() > 0.95
    assert np.abs(fitted.sample_proba(features).mean(axis=0) - p[:, 0]).max() < 0.05
    assert (fitted.predict_proba(features, prior=0.99)[:, 0] >= p[:, 0]).all()
    for problem in fitted.fitted_problems().values():
        assert problem.labels.tolist() == [1, 0]


def test_priors_of_both_classes_are_in_sorted_order():
    fitted = CalibratedClassifier(SVC, QUICK, positive=0).fit(X, CODES)
    one = fitted.predict_proba(X, prior=0.9)
    for both in ([0.9, 0.1], {1: 0.1, 0: 0.9}, pd.Series({0: 0.9, 1: 0.1})):
        np.testing.assert_array_equal(fitted.predict_proba(X, prior=both), one)


@pytest.mark.slow
@pytest.mark.parametrize("combiner", ["bayes", LinearSVC()])
def test_combinations(combiner):
    make = {"combiner": combiner, "cv": 2, "random_state": 0}
    first = CombinedClassifier(PAIR, positive=0, **make).fit(X, CODES)
    assert first.classes_.tolist() == [0, 1]
    assert ((first.decision_function(X) > 0) == (first.predict(X) == 1)).all()
    assert roc_auc_score(CODES == 0, first.scores_) > 0.85
    assert roc_auc_score(CODES == 0, first.decide(X, "f1")) > 0.85
    if combiner == "bayes":
        lower, upper = first.predict_interval(X, 0.99).T
        p = first.predict_proba(X)[:, 0]
        assert ((lower <= p) & (p <= upper)).mean() > 0.95
        assert first.fitted_problems()[""].labels.tolist() == [1, 0]


@pytest.mark.parametrize("pooling", ["partial", "none"])
def test_topics(pooling, tmp_path):
    topics = np.repeat(["corn", "oil"], 60)
    fitted = TopicCalibrator(pooling, "gaussian", positive=0, **FAST).fit(SCORES, CODES, topics)
    read = load(fitted.save(tmp_path / "topics.nc"))
    for each in (fitted, read):
        assert each.classes_.tolist() == [0, 1]
        p = each.predict_proba(SCORES, topics)
        assert roc_auc_score(CODES, p[:, 1]) > 0.85
        np.testing.assert_allclose(each.predict_log_proba(SCORES, topics), np.log(p), atol=1e-6)
        log_odds = np.log(p[:, 1] / p[:, 0])
        np.testing.assert_allclose(each.decision_function(SCORES, topics), log_odds, atol=1e-6)
        # Of documents x topics there is P(+) alone.
        wide = each.predict_proba(SCORES[:, None], ["corn"])
        alone = each.predict_proba(SCORES, np.full(120, "corn"))
        np.testing.assert_array_equal(wide[:, 0], alone[:, 0])
        lower, upper = each.predict_interval(SCORES, topics, 0.99).T
        assert ((lower <= p[:, 0]) & (p[:, 0] <= upper)).mean() > 0.95
        assert each.fitted_problems()["corn"].labels.tolist() == [1, 0]
        display = TopicForestDisplay.from_estimator(each, parameter="prior")
        assert "P(0)" in display.data.attrs["label"]
    more = read.add_topics(SCORES[:20], CODES[:20], np.full(20, "rye"))
    assert roc_auc_score(CODES, more.predict_proba(SCORES, np.full(120, "rye"))[:, 1]) > 0.85


def test_lazy_topics_are_those_computed():
    da = pytest.importorskip("dask.array")
    topics = np.repeat(["corn", "oil"], 60)
    fitted = TopicCalibrator(parts="gaussian", positive=0, **FAST).fit(SCORES, CODES, topics)
    lazy = da.from_array(SCORES, chunks=50)
    for method in ("predict_proba", "predict_log_proba", "decision_function"):
        found = getattr(fitted, method)(lazy, topics).compute()
        np.testing.assert_allclose(found, getattr(fitted, method)(SCORES, topics), 1e-3)


def test_files_updates_and_monitors_keep_the_positive_class(tmp_path):
    labels = np.array(["a", "b"])[CODES]
    fitted = ScoreCalibrator("gaussian", positive="a", **FAST).fit(SCORES, labels)
    read = load(fitted.save(tmp_path / "one.nc"))
    assert read.classes_.tolist() == ["a", "b"]
    np.testing.assert_array_equal(read.predict_proba(SCORES), fitted.predict_proba(SCORES))
    quiet = DriftMonitor(fitted, draws=20).update(SCORES, labels)
    swapped = DriftMonitor(fitted, draws=20).update(SCORES, labels[::-1])
    assert quiet.bayes_factors_["any"] < swapped.bayes_factors_["any"]
    updated = fitted.update(SCORES[:50], labels[:50])
    assert roc_auc_score(CODES, updated.predict_proba(SCORES)[:, 1]) > 0.85
    summary = updated.summary()
    assert ("a", "prior") in summary.index


def test_texts():
    texts, labels = (
        ["corn prices up", "corn harvest", "oil prices up", "oil wells"] * 10,
        ["corn", "corn", "oil", "oil"] * 10,
    )
    fitted = TextCalibrator(calibrator=QUICK, positive="corn").fit(texts, labels)
    assert fitted.classes_.tolist() == ["corn", "oil"]
    assert fitted.predict(["a corn field", "an oil field"]).tolist() == ["corn", "oil"]
    assert fitted.predict_proba(["a corn field"])[0, 0] > 0.5
    assert fitted.predict_interval(["a corn field"])[0, 1] > 0.5


def test_codes_in_place_of_labels_are_told_apart_by_the_scores():
    turned = ScoreCalibrator(inference="mle", positive="a")
    with pytest.warns(UserWarning, match="which holds 0 and 1.* 0 is taken for positive"):
        codes = turned.fit(SCORES, CODES)
    assert codes.classes_.tolist() == [0, 1]
    p = codes.predict_proba(SCORES)
    same = clone(turned).fit(SCORES, np.array(["a", "b"])[CODES]).predict_proba(SCORES)
    np.testing.assert_array_equal(p, same)
    with pytest.warns(UserWarning, match="1 is taken for positive"):
        turned.fit(-SCORES, CODES)
    with pytest.raises(ValueError, match="positive must be a label of y, 'b' or 'c', got 'a'"):
        turned.fit(SCORES, np.array(["b", "c"])[CODES])


# By default the words of the labels say which class is positive

SAID = {
    "died": "survived", "event": "no event", "ja": "nein", "oui": "non", "sí": "no", "1": "0",
    "H1": "H2", "Genuine": "impostor", "target": "non-target", "Responsive": "nonresponsive",
    "relevant": "Not relevant", "same": "different", "spam": "ham", "corn": "not corn", 1.0: -1.0,
}  # fmt: skip


@pytest.mark.parametrize("positive", SAID)
def test_words_say_which_label_is_positive(positive):
    negative = SAID[positive]
    assert position_by_words([negative, positive]) == 1
    assert position_by_words([positive, negative]) == 0
    assert position_by_words([positive, "other"]) is None


def test_labels_without_such_words_are_taken_in_sorted_order():
    for labels in ([1, 2], ["a", "b"], ["one", "three"], ["no", "not sure"], ["true", "yes"]):
        assert position_by_words(labels) is None
        fitted = ScoreCalibrator(inference="mle").fit(-SCORES, np.array(labels)[CODES])
        assert negative_and_positive(fitted).tolist() == labels


@pytest.mark.parametrize("name", [*ESTIMATORS, "Recalibrator"])
def test_words_decide_in_every_estimator_and_classes_stay_sorted(name):
    labels = np.array(["died", "survived"])
    shifted = Recalibrator(refit="never", random_state=0)
    estimator, features = {**ESTIMATORS, "Recalibrator": (shifted, 1 / (1 + np.exp(-SCORES)))}[name]
    by_words = clone(estimator).fit(features, labels[CODES])
    named = clone(estimator).set_params(positive="died").fit(features, labels[CODES])
    assert by_words.classes_.tolist() == labels.tolist()
    np.testing.assert_array_equal(by_words.predict_proba(features), named.predict_proba(features))
    assert by_words._fit.turned if hasattr(by_words, "_fit") else by_words._turned


def test_topics_texts_and_files_follow_the_words(tmp_path):
    labels, topics = np.array(["ja", "nein"])[CODES], np.repeat(["corn", "oil"], 60)
    fitted = TopicCalibrator("none", "gaussian", **FAST).fit(SCORES, labels, topics)
    read = load(fitted.save(tmp_path / "topics.nc"))
    assert read.fitted_problems()["oil"].labels.tolist() == ["nein", "ja"]
    assert "P(ja)" in TopicForestDisplay.from_estimator(read, parameter="prior").data.label
    texts = ["corn prices up", "corn harvest", "oil prices up", "oil wells"] * 10
    model = TextCalibrator(calibrator=QUICK).fit(texts, ["ja", "ja", "nein", "nein"] * 10)
    assert model.classes_.tolist() == ["ja", "nein"]
    assert model.predict_interval(["a corn field"])[0, 1] > 0.5
    words = MultinomialNaiveBayes().fit(
        [[2, 0], [3, 1], [0, 2], [1, 3]], ["ja", "ja", "nein", "nein"]
    )
    assert words.classes_.tolist() == ["ja", "nein"]
    assert words.predict([[4, 0], [0, 4]]).tolist() == ["ja", "nein"]


def test_scores_that_contradict_the_words_are_warned_of():
    y = np.array(["died", "survived"])[CODES]
    for fit in (
        lambda: ScoreCalibrator(inference="mle").fit(-SCORES, y),
        lambda: Recalibrator(refit="never").fit(1 / (1 + np.exp(SCORES)), y),
    ):
        with pytest.warns(ScoresWarning, match="'died', the positive one.*positive='survived'"):
            fit()


# predict returns the class whose probability is above one half, whatever the estimator

RNG = np.random.default_rng(0)
LABEL = np.tile(["no", "yes"], 60)
SCORE = RNG.normal(1.5 * (LABEL == "yes"), 1.0)
FINE = np.linspace(-1.0, 3.0, 401)
SHARES = np.linspace(0.005, 0.995, 401)
MLE = ScoreCalibrator("gaussian", "mle")


def of_probabilities():
    fitted = Recalibrator(refit="never", random_state=0)
    return fitted.fit(1.0 / (1.0 + np.exp(-SCORE)), LABEL), (SHARES,)


def of_a_classifier():
    fitted = CalibratedClassifier(LogisticRegression(), MLE, cv=2, random_state=0)
    return fitted.fit(SCORE[:, None], LABEL), (FINE[:, None],)


FITS = {
    "scores": lambda: (ScoreCalibrator("gaussian", "mle").fit(SCORE, LABEL), (FINE,)),
    "the first class": lambda: (
        ScoreCalibrator("gaussian", "mle", positive="no").fit(-SCORE, LABEL), (-FINE,)
    ),
    "probabilities": of_probabilities,
    "a classifier": of_a_classifier,
}  # fmt: skip


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
def test_the_likelier_class_is_predicted(fit):
    estimator, at = fit()
    p = estimator.predict_proba(*at)
    assert estimator.classes_.tolist() == ["no", "yes"]
    found = estimator.predict(*at)
    assert np.unique(found).tolist() == ["no", "yes"]
    np.testing.assert_array_equal(found, estimator.classes_[p.argmax(axis=1)])
    # Near one half a limit elsewhere would show.
    assert np.sort(np.abs(p[:, 1] - 0.5))[5] < 0.05
