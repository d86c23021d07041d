"""Fits: never beaten by brute force, unmoved by what must not move them, finite for hard data.

Each family is tried on every sample, with floors and weights in turn so that each pair of family,
sample, floor and weights is tried.
"""

import functools
import itertools
import tracemalloc
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayescal.families import FAMILIES, ScaleFloor, asymmetric_gaussian, automatic_floor
from bayescal.families._profile import BESIDE, _gaussian_beside, deviation_sums, sort_scores
from tests.references import (
    ASYMMETRIC,
    PARAMETERS,
    POWERS,
    brute_force,
    log_likelihood,
    profile,
    relative,
    to_parameters,
    to_scales,
)

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
FLOORS = ("auto", None, "wide")
NOISE = np.random.default_rng(11).gumbel(size=40)
HARD = {
    "one score": [0.0],
    "all equal": [2.5] * 5,
    "all equal to 1e15": [1e15] * 3,
    "all equal to 1e149": [1e149] * 2,
    "all equal to 1e-150": [1e-150] * 3,
    "neighbouring doubles": [1.0, np.nextafter(1.0, 2.0)],
    "around 1e15": 1e15 + np.array([0.0, 1.0, 2.0, 5.0, 9.0]),
    "of size 1e-200": 1e-200 * NOISE,
    "of size 1e149": 1e149 * NOISE,
    "of many sizes": [1e-150, 1e-15, 1.0, 1e15, 1e149],
    "one at 1e12": [*NOISE, 1e12],
    "a lattice": np.arange(300.0),
}

each_family = pytest.mark.parametrize("family", PARAMETERS)
each_asymmetric = pytest.mark.parametrize("family", ASYMMETRIC)


def fit(family, x, weight=None, **options):
    return FAMILIES[family].fit(x, weight, **options)


def in_turn(family, *without):
    """Yield each sample with a kind of weights and a floor."""
    first = list(PARAMETERS).index(family)
    for k, sample in enumerate(SAMPLES):
        if sample not in without:
            yield sample, tuple(WEIGHTS)[(first + 2 * k) % 3], FLOORS[(first + k) % 3]


@functools.cache
def case(family, sample, kind, scale_floor):
    """Return scores and weights that count, the fit, and its mode and scales."""
    x, weight = SAMPLES[sample], WEIGHTS[kind](SAMPLES[sample].size).astype(float)
    wide = 0.7 * float(np.ptp(x)) or 2.5  # holds one side in most samples, both in many
    result = fit(family, x, weight, scale_floor=wide if scale_floor == "wide" else scale_floor)
    return x[weight > 0.0], weight[weight > 0.0], result, to_scales(family, result.parameters)


@each_family
def test_never_beaten_by_brute_force(family):
    for own in in_turn(family):
        x, weight, result, scales = case(family, *own)
        floor = result.scale_floor.floor
        assert min(scales[1:]) >= floor * (1.0 - 1e-15)
        best, reached = brute_force(family, x, weight, floor), result.log_likelihood
        # A few units in the last place of log scale and of the exponents, for each score.
        slack = 1e-14 * weight.sum() * (2.0 + abs(np.log(scales[1:])).max())
        assert reached >= best - slack, own
        # And not by claiming more than the density of the parameters gives.
        direct = log_likelihood(family, x, weight, *scales)
        assert reached == pytest.approx(direct, abs=slack), own
        density = FAMILIES[family].logpdf(x, *result.parameters.values())
        assert reached == pytest.approx(np.sum(weight * density), abs=slack), own
        # Brute force comes near, or it would be no judge.
        assert reached <= best + 1e-4 * weight.sum(), own


@each_family
def test_no_small_change_is_better(family):
    for sample, _, scale_floor in in_turn(family):
        x, weight, result, (theta, left, right) = case(family, sample, "equal", scale_floor)
        floor, asymmetric = result.scale_floor.floor, family in ASYMMETRIC
        best = log_likelihood(family, x, weight, theta, left, right)
        slack = 2e-14 * weight.sum() * (2.0 + abs(np.log([left, right])).max())
        for step in (1e-8, 1e-6, 1e-4, 0.01):
            for d_theta, d_left, d_right in itertools.product([-step, 0.0, step], repeat=3):
                a = max(left * np.exp(d_left), floor)
                b = max(right * np.exp(d_right), floor) if asymmetric else a
                for unit in (left, right):
                    other = log_likelihood(family, x, weight, theta + d_theta * unit, a, b)
                    assert other <= best + slack, sample


