"""Cllr, devPAV, cross-entropy and bounds: published numbers, closed forms, brute force."""

from fractions import Fraction

import numpy as np
import pytest

from bayescal.likelihood_ratio import (
    cllr,
    devpav,
    elub,
    empirical_cross_entropy,
    invariance_bounds,
    load_comparisons,
    min_cllr,
    source_bounds,
)

INF = np.inf
LOG = np.log10


@pytest.fixture(scope="module")
def cartridges():
    table = load_comparisons("cartridges")
    return (table["label"] == "same source").to_numpy(), table["score"].to_numpy()


def drawn(seed, n=60):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < 0.4
    y[:2] = True, False
    # Nearly calibrated: the mean of a normal log LR is half its variance.
    return y, np.round(np.where(y, 0.41, -0.41) + 0.6 * rng.normal(size=n), 1)


def test_measures_of_cartridges(cartridges):
    assert cllr(*cartridges) == pytest.approx(0.648787, abs=1e-6)
    assert min_cllr(*cartridges) == pytest.approx(0.474572, abs=1e-6)
    assert devpav(*cartridges) == pytest.approx(6.083837, abs=1e-6)


def test_bounds_of_cartridges(cartridges):
    np.testing.assert_allclose(elub(*cartridges), (-0.84, 1.55), atol=1e-9)
    expected = LOG([0.1412538, 38.1944271])
    np.testing.assert_allclose(invariance_bounds(*cartridges), expected, atol=1e-3)


def test_bounds_of_the_breath_analyser():
    lr = np.repeat([0.101, 1000.0, 1000.0, 0.101], [990, 10, 90, 10])
    y = np.repeat([0, 1], [1000, 100])
    np.testing.assert_allclose(10.0 ** np.array(elub(y, LOG(lr))), (0.1122018, 79.4328235), 1e-6)
    expected = LOG([0.1052741, 85.3731634])
    np.testing.assert_allclose(invariance_bounds(y, LOG(lr)), expected, atol=1e-3)


def test_invariance_bounds_of_a_published_example():
    random = np.random.RandomState(42)
    lr = np.r_[random.normal(1.0, 1.0, 100), random.normal(0.0, 1.0, 1000)] / np.log(10.0)
    y, expected = np.repeat([1, 0], [100, 1000]), LOG([0.2382319, 2.7861212])
    np.testing.assert_allclose(invariance_bounds(y, lr), expected, atol=1e-3)


@pytest.mark.parametrize(
    ("y", "lr", "expected_elub", "expected_invariance"),
    [
        ([1, 0], [INF, 0.0], (1.0, 1.0), (-0.477, 0.477)),
        ([1, 1, 1, 0, 0, 0], [INF] * 3 + [0.0] * 3, (0.3388442, 2.9512092), (-0.845, 0.845)),
        ([1, 1, 1, 0, 0], [0.01, 0.1, 1, 10, 100], (1.0, 1.0), (0.0, 0.0)),
        ([0, 0, 1, 1, 1], [0.01, 0.1, 1, 10, 100], (0.3801894, 1.4791084), (-0.823, 0.574)),
        ([0, 0, 0, 1, 1], [0.01, 0.1, 1, 10, 100], (0.6760830, 2.6302680), (-0.574, 0.823)),
        ([1, 0], [1.0, 1.0], (1.0, 1.0), (0.0, 0.0)),
        ([1] * 9 + [0], [10.0] * 10, (1.0, 1.0), (0.0, 0.102)),
        ([1] * 10 + [0], [10.0] * 10 + [1.0], (1.0, 1.7782794), (0.0, 0.581)),
        ([1] * 10 + [0], [1000.0] * 10 + [1.1], (1.0, 1.0), (0.0, 0.581)),
    ],
)
def test_bounds_of_small_sets(y, lr, expected_elub, expected_invariance):
    with np.errstate(divide="ignore"):
        log10_lr = LOG(np.array(lr))
    np.testing.assert_allclose(10.0 ** np.array(elub(y, log10_lr)), expected_elub, atol=1e-6)
    # Theirs are the last steps of .001 before the crossing.
    bounds = invariance_bounds(y, log10_lr)
    np.testing.assert_allclose(bounds, expected_invariance, atol=1.001e-3)


@pytest.mark.parametrize(
    ("y", "lr", "expected"),
    [
        ([1] * 5 + [0] * 5, [1.0] * 10, 0.0),
        ([1] * 5 + [0] * 5, [2.0] * 10, LOG(2.0)),
        ([1] * 3 + [0] * 4, [5.0] * 3 + [0.2] * 3 + [INF], INF),
        ([1] * 4 + [0] * 4, [5, 5, 5, 0.2, 5, 0.2, 0.2, 0.2], (LOG(5.0) - LOG(3.0)) / 2.0),
        ([1] * 4 + [0] * 4, [6, 5, 5, 0.2, 5, 0.2, 0.2, 0.1], (LOG(5.0) - LOG(2.0)) / 2.0),
        ([0, 0, 1, 1], [0.01, 10.0, 0.1, 100.0], 0.5),
        ([0, 0, 1, 1], [0.1, 1.0, 10.0, 100.0], np.nan),
    ],
)
def test_devpav_of_small_sets(y, lr, expected):
    np.testing.assert_allclose(devpav(y, LOG(np.array(lr, float))), expected, atol=1e-12)


