"""Densities: one table of families, parameters and independent references drives the properties."""

import dataclasses
import inspect
import pickle

import numpy as np
import pytest
from scipy import integrate, stats

from bayescal import families
from bayescal.families import FAMILIES, Family
from tests.references import (
    ASYMMETRIC,
    HALF_WIDTH,
    MIRRORED,
    PARAMETERS,
    POWERS,
    RECORDS,
    ROWS,
    SYMMETRIC_OF,
    Row,
    exact_log_tails,
    to_parameters,
)

pytestmark = pytest.mark.one_era

EPS = np.finfo(float).eps
SIDES = np.array([0.0, 1e-12, 1e-3, 0.1, 0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 20.0, 40.0, 1e2, 1e3])
Z = np.concatenate([-SIDES[:0:-1], SIDES])
FUNCTIONS_OF_X = ("logpdf", "cdf", "logcdf", "logsf", "ppf")
MOMENTS = ("mean", "variance")
FUNCTIONS = (*FUNCTIONS_OF_X, "rvs", *MOMENTS, "fit")
FIELDS = ("name", "parameters", "powers", "symmetric", "mirrored")
MODULES = {name: getattr(families, name) for name in FAMILIES}

each_row = pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.family}-{row.name}")
each_family = pytest.mark.parametrize("name", PARAMETERS)
NARROW_LEFT = [row for row in ROWS if row.name == "narrow left"]
one_row_a_family = pytest.mark.parametrize("row", NARROW_LEFT, ids=lambda row: row.family)


def call(row: Row, function: str, *x):
    return getattr(RECORDS[row.family], function)(*x, *row.parameters)


def call_rvs(row, parameters=None, **options):
    return RECORDS[row.family].rvs(*(parameters or row.parameters), **options)


def side_integral(row, power):
    """Return the integrals of x^power times the density, left and right of a mode at 0."""

    def height(z, scale):
        return (z * scale) ** power * np.exp(call(row, "logpdf", z * scale)) * scale

    for low, high, scale in ((-60.0, 0.0, row.left), (0.0, 60.0, row.right)):
        middle = [0.03 * (low + high), 0.15 * (low + high)]
        yield integrate.quad(height, low, high, (scale,), epsabs=1e-13, points=middle)[0]


# The registry


def test_registry_holds_these_families_with_these_parameters():
    assert {name: family.parameters for name, family in RECORDS.items()} == PARAMETERS
    assert {name: family.powers for name, family in RECORDS.items()} == POWERS
    assert list(FAMILIES) == [name for name in PARAMETERS if not name.startswith("mirrored")]
    assert [field.name for field in dataclasses.fields(Family)] == list(FIELDS)


@pytest.mark.parametrize(
    "row", [row for row in NARROW_LEFT if row.family in FAMILIES], ids=lambda row: row.family
)
def test_functions_of_the_module_are_the_methods_of_its_record(row):
    module, family = MODULES[row.family], RECORDS[row.family]
    assert module.FAMILY is family
    for function in FUNCTIONS_OF_X:
        x = [0.1, 0.7] if function == "ppf" else [-1.0, 0.5]
        own = getattr(module, function)(x, *row.parameters)
        np.testing.assert_array_equal(own, call(row, function, x))
    for function in MOMENTS:
        assert getattr(module, function)(*row.parameters) == call(row, function)
    drawn = module.rvs(*row.parameters, size=3, rng=1)
    np.testing.assert_array_equal(drawn, call_rvs(row, size=3, rng=1))
    weighted = [1.0, 2.0, 4.0], [1.0, 2.0, 0.5]
    for options in ({"scale_floor": None}, {"candidates": "bennett", "scale_floor": 2.0}):
        assert module.fit(*weighted, **options) == family.fit(*weighted, **options)


