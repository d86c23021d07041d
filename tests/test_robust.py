"""Robust centre and spread: against numpy and scipy, with weights, and positive whatever comes."""

import numpy as np
import pytest
from scipy import stats

from bayescal import ScoreCalibrator
from bayescal.inference.newton import lower_root
from bayescal.support.numerics import MAD_TO_SIGMA, centre_and_spread, median, units_of
from tests.references import relative

RNG = np.random.default_rng(4)
SAMPLES = {
    "one": np.array([2.5]),
    "two": np.array([-1.0, 4.0]),
    "odd": RNG.normal(size=31),
    "even": RNG.normal(size=40),
    "heavy tails": RNG.standard_cauchy(size=33),
    "tied": RNG.integers(0, 4, size=30).astype(float),
    "far from 0": 1e12 + RNG.integers(0, 99, size=25),
}
COUNTS = {name: RNG.integers(0, 4, size=x.size) + (x.size < 3) for name, x in SAMPLES.items()}

each_sample = pytest.mark.parametrize("name", SAMPLES)


def test_constant_turns_the_deviation_into_a_gaussians_sigma():
    assert relative(1.0 / stats.norm.ppf(0.75), 1e-15) == MAD_TO_SIGMA


@pytest.mark.parametrize("name", ["two", "odd", "even", "heavy tails", "tied", "far from 0"])
def test_centre_and_spread_equal_numpys_and_scipys(name):
    x = SAMPLES[name]
    centre, spread = centre_and_spread(x)
    assert centre == np.median(x)
    # Scipy's constant has the same digits but for the last.
    assert spread == relative(stats.median_abs_deviation(x, scale="normal"), 1e-14)
    assert type(centre) is type(spread) is float


@each_sample
def test_median_minimises_the_sum_of_deviations(name):
    x, weight = SAMPLES[name], np.random.default_rng(5).exponential(size=SAMPLES[name].size)
    sums = [np.sum(weight * np.abs(x - candidate)) for candidate in x]
    centre = median(x, weight)
    assert np.sum(weight * np.abs(x - centre)) <= min(sums) * (1.0 + 1e-13)
    assert centre in x  # no share of these weights is one half


@each_sample
def test_a_weight_is_a_repetition_and_0_an_absence(name):
    x, counts = SAMPLES[name], COUNTS[name]
    repeated = centre_and_spread(np.repeat(x, counts))
    assert centre_and_spread(x, counts.astype(float)) == relative(repeated, 1e-14)
    kept = counts > 0
    got = centre_and_spread(x[kept], counts[kept].astype(float))
    assert got == relative(repeated, 1e-14)


@pytest.mark.parametrize(
    ("n", "weight"),
    [
        (1, 0.1),
        (2, 0.1),
        (30, 1.0 / 3.0),
        (31, 0.1),
        (1000, 2.0**-30),
        (1001, 0.1),
        (1000, 0.1),
        (100_000, 1.0 / 3.0),
    ],
)
def test_equal_weights_are_none_whatever_their_rounding(n, weight):
    x = np.random.default_rng(n).normal(size=n)
    got = centre_and_spread(x, np.full(n, weight))
    assert got == relative(centre_and_spread(x), 1e-12)


def test_midpoint_of_the_interval_of_medians():
    assert median(np.array([0.0, 1.0, 5.0, 9.0]), np.array([2.0, 1.0, 1.0, 2.0])) == 3.0
    assert median(np.array([9.0, 0.0, 5.0]), np.array([1.0, 3.0, 1.0])) == 0.0
    assert median(np.array([1e150, -1e150]), np.array([1.0, 1.0])) == 0.0


@pytest.mark.parametrize("weighted", [False, True])
@each_sample
def test_equivariance(name, weighted):
    x = SAMPLES[name]
    weight = COUNTS[name].astype(float) if weighted else None
    centre, spread = centre_and_spread(x, weight)
    order = np.random.default_rng(1).permutation(x.size)
    permuted = centre_and_spread(x[order], None if weight is None else weight[order])
    assert permuted == relative((centre, spread), 1e-14)
    assert centre_and_spread(-x, weight) == relative((-centre, spread), 1e-14)
    for factor in (2.0**40, 0.3, 1e-100, 1e130):
        scaled = centre_and_spread(factor * x, weight)
        # 1e12 + integers times 0.3 rounds in the 4th decimal.
        assert scaled == relative((factor * centre, factor * spread), 1e-4)
        assert scaled[0] == relative(factor * centre, 1e-14)
    if x.size > 1:  # the spread of one score is its distance from 0
        shifted = centre_and_spread(x + 8.0, weight)
        assert shifted == pytest.approx((centre + 8.0, spread), rel=1e-14, abs=1e-14)


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        ([0.0], (0.0, 1.0)),
        ([0.0, 0.0, 0.0], (0.0, 1.0)),
        ([-3.0, -3.0], (-3.0, 3.0)),
        ([1e-300], (1e-300, 1e-280)),  # its inverse, and that of shares of it, are numbers
        ([1e150, 1e150], (1e150, 1e150)),
        ([2.0, 2.0, 2.0, 6.0], (2.0, 1.0)),  # more than half tie: the mean absolute deviation
        ([0.0, 0.0, 0.0, -8.0], (0.0, 2.0)),
        ([0.0, 1.0, 2.0], (1.0, MAD_TO_SIGMA)),
    ],
)
def test_spread_is_positive_for_all_legal_data(x, expected):
    assert centre_and_spread(np.array(x)) == relative(expected, 1e-15)
    assert centre_and_spread(np.array(x), np.ones(len(x))) == relative(expected, 1e-15)


