"""Fits: never beaten by brute force, and unmoved by what must not move them."""

import functools
import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats

from bayescal.families import asymmetric_gaussian, hybrid
from bayescal.families._profile import deviation_sums, sort_scores
from tests.references import (
    ASYMMETRIC,
    MIRRORED,
    PARAMETERS,
    RECORDS,
    brute_force,
    log_likelihood,
    profile,
    relative,
    to_parameters,
    to_scales,
)

pytestmark = pytest.mark.one_era

RNG = np.random.default_rng(20)
SAMPLES = {
    "one": np.array([3.75]),
    "two": np.array([-1.0, 2.0]),
    "three": np.array([0.0, 1.0, 4.5]),
    "normal 5": RNG.normal(size=5),
    "normal 12": RNG.normal(size=12),
    "normal 60": RNG.normal(3.0, 2.0, size=60),
    "skewed 10": -RNG.exponential(size=10),
    "skewed 50": RNG.exponential(size=50) - 0.3 * RNG.exponential(size=50),
    "heavy tails": RNG.standard_t(1.3, size=40),
    "over ten decades": np.exp(4.0 * RNG.normal(size=25)),
    "tied": RNG.integers(0, 5, size=40).astype(float),
    "mostly tied": np.repeat([0.0, 1.0, 7.0], [20, 2, 1]),
    "two clumps": np.concatenate([0.01 * RNG.normal(size=20), 5.0 + 0.1 * RNG.normal(size=9)]),
    "three clumps": np.concatenate([m + 0.05 * RNG.normal(size=9) for m in (-40.0, 0.0, 3.0)]),
    "far from 0": 1e6 + RNG.normal(size=30),
    "small": 1e-8 * RNG.gumbel(size=30),
}
WEIGHTS = {
    "equal": lambda n: np.ones(n),
    "counts": lambda n: np.arange(n) * 7 % 4 + (n == 1),
    "uneven": lambda n: np.random.default_rng(n).exponential(size=n) ** 3,
}

each_family = pytest.mark.parametrize("family", PARAMETERS)
each_asymmetric = pytest.mark.parametrize("family", ASYMMETRIC)
each_sample = pytest.mark.parametrize("sample", SAMPLES)
# Two scores have two equally likely modes, mirror images: rounding decides between them.
each_lopsided_sample = pytest.mark.parametrize("sample", sorted(set(SAMPLES) - {"two"}))
# Of one score scipy's scale is 0, and the spread is its distance from 0, which a shift changes.
each_spread_sample = pytest.mark.parametrize("sample", list(SAMPLES)[1:])
each_floor = pytest.mark.parametrize("scale_floor", ["auto", None, "wide"])


def fit(family, x, weight=None, **options):
    return RECORDS[family].fit(x, weight, **options)


@functools.cache
def case(family, sample, kind, scale_floor):
    """Return scores and weights that count, the fit, and its mode and scales."""
    x, weight = SAMPLES[sample], WEIGHTS[kind](SAMPLES[sample].size).astype(float)
    wide = 0.7 * float(np.ptp(x)) or 2.5  # holds one side in most samples, both in many
    result = fit(family, x, weight, scale_floor=wide if scale_floor == "wide" else scale_floor)
    return x[weight > 0.0], weight[weight > 0.0], result, to_scales(family, result.parameters)


# The global optimum


@each_floor
@each_sample
@each_family
def test_never_beaten_by_brute_force(family, sample, scale_floor):
    # Equal weights are uneven ones that happen to be equal: two samples show that they are.
    for kind in WEIGHTS if sample in ("normal 12", "tied") else ("uneven",):
        x, weight, result, scales = case(family, sample, kind, scale_floor)
        assert min(scales[1:]) >= result.scale_floor.floor * (1.0 - 1e-15)
        best, own = brute_force(family, x, weight, result.scale_floor.floor), result.log_likelihood
        # A few units in the last place of log scale and of the exponents, for each score.
        slack = 1e-14 * weight.sum() * (2.0 + abs(np.log(scales[1:])).max())
        assert own >= best - slack
        # And not by claiming more than the density of the parameters gives.
        assert own == pytest.approx(log_likelihood(family, x, weight, *scales), abs=slack)
        density = RECORDS[family].logpdf(x, *result.parameters.values())
        assert own == pytest.approx(np.sum(weight * density), abs=slack)
        # Brute force comes near, or it would be no judge.
        assert own <= best + 1e-4 * weight.sum()