def test_cllr_of_ratios_of_one_is_one_bit():
    assert cllr([0, 1, 1], [0.0, 0.0, 0.0]) == 1.0
    assert empirical_cross_entropy([0, 1, 1], [0.0] * 3, 0.0) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_cllr_is_its_definition(seed):
    y, log10_lr = drawn(seed)
    lr = 10.0**log10_lr
    expected = (np.log2(1.0 + 1.0 / lr[y]).mean() + np.log2(1.0 + lr[~y]).mean()) / 2.0
    assert cllr(y, log10_lr) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("t", [-2.0, 0.0, 1.3])
def test_cross_entropy_is_the_mean_log_loss_at_the_prior(t):
    y, log10_lr = drawn(1)
    odds = 10.0 ** (log10_lr + t)
    loss = -np.log2(np.where(y, odds, 1.0) / (1.0 + odds))
    prior = 10.0**t / (1.0 + 10.0**t)
    expected = prior * loss[y].mean() + (1.0 - prior) * loss[~y].mean()
    assert empirical_cross_entropy(y, log10_lr, t) == pytest.approx(expected, abs=1e-12)
    both = empirical_cross_entropy(y, log10_lr, [0.0, t])
    np.testing.assert_allclose(both, [cllr(y, log10_lr), expected])


@pytest.mark.parametrize("seed", range(3))
def test_min_cllr_is_the_least_of_all_monotone_ratios(seed):
    from scipy.optimize import minimize

    y, log10_lr = drawn(seed, n=12)
    values, group = np.unique(log10_lr, return_inverse=True)

    def cost(steps):
        # Squares of steps rise: any monotone LR of the groups.
        lr = steps[0] + np.concatenate([[0.0], np.cumsum(steps[1:] ** 2)])
        odds = 10.0 ** np.clip(lr, -30.0, 30.0)[group]
        return (np.log2(1.0 + 1.0 / odds[y]).mean() + np.log2(1.0 + odds[~y]).mean()) / 2.0

    starts = np.random.default_rng(seed).normal(size=(4, values.size))
    least = min(minimize(cost, start, options={"maxiter": 300}).fun for start in starts)
    assert min_cllr(y, log10_lr) <= least + 1e-9
    assert min_cllr(y, log10_lr) == pytest.approx(least, abs=2e-3)


@pytest.mark.parametrize("seed", range(3))
def test_devpav_is_a_sum_over_a_fine_grid(seed):
    from sklearn.isotonic import IsotonicRegression

    y, log10_lr = drawn(seed)
    weight = np.where(y, 1.0 / y.sum(), 1.0 / (~y).sum())
    p = IsotonicRegression().fit(log10_lr, y, weight).predict(np.unique(log10_lr))
    with np.errstate(divide="ignore"):
        pav = LOG(p) - LOG(1.0 - p)
    x = np.unique(log10_lr)[np.isfinite(pav)]
    grid = np.linspace(x[0], x[-1], 20001)
    expected = np.abs(np.interp(grid, x, pav[np.isfinite(pav)]) - grid).mean()
    assert devpav(y, log10_lr) == pytest.approx(expected, abs=1e-3)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_are_where_their_definitions_change(seed):
    y, log10_lr = drawn(seed)
    t = np.arange(-4.0, 4.0, 1e-4)
    above = np.array([(log10_lr[y == k][:, None] > t).sum(axis=0) for k in (0, 1)])
    n = np.array([(y == k).sum() for k in (0, 1)])
    cost = 1.0 - above[1] / (n[1] + 1) + 10.0**t * (above[0] + 1) / (n[0] + 1)
    useless = cost > np.minimum(1.0, 10.0**t)
    largest, smallest = log10_lr.max(), log10_lr.min()
    upper = min(t[(t >= 0.0) & useless][0], largest)
    lower = max(t[(t <= 0.0) & useless][-1], smallest)
    np.testing.assert_allclose(elub(y, log10_lr, step=1e-4), (lower, upper), atol=2e-4)


def exact_invariance_bound(positive, negative):
    """Return the LR at the first failure above 1, by counting in whole numbers."""
    last = Fraction(1)
    for lr in sorted({each for each in positive + negative if each > 1}):
        above = [sum(each >= lr for each in lrs) for lrs in (positive, negative)]
        ratio = Fraction(2 * above[0] + 1, 2 * above[1] + 1)
        ratio *= Fraction(len(negative) + 1, len(positive) + 1)
        if ratio < lr:
            return max(last, ratio)
        last = lr
    return max(*positive, Fraction(1))


