"""Tests of calibration: their rates of error, and evidence against brute-force integration."""

import numpy as np
import pytest
from scipy import special, stats

from bayescal.metrics import spiegelhalter_test
from bayescal.metrics.changes import (
    REGRESSIONS,
    LogOddsCells,
    LogOddsFrame,
    clipped_log_odds,
    fit_changes,
)


def draw(rng, n, slope=1.0, intercept=0.0):
    log_odds = rng.normal(0, 1.5, n)
    return rng.random(n) < special.expit(intercept + slope * log_odds), special.expit(log_odds)


def test_spiegelhalter_is_the_standardised_brier_score():
    rng = np.random.default_rng(0)
    y, p = draw(rng, 200)
    # Mean and variance of sum (y - p)^2 for independent labels, one by one from both outcomes.
    squares = np.stack([p**2, (1 - p) ** 2])
    chance = np.stack([1 - p, p])
    mean = (chance * squares).sum(axis=0)
    variance = (chance * squares**2).sum(axis=0) - mean**2
    expected = (np.sum((y - p) ** 2) - mean.sum()) / np.sqrt(variance.sum())
    found = spiegelhalter_test(y, p)
    assert found.statistic == pytest.approx(expected)
    assert found.pvalue == pytest.approx(2 * stats.norm.sf(abs(expected)))


def test_spiegelhalter_refuses_probabilities_without_variance():
    with pytest.raises(ValueError, match="other than 0, 1/2 and 1"):
        spiegelhalter_test([0, 1, 1], [0.5, 0.5, 1.0])


def explained(y, p):
    """Return the probabilities of the four models, as in `Audit.model_probability`."""
    return fit_changes(LogOddsCells.of(clipped_log_odds(p), y, np.ones(len(y)))).probability


SHIFTS, SLOPES = ((0.15, 0.4), (0.5, 0.4), (1.5, 0.2)), ((0.1, 0.4), (0.3, 0.4), (1.0, 0.2))


def by_hand(y, p):
    """Return evidence of a shift, and of shift and slope, by fine sums over both numbers."""
    x, sign, v = special.logit(p), np.where(y, 1, -1), p * (1 - p)
    turned = x - (v @ x) / v.sum()
    a, b = np.linspace(-6, 6, 601), np.linspace(-4, 4, 401)
    log_p = np.stack([special.log_expit(sign * (x + each)).sum() for each in a])
    own = sum(w * stats.norm(0, t).pdf(a) for t, w in SHIFTS)
    of_shift = np.log((np.exp(log_p) * own).sum() * (a[1] - a[0]))
    log_p = np.zeros((a.size, b.size))
    for one, far, plus in zip(x, turned, sign, strict=True):
        log_p += special.log_expit(plus * (one + a[:, None] + b * far))
    other = sum(w * stats.norm(0, u).pdf(b) for u, w in SLOPES)
    total = (np.exp(log_p) * np.outer(own, other)).sum()
    return of_shift, np.log(total * (a[1] - a[0]) * (b[1] - b[0]))


@pytest.mark.slow
@pytest.mark.parametrize("slope", [0.5, 1.0])
@pytest.mark.parametrize("n", [60, 300])
def test_evidence_is_that_of_brute_force(n, slope):
    y, p = draw(np.random.default_rng(n), n, slope)
    unchanged = np.sum(np.log(np.where(y, p, 1 - p)))
    of_shift, of_slope = by_hand(y, p)
    models = explained(y, p)
    assert sum(models.values()) == pytest.approx(1.0)
    # Prior odds are 4 : 3 : 2; Laplace's approximation is good to some hundredths of a nat.
    ratio = np.log(models["shift"] / models["as is"])
    assert ratio == pytest.approx(np.log(3 / 4) + of_shift - unchanged, abs=0.03)
    ratio = np.log(models["slope"] / models["as is"])
    assert ratio == pytest.approx(np.log(2 / 4) + of_slope - unchanged, abs=0.06)


