"""Densities: one table of families, parameters and independent references drives the properties."""

import dataclasses
import pickle

import numpy as np
import pytest
from scipy import integrate, stats

from bayescal import ScoreCalibrator
from bayescal.families import FAMILIES, Family
from bayescal.families.draws import is_monotone
from tests.references import (
    ASYMMETRIC,
    PARAMETERS,
    POWERS,
    ROWS,
    Row,
    exact_log_tails,
    to_parameters,
)

EPS = np.finfo(float).eps
SIDES = np.array([0.0, 1e-12, 1e-3, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 20.0, 40.0, 1e2, 1e3])
Z = np.concatenate([-SIDES[:0:-1], SIDES])
FUNCTIONS_OF_X = ("logpdf", "cdf", "logcdf", "logsf", "ppf")
MOMENTS = ("mean", "variance")

each_family = pytest.mark.parametrize("name", PARAMETERS)


def rows_of(name):
    return [row for row in ROWS if row.family == name]


def one_row(name):
    (row,) = (row for row in rows_of(name) if row.name == "narrow left")
    return row


def call(row, function, *x, **options):
    return getattr(FAMILIES[row.family], function)(*x, *row.parameters, **options)


def side_integrals(row, power):
    """Yield the integrals of x^power times the density, left and right of a mode at 0."""

    def height(z, scale):
        return (z * scale) ** power * np.exp(call(row, "logpdf", z * scale)) * scale

    for low, high, scale in ((-60.0, 0.0, row.left), (0.0, 60.0, row.right)):
        middle = [0.03 * (low + high), 0.15 * (low + high)]
        yield integrate.quad(height, low, high, (scale,), epsabs=1e-13, points=middle)[0]


def test_registry_holds_these_families_with_these_parameters():
    assert {name: family.parameters for name, family in FAMILIES.items()} == PARAMETERS
    assert {name: family.power for name, family in FAMILIES.items()} == POWERS
    assert {row.family for row in ROWS} == set(PARAMETERS)
    assert tuple(name for name, family in FAMILIES.items() if not family.symmetric) == ASYMMETRIC
    for family in FAMILIES.values():
        assert pickle.loads(pickle.dumps(family)) == family  # as workers get it


class Logistic:
    """An object with the methods of a family."""

    name, parameters, power, symmetric = "logistic", ("mu", "s"), 2, True

    def logpdf(self, x, mu, s):
        return stats.logistic(mu, s).logpdf(x)


def test_what_engines_would_fit_as_another_density_is_refused():
    with pytest.raises(TypeError, match=r"Another cannot be a subclass .* bayescal\.Density"):
        type("Another", (Family,), {"logpdf": Logistic.logpdf})
    with pytest.raises(TypeError, match=r"got Logistic: maximum likelihood .* bayescal\.Density"):
        FAMILIES["logistic"] = Logistic()
    with pytest.raises(TypeError, match="got Logistic"):
        FAMILIES.update(logistic=Logistic())
    with pytest.raises(ValueError, match="of this name, got 'laplace': register it under its own"):
        FAMILIES["tent"] = FAMILIES["laplace"]
    for power in (3, (2, 1)):
        with pytest.raises(
            ValueError, match=r"power must be 1 .* or 2 .*, got .* bayescal\.Density"
        ):
            dataclasses.replace(FAMILIES["gaussian"], power=power)
    for parameters in (("theta",), ("theta", "a", "b", "c")):
        with pytest.raises(ValueError, match=r"or one for equal sides, got \('theta"):
            Family("uneven", parameters, 2)
    with pytest.raises(dataclasses.FrozenInstanceError):
        FAMILIES["gaussian"].name = "another"
    assert [*FAMILIES] == [*PARAMETERS]


