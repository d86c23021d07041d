"""Legal but hard data, and the scale floor: finite answers, in order, and what it says of them."""

import itertools
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from bayescal.families import FAMILIES, ScaleFloor, automatic_floor
from bayescal.families._profile import BESIDE, _gaussian_beside
from tests.references import (
    ASYMMETRIC,
    MIRRORED,
    PARAMETERS,
    POWERS,
    RECORDS,
    brute_force,
    log_likelihood,
    relative,
    to_parameters,
    to_scales,
)

pytestmark = pytest.mark.one_era

NOISE = np.random.default_rng(11).gumbel(size=40)
HARD = {
    "one score": [-3.0],
    "one score, 0": [0.0],
    "all equal": [2.5] * 5,
    "all 0": [0.0] * 3,
    "all equal to 1e15": [1e15] * 3,
    "all equal to 1e149": [1e149] * 2,
    "all equal to 1e-150": [1e-150] * 3,
    "two scores": [0.0, 1.0],
    "two distinct values": [1.0] * 9 + [4.0] * 2,
    "neighbouring doubles": [1.0, np.nextafter(1.0, 2.0)],
    "around 1e15": 1e15 + np.array([0.0, 1.0, 2.0, 5.0, 9.0]),
    "of size 1e15": 1e15 * NOISE,
    "of size 1e-15": 1e-15 * NOISE,
    "of size 1e-150": 1e-150 * NOISE,
    "of size 1e-200": 1e-200 * NOISE,
    "of size 1e149": 1e149 * NOISE,
    "of many sizes": [1e-150, 1e-15, 1.0, 1e15, 1e149],
    "one at 1e12": [*NOISE, 1e12],
    "a lattice": np.arange(1000.0),
    "mostly ties": np.repeat([0.0, 1.0, 2.5], [400, 2, 1]),
}
INVALID_FLOORS = (0.0, -1.0, np.nan, np.inf, "off", [1.0])

each_family = pytest.mark.parametrize("family", PARAMETERS)
each_asymmetric = pytest.mark.parametrize("family", ASYMMETRIC)


def fit(family, x, weight=None, **options):
    return RECORDS[family].fit(x, weight, **options)


# Hard data


@pytest.mark.parametrize("name", HARD)
@each_family
def test_answers_are_finite_and_in_order(family, name):
    for scale_floor, candidates in itertools.product(("auto", None), ("exact", "bennett")):
        check_answer(family, np.asarray(HARD[name]), scale_floor, candidates)


def check_answer(family, x, scale_floor, candidates):
    result = fit(family, x, scale_floor=scale_floor, candidates=candidates)
    theta, left, right = to_scales(family, result.parameters)
    assert np.isfinite([theta, left, right, result.log_likelihood]).all()
    assert x.min() <= theta <= x.max()
    assert 0.0 < result.scale_floor.floor <= min(left, right) * (1.0 + 1e-15)
    assert tuple(result.parameters) == PARAMETERS[family]
    functions, parameters = RECORDS[family], result.parameters
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
def test_scores_around_1e15_are_scores_around_0(family):
    x = np.random.default_rng(6).integers(0, 50, size=30).astype(float)
    near, far = fit(family, x), fit(family, x + 1e15)
    theta, *scales = to_scales(family, near.parameters)
    # The mean and a mode between scores round to the doubles there, 1/8 apart.
    expected = to_parameters(family, theta + 1e15, *scales)
    rel = 0.01 if family == "gaussian" else 0.0
    assert tuple(far.parameters.values())[1:] == relative(expected[1:], rel)
    assert far.parameters[PARAMETERS[family][0]] == pytest.approx(theta + 1e15, abs=0.125)


@pytest.mark.parametrize("size", [1e-15, 1e-150, 1e-200, 1e149])
@each_family
def test_tiny_and_huge_scores_are_scores_in_other_units(family, size):
    theta, left, right = to_scales(family, fit(family, NOISE).parameters)
    got = to_scales(family, fit(family, size * NOISE).parameters)
    assert got == relative((size * theta, size * left, size * right), 1e-12)


