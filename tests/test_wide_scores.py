"""Scores of every width, with outliers on either side: finite, monotone, and no warning."""

import numpy as np
import pytest
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import scale

from bayescal import (
    CalibratedClassifier,
    CombinedClassifier,
    MulticlassCalibrator,
    ScoreCalibrator,
    TopicCalibrator,
)
from bayescal.fitting.engines.monotone.density import Prior
from bayescal.fitting.engines.monotone.posterior import draw_monotone
from bayescal.fitting.scores import read_binary_scores
from bayescal.likelihood_ratio import likelihood_ratios
from bayescal.ranking import RelevanceCalibrator
from bayescal.support.score_checks import ScoresWarning


def wide_scores(documents, decades, share, width, seed=0):
    """Return scores; a share lie up to some powers of 10 away, a fifth of those wrong."""
    rng = np.random.default_rng(seed)
    positive = rng.random(documents) < 0.15
    scores = rng.normal(size=documents) + 2.0 * positive
    side = np.where(positive == (rng.random(documents) < 0.8), 1.0, -1.0)
    far = rng.random(documents) < share
    scores[far] = (side * 10.0 ** rng.uniform(0.0, decades, documents))[far]
    return width * scores, positive


def log_loss(log_odds, positive):
    return -log_expit(np.where(positive, log_odds, -log_odds)).mean()


def base_rate_loss(positive):
    rate = positive.mean()
    return log_loss(np.full(positive.size, np.log(rate / (1.0 - rate))), positive)


CASES = [
    (60, 3, 0.5, 1e-12),
    (400, 9, 0.05, 1.0),
    (400, 15, 0.2, 1e-6),
    (400, 15, 0.05, 1e15),
    (60, 40, 0.2, 1e-12),
]


@pytest.mark.parametrize(
    ("parts", "case"),
    [("monotone", case) for case in CASES] + [("auto", CASES[k]) for k in (0, 2, 3)],
)
def test_every_width_has_finite_curves(parts, case):
    scores, positive = wide_scores(*case)
    calibrator = ScoreCalibrator(parts=parts, draws=100, random_state=1).fit(scores, positive)
    farther = 1e3 * np.abs(scores).max()
    new = np.sort(np.r_[scores, -farther, farther])
    log_odds = calibrator.decision_function(new)
    assert np.isfinite(log_odds).all()
    assert np.isfinite(calibrator.predict_interval(new)).all()
    assert log_loss(calibrator.decision_function(scores), positive) < base_rate_loss(positive)
    if parts == "monotone":
        assert np.all(np.diff(log_odds) >= -1e-9)


@pytest.mark.parametrize("parts", ["auto", "monotone"])
# Of such scores nothing is learnt, which the fit says.
@pytest.mark.filterwarnings("ignore::bayescal.support.score_checks.ScoresWarning")
def test_scores_that_differ_by_rounding_alone_say_nothing(parts):
    # As boosted trees give that were trained on two positives: constant, but for a last digit.
    scores = np.full(40, -5.995729365229785)
    scores[[3, 17, 31]] += 2.0 * np.spacing(scores[0])
    positive = np.arange(40) < 2
    calibrator = ScoreCalibrator(parts=parts, draws=100, random_state=0).fit(scores, positive)
    lower, upper = calibrator.predict_interval(scores).T
    assert np.all((lower < 0.05) & (upper > 0.05))
    assert calibrator.predict_proba(scores)[:, 1] == pytest.approx(0.06, abs=0.03)


def test_classes_that_meet_in_a_millionth_of_the_spread():
    # Most negatives below, without a gap; what separates the rest is a step in units of the spread.
    rng = np.random.default_rng(3)
    near = np.sort(rng.normal(size=300))
    positive = np.r_[np.zeros(600, dtype=bool), rng.random(300) < expit(3.0 * near)]
    x = np.r_[-rng.uniform(0.0, 3.0, 600), 1e-6 * near]
    found = draw_monotone(x, positive, None, Prior(), 1000, rng)
    assert found.problem == ""
    p = expit(found.log_odds(1e-6 * near)).mean(axis=0)
    assert np.abs(p - expit(3.0 * near)).mean() < 0.1


def test_naive_bayes_on_digits():
    features, label = load_digits(return_X_y=True)
    train, test, y, y_test = train_test_split(
        scale(features), label == 7, stratify=label == 7, random_state=0
    )
    losses = []
    for calibrator in (ScoreCalibrator(draws=200), "sigmoid"):
        classifier = CalibratedClassifier(GaussianNB(), calibrator, ensemble=False, random_state=0)
        log_p = classifier.fit(train, y).predict_log_proba(test)
        losses.append(-log_p[np.arange(y_test.size), y_test.astype(int)].mean())
    assert losses[0] < min(losses[1], base_rate_loss(y_test))