@each_family
def test_records_take_parameters_by_position_or_by_name(name):
    family = RECORDS[name]
    first, *others = family.parameters
    values = [0.3, 2.0, 0.5][: len(family.parameters)]
    named = dict(zip(family.parameters, values, strict=True))
    x = np.linspace(-2.0, 2.0, 5)
    for function in ("logpdf", "cdf", "logcdf", "logsf"):
        expected = getattr(family, function)(x, *values)
        np.testing.assert_array_equal(getattr(family, function)(x, **named), expected)
        turned = dict(reversed(named.items()))
        np.testing.assert_array_equal(getattr(family, function)(x, **turned), expected)
        rest = {each: named[each] for each in others}
        np.testing.assert_array_equal(getattr(family, function)(x, values[0], **rest), expected)
    assert family.mean(**named) == family.mean(*values)
    assert family.variance(**named) == family.variance(*values)
    assert family.rvs(**named, rng=1) == family.rvs(*values, rng=1)
    for wrong in ({**named, "width": 1.0}, {first: 0.3}):
        with pytest.raises(TypeError, match=rf"takes {', '.join(family.parameters)}; got 0 by"):
            family.logpdf(x, **wrong)
    with pytest.raises(TypeError, match="got 4 by position"):
        family.logpdf(x, 1.0, 1.0, 1.0, 1.0)


def test_records_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        FAMILIES["gaussian"].name = "another"


def test_every_family_has_rows_in_the_table():
    assert {row.family for row in ROWS} == set(PARAMETERS)


def test_sides_that_nothing_fits_are_refused():
    with pytest.raises(ValueError, match=r"powers must be 1 .* and 2 .*, got \(3, 3\)"):
        dataclasses.replace(FAMILIES["gaussian"], powers=(3, 3))


def test_positives_have_the_mirror_images_of_the_negatives_densities():
    for name, family in FAMILIES.items():
        assert family.of_class(False) is family
        assert family.of_class(True) is RECORDS[MIRRORED[name]]


@each_family
def test_sides_and_parameters_are_each_other_s_inverse(name):
    family = RECORDS[name]
    theta, left = np.array([1.0, -2.0]), np.array([0.5, 3.0])
    right = left if family.symmetric else np.array([2.0, 0.1])
    parameters = family.from_sides(theta, left, right)
    assert len(parameters) == len(family.parameters)
    assert np.allclose(family.sides(*parameters), [theta, left, right])
    # Sides are where the density has fallen by e (power 1) or by the root of e (power 2).
    at_mode = family.logpdf(theta, *parameters)
    for x, power in zip((theta - left, theta + right), family.powers, strict=True):
        assert at_mode - family.logpdf(x, *parameters) == pytest.approx(1 / power)
    # The parameters of mode, left and right side.
    own = dict(zip(family.parameters, to_parameters(name, 1.0, 2.0, 3.0), strict=True))
    right = 2.0 if family.symmetric else 3.0
    sides = [own[family.parameters[k]] for k in family.by_side]
    powers = zip((2.0, right), family.powers, strict=True)
    assert sides == [1.0, *(1 / side if power == 1 else side for side, power in powers)]


@pytest.mark.parametrize("name", FAMILIES)
def test_parameters_come_in_the_same_order_everywhere(name):
    family, module = RECORDS[name], MODULES[name]

    def arguments(function):
        return tuple(inspect.signature(getattr(module, function)).parameters)

    for function in FUNCTIONS_OF_X:
        first = "q" if function == "ppf" else "x"
        assert arguments(function) == (first, *family.parameters)
    for function in MOMENTS:
        assert arguments(function) == family.parameters
    assert arguments("rvs") == (*family.parameters, "size", "rng")
    assert arguments("fit") == ("x", "sample_weight", "candidates", "scale_floor")


@pytest.mark.parametrize("name", FAMILIES)
def test_records_are_pickled_and_functions_document_their_parameters(name):
    family, module = RECORDS[name], MODULES[name]
    assert pickle.loads(pickle.dumps(family)) == family  # as workers get it
    for function in FUNCTIONS:
        own = getattr(module, function)
        assert all(f"`{each}`" in own.__doc__ for each in inspect.signature(own).parameters)