@pytest.mark.slow
@each_family
def test_a_million_ties_are_three_weighted_scores(family):
    values, counts = [0.0, 1.0, 2.5], [500_000, 300_000, 200_000]
    got, expected = fit(family, np.repeat(values, counts)), fit(family, values, counts)
    assert got.parameters == relative(expected.parameters, 1e-12)
    # A sum of a million increments of 2.5e5 rounds by more than the product.
    assert got.log_likelihood == relative(expected.log_likelihood, 1e-11)
    million, one = (
        fit(family, np.ones(1_000_000), scale_floor=0.2),
        fit(family, [1.0], scale_floor=0.2),
    )
    assert million.log_likelihood == relative(1e6 * one.log_likelihood, 1e-12)


@pytest.mark.parametrize("scale_floor", ["auto", None])
@each_family
def test_weights_over_24_decades(family, scale_floor):
    weight = 10.0 ** np.random.default_rng(2).permutation(np.linspace(-12.0, 12.0, NOISE.size))
    result = fit(family, NOISE, weight, scale_floor=scale_floor)
    best = brute_force(family, NOISE, weight, result.scale_floor.floor)
    scales = to_scales(family, result.parameters)
    assert result.log_likelihood >= best - 1e-13 * weight.sum()
    own = log_likelihood(family, NOISE, weight, *scales)
    assert result.log_likelihood == relative(own, 1e-12)


@each_asymmetric
def test_more_scores_than_are_worked_on_at_once(family):
    # The scores of a mode in the first fifth, then, reflected, in the last.
    shape = to_parameters(family, 0.0, 0.2, 1.0)
    x = RECORDS[family].rvs(*shape, size=100_000, rng=5)
    got = to_scales(family, fit(family, x).parameters)
    assert got == pytest.approx((0.0, 0.2, 1.0), abs=0.03)  # six standard errors or more
    mirrored = MIRRORED[family]
    theta, left, right = to_scales(mirrored, fit(mirrored, -x).parameters)
    assert (-theta, right, left) == relative(got, 1e-9)


@each_asymmetric
def test_memory(family):
    # Sorted scores, gaps, weights before and after, four sums, one temporary: nine arrays.
    x = np.random.default_rng(0).normal(size=1_000_000)
    fit(family, x[:100])
    tracemalloc.start()
    try:
        fit(family, x)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert x.nbytes < peak < 10 * x.nbytes


# Containers


@each_family
def test_containers_and_dtypes(family):
    x, weight = [-2.0, 0.0, 1.0, 5.0, 9.0, 9.0], [1.0, 2.0, 1.0, 0.0, 1.0, 3.0]
    expected = fit(family, np.array(x), np.array(weight))
    for scores in (
        x,
        [int(score) for score in x],
        np.array(x, dtype=np.float32),
        np.array(x, dtype=np.int8),
        np.array(x)[:, None],
        np.repeat(x, 2)[::2],
        pd.Series(x, index=[5, 4, 3, 2, 1, 0]),
        pd.DataFrame({"score": x}),
    ):
        assert fit(family, scores, weight) == expected
        assert fit(family, scores, pd.Series(weight, index=[1, 1, 1, 2, 2, 2])) == expected
        assert fit(family, scores, np.array(weight, dtype=np.float32)) == expected
    assert fit(family, x, 1.0) == fit(family, x, np.ones(6))
    assert all(type(value) is float for value in expected.parameters.values())
    assert type(expected.log_likelihood) is type(expected.weight) is float


@each_family
def test_input_stays_as_it_was(family):
    x, weight = np.array([3.0, 1.0, 2.0, 1.0]), np.array([1.0, 0.0, 2.0, 3.0])
    x.flags.writeable = weight.flags.writeable = False
    for candidates in ("exact", "bennett"):
        fit(family, x, weight, candidates=candidates)


# The scale floor


@each_family
def test_floor_of_each_floor(family):
    auto, off, own = (
        fit(family, NOISE, scale_floor=scale_floor).scale_floor
        for scale_floor in ("auto", None, 0.25)
    )
    spread = stats.median_abs_deviation(NOISE, scale="normal")
    assert auto.name == own.name == "scale_floor"
    assert own.floor == 0.25
    assert auto.floor == relative(automatic_floor(spread, NOISE.size), 1e-14)
    assert off == ScaleFloor("off", relative(1e-12 * spread, 1e-14), ())
    counts = np.arange(NOISE.size) % 3
    weighted = fit(family, NOISE, counts).scale_floor
    spread = stats.median_abs_deviation(np.repeat(NOISE, counts), scale="normal")
    assert weighted.floor == relative(automatic_floor(spread, counts.sum()), 1e-14)


