"""The formulas: against independent references, in both tails, at the mode, and their gradients.

One table of families drives every test; a family is given by its mode and the scales of its sides.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import pytest
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
from scipy import stats

from bayescal.distributions import AsymmetricGaussian, AsymmetricLaplace, Hybrid
from tests.sizes import size

DIGITS = 900
SAMPLES = size(100, -1)  # points of every check by PyMC; -1 for all
SMALLEST = Decimal("1e-450")


class TwoSides:
    """A reflected distribution on the left, another on the right, of equal density at the mode."""

    def __init__(self, theta, left, right):
        self.theta, self.left, self.right = theta, left, right
        width_left, width_right = 1 / left.pdf(0.0), 1 / right.pdf(0.0)
        self.share_left = width_left / (width_left + width_right)
        self.share_right = width_right / (width_left + width_right)

    def logpdf(self, x):
        left = np.log(self.share_left) + self.left.logpdf(self.theta - x)
        right = np.log(self.share_right) + self.right.logpdf(x - self.theta)
        return np.where(x < self.theta, left, right)

    def cdf(self, x):
        left = self.share_left * self.left.sf(self.theta - x)
        return left + self.share_right * self.right.cdf(x - self.theta)

    def logcdf(self, x):
        return np.log(self.cdf(x))

    def ppf(self, q):
        if q < self.share_left:
            return self.theta - self.left.isf(q / self.share_left)
        return self.theta + self.right.isf((1 - q) / self.share_right)


def two_half_normals(theta, sigma_left, sigma_right):
    return TwoSides(theta, stats.halfnorm(scale=sigma_left), stats.halfnorm(scale=sigma_right))


def gaussian_and_exponential(theta, rate, sigma):
    return TwoSides(theta, stats.halfnorm(scale=sigma), stats.expon(scale=1 / rate))


def exponential_and_gaussian(theta, rate, sigma):
    return TwoSides(theta, stats.expon(scale=1 / rate), stats.halfnorm(scale=sigma))


class FacingLeft:
    """The hybrid distribution of positives, with its three other parameters."""

    __name__ = "FacingLeft"
    dist = functools.partial(Hybrid.dist, facing=-1.0)


def scipy_laplace(theta, beta, gamma):
    return stats.laplace_asymmetric(
        np.sqrt(gamma / beta), loc=theta, scale=1 / np.sqrt(beta * gamma)
    )


class Exponential:
    """A side: its mass beyond z of its scales in Decimal, and the logarithm of that as a float."""

    width = 1.0  # the integral of what falls from 1 at the mode
    log_far_tail = staticmethod(stats.expon.logsf)
    furthest = 700.0  # z where the mass is almost too small for a floating-point number

    @staticmethod
    def exact_width():
        return Decimal(1)

    @staticmethod
    def tail(z):
        return (-z).exp()


class Gaussian:
    """The same of the half-normal: its integrated power series, normalised where it is 1."""

    width = np.sqrt(np.pi / 2)
    furthest = 37.0

    @staticmethod
    def exact_width():
        return power_series(Decimal(45))

    @staticmethod
    def tail(z):
        return 1 - power_series(z) / power_series(Decimal(45))

    @staticmethod
    def log_far_tail(z):
        return np.log(2) + stats.norm.logsf(z)


@functools.cache
def power_series(z):
    total = term = z
    n = 0
    while abs(term) > SMALLEST:
        n += 1
        term *= -z * z / (2 * n)
        total += term / (2 * n + 1)
    return total


@dataclass(frozen=True)
class Family:
    """A distribution of ours, the same from elsewhere, and what to call its parameters."""

    distribution: Any
    names: tuple[str, str, str]
    reference: Callable
    parameters: Callable  # of the mode and the scales of the two sides
    scales: Callable  # the scales, from the parameters but the mode
    left: Any  # kind of the left side
    right: Any

    def dist(self, theta, left, right, **kwargs):
        return self.distribution.dist(*self.parameters(theta, left, right), **kwargs)

    def exact(self, value, theta, left, right):
        """P(X <= value) and P(X > value), with all the digits that the smaller one needs."""
        parameters = self.parameters(theta, left, right)
        value, theta, *scales = (Decimal(float(number)) for number in (value, *parameters))
        with localcontext(prec=DIGITS):
            left, right = self.scales(*scales)
            width_left = left * self.left.exact_width()
            width_right = right * self.right.exact_width()
            width = width_left + width_right
            if value <= theta:
                below = width_left / width * self.left.tail((theta - value) / left)
                return below, 1 - below
            above = width_right / width * self.right.tail((value - theta) / right)
            return 1 - above, above

    def share(self, left, right):
        """Return the mass left of the mode."""
        left, right = left * self.left.width, right * self.right.width
        return left / (left + right)


FAMILIES = [
    Family(
        AsymmetricLaplace,
        ("theta", "beta", "gamma"),
        scipy_laplace,
        lambda theta, left, right: (theta, 1 / left, 1 / right),
        lambda beta, gamma: (1 / beta, 1 / gamma),
        Exponential,
        Exponential,
    ),
    Family(
        AsymmetricGaussian,
        ("theta", "sigma_left", "sigma_right"),
        two_half_normals,
        lambda theta, left, right: (theta, left, right),
        lambda left, right: (left, right),
        Gaussian,
        Gaussian,
    ),
    Family(
        Hybrid,
        ("theta", "rate", "sigma"),
        gaussian_and_exponential,
        lambda theta, left, right: (theta, 1 / right, left),
        lambda rate, sigma: (sigma, 1 / rate),
        Gaussian,
        Exponential,
    ),
    Family(
        FacingLeft,
        ("theta", "rate", "sigma"),
        exponential_and_gaussian,
        lambda theta, left, right: (theta, 1 / left, right),
        lambda rate, sigma: (1 / rate, sigma),
        Exponential,
        Gaussian,
    ),
]
# Mode, scale of the left side, scale of the right side.
SHAPES = [
    (0.0, 1.0, 1.0),
    (1.5, 3.0, 0.25),
    (-700.0, 0.5, 2.0),
    (0.0, 1e-9, 1.0),
    (0.0, 1.0, 1e-9),
    (0.0, 1e-20, 1.0),
]
Z = np.array([0.0, 1e-12, 1e-3, 0.3, 0.7, 2.0, 8.0, 20.0, 37.0, 700.0])

# Rewritten as for users, but not compiled: C takes longer to compile than numpy to run.
REWRITTEN = Mode(linker="py", optimizer="fast_run")
AS_WRITTEN = Mode(linker="py", optimizer=None)

every_family = pytest.mark.parametrize(
    "family", FAMILIES, ids=lambda family: family.distribution.__name__
)
every_shape = pytest.mark.parametrize("shape", SHAPES, ids=str)


@functools.cache
def compiled(distribution, method, mode=None):
    """The method's graph, followed by its derivatives in the value and the three parameters."""
    arguments = pt.dvectors("value", "first", "second", "third")
    value, *parameters = arguments
    result = getattr(pm, method)(distribution.dist(*parameters), value)
    gradients = pt.grad(result.sum(), arguments)
    return pytensor.function(arguments, [result, *gradients], mode=mode)


