"""Scores of any width, by classifier, topic and bulk: units do not decide the answer."""

import warnings

import numpy as np
import pytest
from scipy import special
from scipy.special import expit, log_expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import scale

from bayescal import (
    CalibratedClassifier,
    CombinedClassifier,
    Monotone,
    MulticlassCalibrator,
    ScoreCalibrator,
    TopicCalibrator,
)
from bayescal.combining.tasks import PooledCombiner
from bayescal.distributions import programs
from bayescal.families.draws import IDENTITY
from bayescal.fitting.engines.monotone.density import Prior
from bayescal.fitting.engines.monotone.posterior import draw_monotone
from bayescal.fitting.engines.program import build_model
from bayescal.fitting.parts import log_odds
from bayescal.fitting.parts.log_odds import LOGISTIC, MONOTONE
from bayescal.fitting.results.diagnostics import ConvergenceWarning
from bayescal.fitting.scores import BinaryScores, read_binary_scores, read_topics
from bayescal.fitting.settings import ScoreParameters, read_options
from bayescal.likelihood_ratio import likelihood_ratios
from bayescal.metrics import losses
from bayescal.ranking import RelevanceCalibrator
from bayescal.support.numerics import bulk_width, units_of
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


def of_tasks(k):
    X = np.c_[SCORE * 10.0**k, -SCORE]
    return PooledCombiner(random_state=0).fit(X, LABEL, THIRD).predict_proba(X[:6], THIRD[:6])


QUICK = ("monotone", "logistic", "maximum likelihood", "classifier", "tasks")
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
    "tasks": of_tasks,
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
    combined = {-200} if name in ("combiner", "stacking", "tasks") else set()
    assert set(refused) <= {-300, 200, 300} | combined
    assert all("must differ by more" in each or "1e150 of 0" in each for each in refused.values())


def test_programs_take_units_beyond_single_precision():
    # Warnings are errors.
    assert build_model(programs.load("gaussian"), BinaryScores(SCORE * 1e60, LABEL)).basic_RVs


def test_scores_too_close_to_0_to_tell_apart_warn():
    scores = np.where(LABEL, SCORE, 1e-295 * SCORE)
    with pytest.warns(ScoresWarning, match="40 scores are closer to 0 than 1e-290 and count as 0"):
        read_binary_scores(scores, LABEL, None)


# Scores most of whose information lies within a tiny part of their spread, as of naive Bayes

ENDS = (IDENTITY, 1.0)


def naive_bayes(n, seed, far=-1e9):
    """Return scores, two fifths of them far out and negative, and labels by the others' score."""
    rng = np.random.default_rng(seed)
    score = rng.normal(-6.0, 6.0, n)
    positive = rng.random(n) < special.expit(0.7 * score + 1.0)
    out = rng.random(n) < 0.4
    return np.where(out, far * rng.gamma(2.0, size=n), score), positive & ~out


def brute(x, weight):
    """Return the shortest interval between two scores that holds a quarter of the weight."""
    return min(
        b - a
        for a in x
        for b in x
        if weight[(a <= x) & (x <= b)].sum() >= 0.25 * weight.sum() * (1.0 - 1e-12)
    )


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 40])
def test_the_width_is_that_of_the_shortest_interval_with_a_quarter(n):
    rng = np.random.default_rng(n)
    x = np.round(rng.normal(size=n), 1)
    assert bulk_width(x) == pytest.approx(brute(x, np.ones(n)))
    weight = rng.integers(1, 4, n).astype(float)
    assert bulk_width(x, weight) == pytest.approx(brute(x, weight))
    assert bulk_width(x, weight) == bulk_width(np.repeat(x, weight.astype(int)))
    assert bulk_width(np.append(x, 99.0), np.append(weight, 0.0)) == bulk_width(x, weight)


def test_of_many_scores_some_are_looked_at():
    x = np.random.default_rng(0).normal(size=200_000)
    # A quarter of normal scores lie within .319 of the mean.
    assert bulk_width(x) == pytest.approx(2 * 0.3186, rel=0.05)