POWERS = (-300, -200, -100, -30, -7, 7, 30, 60, 100, 140, 200, 300)
ORDER = np.random.default_rng(11)
LABEL = np.arange(60) >= 40
SCORE = ORDER.normal(size=60) + 1.5 * LABEL
THIRD = np.arange(60) % 3
MARGINS = ORDER.normal(size=(60, 3)) + 2.0 * np.eye(3)[THIRD]
NEW = np.array([-2.0, -0.4, 0.0, 0.3, 1.1, 3.0])
NEW_MARGINS = ORDER.normal(size=(6, 3))
FEW = {"draws": 50, "random_state": 0}


class Margins(ClassifierMixin, BaseEstimator):
    """A classifier whose margins are the features times a power of ten."""

    def __init__(self, power):
        self.power = power

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        margins = np.asarray(X) * 10.0**self.power
        return margins if margins.shape[1] > 1 else margins[:, 0]


def of_binary(calibrator):
    return lambda k: calibrator.fit(SCORE * 10.0**k, LABEL).predict_proba(NEW * 10.0**k)


def of_topics(calibrator):
    return lambda k: calibrator.fit(SCORE * 10.0**k, LABEL, THIRD).predict_proba(
        NEW * 10.0**k, THIRD[:6]
    )


def of_classes(**options):
    def fitted(k):
        calibrator = MulticlassCalibrator(draws=10, chains=2, random_state=0, **options)
        calibrator.fit(MARGINS * 10.0**k, THIRD)
        return calibrator.predict_proba(NEW_MARGINS * 10.0**k)

    return fitted


def of_classifier(calibrator):
    def fitted(k):
        estimator = CalibratedClassifier(Margins(k), calibrator, cv=2, random_state=0)
        return estimator.fit(SCORE[:, None], LABEL).predict_proba(NEW[:, None])

    return fitted


def of_classifier_of_classes(k):
    several = MulticlassCalibrator(draws=10, chains=2)
    estimator = CalibratedClassifier(Margins(k), several, cv=2, random_state=0)
    return estimator.fit(MARGINS, THIRD).predict_proba(NEW_MARGINS)


def of_combiner(combiner):
    def fitted(k):
        members = [("one", Margins(k)), ("other", Margins(0))]
        estimator = CombinedClassifier(members, combiner=combiner, cv=2, random_state=0)
        return estimator.fit(SCORE[:, None], LABEL).predict_proba(NEW[:, None])

    return fitted


def of_ratios(k):
    calibrator = ScoreCalibrator(["densities", "monotone"], **FEW).fit(SCORE * 10.0**k, LABEL)
    return likelihood_ratios(calibrator, NEW * 10.0**k).log10


QUICK = ("monotone", "logistic", "maximum likelihood", "classifier")
POOLED = TopicCalibrator("partial", parts="asymmetric_laplace", **FEW)
# The learned prior is stated in raw units: see docs/prior.md.
READERS = {
    "combination": of_binary(ScoreCalibrator(prior_knowledge="vague", **FEW)),
    "monotone": of_binary(ScoreCalibrator("monotone", **FEW)),
    "logistic": of_binary(ScoreCalibrator("logistic", **FEW)),
    "maximum likelihood": of_binary(ScoreCalibrator("gaussian", "mle")),
    "topics": of_topics(POOLED),
    "separate topics": of_topics(TopicCalibrator("none", parts="gaussian", **FEW)),
    "queries": of_topics(RelevanceCalibrator(POOLED, random_state=0)),
    "classes": of_classes(),
    "options with bias": of_classes(exchangeable=True, position_bias=True),
    "classifier": of_classifier(ScoreCalibrator("monotone", draws=50)),
    "classifier of classes": of_classifier_of_classes,
    "combiner": of_combiner("bayes"),
    "stacking": of_combiner("logistic"),
    "likelihood ratios": of_ratios,
}


@pytest.mark.parametrize("name", READERS)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_constant_factor_changes_nothing_or_is_refused(name):
    fitted = READERS[name]
    expected, refused = fitted(0), {}
    for k in POWERS if name in QUICK else (-300, -100, 140):
        try:
            found = fitted(k)
        except ValueError as refusal:
            refused[k] = str(refusal)
        else:
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6, err_msg=f"10^{k}")
    combined = {-200} if name in ("combiner", "stacking") else set()
    assert set(refused) <= {-300, 200, 300} | combined
    assert all("must differ by more" in each or "1e150 of 0" in each for each in refused.values())


def test_scores_too_close_to_0_to_tell_apart_warn():
    scores = np.where(LABEL, SCORE, 1e-295 * SCORE)
    with pytest.warns(ScoresWarning, match="40 scores are closer to 0 than 1e-290 and count as 0"):
        read_binary_scores(scores, LABEL, None)