def test_the_evidence_of_bends_is_that_of_the_process():
    # A Gaussian process at few places: Laplace's approximation by the kernel, not by features.
    rng = np.random.default_rng(5)
    p = special.expit(np.repeat(np.linspace(-3, 1, 9), 60))
    y = rng.random(p.size) < special.expit(special.logit(p) + np.sin(2.5 * special.logit(p)))
    x, v = special.logit(p), p * (1 - p)
    z, at = np.clip((x - x.mean()) / x.std(), -3, 3), np.linspace(-2.5, 2.5, 10)
    kernel = lambda s, t: np.exp(-((s[:, None] - t) ** 2) / (2 * 0.8**2))  # noqa: E731
    process = kernel(z, at) @ np.linalg.solve(kernel(at, at) + 1e-6 * np.eye(10), kernel(z, at).T)
    turned, terms = x - (v @ x) / v.sum(), []
    for t, u, w in ((0.5, 0.3, 0.6), (1.5, 1.0, 0.4)):
        for sd in (0.3, 1.0):
            prior = t**2 + u**2 * np.outer(turned, turned) + sd**2 * process
            f = np.zeros(x.size)
            for _ in range(30):
                q = special.expit(x + f)
                weight = q * (1 - q)
                right = weight * f + (y - q)
                f = prior @ np.linalg.solve(np.eye(x.size) + weight[:, None] * prior, right)
            q = special.expit(x + f)
            own = np.sum(np.log(np.where(y, q, 1 - q))) - 0.5 * f @ (y - q)
            own -= 0.5 * np.linalg.slogdet(np.eye(x.size) + (q * (1 - q))[:, None] * prior)[1]
            terms.append(np.log(0.5 * w) + own)
    unchanged = np.sum(np.log(np.where(y, p, 1 - p)))
    models = explained(y, p)
    ratio = np.log(models["full"] / models["as is"])
    assert ratio == pytest.approx(np.log(1 / 4) + special.logsumexp(terms) - unchanged, abs=1e-3)


@pytest.mark.slow
def test_posterior_probability_is_a_frequency():
    # Sets are drawn from the four models. Among sets with probability q, a share q is calibrated.
    # Squared errors then equal q (1 - q) on average, and no method that reports another q does as
    # well.
    rng = np.random.default_rng(4)
    found, truth = [], []
    for _ in range(400):
        p = special.expit(rng.normal(0, 1.5, 60))
        log_odds = clipped_log_odds(p)
        frame = LogOddsFrame.of(log_odds, np.ones(60))
        which = REGRESSIONS[rng.choice(len(REGRESSIONS), p=[each.prior for each in REGRESSIONS])]
        theta = rng.normal(0.0, which.sd) if which.sd else np.zeros(0)
        moved = log_odds + frame.features(log_odds)[:, : theta.size] @ theta
        y = rng.random(60) < special.expit(moved)
        found.append(explained(y, p)["as is"])
        truth.append(which.kind == "as is")
    found, truth = np.array(found), np.array(truth)
    assert np.mean(found - truth) == pytest.approx(0, abs=3 * np.std(found - truth) / 20)
    excess = (found - truth) ** 2 - found * (1 - found)
    assert np.mean(excess) == pytest.approx(0, abs=3 * np.std(excess) / 20)
    wrong = special.expit(special.logit(np.clip(found, 1e-12, 1 - 1e-12)) + 2)
    assert abs(np.mean(wrong - truth)) > 3 * np.std(wrong - truth) / 20


@pytest.mark.parametrize(
    ("y", "p"),
    [
        ([0, 0, 1, 1], [0.1, 0.2, 0.8, 0.9]),  # separable: no finite best slope
        ([0, 1, 1, 0], [0.3, 0.3, 0.3, 0.3]),  # no slope at all
        ([1, 1, 1], [0.2, 0.5, 0.9]),
        ([1, 0, 1], [1.0, 0.0, 1.0]),
        ([1, 0, 1], [0.5, 0.5, 0.5]),
    ],
)
def test_evidence_of_data_without_a_best_line_is_finite(y, p):
    found = explained(y, np.array(p))
    assert sum(found.values()) == pytest.approx(1.0)
    assert 0 < found["as is"] < 1