def test_floor_falls_with_the_root_of_the_number_of_scores():
    assert automatic_floor(2.0, 16.0, factor=3.0) == 1.5
    assert automatic_floor(2.0, 400.0) == relative(automatic_floor(1.0, 1.0) / 10.0, 1e-15)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("scale_floor", [None, 1e-3, 0.5])
def test_acted_names_the_empty_side(scale_floor, sign):
    x = sign * np.array([0.0, 0.1, 2.0, 4.0, 9.0])  # a mode at the end, one side empty
    for family in ASYMMETRIC:
        result = fit(family, x, scale_floor=scale_floor)
        theta, *scales = to_scales(family, result.parameters)
        empty = 0 if sign > 0.0 else 1
        position = RECORDS[family].by_side[1 + empty]
        assert result.scale_floor.acted == (PARAMETERS[family][position],)
        assert scales[empty] == relative(result.scale_floor.floor, 1e-15)
        if scale_floor is None:  # so low a floor changes nothing else
            power = POWERS[family][1 - empty]
            assert theta == 0.0
            assert scales[1 - empty] == relative(np.mean(np.abs(x) ** power) ** (1 / power), 1e-10)


@each_family
def test_acted_names_every_scale_of_equal_scores(family):
    for scale_floor in ("auto", None, 0.5):
        result = fit(family, [2.0] * 4, scale_floor=scale_floor)
        floor = {"auto": automatic_floor(2.0, 4.0), None: 2e-12, 0.5: 0.5}[scale_floor]
        scales = to_scales(family, result.parameters)
        assert result.scale_floor.acted == PARAMETERS[family][1:]
        assert scales == relative((2.0, floor, floor), 1e-14)


@each_family
def test_a_floor_that_does_not_act_changes_nothing(family):
    shape = to_parameters(family, 1.0, 1.0, 1.5)
    x = RECORDS[family].rvs(*shape, size=300, rng=2)
    free, floored = fit(family, x, scale_floor=None), fit(family, x, scale_floor="auto")
    assert free.scale_floor.acted == floored.scale_floor.acted == ()
    assert floored.parameters == relative(free.parameters, 1e-12)
    smallest = min(to_scales(family, free.parameters)[1:])
    assert fit(family, x, scale_floor=0.999 * smallest).scale_floor.acted == ()
    held = fit(family, x, scale_floor=1.001 * smallest)
    assert held.scale_floor.acted != ()
    assert held.log_likelihood < free.log_likelihood


@pytest.mark.parametrize("scale_floor", INVALID_FLOORS, ids=repr)
@each_family
def test_invalid_floors_are_refused(family, scale_floor):
    with pytest.raises(
        ValueError, match=r"scale_floor must be 'auto', None \(off\) or a positive floor"
    ):
        fit(family, [1.0, 2.0], scale_floor=scale_floor)


@pytest.mark.parametrize("scale_floor", [1, np.float64(0.5), np.float32(0.5), np.int64(1)])
def test_numbers_of_any_kind_are_floors(scale_floor):
    assert fit(
        "asymmetric_gaussian", [1.0, 2.0], scale_floor=scale_floor
    ).scale_floor.floor == float(scale_floor)


@pytest.mark.parametrize("scale_floor", [1e-200, 1e200])
@each_family
def test_extreme_floors(family, scale_floor):
    result = fit(family, [1.0, 2.0, 3.0, 5.0, 9.0], scale_floor=scale_floor)
    assert np.isfinite([result.log_likelihood, *result.parameters.values()]).all()


@pytest.mark.parametrize(("n", "share"), [(10, 0.96), (20, 0.80), (50, 0.35), (100, 0.10)])
def test_share_of_degenerate_samples(n, share):
    # Published for sigma_left = 0.5, sigma_right = 2, to whole per cents.
    samples = FAMILIES["asymmetric_gaussian"].rvs(0.0, 0.5, 2.0, size=(250, n), rng=n)
    acted = [
        fit("asymmetric_gaussian", x, scale_floor=None).scale_floor.acted != () for x in samples
    ]
    error = 0.005 + 3.0 * np.sqrt(share * (1.0 - share) / 250)  # binomial, three sigma
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