@each_family
def test_records_take_parameters_by_position_or_by_name(name):
    family, x = FAMILIES[name], np.linspace(0.1, 0.9, 5)
    values = [0.3, 2.0, 0.5][: len(family.parameters)]
    first, *others = named = dict(zip(family.parameters, values, strict=True))
    turned, rest = dict(reversed(named.items())), {each: named[each] for each in others}
    for function in (*FUNCTIONS_OF_X, *MOMENTS, "rvs"):
        method = getattr(family, function)
        given = (x,) if function in FUNCTIONS_OF_X else ()
        options = {"rng": 1} if function == "rvs" else {}
        expected = method(*given, *values, **options)
        for own in ((named, ()), (turned, ()), (rest, values[:1])):
            got = method(*given, *own[1], **own[0], **options)
            np.testing.assert_array_equal(got, expected)
    for wrong in ({**named, "width": 1.0}, {first: 0.3}):
        with pytest.raises(TypeError, match=rf"takes {', '.join(family.parameters)}; got 0 by"):
            family.logpdf(x, **wrong)
    with pytest.raises(TypeError, match="got 4 by position"):
        family.logpdf(x, 1.0, 1.0, 1.0, 1.0)


@each_family
def test_sides_and_parameters_are_each_other_s_inverse(name):
    family = FAMILIES[name]
    theta, left = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    right = left if family.symmetric else np.array([2.0, 0.1])
    parameters = family.from_sides(theta, left, right)
    assert len(parameters) == len(family.parameters)
    assert np.allclose(family.sides(*parameters), [theta, left, right])
    # Sides are where the density has fallen by e (power 1) or by the root of e (power 2).
    at_mode = family.logpdf(theta, *parameters)
    for x in (theta - left, theta + right):
        assert at_mode - family.logpdf(x, *parameters) == pytest.approx(1 / family.power)


@each_family
def test_density_and_distribution_function_equal_references(name):
    for row in rows_of(name):
        # 1e-12: the references multiply by kappa and divide by scale, some units in the last place.
        x = row.at(Z[np.abs(Z) <= 100.0])  # scipy's Laplace takes the log of the density
        expected = row.reference.logpdf(x)
        np.testing.assert_allclose(call(row, "logpdf", x), expected, rtol=1e-12, atol=1e-12)
        cdf = row.reference.cdf(row.at(Z))
        np.testing.assert_allclose(call(row, "cdf", row.at(Z)), cdf, rtol=0, atol=1e-14)


@each_family
def test_mass_mean_and_variance_equal_quadrature(name):
    for row in rows_of(name):
        # A mode at 0, for a distant one would round the deviations; exp(-60) of the mass is beyond.
        unit = max(row.left, row.right)
        centred = Row(name, row.name, 0.0, row.left / unit, row.right / unit)
        mass, mean, square = (sum(side_integrals(centred, power)) for power in range(3))
        assert mass == pytest.approx(1.0, abs=1e-12)
        expected = pytest.approx(row.theta + unit * mean, rel=1e-11, abs=1e-11 * unit)
        assert call(row, "mean") == expected
        expected = pytest.approx(unit**2 * (square - mean**2), rel=1e-10, abs=0.0)
        assert call(row, "variance") == expected


@each_family
def test_tails_equal_exact_decimals(name):
    for row in rows_of(name):
        x = row.at(Z)
        exact = [exact_log_tails(row, each) for each in x.tolist()]
        got = [call(row, "logcdf", x), call(row, "logsf", x)]
        # Each probability to a few units in the last place, however small ...
        np.testing.assert_allclose(got, np.transpose(exact), rtol=2e-15, atol=2e-15)
        # ... and 1 - tiny in terms of the tiny part; a skew of 1e3 costs three digits.
        np.testing.assert_allclose(got, np.transpose(exact), rtol=1e-12, atol=0)
        np.testing.assert_allclose(np.exp(got).sum(axis=0), 1.0, rtol=0, atol=4 * EPS)
        assert np.all(np.diff(got) * [[1.0], [-1.0]] >= 0.0)
        mirror = Row(name, row.name, -row.theta, row.right, row.left)
        np.testing.assert_array_equal(got[0], call(mirror, "logsf", -x))
        ends = np.array([-np.inf, np.inf, np.nan])
        for function, values in (
            ("logpdf", [-np.inf, -np.inf, np.nan]),
            ("logcdf", [-np.inf, 0.0, np.nan]),
            ("logsf", [0.0, -np.inf, np.nan]),
            ("cdf", [0.0, 1.0, np.nan]),
        ):
            np.testing.assert_array_equal(call(row, function, ends.tolist()), values)