@each_asymmetric
def test_exact_is_never_below_bennetts_grid(family):
    for sample, scale_floor in zip(SAMPLES, itertools.cycle(["auto", None]), strict=False):
        x, weight, exact, _ = case(family, sample, "uneven", scale_floor)
        grid = fit(family, x, weight, candidates="bennett", scale_floor=scale_floor)
        # His grid: the scores, and nine points in each interval that cut it into ten pieces.
        knots = np.unique(x)
        inner = [knots[:-1] + k / 10 * np.diff(knots) for k in range(1, 10)]
        thetas, floor = np.concatenate([knots, *inner]), grid.scale_floor.floor
        slack = 1e-13 * weight.sum() * (1.0 + abs(np.log(floor)))
        on_grid = profile(family, x, weight, thetas, floor).max()
        assert grid.log_likelihood == pytest.approx(on_grid, abs=slack), sample
        assert exact.log_likelihood >= grid.log_likelihood - slack / 10, sample


def test_symmetric_fits_equal_scipys():
    for x in list(SAMPLES.values())[1:]:  # of one score scipy's scale is 0
        mu, sigma = stats.norm.fit(x)
        # Scipy sums squares around the mean as it is; 1e-9 is what is left at 1e6 + noise.
        got = fit("gaussian", x, scale_floor=None).parameters
        assert got == relative({"mu": mu, "sigma": sigma}, 1e-9)
        theta, scale = stats.laplace.fit(x)
        got = fit("laplace", x, scale_floor=None)
        if got.scale_floor.acted == ():
            assert got.parameters == relative({"theta": theta, "beta": 1.0 / scale}, 1e-9)


def test_mode_of_the_asymmetric_gaussian_to_the_last_digits():
    for n in (30, 101, 1000):
        x = asymmetric_gaussian.rvs(0.5, 1.0, 1.5, size=n, rng=n)
        result = fit("asymmetric_gaussian", x, scale_floor=None)
        assert result.scale_floor.acted == ()
        scores = [Fraction(score) for score in x]

        def slope(theta, scores=scores):
            """Return that of the profile, up to a positive factor: D_l^3 D_r2^2 - D_r^3 D_l2^2."""
            left = [theta - score for score in scores if score < theta]
            right = [score - theta for score in scores if score > theta]
            squares_left, squares_right = (sum(d * d for d in side) for side in (left, right))
            return sum(left) ** 3 * squares_right**2 - sum(right) ** 3 * squares_left**2

        theta, step = Fraction(result.parameters["theta"]), Fraction(1, 10**13)
        assert slope(theta - step) < 0 < slope(theta + step)


@pytest.mark.parametrize("weighted", [False, True])
def test_sums_of_deviations_equal_direct_sums(weighted):
    rng = np.random.default_rng(7)
    x = 1e5 + rng.standard_t(3, size=200)
    weight = 10.0 ** rng.uniform(-20.0, 0.0, size=200) if weighted else np.ones(200)
    scores = sort_scores(x, weight if weighted else None)
    index, share = np.arange(199), rng.random(199)
    for power in (1, 2):
        sums = deviation_sums(scores, power)
        at_scores = (scores.x, sums.left.at, sums.right.at, 1e-13)
        between = (scores.x[:-1] + share * np.diff(scores.x), *sums.between(index, share), 1e-6)
        for thetas, lefts, rights, rel in (at_scores, between):  # theta rounds by 1e-16 of 1e5
            d = (x - thetas[:, None]) / scores.unit
            parts = np.maximum(-d, 0.0) ** power, np.maximum(d, 0.0) ** power
            for got, part in zip((lefts, rights), parts, strict=True):
                np.testing.assert_allclose(got, np.sum(weight * part, 1), rtol=rel, atol=0)


