"""Scores of every width, with outliers on either side: finite, monotone, and no warning."""

import numpy as np
import pytest
from scipy.special import expit, log_expit
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.preprocessing import scale

from bayescal import CalibratedClassifier, ScoreCalibrator
from bayescal.fitting.engines.monotone.density import Prior
from bayescal.fitting.engines.monotone.posterior import draw_monotone

pytestmark = pytest.mark.one_era


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
    (1000, 15, 0.05, 1e15),
    (60, 40, 0.2, 1e-12),
]


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("parts", ["auto", "monotone"])
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


@pytest.mark.parametrize("width", [1e-12, 1e15])
def test_width_does_not_matter(width):
    scores, positive = wide_scores(200, 9, 0.2, 1.0)
    once, wide = (
        ScoreCalibrator(parts="monotone", draws=100, random_state=1)
        .fit(s, positive)
        .predict_proba(s)
        for s in (scores, width * scores)
    )
    assert wide == pytest.approx(once, abs=1e-3)


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


@pytest.mark.parametrize("digit", [2, 7])
def test_naive_bayes_on_digits(digit):
    features, label = load_digits(return_X_y=True)
    train, test, y, y_test = train_test_split(
        scale(features), label == digit, stratify=label == digit, random_state=0
    )
    losses = []
    for calibrator in (ScoreCalibrator(draws=200), "sigmoid"):
        classifier = CalibratedClassifier(GaussianNB(), calibrator, ensemble=False, random_state=0)
        log_p = classifier.fit(train, y).predict_log_proba(test)
        losses.append(-log_p[np.arange(y_test.size), y_test.astype(int)].mean())
    assert losses[0] < min(losses[1], base_rate_loss(y_test))