@pytest.mark.parametrize(
    ("score", "has_own"),
    [
        (naive_bayes(200, 0)[0], True),
        (naive_bayes(200, 0, far=-1e6)[0], True),
        (naive_bayes(200, 0, far=-100.0)[0], False),
        (np.random.default_rng(0).normal(size=200), False),
        (np.random.default_rng(0).standard_cauchy(200), False),
        # Ties have no width, and what differs by rounding has none that means something.
        (np.repeat([0.0, 1.0, 1e9], [100, 50, 50]), False),
        (1e9 + np.r_[np.arange(60) * 1e-8, np.arange(80) * 1e6], False),
    ],
)
def test_a_warp_of_its_own_is_for_scores_much_closer_than_their_spread(score, has_own):
    data = BinaryScores(score, np.arange(score.size) % 3 == 0)
    options = read_options(ScoreParameters())
    scales = MONOTONE.asinh_scales(options, data)
    assert scales[:2] == ENDS
    assert len(scales) == 2 + has_own
    if has_own:
        assert scales[2] * data.centre_and_spread[1] == pytest.approx(bulk_width(score))
    for warp in ("none", "average", 3.0):
        told = read_options(ScoreParameters(parts=Monotone(warp=warp)))
        assert len(MONOTONE.asinh_scales(told, data)) <= 2
    assert LOGISTIC.asinh_scales(options, data) == (IDENTITY,)


@pytest.mark.slow
def test_what_the_scores_close_together_tell_is_not_lost(monkeypatch):
    new, truth = naive_bayes(4000, 99)

    def bits(seed):
        # In a combination densities recalibrated make up for most of it.
        calibrator = ScoreCalibrator(parts="monotone", draws=250, random_state=0)
        calibrator.fit(*naive_bayes(300, seed))
        return losses(calibrator.decision_function(new), truth).log_loss / truth.size

    found = np.mean([bits(seed) for seed in range(6)])
    monkeypatch.setattr(log_odds, "TINY", 0.0)
    with warnings.catch_warnings():
        # Such a fit may be unable to follow its posterior, and say so.
        warnings.simplefilter("ignore", ConvergenceWarning)
        without = np.mean([bits(seed) for seed in range(6)])
    assert found < 0.96 * without


# The units of all topics: one topic with scores a million times as wide is no unit for others

TOPICS, EACH, WILD = 5, 12, 600


def of_one(n, topic, rng):
    """Return scores of a topic as classifiers have them, and labels."""
    score = rng.normal(-3.0, 5.0, n)
    return score, rng.random(n) < special.expit(1.5 * score + topic)


def documents(seed, wild=1e9):
    """Return scores, labels and topics; the last topic, of most documents, has wild scores."""
    rng = np.random.default_rng(seed)
    parts = [of_one(EACH, topic, rng) for topic in range(TOPICS)]
    parts.append(naive_bayes(WILD, seed, far=-wild))
    score, positive = (np.concatenate(each) for each in zip(*parts, strict=True))
    return score, positive, np.repeat(np.arange(TOPICS + 1), [*TOPICS * [EACH], WILD])


def units(score, positive, topic, weight=None):
    return read_topics(score, positive, topic, weight, positive=None, scores_are="scores").units()


def test_units_are_those_of_all_scores_together():
    score, positive, topic = documents(0, wild=30.0)
    assert units(score, positive, topic) == units_of(score, positive, None)
    weight = np.random.default_rng(0).integers(1, 4, score.size).astype(float)
    assert units(score, positive, topic, weight) == units_of(score, positive, weight)


def test_but_not_where_one_topic_is_much_wider_than_most():
    score, positive, topic = documents(0)
    centre, spread = units(score, positive, topic)
    assert units_of(score, positive, None)[1] > 1e6
    assert -6.0 < centre < 0.0
    assert 3.0 < spread < 8.0
    # Topics without a spread do not count: equal scores, and a single one.
    score, positive = np.append(score, [1e7, 1e7, 5.0]), np.append(positive, [True, False, True])
    assert units(score, positive, np.append(topic, [7, 7, 8])) == (centre, spread)