def assert_same(got, expected, rel=1e-12):
    """Compare all that two fits of the same scores say."""
    assert got.scale_floor.acted == expected.scale_floor.acted
    assert got.scale_floor.floor == relative(expected.scale_floor.floor, rel)
    assert got.parameters == relative(expected.parameters, rel)
    assert got.log_likelihood == relative(expected.log_likelihood, rel)
    assert got.weight == relative(expected.weight, rel)


@each_family
def test_shift_and_scale(family):
    factors = itertools.cycle([2.0**-40, 2.0**40, 3.0, 1e-9, 0.7e12])
    # The spread of one score is its distance from 0, which a shift changes. Two scores have two
    # equally likely modes, mirror images: rounding decides between them.
    for (sample, *_), factor in zip(in_turn(family, "one", "two"), factors, strict=False):
        unit = 2.0 ** np.round(np.log2(np.ptp(SAMPLES[sample])) - 20.0)
        x = unit * np.round(SAMPLES[sample] / unit)  # so that sums with 64 units are exact
        expected, shifted = fit(family, x), fit(family, x + 64.0 * unit)
        # Equal but for the mean, which a distant 0 rounds.
        rel = 1e-13 if family == "gaussian" else 0.0
        theta, left, right = to_scales(family, expected.parameters)
        moved = to_parameters(family, theta + 64.0 * unit, left, right)
        assert tuple(shifted.parameters.values()) == relative(moved, max(rel, 1e-15)), sample
        assert shifted.scale_floor == expected.scale_floor
        assert shifted.log_likelihood == relative(expected.log_likelihood, rel)
        scaled = fit(family, factor * x)
        moved = to_parameters(family, factor * theta, factor * left, factor * right)
        # Other products than those with powers of two round: 1e6 + noise by 1e-10 of the noise.
        rel = 1e-15 if np.log2(factor) % 1.0 == 0.0 else 1e-9
        assert tuple(scaled.parameters.values()) == relative(moved, rel), sample
        assert scaled.scale_floor.acted == expected.scale_floor.acted
        difference = expected.log_likelihood - scaled.log_likelihood
        assert difference == relative(x.size * np.log(factor), 1e-9)


@each_family
def test_reflection_exchanges_the_sides_and_order_says_nothing(family):
    exchanged = dict(zip(PARAMETERS[family][1:], PARAMETERS[family][:0:-1], strict=True))
    for sample in SAMPLES:
        x, weight, expected, scales = case(family, sample, "uneven", "auto")  # one mode is best
        got = fit(family, -x, weight)
        mirrored = to_parameters(family, -scales[0], scales[2], scales[1])
        assert tuple(got.parameters.values()) == relative(mirrored, 1e-12), sample
        assert got.log_likelihood == relative(expected.log_likelihood, 1e-13)
        acted = {exchanged[name] for name in got.scale_floor.acted}
        assert acted == set(expected.scale_floor.acted)
        order = np.random.default_rng(3).permutation(x.size)
        assert_same(fit(family, x[order], weight[order]), expected)
        assert_same(fit(family, x[order]), fit(family, x))


@each_family
def test_a_weight_is_a_repetition_and_0_an_absence(family):
    candidates = itertools.cycle(["exact", "bennett"])
    for (sample, _, floor), tried in zip(in_turn(family), candidates, strict=False):
        x, counts = SAMPLES[sample], WEIGHTS["counts"](SAMPLES[sample].size)
        options = {"scale_floor": 0.4 if floor == "wide" else floor, "candidates": tried}
        weighted = fit(family, x, counts, **options)
        assert_same(weighted, fit(family, np.repeat(x, counts), **options))
        assert_same(weighted, fit(family, x[counts > 0], counts[counts > 0], **options))
        assert weighted.weight == counts.sum()
    x, weight = np.array([1e17, 1.0, 2.0, 3.5, 9.0]), np.array([0.0, 1.0, 1.0, 1.0, 1.0])
    assert_same(fit(family, x, weight), fit(family, x[1:]))