def evaluate(family, method, value, shape, mode=None):
    arguments = np.broadcast_arrays(np.atleast_1d(value), *family.parameters(*shape))
    function = compiled(family.distribution, method, mode)
    return function(*(np.array(a, dtype=float) for a in arguments))


def values_around(family, shape):
    """Both tails, the neighbourhood of the mode at both scales, the mode and its neighbours."""
    theta, left, right = shape
    distances = np.concatenate([-left * Z, -right * Z, left * Z, right * Z])
    values = np.append(theta + distances, np.nextafter(theta, [-np.inf, np.inf]))
    deviation = values - theta
    inside = deviation >= -family.left.furthest * left
    inside &= deviation <= family.right.furthest * right
    return np.unique(values[inside])


def log_of(probability):
    with localcontext(prec=30):
        return float(probability.ln())


DOMAINS = {"theta": Domain([-np.inf, -2.1, 0.0, 3.0, np.inf])}


@pytest.mark.slow
@every_family
def test_agrees_with_the_reference_on_the_domains_of_pymc(family):
    domains = DOMAINS | dict.fromkeys(family.names[1:], Rplusbig)

    def reference(method):
        return lambda argument, **p: getattr(family.reference(**p), method)(argument)

    def of_value(method):
        return lambda value, **p: reference(method)(value, **p)

    def of_q(q, **p):
        return reference("ppf")(q, **p)

    check_logp(family.distribution, R, domains, of_value("logpdf"), n_samples=SAMPLES)
    check_logcdf(family.distribution, R, domains, of_value("logcdf"), n_samples=SAMPLES)
    check_icdf(family.distribution, domains, of_q, n_samples=SAMPLES)
    check_selfconsistency_icdf(family.distribution, domains, n_samples=SAMPLES)


