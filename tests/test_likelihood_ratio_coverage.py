"""Bands of LRs and intervals of Cllr hold the truth where it is known; wrong ones are caught."""

import numpy as np
import pytest
from scipy import integrate, stats

from bayescal import ScoreCalibrator
from bayescal.likelihood_ratio import likelihood_ratios, source_weights
from studies.likelihood_ratios import CLASSES, POPULATIONS, RECORDINGS, cllr_intervals


@pytest.mark.parametrize("name", [*POPULATIONS, "recordings"])
def test_densities_of_scores_are_those_of_the_samples(name):
    population = RECORDINGS if name == "recordings" else POPULATIONS[name]
    grid = np.linspace(-15.0, 15.0, 6001)
    apart, same = (np.exp(each) for each in population.log_densities(grid))
    for density in (apart, same):
        assert integrate.trapezoid(density, grid) == pytest.approx(1.0, abs=1e-6)
    # One pair a source, so that pairs of either kind are independent.
    scores, truth, a, b = population.draw(400, np.random.default_rng(0), items=2)
    lone = truth | ((a % 2 == 0) & (b == a + 1))
    for kind, density in ((True, same), (False, apart)):
        cdf = integrate.cumulative_trapezoid(density, grid, initial=0.0)
        rows = scores[lone & (truth == kind)]
        if not kind:
            rows = rows[::4]
        found = stats.kstest(rows, lambda x, cdf=cdf: np.interp(x, grid, cdf))
        assert found.pvalue > 1e-3


def test_cllr_of_a_population_is_that_of_a_large_sample():
    population = POPULATIONS["panes"]
    true = population.compared(population.log10_lr).cllr()
    losses = []
    for seed in range(4):
        scores, same, _, _ = population.draw(200, np.random.default_rng(seed))
        lr = 10.0 ** population.log10_lr(scores)
        losses.append(np.log2(1 + 1 / lr[same]).mean() / 2 + np.log2(1 + lr[~same]).mean() / 2)
    assert np.mean(losses) == pytest.approx(true, abs=4.0 * stats.sem(losses))
    assert population.compared(lambda x: 1.5 * population.log10_lr(x)).cllr() > true


def held(fitted, scores, true):
    ratios = likelihood_ratios(fitted, scores, support=None)
    # Labels that are wrong now and then hide larger ratios, which ten sources cannot show.
    inside = np.abs(true) < 3.0
    return ((ratios.lower <= true) & (true <= ratios.upper))[inside].mean()


@pytest.mark.slow
def test_bands_hold_the_true_ratio_and_those_of_repeated_labels_do_not():
    right, wrong = [], []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        classes = list(CLASSES.values())[seed % 5]
        scores, positive = classes.draw((20, 60), rng)
        new, _ = classes.draw((100, 100), rng)
        true = classes.log10_lr(new)
        for shares, times in ((right, 1), (wrong, 12)):
            fitted = ScoreCalibrator(draws=100, random_state=0)
            fitted.fit(np.repeat(scores, times), np.repeat(positive, times))
            shares.append(held(fitted, new, true))
    assert np.mean(right) > 0.82  # .92 is expected, with a standard error of .02
    assert np.mean(wrong) < 0.75


@pytest.mark.slow
def test_bands_need_weights_by_source():
    right, wrong = [], []
    for seed in range(6):
        population, rng = POPULATIONS["panes"], np.random.default_rng(seed)
        scores, same, a, b = population.draw(10, rng)
        new, truth, _, _ = population.draw(40, rng, items=2)
        rows = np.append(np.flatnonzero(truth), np.flatnonzero(~truth)[::80])
        true = population.log10_lr(new[rows])
        for shares, weight in ((right, source_weights(same, a, b)), (wrong, None)):
            fitted = ScoreCalibrator(draws=100, random_state=0)
            fitted.fit(scores, same, sample_weight=weight)
            shares.append(held(fitted, new[rows], true))
    assert np.mean(right) > 0.85
    assert np.mean(wrong) < np.mean(right) - 0.1


@pytest.mark.slow
def test_intervals_of_cllr_hold_by_source_and_not_by_pair():
    rows = [cllr_intervals("panes", "calibrated", 20, seed) for seed in range(30)]
    assert np.mean([row["jackknife"] for row in rows]) > 0.75  # .91 is expected, error .05
    assert np.mean([row["pairs"] for row in rows]) < 0.80  # .59 is expected, error .09
