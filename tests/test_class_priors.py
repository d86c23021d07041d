"""Priors of more than two classes in every answer, and shares of classes in a collection."""

import numpy as np
import pytest
from scipy import special, stats
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from bayescal import CalibratedClassifier, MulticlassCalibrator, ScoreCalibrator, TopicCalibrator
from bayescal.monitoring import estimate_prior, estimate_shares, prior_by_em
from bayescal.monitoring.class_shares import shares_of

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
    # prior_by_em may find that no document is of a class.
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
    found = prior_by_em(classifier.predict_proba(new), shares).prior
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


# Shares of several classes in a new collection

SHARES = np.array([0.7, 0.25, 0.05])


def shares_posterior(ratio, concentration=1.0, level=0.9, rng=None):
    return shares_of(ratio, np.arange(3), concentration, level, rng)


def simulated(n, shares, rng):
    """Return scores and labels of three normal classes, and exact P(class | scores)."""
    y = rng.choice(3, p=shares, size=n)
    scores = 2.0 * np.eye(3)[y] + rng.normal(size=(n, 3))
    return scores, y


def exact(scores, shares):
    # Normal densities of unit variance around 2 e_c: log ratios 2 s_c, whatever the others.
    return special.softmax(2.0 * scores + np.log(shares), axis=1)


def test_without_overlap_it_is_a_dirichlet_distribution():
    ratio = np.eye(3)[np.repeat([0, 1, 2], [3, 10, 40])] + 1e-300
    found = shares_posterior(np.tile(ratio, (1200, 1, 1)), rng=0)
    alpha = np.array([4.0, 11.0, 41.0])
    np.testing.assert_allclose(found.mean, alpha / 56.0, atol=4 * 0.05 / np.sqrt(1200))
    for k in range(3):
        p = stats.kstest(found.draws[:, k], stats.beta(alpha[k], 56.0 - alpha[k]).cdf).pvalue
        assert p > 1e-3


def test_agrees_with_a_grid_where_classes_overlap():
    rng = np.random.default_rng(1)
    ratio = rng.dirichlet([0.6, 0.6, 0.6], size=25)
    found = shares_posterior(np.tile(ratio, (1000, 1, 1)), concentration=2.0, rng=0)
    edges = (np.arange(200) + 0.5) / 200
    a, b = np.meshgrid(edges, edges, indexing="ij")
    inside = a + b < 1.0
    grid = np.stack([a[inside], b[inside], 1.0 - a[inside] - b[inside]], axis=1)
    density = np.log(ratio @ grid.T).sum(axis=0) + np.log(grid).sum(axis=1)
    weight = special.softmax(density)
    mean = weight @ grid
    sd = np.sqrt(weight @ (grid - mean) ** 2)
    np.testing.assert_allclose(found.mean, mean, atol=4 * sd.max() / np.sqrt(1000) + 0.003)
    np.testing.assert_allclose(found.draws.std(axis=0), sd, rtol=0.12)


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(3)
    scores, y = simulated(200, np.ones(3) / 3, rng)
    return MulticlassCalibrator(random_state=0).fit(scores, y)


@pytest.mark.slow
def test_shares_make_probabilities_consistent(fitted):
    scores, y = simulated(500, SHARES, np.random.default_rng(4))
    found = estimate_shares(fitted, scores, level=0.99, random_state=0)
    assert found.draws.shape == (400, 3)
    assert ((found.lower < SHARES) & (found.upper > SHARES)).all()
    # At the mode of the shares the mean probability of a class is its share, but for the prior.
    p = fitted.predict_proba(scores, prior=found.draws)
    np.testing.assert_allclose(p.mean(axis=0), found.mean, atol=0.01)
    by_em = prior_by_em(fitted.predict_proba(scores), fitted.share_).prior
    np.testing.assert_allclose(found.mean, by_em, atol=0.03)
    loss = -np.log(p[np.arange(500), y]).mean()
    assert loss < -np.log(fitted.predict_proba(scores)[np.arange(500), y]).mean()
    # Bands that know neither map nor shares are wider.
    wide = np.ptp(fitted.predict_interval(scores, prior=found.draws), axis=2).mean()
    assert wide > np.ptp(fitted.predict_interval(scores, prior=found.mean), axis=2).mean()


@pytest.mark.parametrize("wrong", [{"concentration": 0.0}, {"level": 1.0}])
def test_bad_inputs(fitted, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        estimate_shares(fitted, np.zeros((3, 3)), **wrong)


def test_each_calibrator_has_its_function(fitted):
    with pytest.raises(ValueError, match="use estimate_shares"):
        estimate_prior(fitted, np.zeros((3, 3)))
    two = ScoreCalibrator("gaussian", draws=50).fit([-2.0, -1.0, 0.5, 1.0], [0, 0, 1, 1])
    with pytest.raises(ValueError, match="use estimate_prior"):
        estimate_shares(two, [0.0])