@every_family
@every_shape
def test_density_has_twelve_digits(family, shape):
    values = values_around(family, shape)
    reference = family.reference(*family.parameters(*shape)).logpdf(values)
    logp, *_ = evaluate(family, "logp", values, shape, REWRITTEN)
    # The log density crosses 0, where only its absolute error means anything.
    np.testing.assert_allclose(logp, reference, rtol=1e-12, atol=1e-13)


@pytest.mark.slow
@every_family
@every_shape
def test_both_tails_have_twelve_digits(family, shape):
    values = values_around(family, shape)
    exact = np.array([[log_of(p) for p in family.exact(v, *shape)] for v in values])
    for column, method in enumerate(["logcdf", "logccdf"]):
        result, *_ = evaluate(family, method, values, shape)
        # Of numbers near the smallest a unit in the last place is more than that.
        smallest = {"rtol": 1e-12, "atol": 1e-323}
        np.testing.assert_allclose(result, exact[:, column], **smallest, err_msg=method)
    assert exact.max() > -1e-296


@pytest.mark.slow
@every_family
@every_shape
def test_tails_beyond_the_smallest_number(family, shape):
    theta, left, right = 0.0, *shape[1:]
    ratio = right * family.right.width / (left * family.left.width)
    lower, *_ = evaluate(family, "logcdf", theta - 1e3 * left, (theta, left, right))
    upper, *_ = evaluate(family, "logccdf", theta + 1e3 * right, (theta, left, right))
    assert lower[0] == pytest.approx(family.left.log_far_tail(1e3) - np.log1p(ratio), rel=1e-12)
    assert upper[0] == pytest.approx(
        family.right.log_far_tail(1e3) - np.log1p(1 / ratio), rel=1e-12
    )


@every_family
@every_shape
def test_quantiles_have_twelve_digits(family, shape):
    shape = (0.0, *shape[1:])
    share = family.share(*shape[1:])
    near = np.concatenate([share * (1 + np.array([-0.3, -1e-6, 1e-6])), [1.5 * share, 2.5 * share]])
    q = np.concatenate([near, 1 - near, [1e-300, 1e-12, 0.25, 0.5, 0.75, 1 - 1e-12, 1 - 2**-53]])
    q = q[(q > 0) & (q < 1)]
    quantiles, *_ = evaluate(family, "icdf", q, shape)
    density = np.exp(family.reference(*family.parameters(*shape)).logpdf(quantiles))
    off = [
        float(family.exact(x, *shape)[0] - Decimal(p)) for x, p in zip(quantiles, q, strict=True)
    ]
    # At the mode no formula is better than the rounded mass of the smaller side.
    tolerance = 1e-12 * np.abs(quantiles) + 1e-15 * min(shape[1:])
    np.testing.assert_array_less(np.abs(off / density), tolerance)


@pytest.mark.slow
@every_family
def test_edges_of_the_line_and_of_probability(family):
    shape, line = (0.5, 1.0, 2.0), np.array([-np.inf, np.inf])
    np.testing.assert_array_equal(evaluate(family, "logp", line, shape)[0], -np.inf)
    np.testing.assert_array_equal(evaluate(family, "logcdf", line, shape)[0], [-np.inf, 0])
    np.testing.assert_array_equal(evaluate(family, "logccdf", line, shape)[0], [0, -np.inf])
    outside = np.array([-0.1, 0.0, 1.0, 1.1])
    expected = [np.nan, -np.inf, np.inf, np.nan]
    np.testing.assert_array_equal(evaluate(family, "icdf", outside, shape)[0], expected)


