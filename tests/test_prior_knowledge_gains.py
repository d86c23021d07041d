"""A history of calibrated problems helps one with few labels, and must not mislead it."""

from functools import cache

import numpy as np
import pytest
from scipy import special, stats

from bayescal import Population, ScoreCalibrator, TopicCalibrator
from tests.history_data import problem
from tests.sizes import size

pytestmark = [
    pytest.mark.slow,
    # Of classes so close together that some topic has them the wrong way round by chance.
    pytest.mark.filterwarnings("ignore:positives lie below"),
    # The calibrator warns of histories of other problems; this test shows their effect.
    pytest.mark.filterwarnings("ignore:the posterior draws are not:UserWarning"),
]
DRAWS = 100
SETS = size(30, 300)


def around(prior, scores, labels, **settings):
    draws = {"draws": DRAWS} if isinstance(prior, str) else {}
    calibrator = ScoreCalibrator(prior_knowledge=prior, random_state=0, **draws, **settings)
    return calibrator.fit(scores, labels)


def slope(calibrator):
    """Return the rise of the log-odds from score 1 to score 2, between the classes."""
    low, high = calibrator.decision_function(np.array([1.0, 2.0]))
    return high - low


@cache
def learnt(family="gaussian", topics=12, **truths):
    """Return a population of topics with many labels, and shares of positives of their own."""
    rng = np.random.default_rng(0)
    fitted = [documents(topic_truth(rng, **truths), 150, rng) for _ in range(topics)]
    scores, labels = (np.concatenate(parts) for parts in zip(*fitted, strict=True))
    names = np.repeat(np.arange(topics), 150)
    calibrator = TopicCalibrator(parts=family, draws=DRAWS, random_state=0)
    return Population(calibrator.fit(scores, labels, names))


def topic_truth(rng, apart=2.5, width=1.0, unlike=False, share=None):
    """Return modes and sigmas of both classes, and P(+), drawn from a population of topics."""
    base_rate = rng.beta(4, 16) if share is None else share
    if unlike:
        return np.sort(rng.normal(0.0, 3.0, 2)), np.exp(rng.normal(0.0, 1.0, 2)), base_rate
    mode = np.array([rng.normal(0.0, 0.4), rng.normal(apart, 0.4)])
    return mode, width * np.exp(rng.normal(0.0, 0.15, 2)), base_rate


def documents(truth, n, rng):
    """Return n scores and labels of a topic, at least one of each class."""
    mode, sigma, share = truth
    labels = np.arange(n) < np.clip(rng.binomial(n, share), 1, n - 1)
    return rng.normal(mode[labels.astype(int)], sigma[labels.astype(int)]), labels


def log_odds(truth, scores):
    mode, sigma, share = truth
    negative, positive = (stats.norm.logpdf(scores, mode[k], sigma[k]) for k in (0, 1))
    return special.logit(share) + positive - negative


def coverage(prior, sets, level=0.9, **settings):
    """Return the share of true P(+|s) that bands of topics with 30 labels hold."""
    rng = np.random.default_rng(100)
    held = []
    for _ in range(sets):
        truth = topic_truth(rng)
        calibrator = around(prior, *documents(truth, 30, rng), **settings)
        new = documents(truth, 10, rng)[0]
        low, high = calibrator.predict_interval(new, level).T
        p = special.expit(log_odds(truth, new))
        held.append(np.mean((low <= p) & (p <= high)))
    return float(np.mean(held)), float(np.std(held) / sets**0.5)


def test_steep_topics_make_three_positives_steeper_and_flat_ones_flatter():
    steep, flat = learnt(width=0.5), learnt(width=2.0)
    gains = []
    for seed in range(4):
        data = problem(positives=3, negatives=30, seed=seed)
        vague = slope(around("vague", *data, parts="gaussian"))
        # The second is the negative: the same labels around flat topics.
        gains.append([slope(around(prior, *data)) - vague for prior in (steep, flat)])
    steeper, flatter = np.array(gains).T
    # By .53 ± .07 in the mean of eight such problems.
    assert steeper.mean() > 0.3
    assert np.all(flatter < -0.5)
    assert np.all(steeper > flatter + 1.0)


def excess(prior, positives, sets=6):
    """Return the mean divergence of P(+|s) from the truth, in thousandths of a nat."""
    x, share = np.linspace(-3.0, 6.0, 91), 0.1
    truth = np.array([0.0, 3.0]), np.ones(2), share
    p = special.expit(log_odds(truth, x))
    density = (1.0 - share) * stats.norm.pdf(x) + share * stats.norm.pdf(x, 3.0)
    out = []
    for seed in range(sets):
        calibrator = around(prior, *problem(positives, 9 * positives, seed=seed))
        said = calibrator.predict_proba(x)[:, 1]
        divergence = special.rel_entr(p, said) + special.rel_entr(1.0 - p, 1.0 - said)
        out.append(1000.0 * np.average(divergence, weights=density))
    return float(np.mean(out))


def test_like_topics_help_and_unlike_topics_harm_little():
    vague, alike, unlike = (
        excess(prior, 3) for prior in ("vague", learnt(apart=3.0), learnt(unlike=True))
    )
    assert alike < 0.6 * vague
    assert unlike < 1.25 * vague
    # The negatives: topics do harm that agree on something else, be it their share of positives.
    assert excess(learnt(apart=0.5), 3) > 1.5 * vague
    assert excess(learnt(apart=3.0, share=0.5), 3) > 1.25 * vague


def test_bands_hold_the_truth_of_topics_of_the_population():
    held, _ = coverage(learnt(), SETS)
    # Twelve topics do not tell how alike topics are: their population is rather too wide.
    assert 0.84 < held < 0.99
    # The negatives: bands of another level, and a population of other topics.
    assert coverage(learnt(), SETS, level=0.6)[0] < held - 0.15
    assert coverage(learnt(width=3.0), SETS)[0] < 0.6


def test_a_history_of_other_problems_is_warned_of():
    told = {}
    for width in (1.0, 3.0):
        rng, found = np.random.default_rng(100), []
        for _ in range(10):
            calibrator = around(learnt(width=width), *documents(topic_truth(rng), 100, rng))
            found.append("agree with the population" in " ".join(calibrator.diagnostics_.problems))
        told[width] = np.mean(found)
    assert told[1.0] == 0.0
    assert told[3.0] > 0.7


def test_bands_of_the_combination_hold_it_too():
    held, error = coverage(learnt("auto"), size(50, 150))
    assert held > 0.85 - 2.0 * error
    assert coverage(learnt("auto", width=3.0), size(15, 40))[0] < 0.6
