"""Intervals of metrics: how often they hold the truth, and what they say they are."""

import numpy as np
import pytest

from bayescal.metrics import (
    Interval,
    bootstrap_interval,
    brier_score,
    calibration_error,
    log_loss,
    posterior_interval,
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
    with pytest.raises(ValueError, match="level must lie between"):
        bootstrap_interval(brier_score, [0, 1], [0.1, 0.9], level=90)
    with pytest.raises(ValueError, match="kind must be one of"):
        bootstrap_interval(brier_score, [0, 1], [0.1, 0.9], kind="bca")
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