def test_invariance_bounds_of_clipped_ratios_are_exact():
    widest = Fraction(20)
    for seed in range(12):
        rng = np.random.default_rng(seed)
        lrs = []
        for claim, n in ((1.0, 40), (-1.0, 70)):
            drawn_lr = np.exp(claim * 1.5 + 2.0 * rng.normal(size=n))
            near = [Fraction(each).limit_denominator(50) for each in drawn_lr]
            lrs.append([min(max(each, 1 / widest), widest) for each in near])
        upper = exact_invariance_bound(*lrs)
        inverse = [[1 / each for each in some] for some in lrs]
        lower = 1 / exact_invariance_bound(*reversed(inverse))
        y, log10_lr = np.repeat([True, False], [40, 70]), LOG(np.array(lrs[0] + lrs[1], float))
        expected = LOG([float(lower), float(upper)])
        np.testing.assert_allclose(invariance_bounds(y, log10_lr), expected, atol=1e-9)


def test_a_narrow_failure_of_invariance_is_found():
    # One negative at 6.335: (9.5 / 10) / (1.5 / 10) = 19 / 3 is smaller, by .0001 in log10.
    lr, y = [100.0] * 9 + [6.335] + [0.1] * 8, [1] * 9 + [0] * 9
    assert invariance_bounds(y, LOG(lr)).upper == pytest.approx(LOG(19.0 / 3.0), abs=1e-12)


@pytest.mark.parametrize("bounds", [elub, invariance_bounds])
def test_exchanged_propositions_have_mirrored_bounds(bounds):
    y, log10_lr = drawn(7)
    log10_lr = log10_lr + np.linspace(0.0, 0.01, y.size)
    lower, upper = bounds(y, log10_lr)
    # Thresholds of `elub` are whole steps of .01 whose ends are not mirrored.
    np.testing.assert_allclose(bounds(~y, -log10_lr), (-upper, -lower), atol=0.011)


def test_weights_equal_repetition():
    y, log10_lr = drawn(2)
    weight = np.random.default_rng(3).integers(0, 4, y.size)
    weight[:2] = 1
    rows = np.repeat(np.arange(y.size), weight)
    for measure in (cllr, min_cllr, devpav, empirical_cross_entropy):
        weighted = measure(y, log10_lr, sample_weight=weight)
        assert weighted == pytest.approx(measure(y[rows], log10_lr[rows]), abs=1e-12)


def test_infinite_ratios():
    y, log10_lr = [1, 1, 0, 0], np.array([INF, -INF, 0.0, -INF])
    assert cllr(y, log10_lr) == INF
    assert 0.0 < min_cllr(y, log10_lr) < 1.0
    assert cllr([1, 0], [INF, -INF]) == 0.0


def test_source_bounds_are_the_numbers_of_counterexamples():
    np.testing.assert_allclose(source_bounds(40, 20), (-LOG(20.0), LOG(40.0)))
    with pytest.raises(ValueError, match="positives must be positive and finite, got 0"):
        source_bounds(3, 0)


def test_natural_logarithms_are_noticed():
    rng = np.random.default_rng(0)
    y = rng.random(400) < 0.5
    natural = np.where(y, 2.0, -2.0) + 2.0 * rng.normal(size=400)  # calibrated
    with pytest.warns(UserWarning, match=r"natural logarithms: Cllr is .* Divide them"):
        cllr(y, natural)
    cllr(y, natural / np.log(10.0))


def test_ratios_that_are_no_logarithms_are_noticed():
    with pytest.warns(UserWarning, match=r"no negative number.*pass numpy.log10 of LRs"):
        cllr([1, 1, 0, 0], [30.0, 12.0, 0.1, 0.02])


@pytest.mark.parametrize("measure", [cllr, min_cllr, devpav, empirical_cross_entropy, elub])
@pytest.mark.parametrize(
    ("y", "log10_lr", "message"),
    [
        ([1, 1], [0.0, 1.0], "both classes, got no negative one"),
        ([0, 0], [0.0, 1.0], "both classes, got no positive one"),
        ([0, 1], [0.0, np.nan], "got nan at position 1"),
        ([0, 1], [0.0], "must have the same length, got 2 and 1"),
        ([0, 1], [[0.0], [1.0]], r"must have shape \(n,\)"),
        ([0, 1], ["a", "b"], "log10_lr must be real numbers"),
        (["no", "yes"], [0.0, 1.0], "pass y == positive label"),
    ],
)
def test_bad_inputs(measure, y, log10_lr, message):
    with pytest.raises(ValueError, match=message):
        measure(y, log10_lr)


def test_bad_options():
    with pytest.raises(ValueError, match="step must be positive and finite, got -1"):
        elub([0, 1], [0.0, 1.0], step=-1.0)
    with pytest.raises(ValueError, match="log10_prior_odds must lie within 300"):
        empirical_cross_entropy([0, 1], [0.0, 1.0], INF)
