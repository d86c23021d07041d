"""Intervals of metrics and tests of calibration: how often they hold, and their errors."""

import numpy as np
import pytest
from scipy import special, stats

from bayescal.metrics import (
    Interval,
    bootstrap_interval,
    brier_score,
    calibration_error,
    log_loss,
    posterior_interval,
    spiegelhalter_test,
)
from bayescal.metrics.changes import (
    REGRESSIONS,
    LogOddsCells,
    LogOddsFrame,
    clipped_log_odds,
    fit_changes,
)
from bayescal.support.intervals import counted, percent, readable


def mean_square(y_true, y_prob, *, sample_weight=None):
    return np.average((y_prob - y_true) ** 2, weights=sample_weight)


@pytest.mark.slow
def test_bootstrap_interval_covers_the_expected_score():
    rng = np.random.default_rng(0)
    truth = 1 / 6  # E p(1 - p), p uniform
    held, narrow = [], []
    for _ in range(150):
        p = rng.random(200)
        y = rng.random(200) < p
        found = bootstrap_interval(mean_square, y, p, resamples=200, rng=rng)
        held.append(found.lower <= truth <= found.upper)
        third = (found.upper - found.lower) / 6
        narrow.append(abs(found.value - truth) < third)
    allowance = 3 * np.sqrt(0.9 * 0.1 / 150)
    assert 0.9 - allowance - 0.02 < np.mean(held) < 0.9 + allowance
    assert np.mean(narrow) < 0.9 - allowance - 0.02  # a third as wide is found out


def test_basic_interval_takes_off_the_bias_of_a_calibration_error():
    rng = np.random.default_rng(1)
    p = rng.random(500)
    y = rng.random(500) < p
    percentile, basic = (
        bootstrap_interval(calibration_error, y, p, kind=kind, resamples=200, rng=2)
        for kind in ("percentile", "basic")
    )
    assert percentile.draws.mean() > percentile.value  # resampling adds to it
    assert basic.lower < percentile.lower
    assert basic.upper < percentile.upper
    assert basic.upper - basic.lower == pytest.approx(percentile.upper - percentile.lower)


def test_posterior_interval_is_that_of_the_draws():
    rng = np.random.default_rng(2)
    y, draws = rng.random(30) < 0.4, rng.random((500, 30))
    found = posterior_interval(brier_score, y, draws, level=0.8)
    scores = np.mean((draws - y) ** 2, axis=1)
    assert found.value == pytest.approx(scores.mean())
    assert (found.lower, found.upper) == pytest.approx(tuple(np.quantile(scores, [0.1, 0.9])))
    assert found.method == "posterior"


@pytest.mark.slow
def test_bayesian_bootstrap_adds_the_uncertainty_of_the_documents():
    rng = np.random.default_rng(3)
    p = rng.random(300)
    y = rng.random(300) < p
    same = np.tile(p, (400, 1))
    fixed = posterior_interval(brier_score, y, same)
    assert fixed.upper - fixed.lower == pytest.approx(0)
    both = posterior_interval(brier_score, y, same, resample=True, rng=0)
    plain = bootstrap_interval(brier_score, y, p, rng=0)
    assert both.method == "posterior and Bayesian bootstrap"
    assert both.upper - both.lower == pytest.approx(plain.upper - plain.lower, rel=0.15)


def test_weights_and_seeds():
    rng = np.random.default_rng(4)
    y, p, weight = rng.random(40) < 0.5, rng.random(40), rng.integers(1, 4, 40)
    one, two = (
        bootstrap_interval(brier_score, y, p, sample_weight=weight, resamples=50, rng=7)
        for _ in range(2)
    )
    assert one.value == brier_score(y, p, sample_weight=weight)
    assert one.draws.tolist() == two.draws.tolist()
    assert one.method == "bootstrap"
    weighed = posterior_interval(brier_score, y, p[None], sample_weight=weight)
    assert weighed.value == pytest.approx(one.value)


def test_documents_of_no_weight_are_not_drawn():
    y, p, weight = [1, 0, 1], [0.2, 0.5, 0.9], [0.0, 0.0, 2.0]
    found = bootstrap_interval(brier_score, y, p, sample_weight=weight, resamples=50, rng=0)
    np.testing.assert_allclose(found.draws, 0.01)


def test_intervals_refuse():
    with pytest.raises(ValueError, match=r"draws must have shape \(draws, 2\), got \(2,\)"):
        posterior_interval(brier_score, [0, 1], [0.1, 0.9])


def test_intervals_of_metrics_of_several_classes():
    rng = np.random.default_rng(5)
    p = rng.dirichlet(np.ones(3), 300)
    y = (p.cumsum(axis=1) < rng.random((300, 1))).sum(axis=1)
    losses = -np.log(p[np.arange(300), y])
    found = bootstrap_interval(log_loss, y, p, rng=0)
    assert found.value == pytest.approx(losses.mean())
    # Ends lie 1.645 standard errors away; quantiles of 1,000 resamples are within .1 of them.
    ends = losses.mean() + np.array([-1.0, 1.0]) * 1.645 * losses.std() / np.sqrt(300)
    assert (found.lower, found.upper) == pytest.approx(tuple(ends), abs=0.2 * losses.std() / 17)
    weight = np.arange(300) % 3
    counted = bootstrap_interval(log_loss, y, p, resamples=2, sample_weight=weight, rng=0)
    assert counted.value == pytest.approx(np.average(losses, weights=weight))
    draws = rng.dirichlet(np.ones(3), (50, 300))
    of_draws = -np.log(draws[:, np.arange(300), y]).mean(axis=1)
    np.testing.assert_allclose(posterior_interval(log_loss, y, draws).draws, of_draws)


def test_numbers_and_intervals_are_printed_in_one_way():
    numbers = {1853.2: "1,853", 99.96: "100", 0.12345: "0.123", -0.0: "0", 2e-5: "2e-05"}
    assert {value: readable(value) for value in numbers} == numbers
    assert [readable(np.nan), readable(-np.inf), readable(107.94, 4)] == ["nan", "-inf", "107.9"]
    assert (counted(1, "row"), counted(2_000, "row")) == ("1 row", "2,000 rows")
    found = Interval(0.5, 0.25, 1853.0, 0.9)
    assert f"{found}" == str(found) == "0.5 (0.25 to 1,853)"
    assert f"{found / 10.0:.1%}" == "5.0 % (2.5 % to 18530.0 %)"
    assert str(Interval(np.pi)) == "3.14"
    assert [percent(0.9), percent(1.0 - 0.9), percent(0.125)] == ["90 %", "10 %", "12.5 %"]
    assert [percent(0.816, 0), percent(0.5, 1)] == ["82 %", "50.0 %"]
    assert (found / 10.0).level == 0.9


# Tests of calibration: their rates of error, and evidence against brute-force integration


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