# Density and distribution function


@each_row
def test_logpdf_equals_reference(row):
    # 1e-12: the references multiply by kappa and divide by scale, some units in the last place.
    x = row.at(Z[np.abs(Z) <= 100.0])  # scipy's Laplace takes the log of the density
    expected = row.reference.logpdf(x)
    np.testing.assert_allclose(call(row, "logpdf", x), expected, rtol=1e-12, atol=1e-12)


@each_row
def test_density_integrates_to_one(row):
    # A mode at 0, for a distant one would round the deviations; exp(-60) of the mass lies beyond.
    mass = sum(side_integral(dataclasses.replace(row, theta=0.0), 0))
    assert mass == pytest.approx(1.0, abs=1e-12)


@each_row
def test_cdf_equals_reference(row):
    x = row.at(Z)
    np.testing.assert_allclose(call(row, "cdf", x), row.reference.cdf(x), rtol=0, atol=1e-14)


@each_row
def test_density_is_derivative_of_distribution_function(row):
    z = np.array([-9.0, -3.0, -1.0, -0.1, -1e-2, 1e-2, 0.1, 1.0, 3.0, 9.0])
    # Central differences at h = 1e-4 scales are off by h^2 z^4/6, under 1.1e-5 of the density.
    low, high = row.at(z * (1 - 1e-4 / np.abs(z))), row.at(z * (1 + 1e-4 / np.abs(z)))
    tail, sign = np.where(z < 0.0, "logcdf", "logsf"), np.where(z < 0.0, 1.0, -1.0)
    rise = [
        s * (np.exp(call(row, t, b)) - np.exp(call(row, t, a)))
        for t, s, a, b in zip(tail, sign, low, high, strict=True)
    ]
    # What rounding x leaves of the step, at a mode far from 0.
    rounding = 4 * EPS * np.abs(row.theta / (high - low))
    density = np.exp(call(row, "logpdf", row.at(z)))
    np.testing.assert_array_less(np.abs(rise / (high - low) / density - 1.0), 2e-5 + rounding)


@each_row
def test_tails_equal_exact_decimals(row):
    for x in row.at(Z).tolist():
        got = (float(call(row, "logcdf", x)), float(call(row, "logsf", x)))
        exact = exact_log_tails(row, x)
        # Each probability to a few units in the last place, however small ...
        assert got == pytest.approx(exact, rel=2e-15, abs=2e-15)
        # ... and 1 - tiny in terms of the tiny part; a skew of 1e3 costs three digits.
        assert got == pytest.approx(exact, rel=1e-12, abs=0)


@pytest.mark.parametrize("family", ASYMMETRIC)
def test_tails_beside_a_side_of_almost_no_width(family):
    # What a fit without a floor returns where one side is empty and a score lies far out.
    for row in (Row(family, "", 0.0, 1e-20, 1.0), Row(family, "", 0.0, 1.0, 1e-20)):
        for x in row.at(Z[np.abs(Z) < 50.0]).tolist():
            got = (float(call(row, "logcdf", x)), float(call(row, "logsf", x)))
            assert got == pytest.approx(exact_log_tails(row, x), rel=2e-15, abs=2e-15)


@pytest.mark.parametrize("family", ASYMMETRIC)
@pytest.mark.parametrize("narrow", [1e-12, 1e-6])
def test_a_share_that_is_nearly_one_lacks_the_other_tail(family, narrow):
    # Just inside the wide side: what is lacking is tiny, and its digits are all there.
    step = np.logspace(-14, -1, 14)
    for row, x in ((Row(family, "", 0.0, 1.0, narrow), -step),
                   (Row(family, "", 0.0, narrow, 1.0), step)):  # fmt: skip
        most, least = ("logcdf", "logsf") if x[0] < 0.0 else ("logsf", "logcdf")
        lacking = np.log1p(-np.exp(call(row, least, x)))
        np.testing.assert_allclose(call(row, most, x), lacking, rtol=1e-13, atol=0)