@each_floor
@each_sample
@each_family
def test_no_small_change_is_better(family, sample, scale_floor):
    x, weight, result, (theta, left, right) = case(family, sample, "equal", scale_floor)
    floor, asymmetric = result.scale_floor.floor, family in ASYMMETRIC
    best = log_likelihood(family, x, weight, theta, left, right)
    slack = 2e-14 * weight.sum() * (2.0 + abs(np.log([left, right])).max())
    for step in 10.0 ** np.arange(-8, 0):
        for d_theta, d_left, d_right in itertools.product([-step, 0.0, step], repeat=3):
            a = max(left * np.exp(d_left), floor)
            b = max(right * np.exp(d_right), floor) if asymmetric else a
            for unit in (left, right):
                other = log_likelihood(family, x, weight, theta + d_theta * unit, a, b)
                assert other <= best + slack


@each_asymmetric
@pytest.mark.parametrize("scale_floor", ["auto", None])
@each_sample
def test_exact_is_never_below_bennetts_grid(family, sample, scale_floor):
    x, weight, exact, _ = case(family, sample, "uneven", scale_floor)
    grid = fit(family, x, weight, candidates="bennett", scale_floor=scale_floor)
    # His grid: the scores, and nine points in each interval that cut it into ten pieces.
    knots = np.unique(x)
    thetas = np.concatenate([knots, *(knots[:-1] + k / 10 * np.diff(knots) for k in range(1, 10))])
    on_grid = profile(family, x, weight, thetas, grid.scale_floor.floor).max()
    slack = 1e-13 * weight.sum() * (1.0 + abs(np.log(grid.scale_floor.floor)))
    assert grid.log_likelihood == pytest.approx(on_grid, abs=slack)
    assert exact.log_likelihood >= grid.log_likelihood - slack / 10


@each_spread_sample
def test_symmetric_fits_equal_scipys(sample):
    x = SAMPLES[sample]
    mu, sigma = stats.norm.fit(x)
    # Scipy sums squares around the mean as it is; 1e-9 is what is left at 1e6 + noise.
    got = fit("gaussian", x, scale_floor=None).parameters
    assert got == relative({"mu": mu, "sigma": sigma}, 1e-9)
    theta, scale = stats.laplace.fit(x)
    got = fit("laplace", x, scale_floor=None)
    if got.scale_floor.acted == ():
        assert got.parameters == relative({"theta": theta, "beta": 1.0 / scale}, 1e-9)


@pytest.mark.parametrize("n", [30, 101, 1000])
def test_mode_of_the_asymmetric_gaussian_to_the_last_digits(n):
    x = asymmetric_gaussian.rvs(0.5, 1.0, 1.5, size=n, rng=n)
    result = fit("asymmetric_gaussian", x, scale_floor=None)
    assert result.scale_floor.acted == ()
    scores = [Fraction(score) for score in x]

    def slope(theta):  # of the profile, up to a positive factor: D_l^3 D_r2^2 - D_r^3 D_l2^2
        left = [theta - score for score in scores if score < theta]
        right = [score - theta for score in scores if score > theta]
        squares_left, squares_right = (sum(d * d for d in side) for side in (left, right))
        return sum(left) ** 3 * squares_right**2 - sum(right) ** 3 * squares_left**2

    theta, step = Fraction(result.parameters["theta"]), Fraction(1, 10**13)
    assert slope(theta - step) < 0 < slope(theta + step)