def test_a_score_of_weight_0_gives_no_spread():
    x, weight = np.array([1e6, 2.0, 2.0]), np.array([0.0, 1.0, 1.0])
    assert centre_and_spread(x, weight) == (2.0, 2.0)


def test_input_stays_as_it_was():
    x, weight = np.array([3.0, 1.0, 2.0]), np.array([1.0, 0.0, 2.0])
    x.flags.writeable = weight.flags.writeable = False
    centre_and_spread(x)
    centre_and_spread(x, weight)


@each_sample
def test_units_are_centre_and_spread_unless_the_classes_reach_far(name):
    x, counts = SAMPLES[name], COUNTS[name]
    positive = x > np.median(x)
    centre, spread = centre_and_spread(x)
    low, high = (x.min(), x.max()) if x.size else (0.0, 0.0)
    assert units_of(x, positive, None)[0] == centre
    assert spread <= units_of(x, positive, None)[1] <= max(spread, 0.02 * (high - low))
    # A weight is a number of copies.
    copies = units_of(np.repeat(x, counts), np.repeat(positive, counts), None)
    assert units_of(x, positive, counts.astype(float)) == pytest.approx(copies, rel=1e-12)


def test_quartiles_of_a_class_are_weighted():
    """A far positive that weighs as much as three moves a quartile, a light one does not."""
    x = np.concatenate([np.linspace(-1.0, 1.0, 101), [0.0, 0.0, 0.0, 1000.0]])
    positive = np.arange(x.size) > 100
    for far, unit in ((0.5, 0.74), (3.0, 20.01)):
        weight = np.append(np.ones(104), far)
        assert units_of(x, positive, weight)[1] == pytest.approx(unit, abs=0.01)


def test_a_tiny_spread_of_most_is_no_unit_for_the_others():
    rng = np.random.default_rng(0)
    x = np.r_[1e-9 * rng.normal(size=90), rng.uniform(0.0, 10.0, 30)]
    positive = np.arange(120) >= 100
    assert centre_and_spread(x)[1] < 1e-8
    # From the negatives at 0 to the positives' third quartile.
    assert 0.1 < units_of(x, positive, None)[1] < 0.2
    # A quarter of a class may lie anywhere.
    assert units_of(x, np.zeros(120, bool), None)[1] < 1e-8
    assert units_of(x[:90], positive[:90], None)[1] < 1e-8


def boosted(noise, n=400):
    """Return scores of which most are one value but for noise, as trees that find nothing give."""
    rng = np.random.default_rng(3)
    positive = np.arange(n) < 20
    flat = rng.random(n) < np.where(positive, 0.1, 0.8)
    away = np.where(positive, rng.gamma(3.0, 1.0, n), rng.exponential(1.0, n))
    return np.where(flat, noise * rng.normal(size=n), away), positive


def test_noise_of_documents_that_say_nothing_leaves_the_others_what_they_are(monkeypatch):
    at = np.linspace(0.1, 8.0, 40)

    def probabilities(noise):
        calibrator = ScoreCalibrator(draws=250, random_state=0).fit(*boosted(noise))
        return calibrator.predict_proba(at)[:, 1]

    expected = probabilities(1e-2)
    assert probabilities(1e-9) == pytest.approx(expected, abs=0.02)
    # The negative: in units of the noise, priors are wrong by a factor of a billion.
    monkeypatch.setattr(
        "bayescal.fitting.scores.units_of", lambda x, _, weight: centre_and_spread(x, weight)
    )
    assert np.abs(probabilities(1e-9) - expected).max() > 0.05


def test_curvatures_that_rounding_leaves_indefinite_have_a_root():
    # The last pivot is 0 but for rounding.
    matrix = np.full((2, 2), 1e18) - np.diag([0.0, 1e3])
    with pytest.raises(np.linalg.LinAlgError):
        np.linalg.cholesky(matrix)
    root = lower_root(matrix)
    size = np.sqrt(np.diag(matrix))
    np.testing.assert_allclose(root @ root.T / np.outer(size, size), matrix / np.outer(size, size),
                               atol=1e-12)  # fmt: skip
    np.testing.assert_allclose(lower_root(np.stack([matrix, matrix]))[1], root)
    definite = np.eye(2) + 0.5
    np.testing.assert_array_equal(lower_root(definite), np.linalg.cholesky(definite))
    with pytest.raises(np.linalg.LinAlgError):
        lower_root(-matrix)