@pytest.mark.parametrize("name", ASYMMETRIC)
def test_tails_beside_a_side_of_almost_no_width(name):
    # What a fit without a floor returns where one side is empty and a score lies far out.
    for row in (Row(name, "", 0.0, 1e-20, 1.0), Row(name, "", 0.0, 1.0, 1e-20)):
        for x in row.at(Z[np.abs(Z) < 50.0]).tolist():
            exact = exact_log_tails(row, x)
            found = call(row, "logcdf", x), call(row, "logsf", x)
            assert found == pytest.approx(exact, rel=2e-15, abs=2e-15)
    # Just inside the wide side: what a share of nearly one lacks is tiny, with all its digits.
    step = np.logspace(-14, -1, 14)
    for narrow in (1e-12, 1e-6):
        for sides, x, most, least in (
            ((1.0, narrow), -step, "logcdf", "logsf"),
            ((narrow, 1.0), step, "logsf", "logcdf"),
        ):
            row = Row(name, "", 0.0, *sides)
            lacking = np.log1p(-np.exp(call(row, least, x)))
            np.testing.assert_allclose(call(row, most, x), lacking, rtol=1e-13, atol=0)


@each_family
def test_exact_distribution_function_of_ppf_is_identity(name):
    ends = [0.0, 1.0, -1e-300, -1.0, 1.0 + 2.0**-52, 2.0, np.nan, np.inf, -np.inf]
    for row in rows_of(name):
        np.testing.assert_array_equal(call(row, "ppf", ends), [-np.inf, np.inf, *[np.nan] * 7])
        share = row.left / (row.left + row.right)
        inner = [share * (1.0 - 1e-9), share, share * (1.0 + 1e-9), 0.3, 0.5, 0.999]
        for q in [1e-300, 1e-100, 1e-16, 1e-5, *inner, 1.0 - 2.0**-53]:
            x = float(call(row, "ppf", q))
            side, tail = (0, q) if q <= 0.5 else (1, 1.0 - q)  # 1 - q is exact beyond one half
            nearby = [x - 4 * np.spacing(abs(x)), x + 4 * np.spacing(abs(x))]
            low, high = sorted(exact_log_tails(row, end)[side] for end in nearby)
            # Right of the mode 1 - q rounds by EPS, whatever q; log q by a unit in its last place.
            slack = 1e-14 * max(1.0, -np.log(tail))
            slack += 2 * EPS / tail if share <= q <= 0.5 else 0.0
            assert low - slack <= np.log(tail) <= high + slack


@each_family
def test_draws_follow_the_reference_and_a_seed(name):
    for row in rows_of(name):
        draws = call(row, "rvs", size=5_000, rng=8)
        assert stats.kstest(draws, row.reference.cdf).pvalue > 1e-3
    row = one_row(name)
    draws = call(row, "rvs", size=20_000, rng=8)
    assert stats.kstest(draws, row.reference.cdf).pvalue > 1e-3
    # The negative: one scale 20 % off.
    wrong = dataclasses.replace(row, left=row.left * 1.2)
    if name not in ASYMMETRIC:
        wrong = dataclasses.replace(wrong, right=wrong.left)
    assert stats.kstest(draws, wrong.reference.cdf).pvalue < 1e-6
    generator = np.random.default_rng(8)
    np.testing.assert_array_equal(draws, call(row, "rvs", size=20_000, rng=generator))
    for rng in (generator, 9):
        assert not np.isin(call(row, "rvs", size=5, rng=rng), draws).any()


