"""Priors of more than two classes: P_c q_c / r_c, normalised, in every answer."""

import numpy as np
import pytest
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from bayescal import CalibratedClassifier, ScoreCalibrator, TopicCalibrator

QUICK = ScoreCalibrator("gaussian", draws=200, random_state=4)
X, CODES = make_classification(
    240, n_informative=5, n_classes=3, weights=[0.6, 0.2], random_state=3
)
Y = np.array(["corn", "gold", "oil"])[CODES]
Q = np.array([0.9, 0.09, 0.01])


class Unchanged(ClassifierMixin, BaseEstimator):
    """A calibrator whose scores are log-odds."""

    def fit(self, scores, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, scores):
        p = special.expit(scores)
        return np.hstack([1 - p, p])


def by_hand(p, q, shares):
    moved = p * q / shares
    return moved / moved.sum(axis=-1, keepdims=True)


def test_an_example_by_hand():
    p = np.tile([0.5, 0.3, 0.2], (6, 1))
    classifier = CalibratedClassifier("probabilities", Unchanged()).fit(p, [0, 1, 2, 0, 1, 2])
    found = classifier.predict_proba(p[:1], Q)[0]
    np.testing.assert_allclose(found, np.array([0.45, 0.027, 0.002]) / 0.479)
    np.testing.assert_allclose(classifier.predict_proba(p[:1], [1 / 3] * 3), p[:1], 1e-12)
    # The likeliest shares may be of no document of a class.
    none = classifier.predict_proba(p[:1], [0.75, 0.25, 0.0])[0]
    np.testing.assert_allclose(none, [1.5 / 1.8, 0.3 / 1.8, 0.0], atol=1e-12)


@pytest.mark.parametrize("calibrator", ["ours", "topics", "sigmoid", "temperature"])
@pytest.mark.parametrize("ensemble", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_answer(calibrator, ensemble, weighted):
    weight = np.where(CODES == 1, 3.0, 1.0) if weighted else None
    topics = TopicCalibrator(parts="gaussian", draws=50, random_state=0)
    calibrator = {"ours": QUICK, "topics": topics}.get(calibrator, calibrator)
    base = LinearSVC(random_state=0)
    classifier = CalibratedClassifier(base, calibrator, cv=2, ensemble=ensemble).fit(X, Y, weight)
    shares = np.bincount(CODES, weight) / (240 if weight is None else weight.sum())
    p = classifier.predict_proba(X)
    if ensemble:
        # Folds are shifted one by one, each by its own shares: these are nearly the same.
        tolerance = 0.05
        parts = [pair.predict_proba(X) for pair in classifier.calibrated_classifiers_]
        expected = np.mean([by_hand(each, Q, shares) for each in parts], axis=0)
    else:
        tolerance, expected = 1e-9, by_hand(p, Q, shares)
    found = classifier.predict_proba(X, Q)
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance)
    np.testing.assert_allclose(np.exp(classifier.predict_log_proba(X, Q)), found)
    np.testing.assert_allclose(
        classifier.decision_function(X, Q), special.logit(found), rtol=1e-6, atol=1e-9
    )
    assert (classifier.predict(X, Q) == classifier.classes_[found.argmax(axis=1)]).all()
    if isinstance(calibrator, str):
        return
    drawn, before = classifier.sample_proba(X, prior=Q), classifier.sample_proba(X)
    if not ensemble:
        np.testing.assert_allclose(drawn, by_hand(before, Q, shares), atol=1e-9)
    for kind in ("pointwise", "hdi"):
        lower, upper = np.moveaxis(classifier.predict_interval(X, 0.8, kind, Q), 2, 0)
        inside = (lower <= drawn) & (drawn <= upper)
        assert abs(inside.mean() - 0.8) < 0.02


def test_the_prior_that_is_likeliest_by_expectation_maximisation_is_a_fixed_point():
    """Saerens: with the maximising prior, it is the mean of the probabilities it gives."""
    classifier = CalibratedClassifier(LinearSVC(random_state=0), QUICK).fit(X, Y)
    new = X[CODES != 0]
    shares = np.bincount(CODES) / 240
    ratio, found = classifier.predict_proba(new) / shares, shares
    for _ in range(1000):
        joint = ratio * found
        found = (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
    mean = classifier.predict_proba(new, prior=found).mean(axis=0)
    np.testing.assert_allclose(mean, found, atol=1e-5)


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.5, 0.6, -0.1], "prior must not be negative, got -0.1"),
        ([0.5, 0.2, 0.2], "prior must sum to 1 over the classes, got 0.9"),
        ([0.5, np.nan, 0.5], "prior must sum to 1 over the classes, got nan"),
        (["a", "b", "c"], "prior must be real numbers"),
        (np.ma.masked_equal([0.5, 0.25, 0.25], 0.5), "prior must hold no masked value, got 1 of 3"),
    ],
)
def test_bad_priors(prior, message):
    classifier = CalibratedClassifier(LinearSVC(random_state=0), QUICK).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        classifier.predict_proba(X, prior)


@pytest.mark.slow
def test_bands_hold_for_a_population_with_other_shares():
    """The mean of 24 coverages has a standard deviation of .02; curves shifted alone gave .60."""
    rng, means = np.random.default_rng(1), np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])

    def documents(code):
        x = rng.normal(means[code])
        return special.softmax(x @ means.T - (means**2).sum(axis=1) / 2, axis=1)

    held = []
    for seed in range(24):
        code = rng.choice(3, 240)
        calibrator = ScoreCalibrator(draws=250, random_state=seed)
        classifier = CalibratedClassifier("probabilities", calibrator).fit(documents(code), code)
        later = documents(rng.choice(3, 100, p=Q))
        truth = by_hand(later, Q, 1 / 3)
        lower, upper = np.moveaxis(classifier.predict_interval(later, 0.9, prior=Q), 2, 0)
        held.append(((lower <= truth) & (truth <= upper)).mean())
    assert np.mean(held) > 0.82


def test_masked_priors_of_labels_are_refused():
    y = np.stack([CODES == 0, CODES == 1], axis=1).astype(int)
    base = OneVsRestClassifier(LinearSVC(random_state=0))
    classifier = CalibratedClassifier(base, QUICK, cv=2).fit(X, y)
    with pytest.raises(ValueError, match="prior must hold no masked value"):
        classifier.predict_proba(X, np.ma.masked_equal([0.5, 0.25], 0.5))