@pytest.mark.parametrize("n", [3, 8, 20, 60, 250])
def test_no_search_from_many_starts_finds_a_better_hybrid(n):
    """The mirrored hybrid is its reflection: test_reflection_exchanges_the_sides."""
    family = "hybrid"
    rng = np.random.default_rng(n)
    x = (
        rng.gumbel(size=n)
        if n % 2
        else np.concatenate([rng.normal(size=n // 2), rng.normal(4, 1, n)])
    )
    for scale_floor in ("auto", 0.05):
        result = fit(family, x, scale_floor=scale_floor)
        floor = result.scale_floor.floor

        def objective(p, floor=floor):
            sides = np.maximum(np.exp(p[1:]), floor)
            return -log_likelihood(family, x, 1.0, p[0], *sides)

        starts = np.column_stack([rng.choice(x, 20), rng.normal(0.0, 1.0, (20, 2))])
        options = {"maxiter": 2000, "xatol": 1e-9, "fatol": 1e-11}
        found = [optimize.minimize(objective, s, method="Nelder-Mead", options=options).fun
                 for s in starts]  # fmt: skip
        assert result.log_likelihood >= -min(found) - 1e-12 * n
        # One of so many arrives, or they would show nothing.
        assert result.log_likelihood <= -min(found) + 1e-6 * n


def test_mode_of_the_hybrid_between_and_at_scores():
    # Where the mode lies between two scores its slope, D_l/sigma^2 - W rate, is 0.
    between = []
    for n in range(300, 340):
        x = hybrid.rvs(0.0, 1.0, 0.05 + 0.01 * (n - 300), size=n, rng=n)
        result = fit("hybrid", x, scale_floor=None)
        assert result.scale_floor.acted == ()
        theta, rate, sigma = result.parameters.values()
        pull, push = np.sum(theta - x[x < theta]) / sigma**2, np.sum(x > theta) * rate
        between.append(theta not in x)
        if between[-1]:
            assert pull == relative(push, 1e-9)
        else:  # left of the score the slope is negative, right of it positive
            assert push <= pull * (1.0 + 1e-9)
            assert pull <= (push + rate) * (1.0 + 1e-9)
    assert 3 < sum(between) < 37


@each_asymmetric
def test_finds_the_global_of_two_optima(family):
    # Seventeen scores close together, twenty-five spread out: a mode in either clump.
    x = np.concatenate([0.02 * np.arange(-8, 9), 6.0 + 0.2 * np.arange(-12, 13)])
    result = fit(family, x, scale_floor=0.01)
    thetas = np.linspace(-0.5, 9.0, 1901)
    values = profile(family, x, np.ones(x.size), thetas, 0.01)
    peaks = np.flatnonzero((values[1:-1] > values[:-2]) & (values[1:-1] > values[2:])) + 1
    assert {bool(theta > 6.0) for theta in thetas[peaks]} == {False, True}

    def objective(p):
        return -log_likelihood(family, x, 1.0, p[0], *np.maximum(np.exp(p[1:]), 0.01))

    start = [np.median(x), *np.log([x.std()] * 2)]
    local = optimize.minimize(objective, start, method="Nelder-Mead", options={"maxiter": 2000})
    assert local.success
    assert local.x[0] > 6.0
    assert result.parameters["theta"] < 0.0
    assert result.log_likelihood > -local.fun + 5.0


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_deviations_equal_direct_sums(weighted):
    rng = np.random.default_rng(7)
    x = 1e5 + rng.standard_t(3, size=200)
    weight = 10.0 ** rng.uniform(-20.0, 0.0, size=200) if weighted else np.ones(200)
    scores = sort_scores(x, weight if weighted else None)
    index, share = np.arange(199), rng.random(199)
    for left_power, right_power in ((1, 1), (2, 2), (2, 1), (1, 2)):
        sums = deviation_sums(scores, (left_power, right_power))
        at_scores = (scores.x, sums.left.at, sums.right.at, 1e-13)
        between = (scores.x[:-1] + share * np.diff(scores.x), *sums.between(index, share), 1e-6)
        for thetas, lefts, rights, rel in (at_scores, between):  # theta rounds by 1e-16 of 1e5
            d = (x - thetas[:, None]) / scores.unit
            parts = np.maximum(-d, 0.0) ** left_power, np.maximum(d, 0.0) ** right_power
            for got, part in zip((lefts, rights), parts, strict=True):
                np.testing.assert_allclose(got, np.sum(weight * part, 1), rtol=rel, atol=0)


# What must not move it


def assert_same(got, expected, rel=1e-12):
    """Compare all that two fits of the same scores say."""
    assert got.scale_floor.acted == expected.scale_floor.acted
    assert got.scale_floor.floor == relative(expected.scale_floor.floor, rel)
    assert got.parameters == relative(expected.parameters, rel)
    assert got.log_likelihood == relative(expected.log_likelihood, rel)
    assert got.weight == relative(expected.weight, rel)


@each_spread_sample
@each_family
def test_shift(family, sample):
    unit = 2.0 ** np.round(np.log2(np.ptp(SAMPLES[sample])) - 20.0)
    x = unit * np.round(SAMPLES[sample] / unit)  # so that sums with 64 units are exact
    expected, shifted = fit(family, x), fit(family, x + 64.0 * unit)
    # Equal but for the mean, which a distant 0 rounds.
    rel = 1e-13 if family == "gaussian" else 0.0
    theta, left, right = to_scales(family, expected.parameters)
    moved = to_parameters(family, theta + 64.0 * unit, left, right)
    assert tuple(shifted.parameters.values()) == relative(moved, max(rel, 1e-15))
    assert shifted.scale_floor == expected.scale_floor
    assert shifted.log_likelihood == relative(expected.log_likelihood, rel)


@pytest.mark.parametrize("factor", [2.0**-40, 2.0**40, 3.0, 1e-9, 0.7e12])
@each_lopsided_sample
@each_family
def test_scale(family, sample, factor):
    x = SAMPLES[sample]
    expected, scaled = fit(family, x), fit(family, factor * x)
    parameters = [factor * value for value in to_scales(family, expected.parameters)]
    # Other products than those with powers of two round: 1e6 + noise by 1e-10 of the noise.
    rel = 1e-15 if np.log2(factor) % 1.0 == 0.0 else 1e-9
    assert tuple(scaled.parameters.values()) == relative(to_parameters(family, *parameters), rel)
    assert scaled.scale_floor.acted == expected.scale_floor.acted
    difference = expected.log_likelihood - scaled.log_likelihood
    assert difference == relative(x.size * np.log(factor), 1e-9)


@each_sample
@each_family
def test_reflection_exchanges_the_sides(family, sample):
    x, weight, *_ = case(family, sample, "uneven", "auto")  # no two modes are equally likely
    got, expected = fit(MIRRORED[family], -x, weight), fit(family, x, weight)
    theta, left, right = to_scales(family, expected.parameters)
    mirrored = to_parameters(MIRRORED[family], -theta, right, left)
    assert tuple(got.parameters.values()) == relative(mirrored, 1e-12)
    assert got.log_likelihood == relative(expected.log_likelihood, 1e-13)
    exchanged = {name: name for name in PARAMETERS[family]}
    if "hybrid" not in family:  # whose parameters name the exponential and the Gaussian side
        exchanged = dict(zip(PARAMETERS[family][1:], PARAMETERS[family][:0:-1], strict=True))
    assert {exchanged[name] for name in got.scale_floor.acted} == set(expected.scale_floor.acted)


@each_sample
@each_family
def test_permutation(family, sample):
    x, weight, *_ = case(family, sample, "uneven", "auto")
    order = np.random.default_rng(3).permutation(x.size)
    assert_same(fit(family, x[order], weight[order]), fit(family, x, weight))
    assert_same(fit(family, x[order]), fit(family, x))


@pytest.mark.parametrize("scale_floor", ["auto", None])
@each_sample
@each_family
def test_a_weight_is_a_repetition_and_0_an_absence(family, sample, scale_floor):
    x, counts = SAMPLES[sample], WEIGHTS["counts"](SAMPLES[sample].size)
    for candidates in ("exact", "bennett"):
        options = {"scale_floor": scale_floor, "candidates": candidates}
        weighted = fit(family, x, counts, **options)
        assert_same(weighted, fit(family, np.repeat(x, counts), **options))
        assert_same(weighted, fit(family, x[counts > 0], counts[counts > 0], **options))
        assert weighted.weight == counts.sum()


@pytest.mark.parametrize("family", list(PARAMETERS))
def test_a_distant_score_of_weight_0_is_an_absence(family):
    x, weight = np.array([1e17, 1.0, 2.0, 3.5, 9.0]), np.array([0.0, 1.0, 1.0, 1.0, 1.0])
    assert_same(fit(family, x, weight), fit(family, x[1:]))


@pytest.mark.parametrize("factor", [0.1, 7.0, 2.0**-60])
@each_lopsided_sample
@each_family
def test_a_factor_on_all_weights_is_one_on_the_log_likelihood(family, sample, factor):
    x, weight, expected, _ = case(family, sample, "equal", None)  # "auto" counts the weights
    got = fit(family, x, factor * weight, scale_floor=None)
    assert got.parameters == relative(expected.parameters, 1e-11)
    assert got.scale_floor.acted == expected.scale_floor.acted
    assert got.log_likelihood == relative(factor * expected.log_likelihood, 1e-12)
    assert got.weight == relative(factor * expected.weight, 1e-13)


@pytest.mark.parametrize("family", list(PARAMETERS))
def test_equal_weights_are_none_whatever_their_rounding(family):
    # 0.1 a score: the running sum misses one half by more than a unit in the last place.
    x = np.random.default_rng(1000).normal(size=1000)
    got, expected = (fit(family, x, w, scale_floor=None) for w in (np.full(1000, 0.1), None))
    assert got.parameters == relative(expected.parameters, 1e-10)


@each_asymmetric
def test_the_floor_says_it_acted_exactly_where_it_changed_the_fit(family):
    # Also where the optimum with a floor is another mode, away from the floor.
    rng = np.random.default_rng(40)
    elsewhere = 0
    for _ in range(150):
        x = rng.gumbel(size=rng.integers(5, 40))
        floored, free = (fit(family, x, scale_floor=scale_floor) for scale_floor in ("auto", None))
        same = floored.log_likelihood == pytest.approx(free.log_likelihood, abs=1e-9)
        assert (floored.scale_floor.acted == ()) == same
        scales = to_scales(family, floored.parameters)[1:]
        elsewhere += (
            bool(floored.scale_floor.acted) and min(scales) > floored.scale_floor.floor * 1.001
        )
    assert elsewhere > 3