@each_family
def test_a_factor_on_all_weights_is_one_on_the_log_likelihood(family):
    factors = itertools.cycle([0.1, 7.0, 2.0**-60])
    for (sample, *_), factor in zip(in_turn(family, "two"), factors, strict=False):
        x, weight, expected, _ = case(family, sample, "equal", None)  # "auto" counts the weights
        got = fit(family, x, factor * weight, scale_floor=None)
        assert got.parameters == relative(expected.parameters, 1e-11), sample
        assert got.scale_floor.acted == expected.scale_floor.acted
        assert got.log_likelihood == relative(factor * expected.log_likelihood, 1e-12)
        assert got.weight == relative(factor * expected.weight, 1e-13)
    # 0.1 a score: the running sum misses one half by more than a unit in the last place.
    x = np.random.default_rng(1000).normal(size=1000)
    got, expected = (fit(family, x, w, scale_floor=None) for w in (np.full(1000, 0.1), None))
    assert got.parameters == relative(expected.parameters, 1e-10)


@each_family
def test_answers_to_hard_data_are_finite_and_in_order(family):
    for x in HARD.values():
        for scale_floor, candidates in itertools.product(("auto", None), ("exact", "bennett")):
            check_answer(family, np.asarray(x), scale_floor, candidates)


def check_answer(family, x, scale_floor, candidates):
    result = fit(family, x, scale_floor=scale_floor, candidates=candidates)
    theta, left, right = to_scales(family, result.parameters)
    assert np.isfinite([theta, left, right, result.log_likelihood]).all()
    assert x.min() <= theta <= x.max()
    assert 0.0 < result.scale_floor.floor <= min(left, right) * (1.0 + 1e-15)
    assert tuple(result.parameters) == PARAMETERS[family]
    functions, parameters = FAMILIES[family], result.parameters
    density = functions.logpdf(x, **parameters)
    assert np.isfinite(density).all()
    # The mode rounds to a double; a score's log-density falls by at most 8 a scale near it.
    rounding = 8.0 * x.size * np.spacing(abs(theta)) / min(left, right)
    assert result.log_likelihood == pytest.approx(density.sum(), rel=1e-12, abs=1e-12 + rounding)
    tails = functions.logcdf(np.sort(x), **parameters), functions.logsf(np.sort(x), **parameters)
    assert np.isfinite(tails).all()
    assert (np.diff(tails[0]) >= 0.0).all()
    assert (np.diff(tails[1]) <= 0.0).all()


@each_family
def test_scores_of_other_sizes_are_scores_in_other_units(family):
    x = np.random.default_rng(6).integers(0, 50, size=30).astype(float)
    near, far = fit(family, x), fit(family, x + 1e15)
    theta, *scales = to_scales(family, near.parameters)
    # The mean and a mode between scores round to the doubles there, 1/8 apart.
    expected = to_parameters(family, theta + 1e15, *scales)
    rel = 0.01 if family == "gaussian" else 0.0
    assert tuple(far.parameters.values())[1:] == relative(expected[1:], rel)
    assert far.parameters[PARAMETERS[family][0]] == pytest.approx(theta + 1e15, abs=0.125)
    theta, left, right = to_scales(family, fit(family, NOISE).parameters)
    for size in (1e-15, 1e-150, 1e-200, 1e149):
        got = to_scales(family, fit(family, size * NOISE).parameters)
        assert got == relative((size * theta, size * left, size * right), 1e-12)


@each_family
def test_weights_over_24_decades(family):
    weight = 10.0 ** np.random.default_rng(2).permutation(np.linspace(-12.0, 12.0, NOISE.size))
    for scale_floor in ("auto", None):
        result = fit(family, NOISE, weight, scale_floor=scale_floor)
        best = brute_force(family, NOISE, weight, result.scale_floor.floor)
        own = log_likelihood(family, NOISE, weight, *to_scales(family, result.parameters))
        assert result.log_likelihood >= best - 1e-13 * weight.sum()
        assert result.log_likelihood == relative(own, 1e-12)