@each_family
def test_arguments_broadcast(name):
    row, family = one_row(name), FAMILIES[name]
    theta, *scales = row.parameters
    parameters = (np.array([[theta], [theta + 1.0]]), *(np.full(3, scale) for scale in scales))
    for function in (*FUNCTIONS_OF_X, *MOMENTS):
        x = (0.25,) if function in FUNCTIONS_OF_X else ()
        got = getattr(family, function)(*x, *parameters)
        assert got.shape == (2, 3)
        assert got[0, 1] == call(row, function, *x)
    for size, shape in ((None, ()), (3, (3,)), ((2, 3), (2, 3))):
        assert call(row, "rvs", size=size).shape == shape
    assert np.unique(family.rvs(*parameters)).size == 6
    assert family.rvs(*parameters, size=(4, 2, 3)).shape == (4, 2, 3)
    # Broadcasting one draw to three modes would give three dependent scores.
    for size in (1, (2, 1), 5):
        with pytest.raises(ValueError, match="size must be a shape"):
            family.rvs(np.full(3, theta), *scales, size=size)


@each_family
def test_a_scale_that_is_not_positive_is_named(name):
    for position, parameter in enumerate(PARAMETERS[name][1:], start=1):
        for k, function in enumerate((*FUNCTIONS_OF_X, *MOMENTS, "rvs")):
            bad = (0.0, -1.0, np.nan, np.inf)[k % 4]
            arguments = list(to_parameters(name, 0.5, 1.0, 1.0))
            arguments[position] = np.array([1.0, bad])
            x = [0.5] if function in FUNCTIONS_OF_X else []
            named = f"{parameter} must be positive and finite, got {bad}"
            with pytest.raises(ValueError, match=named):
                getattr(FAMILIES[name], function)(*x, *arguments)


# When log-odds never fall: the closed form against slopes counted on a grid

TWO_SIDED = {1: FAMILIES["asymmetric_laplace"], 2: FAMILIES["asymmetric_gaussian"]}


def random_sides(draws, rng):
    """Powers, modes and sides of many draws, a tenth of them with equal modes or sides."""
    power = rng.integers(1, 3, draws)
    theta = np.round(rng.normal(0, 2, draws), 1)
    left, right = np.round(rng.gamma(2, 1, (2, draws)) + 0.1, 1)
    return power, theta, left, right


def log_density(sides, k, x):
    power, theta, left, right = (side[k] for side in sides)
    family = TWO_SIDED[int(power)]
    return family.logpdf(x, *family.from_sides(theta, left, right))


def test_closed_form_is_what_a_grid_shows():
    rng = np.random.default_rng(8)
    negative, positive = random_sides(1500, rng), random_sides(1500, rng)
    claimed = is_monotone(negative, positive)
    near = np.linspace(-12, 12, 12_001)
    x = np.concatenate([-np.geomspace(1e4, 13, 50), near, np.geomspace(13, 1e4, 50)])
    seen = np.array(
        [
            np.all(np.diff(log_density(positive, k, x) - log_density(negative, k, x)) >= -1e-9)
            for k in range(1500)
        ]
    )
    assert np.array_equal(claimed, seen)
    # Far out a Gaussian falls below any exponential.
    assert not claimed[negative[0] != positive[0]].any()
    for power in TWO_SIDED:
        assert claimed[(negative[0] == power) & (positive[0] == power)].sum() > 20
    assert 40 < claimed.sum() < 1460


def test_the_probability_of_monotone_log_odds_is_the_share_of_such_curves():
    rng = np.random.default_rng(10)
    scores = np.concatenate([rng.gumbel(-2, 1, 60), rng.gumbel(1, 1.5, 6)])
    free = ScoreCalibrator("asymmetric_laplace", random_state=0).fit(scores, np.arange(66) >= 60)
    x = np.linspace(scores.min() - 20, scores.max() + 20, 1501)
    falls = np.diff(free.sample_proba(x, 1000, 0), axis=1).min(axis=1) < -1e-12
    assert 0.05 < falls.mean() < 0.95
    assert 1 - falls.mean() == pytest.approx(free.monotone_probability_, abs=4 * 0.5 / 1000**0.5)