@each_row
def test_both_tails_sum_to_one(row):
    x = row.at(Z)
    total = np.exp(call(row, "logcdf", x)) + np.exp(call(row, "logsf", x))
    np.testing.assert_allclose(total, 1.0, rtol=0, atol=4 * EPS)
    assert np.all(np.diff(call(row, "logcdf", x)) >= 0.0)
    assert np.all(np.diff(call(row, "logsf", x)) <= 0.0)


@each_row
def test_tails_exchange_under_reflection(row):
    mirror = Row(MIRRORED[row.family], row.name, -row.theta, row.right, row.left)
    for x in row.at(Z):
        assert call(row, "logcdf", x) == call(mirror, "logsf", -x)


# Quantiles


@each_row
def test_exact_distribution_function_of_ppf_is_identity(row):
    left, right = (
        side * HALF_WIDTH[power]
        for side, power in zip((row.left, row.right), POWERS[row.family], strict=True)
    )
    share = left / (left + right)
    inner = [share * (1.0 - 1e-9), share, share * (1.0 + 1e-9), 0.3, 0.5, 0.999]
    for q in [1e-300, 1e-100, 1e-16, 1e-5, *inner, 1.0 - 2.0**-53]:
        x = float(call(row, "ppf", q))
        side, tail = (0, q) if q <= 0.5 else (1, 1.0 - q)  # 1 - q is exact beyond one half
        nearby = [x - 4 * np.spacing(abs(x)), x + 4 * np.spacing(abs(x))]
        low, high = sorted(exact_log_tails(row, end)[side] for end in nearby)
        # Right of the mode 1 - q rounds by EPS, whatever q; log q by a unit in its last place.
        slack = 1e-14 * max(1.0, -np.log(tail)) + (2 * EPS / tail if share <= q <= 0.5 else 0.0)
        assert low - slack <= np.log(tail) <= high + slack


@each_row
def test_ppf_of_cdf_is_identity(row):
    x = row.at(Z[(Z > -9.0) & (Z < 3.5)])
    cdf, density = call(row, "cdf", x), np.exp(call(row, "logpdf", x))
    # Rounding of the probability, in units of x, and of x itself.
    slack = 8 * EPS * (cdf + (x >= row.theta)) / density + 8 * EPS * (np.abs(x) + abs(row.theta))
    np.testing.assert_array_less(np.abs(call(row, "ppf", cdf) - x), slack)