@each_asymmetric
def test_more_scores_than_are_worked_on_at_once(family):
    # The scores of a mode in the first fifth, then, reflected, in the last.
    shape = to_parameters(family, 0.0, 0.2, 1.0)
    x = FAMILIES[family].rvs(*shape, size=100_000, rng=5)
    got = to_scales(family, fit(family, x).parameters)
    assert got == pytest.approx((0.0, 0.2, 1.0), abs=0.03)  # six standard errors or more
    theta, left, right = to_scales(family, fit(family, -x).parameters)
    assert (-theta, right, left) == relative(got, 1e-9)


@each_asymmetric
def test_memory(family):
    # Sorted scores, gaps, weights before and after, four sums, one temporary: nine arrays.
    x = np.random.default_rng(0).normal(size=500_000)
    fit(family, x[:100])
    tracemalloc.start()
    try:
        fit(family, x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert x.nbytes < peak < 10 * x.nbytes


@pytest.mark.parametrize("family", ["laplace", "asymmetric_gaussian"])
def test_containers_and_dtypes(family):
    x, weight = [-2.0, 0.0, 1.0, 5.0, 9.0, 9.0], [1.0, 2.0, 1.0, 0.0, 1.0, 3.0]
    expected = fit(family, np.array(x), np.array(weight))
    whole = np.array(x, dtype=np.int8)
    frame = pd.DataFrame({"score": x}, index=[5, 4, 3, 2, 1, 0])
    for scores in (x, whole, whole.astype(np.float32), np.repeat(x, 2)[::2], frame["score"], frame):
        assert fit(family, scores, weight) == expected
        assert fit(family, scores, pd.Series(weight, index=[1, 1, 1, 2, 2, 2])) == expected
        assert fit(family, scores, np.array(weight, dtype=np.float32)) == expected
    assert fit(family, x, 1.0) == fit(family, x, np.ones(6))
    assert all(type(value) is float for value in expected.parameters.values())
    assert type(expected.log_likelihood) is type(expected.weight) is float
    read_only = np.array(x), np.array(weight)
    for array in read_only:
        array.flags.writeable = False
    for candidates in ("exact", "bennett"):
        fit(family, *read_only, candidates=candidates)


@each_family
def test_floor_of_each_floor(family):
    auto, off, own = (fit(family, NOISE, scale_floor=f).scale_floor for f in ("auto", None, 0.25))
    spread = stats.median_abs_deviation(NOISE, scale="normal")
    assert auto.name == own.name == "scale_floor"
    assert own.floor == 0.25
    assert auto.floor == relative(automatic_floor(spread, NOISE.size), 1e-14)
    assert off == ScaleFloor("off", relative(1e-12 * spread, 1e-14), ())
    counts = np.arange(NOISE.size) % 3
    weighted = fit(family, NOISE, counts).scale_floor
    spread = stats.median_abs_deviation(np.repeat(NOISE, counts), scale="normal")
    assert weighted.floor == relative(automatic_floor(spread, counts.sum()), 1e-14)
    for scale_floor in (1e-200, 1e200):
        result = fit(family, [1.0, 2.0, 3.0, 5.0, 9.0], scale_floor=scale_floor)
        assert np.isfinite([result.log_likelihood, *result.parameters.values()]).all()


def test_floors_that_are_taken_and_refused():
    assert automatic_floor(2.0, 16.0, factor=3.0) == 1.5
    assert automatic_floor(2.0, 400.0) == relative(automatic_floor(1.0, 1.0) / 10.0, 1e-15)
    for floor in (1, np.float64(0.5), np.float32(0.5), np.int64(1)):
        result = fit("asymmetric_gaussian", [1.0, 2.0], scale_floor=floor)
        assert result.scale_floor.floor == float(floor)
    refused = r"scale_floor must be 'auto', None \(off\) or a positive floor"
    for floor in (0.0, -1.0, np.nan, np.inf, "off", [1.0], True):
        with pytest.raises(ValueError, match=refused):
            fit("laplace", [1.0, 2.0], scale_floor=floor)


@each_asymmetric
def test_acted_names_the_empty_side(family):
    for sign, scale_floor in itertools.product((1.0, -1.0), (None, 1e-3, 0.5)):
        x = sign * np.array([0.0, 0.1, 2.0, 4.0, 9.0])  # a mode at the end, one side empty
        result = fit(family, x, scale_floor=scale_floor)
        theta, *scales = to_scales(family, result.parameters)
        empty = 0 if sign > 0.0 else 1
        assert result.scale_floor.acted == (PARAMETERS[family][1 + empty],)
        assert scales[empty] == relative(result.scale_floor.floor, 1e-15)
        if scale_floor is None:  # so low a floor changes nothing else
            power = POWERS[family]
            assert theta == 0.0
            assert scales[1 - empty] == relative(np.mean(np.abs(x) ** power) ** (1 / power), 1e-10)


@each_family
def test_acted_names_every_scale_of_equal_scores_and_none_of_many(family):
    for scale_floor in ("auto", None, 0.5):
        result = fit(family, [2.0] * 4, scale_floor=scale_floor)
        floor = {"auto": automatic_floor(2.0, 4.0), None: 2e-12, 0.5: 0.5}[scale_floor]
        scales = to_scales(family, result.parameters)
        assert result.scale_floor.acted == PARAMETERS[family][1:]
        assert scales == relative((2.0, floor, floor), 1e-14)
    x = FAMILIES[family].rvs(*to_parameters(family, 1.0, 1.0, 1.5), size=300, rng=2)
    free, floored = fit(family, x, scale_floor=None), fit(family, x, scale_floor="auto")
    assert free.scale_floor.acted == floored.scale_floor.acted == ()
    assert floored.parameters == relative(free.parameters, 1e-12)
    smallest = min(to_scales(family, free.parameters)[1:])
    assert fit(family, x, scale_floor=0.999 * smallest).scale_floor.acted == ()
    held = fit(family, x, scale_floor=1.001 * smallest)
    assert held.scale_floor.acted != ()
    assert held.log_likelihood < free.log_likelihood


@each_asymmetric
def test_the_floor_says_it_acted_exactly_where_it_changed_the_fit(family):
    # Also where the optimum with a floor is another mode, away from the floor.
    rng = np.random.default_rng(40)
    elsewhere = 0
    for _ in range(60):
        x = rng.gumbel(size=rng.integers(5, 40))
        floored, free = (fit(family, x, scale_floor=scale_floor) for scale_floor in ("auto", None))
        same = floored.log_likelihood == pytest.approx(free.log_likelihood, abs=1e-9)
        acted, scales = floored.scale_floor.acted, to_scales(family, floored.parameters)[1:]
        assert (acted == ()) == same
        elsewhere += bool(acted) and min(scales) > floored.scale_floor.floor * 1.001
    assert elsewhere > 1


@pytest.mark.parametrize(("n", "share"), [(20, 0.80), (100, 0.10)])
def test_share_of_degenerate_samples(n, share):
    # Published for sigma_left = 0.5, sigma_right = 2, to whole per cents.
    samples = FAMILIES["asymmetric_gaussian"].rvs(0.0, 0.5, 2.0, size=(150, n), rng=n)
    acted = [asymmetric_gaussian.fit(x, scale_floor=None).scale_floor.acted != () for x in samples]
    error = 0.005 + 3.0 * np.sqrt(share * (1.0 - share) / 150)  # binomial, three sigma
    assert np.mean(acted) == pytest.approx(share, abs=error)


@pytest.mark.parametrize("power", [1, 2])
def test_a_scale_beside_one_at_the_floor_solves_its_equation(power):
    floor = 0.3
    mean = floor**power * np.array([0.501, 0.6, 1.0, 3.0, 6.0, 7.0, 30.0, 1e4])
    scale = BESIDE[power](mean, floor)
    np.testing.assert_allclose(scale ** (power + 1), mean * (scale + floor), rtol=1e-9)
    # No scale of a Gaussian side is above the floor with so small a mean.
    below = _gaussian_beside(np.array([0.0, 0.4 * floor**2]), floor)
    assert below.tolist() == [0.0, 0.0]
