"""The formulas for PyMC are those of `bayescal.families`, whose oracles are exact decimals.

So are their gradients, in both tails and at the mode. A family is given by its mode and the scales
of its sides.
"""

import functools

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
import scipy.stats as st
from pymc.logprob.utils import ParameterValueError
from pymc.testing import (
    Domain,
    R,
    Rplusbig,
    check_icdf,
    check_logcdf,
    check_logp,
    check_selfconsistency_icdf,
)
from pytensor.compile.mode import Mode
from scipy import special

from bayescal.distributions import AsymmetricGaussian, AsymmetricLaplace, LogitBeta
from bayescal.families import FAMILIES
from tests.references import ASYMMETRIC, PARAMETERS, POWERS, to_parameters
from tests.sizes import size
from tests.uncompiled import value_of

SAMPLES = size(100, -1)  # points of every check by PyMC; -1 for all


DISTRIBUTIONS = {"asymmetric_laplace": AsymmetricLaplace, "asymmetric_gaussian": AsymmetricGaussian}
# Mode, scale of the left side, scale of the right side.
SHAPES = [
    (0.0, 1.0, 1.0),
    (1.5, 3.0, 0.25),
    (-700.0, 0.5, 2.0),
    (1e6, 1e-3, 1e3),
    (0.0, 1e-9, 1.0),
    (0.0, 1.0, 1e-9),
    (0.0, 1e-20, 1.0),
]
Z = np.array([0.0, 1e-12, 1e-3, 0.3, 0.7, 2.0, 8.0, 20.0, 37.0, 700.0])
FURTHEST = {1: 700.0, 2: 37.0}  # scales beyond which a side's mass is no number
# By PyMC's name of a function: that of the record in `bayescal.families`.
FUNCTIONS = {"logp": "logpdf", "logcdf": "logcdf", "logccdf": "logsf", "icdf": "ppf"}

# Rewritten as for users, but not compiled: C takes longer to compile than numpy to run.
REWRITTEN = Mode(linker="py", optimizer="fast_run")
AS_WRITTEN = Mode(linker="py", optimizer=None)

every_family = pytest.mark.parametrize("name", ASYMMETRIC)


@functools.cache
def compiled(name, method, mode=None):
    """Return a method's graph, followed by its derivatives in the value and the parameters."""
    arguments = pt.dvectors("value", "first", "second", "third")
    value, *parameters = arguments
    result = getattr(pm, method)(DISTRIBUTIONS[name].dist(*parameters), value)
    gradients = pt.grad(result.sum(), arguments)
    return pytensor.function(arguments, [result, *gradients], mode=mode)


def evaluate(name, method, value, shape, mode=None):
    arguments = np.broadcast_arrays(np.atleast_1d(value), *to_parameters(name, *shape))
    return compiled(name, method, mode)(*(np.array(each, dtype=float) for each in arguments))


def values_around(name, shape, *, beyond=False):
    """Return scores in both tails, around the mode at both scales, the mode and its neighbours."""
    theta, left, right = shape
    distances = np.concatenate([-left * Z, -right * Z, left * Z, right * Z])
    values = np.append(theta + distances, np.nextafter(theta, [-np.inf, np.inf]))
    if beyond:
        return np.unique(np.append(values, theta + np.array([-1e3 * left, 1e3 * right])))
    furthest = FURTHEST[POWERS[name]]
    inside = values - theta >= -furthest * left
    inside &= values - theta <= furthest * right
    return np.unique(values[inside])


def mode_for(shape):
    """Return the mode of compilation: rewrites multiply out rate (x - theta), which cancels."""
    return REWRITTEN if abs(shape[0]) < 1e5 else AS_WRITTEN


def share_of(shape):
    """Return the mass left of the mode."""
    _, left, right = shape
    return left / (left + right)


@every_family
def test_density_and_tails_are_the_record_s(name):
    for shape in SHAPES:
        for method in ("logp", "logcdf", "logccdf"):
            values = values_around(name, shape, beyond=True)
            own = getattr(FAMILIES[name], FUNCTIONS[method])(values, *to_parameters(name, *shape))
            mode = mode_for(shape) if method == "logp" else AS_WRITTEN
            found, *_ = evaluate(name, method, values, shape, mode)
            # The log density crosses 0, where only its absolute error means anything.
            smallest = 1e-13 if method == "logp" else 1e-323
            np.testing.assert_allclose(found, own, rtol=2e-12, atol=smallest)


@every_family
def test_quantiles_are_the_record_s(name):
    for shape in SHAPES:
        share = share_of(shape)
        near = share * (1 + np.array([-0.3, -1e-6, 1e-6, 0.5, 1.5]))
        q = np.concatenate([near, 1 - near, [1e-300, 1e-12, 0.25, 0.5, 0.75, 1 - 1e-12]])
        q = q[(q > 0) & (q < 1)]
        parameters = to_parameters(name, *shape)
        expected = FAMILIES[name].ppf(q, *parameters)
        found, slope, *_ = evaluate(name, "icdf", q, shape, mode_for(shape))
        # 1e-12 of the distance to the mode; at the mode both round the smaller side's mass.
        slack = 1e-12 * (np.abs(expected - shape[0]) + np.abs(expected)) + 1e-15 * min(shape[1:])
        density = np.exp(FAMILIES[name].logpdf(expected, *parameters))
        np.testing.assert_array_less(np.abs(found - expected), slack + 4e-16 / density)
        if min(shape[1:]) > 1e-6:  # elsewhere rounding decides on which side of the mode it is
            np.testing.assert_allclose(slope, 1 / density, rtol=1e-5)