@each_row
def test_ppf_at_and_beyond_the_ends(row):
    got = call(row, "ppf", [0.0, 1.0, -1e-300, -1.0, 1.0 + 2.0**-52, 2.0, np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(got, [-np.inf, np.inf, *[np.nan] * 7])


# Moments


@each_row
def test_mean_and_variance_equal_quadrature(row):
    unit = max(row.left, row.right)
    centred = Row(row.family, row.name, 0.0, row.left / unit, row.right / unit)
    mean, square = sum(side_integral(centred, 1)), sum(side_integral(centred, 2))
    assert call(row, "mean") == pytest.approx(row.theta + unit * mean, rel=1e-11, abs=1e-11 * unit)
    variance = pytest.approx(unit**2 * (square - mean**2), rel=1e-10, abs=0.0)
    assert call(row, "variance") == variance


# Sampling


@each_row
def test_draws_follow_the_reference(row):
    draws = call_rvs(row, size=20_000, rng=8)
    assert stats.kstest(draws, row.reference.cdf).pvalue > 1e-3


@one_row_a_family
def test_kolmogorov_test_rejects_a_wrong_parameter(row):
    # What the test above is able to notice: one scale 20 % off.
    wrong = Row(row.family, row.name, row.theta, row.left * 1.2, row.right)
    if row.family not in ASYMMETRIC:
        wrong = dataclasses.replace(wrong, right=wrong.left)
    draws = call_rvs(row, size=20_000, rng=8)
    assert stats.kstest(draws, wrong.reference.cdf).pvalue < 1e-6


@one_row_a_family
def test_draws_have_the_shape_asked_for(row):
    theta, *scales = row.parameters
    assert call_rvs(row).shape == ()
    assert call_rvs(row, size=3).shape == (3,)
    assert call_rvs(row, size=(2, 3)).shape == (2, 3)
    column = np.full((3, 1), theta)
    scales = [np.full(4, scale) for scale in scales]
    assert call_rvs(row, (column, *scales)).shape == (3, 4)
    assert call_rvs(row, (column, *scales), size=(2, 3, 4)).shape == (2, 3, 4)
    assert np.unique(call_rvs(row, (column, *scales))).size == 12


@one_row_a_family
@pytest.mark.parametrize("size", [1, (2, 1), 5])
def test_a_size_that_does_not_fit_the_parameters_is_refused(row, size):
    # Broadcasting one draw to three modes would give three dependent scores.
    modes = np.full(3, row.theta)
    with pytest.raises(ValueError, match="size must be a shape"):
        call_rvs(row, (modes, *row.parameters[1:]), size=size)


@one_row_a_family
def test_same_seed_same_draws(row):
    seeded = call_rvs(row, size=5, rng=8)
    np.testing.assert_array_equal(seeded, call_rvs(row, size=5, rng=8))
    generator = np.random.default_rng(8)
    np.testing.assert_array_equal(seeded, call_rvs(row, size=5, rng=generator))
    assert not np.isin(call_rvs(row, size=5, rng=generator), seeded).any()
    assert not np.isin(call_rvs(row, size=5, rng=9), seeded).any()


# What all functions share


@pytest.mark.parametrize(("asymmetric", "symmetric"), SYMMETRIC_OF.items())
def test_equal_sides_are_the_symmetric_family(asymmetric, symmetric):
    two = Row(asymmetric, "equal", 2.5, 0.7, 0.7)
    one = Row(symmetric, "equal", 2.5, 0.7, 0.7)
    for function in FUNCTIONS_OF_X:
        x = np.linspace(0.01, 0.99, 9) if function == "ppf" else two.at(Z)
        np.testing.assert_array_equal(call(two, function, x), call(one, function, x))
    assert [call(two, moment) for moment in MOMENTS] == [call(one, moment) for moment in MOMENTS]


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize("function", [*FUNCTIONS_OF_X, *MOMENTS, "rvs"])
@each_family
def test_a_scale_that_is_not_positive_is_named(name, function, bad):
    for position, parameter in enumerate(PARAMETERS[name][1:], start=1):
        arguments = list(to_parameters(name, 0.5, 1.0, 1.0))
        arguments[position] = np.array([1.0, bad])
        x = [0.5] if function in FUNCTIONS_OF_X else []
        with pytest.raises(ValueError, match=f"{parameter} must be positive and finite, got {bad}"):
            getattr(RECORDS[name], function)(*x, *arguments)


@one_row_a_family
def test_arguments_broadcast(row):
    theta, *scales = row.parameters
    parameters = (np.array([[theta], [theta + 1.0]]), *(np.full(3, scale) for scale in scales))
    for function in FUNCTIONS_OF_X:
        got = getattr(RECORDS[row.family], function)(0.25, *parameters)
        assert got.shape == (2, 3)
        assert got[0, 1] == call(row, function, 0.25)
    for moment in MOMENTS:
        got = getattr(RECORDS[row.family], moment)(*parameters)
        assert got.shape == (2, 3)
        assert got[0, 1] == call(row, moment)


@each_row
def test_infinite_scores_and_nan(row):
    x = [-np.inf, np.inf, np.nan]  # a list, as any array-like
    np.testing.assert_array_equal(call(row, "logpdf", x), [-np.inf, -np.inf, np.nan])
    np.testing.assert_array_equal(call(row, "logcdf", x), [-np.inf, 0.0, np.nan])
    np.testing.assert_array_equal(call(row, "logsf", x), [0.0, -np.inf, np.nan])
    np.testing.assert_array_equal(call(row, "cdf", x), [0.0, 1.0, np.nan])
