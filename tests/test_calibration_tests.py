"""Tests of calibration: their rates of error, and evidence against brute-force integration."""

import numpy as np
import pytest
from scipy import special, stats
from sklearn.linear_model import LogisticRegression

from bayescal.metrics import calibration_evidence, spiegelhalter_test


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


def test_spiegelhalter_rejects_calibrated_probabilities_rarely_and_extreme_ones_often():
    rng = np.random.default_rng(1)
    right = [spiegelhalter_test(*draw(rng, 300)).pvalue < 0.05 for _ in range(1000)]
    extreme = [spiegelhalter_test(*draw(rng, 300, slope=0.5)) for _ in range(200)]
    assert abs(np.mean(right) - 0.05) < 3 * np.sqrt(0.05 * 0.95 / 1000)
    assert np.mean([each.pvalue < 0.05 for each in extreme]) > 0.9
    assert np.mean([each.statistic for each in extreme]) > 2


def test_spiegelhalter_refuses_probabilities_without_variance():
    with pytest.raises(ValueError, match="other than 0, 1/2 and 1"):
        spiegelhalter_test([0, 1, 1], [0.5, 0.5, 1.0])


def by_hand(y, p):
    """Return the evidence under the unit-information prior by a fine sum over both parameters."""
    x = special.logit(p)
    v = p * (1 - p)
    unit = np.array([[v.mean(), (v * x).mean()], [(v * x).mean(), (v * x * x).mean()]])
    prior = stats.multivariate_normal([0, 1], np.linalg.inv(unit))
    a, b = np.meshgrid(np.linspace(-12, 12, 801), np.linspace(-11, 13, 801), indexing="ij")
    log_p = np.zeros_like(a)
    for one, outcome in zip(x, y, strict=True):
        log_p += special.log_expit((a + b * one) * (1 if outcome else -1))
    area = (24 / 800) ** 2
    return np.log(np.sum(np.exp(log_p + prior.logpdf(np.stack([a, b], axis=-1)))) * area)


@pytest.mark.parametrize("slope", [0.5, 1.0])
@pytest.mark.parametrize("n", [15, 60])
def test_evidence_is_that_of_brute_force(n, slope):
    y, p = draw(np.random.default_rng(n), n, slope)
    unchanged = np.sum(np.log(np.where(y, p, 1 - p)))
    found = calibration_evidence(y, p)
    assert found.log_bayes_factor == pytest.approx(unchanged - by_hand(y, p), abs=2e-3)
    assert found.probability == pytest.approx(special.expit(found.log_bayes_factor))
    sceptical = calibration_evidence(y, p, prior=0.2)
    assert sceptical.probability / (1 - sceptical.probability) == pytest.approx(
        np.exp(found.log_bayes_factor) / 4
    )


def test_bic_is_that_of_two_fits_and_near_the_evidence():
    y, p = draw(np.random.default_rng(3), 2000, 0.9, 0.2)
    x = special.logit(p)[:, None]
    fit = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(x, y)
    q = fit.predict_proba(x)[:, 1]
    calibrated, changed = (-2 * np.sum(np.log(np.where(y, r, 1 - r))) for r in (p, q))
    found = calibration_evidence(y, p, method="bic")
    bic = changed + 2 * np.log(y.size) - calibrated
    assert found.log_bayes_factor == pytest.approx(bic / 2, abs=1e-6)
    assert found.slope == pytest.approx(fit.coef_.item(), rel=1e-4)
    assert found.intercept == pytest.approx(fit.intercept_.item(), rel=1e-3)
    exact = calibration_evidence(y, p)
    assert exact.log_bayes_factor == pytest.approx(found.log_bayes_factor, abs=0.2)


@pytest.mark.slow
def test_posterior_probability_is_a_frequency():
    # Half of the sets are calibrated, half have lines drawn from the prior. Among sets with
    # probability q, a share q is calibrated. Squared errors then equal q (1 - q) on average, and no
    # method that reports another q does as well.
    rng = np.random.default_rng(4)
    found, truth = [], []
    for _ in range(400):
        p = special.expit(rng.normal(0, 1.5, 60))
        x, v = special.logit(p), p * (1 - p)
        unit = np.array([[v.mean(), (v * x).mean()], [(v * x).mean(), (v * x * x).mean()]])
        calibrated = rng.random() < 0.5
        a, b = (0, 1) if calibrated else rng.multivariate_normal([0, 1], np.linalg.inv(unit))
        y = rng.random(60) < special.expit(a + b * x)
        found.append(calibration_evidence(y, p).probability)
        truth.append(calibrated)
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
    for method in ("unit_information", "bic"):
        found = calibration_evidence(y, p, method=method)
        assert np.isfinite(found.log_bayes_factor)
        assert 0 <= found.probability <= 1


def test_evidence_refuses():
    with pytest.raises(ValueError, match="method must be one of"):
        calibration_evidence([0, 1], [0.2, 0.3], method="bayes")
    with pytest.raises(ValueError, match="prior must lie between"):
        calibration_evidence([0, 1], [0.2, 0.3], prior=1)