@every_family
def test_gradients_are_finite_everywhere(name):
    """Also as written: rewrites hide a branch that is not finite, and numpy warns of overflow."""
    for _, *sides in SHAPES:
        shape = (0.0, *sides)
        far = [-1e3, -1e-300, 0.0, 1e-300, 1e3]
        values = np.concatenate([far, values_around(name, shape)])
        q = np.array([1e-300, 0.5, 1 - 2**-53, share_of(shape)])
        for method, mode in ((m, mode) for m in FUNCTIONS for mode in (REWRITTEN, AS_WRITTEN)):
            at = q if method == "icdf" else values
            for result in evaluate(name, method, at, shape, mode):
                assert np.all(np.isfinite(result)), (method, shape)


@pytest.mark.slow
@every_family
def test_agrees_with_the_record_on_the_domains_of_pymc(name):
    distribution, record = DISTRIBUTIONS[name], FAMILIES[name]
    domains = {"theta": Domain([-np.inf, -2.1, 0.0, 3.0, np.inf])}
    domains |= dict.fromkeys(PARAMETERS[name][1:], Rplusbig)
    check_logp(
        distribution, R, domains, lambda value, **p: record.logpdf(value, **p), n_samples=SAMPLES
    )
    check_logcdf(
        distribution, R, domains, lambda value, **p: record.logcdf(value, **p), n_samples=SAMPLES
    )
    check_icdf(distribution, domains, lambda q, **p: record.ppf(q, **p), n_samples=SAMPLES)
    check_selfconsistency_icdf(distribution, domains, n_samples=SAMPLES)


@pytest.mark.slow
@every_family
def test_gradients_are_finite_differences(name):
    parameters = to_parameters(name, 0.4, 1.5, 0.7)
    for method in FUNCTIONS:
        values = [0.2, 0.6, 0.95] if method == "icdf" else [-3.0, 0.3, 0.41, 2.5]
        arguments = np.broadcast_arrays(values, *parameters)
        function = compiled(name, method)
        _, *gradients = function(*(np.array(a) for a in arguments))
        for i, gradient in enumerate(gradients):
            up, down = ([np.array(a) for a in arguments] for _ in range(2))
            up[i] += 1e-6
            down[i] -= 1e-6
            difference = (function(*up)[0] - function(*down)[0]) / 2e-6
            np.testing.assert_allclose(gradient, difference, rtol=1e-6, atol=1e-8)


@every_family
def test_edges_of_the_line_and_of_probability(name):
    shape, line = (0.5, 1.0, 2.0), np.array([-np.inf, np.inf])
    for method, at, expected in (
        ("logp", line, [-np.inf, -np.inf]),
        ("logcdf", line, [-np.inf, 0]),
        ("logccdf", line, [0, -np.inf]),
        ("icdf", np.array([-0.1, 0.0, 1.0, 1.1]), [np.nan, -np.inf, np.inf, np.nan]),
    ):
        np.testing.assert_array_equal(evaluate(name, method, at, shape, REWRITTEN)[0], expected)


@every_family
def test_scales_must_be_positive_numbers_of_any_kind(name):
    message = ", ".join(f"{each} > 0" for each in PARAMETERS[name][1:])
    bad = [(-1.0, 1.0), (1.0, -1.0), (0.0, 1.0), (1.0, np.nan)]
    for method, (first, second) in zip(FUNCTIONS, bad, strict=True):
        with pytest.raises(ParameterValueError, match=message):
            compiled(name, method, REWRITTEN)([0.5], [0.0], [first], [second])
        dist, at = DISTRIBUTIONS[name].dist, 0.3 if method == "icdf" else 2
        whole, real = (getattr(pm, method)(dist(*p), at) for p in ((0, 3, 7), (0.0, 3.0, 7.0)))
        assert whole.eval() == pytest.approx(real.eval(), rel=1e-14)


# Log-odds of a beta variable: against scipy's beta, and where its shares round to 0 or 1

BETA_SHAPES = [(2.0, 0.7), (0.3, 0.2), (40.0, 3.0)]


@pytest.mark.parametrize("shapes", BETA_SHAPES)
def test_density_is_that_of_the_share_and_its_slope(shapes):
    v = np.linspace(-9.0, 9.0, 7)
    share = special.expit(v)
    expected = st.beta(*shapes).logpdf(share) + np.log(share * (1.0 - share))
    found = value_of(pm.logp(LogitBeta.dist(*shapes), v))
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("shapes", BETA_SHAPES)
def test_tails_go_on_where_shares_round(shapes):
    alpha, beta = shapes
    far = np.array([-800.0, -700.0, 700.0, 800.0])
    density = value_of(pm.logp(LogitBeta.dist(*shapes), far))
    assert np.diff(density)[[0, 2]] == pytest.approx([100.0 * alpha, -100.0 * beta])


@pytest.mark.parametrize("shapes", BETA_SHAPES)
def test_draws_are_those_of_beta(shapes):
    v = pm.draw(LogitBeta.dist(*shapes), 4000, random_seed=1)
    assert st.kstest(special.expit(v), st.beta(*shapes).cdf).pvalue > 1e-3
    assert st.kstest(special.expit(v), st.beta(*shapes[::-1]).cdf).pvalue < 1e-3


def test_draws_of_tiny_shapes_are_finite():
    v = pm.draw(LogitBeta.dist([1e-5, 1.0], 1e-5), 100, random_seed=1)
    assert v.shape == (100, 2)
    assert np.isfinite(v).all()
    assert np.abs(v[:, 0]).max() > 1e4


def test_shapes_must_be_positive():
    with pytest.raises(ParameterValueError, match="alpha > 0, beta > 0"):
        value_of(pm.logp(LogitBeta.dist(0.0, 1.0), 0.0))