@pytest.mark.slow
@every_family
@pytest.mark.parametrize("method", ["logp", "logcdf", "logccdf", "icdf"])
@pytest.mark.parametrize("bad", [(-1.0, 1.0), (1.0, -1.0), (0.0, 1.0), (1.0, np.nan)])
def test_scales_must_be_positive(family, method, bad):
    message = f"{family.names[1]} > 0, {family.names[2]} > 0"
    with pytest.raises(ParameterValueError, match=message):
        compiled(family.distribution, method)([0.5], [0.0], [bad[0]], [bad[1]])


@every_family
def test_integers_are_as_good_as_floats(family):
    whole, real = family.distribution.dist(0, 3, 7), family.distribution.dist(0.0, 3.0, 7.0)
    for method in (pm.logp, pm.logcdf, pm.logccdf):
        assert method(whole, 2).eval() == pytest.approx(method(real, 2.0).eval(), rel=1e-14)
    assert pm.icdf(whole, 0.3).eval() == pytest.approx(pm.icdf(real, 0.3).eval(), rel=1e-14)


@every_family
@every_shape
def test_derivatives_of_the_distribution_function_are_the_density(family, shape):
    values = values_around(family, shape)
    logp, *_ = evaluate(family, "logp", values, shape, REWRITTEN)
    logcdf, slope, theta_slope, *_ = evaluate(family, "logcdf", values, shape, REWRITTEN)
    np.testing.assert_allclose(slope, np.exp(logp - logcdf), rtol=1e-9, atol=1e-290)
    np.testing.assert_allclose(theta_slope, -slope, rtol=1e-12)
    logccdf, slope, *_ = evaluate(family, "logccdf", values, shape, REWRITTEN)
    np.testing.assert_allclose(slope, -np.exp(logp - logccdf), rtol=1e-9, atol=1e-290)


@every_family
@every_shape
def test_derivative_of_a_quantile_is_one_over_the_density(family, shape):
    q = np.array([1e-12, 0.1, 0.5, 0.9, family.share(*shape[1:])])
    quantiles, slope, *_ = evaluate(family, "icdf", q, shape)
    logp, *_ = evaluate(family, "logp", quantiles, shape)
    np.testing.assert_allclose(slope, np.exp(-logp), rtol=1e-6)


@pytest.mark.slow
@every_family
@pytest.mark.parametrize("method", ["logp", "logcdf", "logccdf", "icdf"])
def test_gradients_are_finite_differences(family, method):
    parameters = family.parameters(0.4, 1.5, 0.7)
    values = [0.2, 0.6, 0.95] if method == "icdf" else [-3.0, 0.3, 0.41, 2.5]
    arguments = np.broadcast_arrays(values, *parameters)
    function = compiled(family.distribution, method)
    _, *gradients = function(*(np.array(a) for a in arguments))
    for i, gradient in enumerate(gradients):
        up, down = ([np.array(a) for a in arguments] for _ in range(2))
        up[i] += 1e-6
        down[i] -= 1e-6
        np.testing.assert_allclose(
            gradient, (function(*up)[0] - function(*down)[0]) / 2e-6, rtol=1e-6, atol=1e-8
        )


@every_family
@every_shape
@pytest.mark.parametrize("method", ["logp", "logcdf", "logccdf"])
def test_gradients_are_finite_everywhere(family, shape, method):
    """Also as written: rewrites hide a branch that is not finite, and numpy warns of overflow."""
    shape = (0.0, *shape[1:])
    values = np.concatenate([[-1e3, -1e-300, 0.0, 1e-300, 1e3], values_around(family, shape)])
    for mode in (REWRITTEN, AS_WRITTEN):
        for result in evaluate(family, method, values, shape, mode):
            assert np.all(np.isfinite(result))


@every_family
@every_shape
def test_gradients_of_quantiles_are_finite_inside(family, shape):
    q = np.array([1e-300, 0.5, 1 - 2**-53, family.share(*shape[1:])])
    for mode in (None, AS_WRITTEN):
        for result in evaluate(family, "icdf", q, shape, mode):
            assert np.all(np.isfinite(result))
