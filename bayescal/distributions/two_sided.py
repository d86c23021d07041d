"""PyMC distributions with one mode, both sides of which are exponential or half a Gaussian.

Tails and quantiles derive from the sides; the graphs keep twelve digits in both tails and beside
the mode, and finite gradients everywhere.
"""

import math
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_icdf_parameters, check_icdf_value, check_parameters
from pymc.distributions.distribution import SymbolicRandomVariable
from pymc.distributions.shape_utils import implicit_size_from_params, rv_size_is_none
from pymc.pytensorf import floatX, normalize_rng_param
from pytensor.tensor.random.basic import uniform
from pytensor.tensor.random.utils import normalize_size_param

SQRT2 = math.sqrt(2.0)
LOG_TWICE_STANDARD_MODE = 0.5 * math.log(2.0 / math.pi)


def drawn(op: Any, rng: Any, size: Any, *parameters: Any) -> tuple[Any, Any]:
    """Draw from one of pytensor's distributions in a graph."""
    # Calling the Op returns only the draws in pytensor 2 and warns of a change in pytensor 3. Its
    # node has two outputs in both.
    next_rng, draws = op.make_node(rng, size, *parameters).outputs
    return next_rng, draws


def require_positive(result, **parameters):
    """Make ``result`` depend on the named parameters being positive."""
    return check_parameters(result, *_conditions(parameters), msg=_message(parameters))


def _conditions(parameters):
    return [parameter > 0 for parameter in parameters.values()]


def _message(parameters):
    return ", ".join(f"{name} > 0" for name in parameters)


class Side(NamedTuple):
    """One side of the mode."""

    unit: Any  # mean distance or sigma
    mass: Any  # up to a common factor
    gaussian: bool

    def log_tail(self, distance):
        """Return the log of the part of the side's mass beyond a distance."""
        return log_erfc(distance / (SQRT2 * self.unit)) if self.gaussian else -distance / self.unit

    def parts(self, distance):
        """Return the parts of the side's mass up to and beyond a distance."""
        if self.gaussian:
            z = distance / (SQRT2 * self.unit)
            return pt.erf(z), pt.erfc(z)
        fall = -distance / self.unit
        return -pt.expm1(fall), pt.exp(fall)

    def quantile(self, tail, body):
        """Return the distance with mass ``tail`` beyond and ``body`` before it."""
        quantile = half_normal_quantile if self.gaussian else exponential_quantile
        return self.unit * quantile(tail, body)


def log_erfc(z):
    """Return the log of erfc for z >= 0."""
    near = z < 0.5
    # erfcx carries the far tail, where erfc underflows; near 0 it rounds log(1 - small).
    log_near = pt.log1p(-pt.erf(pt.switch(near, z, 0.0)))
    return pt.switch(near, log_near, pt.log(pt.erfcx(z)) - z**2)


def half_normal_quantile(tail, body):
    """Return the number of sigmas with mass ``tail`` beyond and ``body`` before it."""
    near = body < 0.5
    # erfcinv(tail) loses digits for tails near 1, where the body is accurate.
    z_near = pt.erfinv(pt.switch(near, body, 0.0))
    return SQRT2 * pt.switch(near, z_near, pt.erfcinv(tail))


def exponential_quantile(tail, body):
    """Return the number of mean distances with mass ``tail`` beyond and ``body`` before it."""
    near = body < 0.5
    # log(tail) loses digits for tails near 1, where the body is accurate.
    distance_near = -pt.log1p(-pt.switch(near, body, 0.0))
    return pt.switch(near, distance_near, -pt.log(tail))


def log_below(value, theta, left, right):
    """Return the log of P(X <= value), given the mode and the sides."""
    deviation = value - theta
    below = deviation <= 0
    # The branch not taken is evaluated at the mode, where it cannot overflow.
    mass_left, mass_right = left.mass, right.mass
    log_left = left.log_tail(pt.switch(below, -deviation, 0.0)) - pt.log1p(mass_right / mass_left)
    body, tail = right.parts(pt.switch(below, 0.0, deviation))
    mass_after = mass_right / (mass_left + mass_right) * tail
    near = mass_after > 0.5
    # Near the mode 1 - mass_after cancels if the left side is thin: sum the mass before. Far from
    # it the sum rounds to 1, and the mass after is accurate.
    log_near = pt.log((mass_left + mass_right * body) / (mass_left + mass_right))
    log_far = pt.log1p(-pt.switch(near, 0.0, mass_after))
    return pt.switch(below, log_left, pt.switch(near, log_near, log_far))


def split(q, left, right):
    """Find the side on which quantile ``q`` lies, and the tail and the body of that side."""
    share_left, share_right = left / (left + right), right / (left + right)
    # The maximum keeps rewrites from reordering the second difference below into
    # (share_right + q) - 1, which rounds a thin right side away.
    complement = pt.maximum(1.0 - q, 0.0)
    past_mode = pt.switch(q < 0.5, q - share_left, share_right - complement)
    below = past_mode <= 0
    share = pt.switch(below, share_left, share_right)
    tail = pt.switch(below, q, complement) / share
    # Not abs(past_mode): its gradient vanishes at the mode, which is the median if left == right.
    body = pt.switch(below, -past_mode, past_mode) / share
    return below, tail, body


class GraphRV(SymbolicRandomVariable):
    """Draws by a graph of other draws, which subclasses define as ``graph``."""

    @classmethod
    def graph(cls, rng, size, *params):
        """Return the generator after the draws, and draws of shape ``size``."""
        raise NotImplementedError

    @classmethod
    def rv_op(cls, *params, size=None, rng=None):
        """Build the graph of draws of shape ``size``."""
        # Division of short integers would be in single precision.
        parameters = [floatX(pt.as_tensor(param)) for param in params]
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)
        if rv_size_is_none(size):
            size = implicit_size_from_params(*parameters, ndims_params=cls.ndims_params)
        inputs = [rng, size, *parameters]
        return cls(inputs=inputs, outputs=[*cls.graph(rng, size, *parameters)])(*inputs)


class TwoSidedRV(GraphRV):
    """Draws by inversion of the distribution function of two sides."""

    extended_signature = "[rng],[size],(),(),()->[rng],()"
    positive: tuple[str, str]  # names of the parameters after the mode

    @staticmethod
    def sides(*parameters):
        """Return the left and the right side of the parameters after the mode."""
        raise NotImplementedError

    @staticmethod
    def log_density(value, theta, *parameters):
        """Return the log density; parameters are not checked."""
        raise NotImplementedError

    @classmethod
    def log_below(cls, value, theta, *parameters):
        """Return the log of P(X <= value)."""
        return log_below(value, theta, *cls.sides(*parameters))

    @classmethod
    def log_above(cls, value, theta, *parameters):
        """Return the log of P(X > value)."""
        left, right = cls.sides(*parameters)
        # The upper tail of X is the lower tail of -X: no 1 - cdf, so nothing cancels.
        return log_below(-value, -theta, right, left)

    @classmethod
    def ppf(cls, q, theta, *parameters):
        """Return the quantile function."""
        left, right = cls.sides(*parameters)
        below, tail, body = split(q, left.mass, right.mass)
        return theta + pt.switch(below, -left.quantile(tail, body), right.quantile(tail, body))

    @classmethod
    def graph(cls, rng, size, *params):
        """Draw quantiles at uniform levels."""
        next_rng, q = drawn(uniform, rng, size, 0.0, 1.0)
        # Uniform draws include 0, and in single precision 1; quantiles must be finite.
        rounding = np.finfo(q.dtype).epsneg
        return next_rng, cls.ppf(pt.clip(q, rounding / 2, 1 - rounding), *params)


def methods_of(rv_type: type[TwoSidedRV]) -> tuple[Any, ...]:
    """Return the methods support_point, logp, logcdf, logccdf and icdf of a PyMC class."""

    def checked(function):
        def method(value, theta, *parameters):
            named = dict(zip(rv_type.positive, parameters, strict=True))
            return require_positive(function(value, theta, *parameters), **named)

        return method

    def support_point(rv, size, theta, *parameters):
        """Return the mode, the starting point of chains."""
        return pt.full(size, theta)

    def icdf(value, theta, *parameters):
        """Return the quantile function; nan for values outside [0, 1]."""
        result = rv_type.ppf(value, theta, *parameters)
        named = dict(zip(rv_type.positive, parameters, strict=True))
        result = check_icdf_value(result, value)
        return check_icdf_parameters(result, *_conditions(named), msg=_message(named))

    logs = (rv_type.log_density, rv_type.log_below, rv_type.log_above)
    return (support_point, *map(checked, logs), icdf)


class AsymmetricLaplaceRV(TwoSidedRV):
    """Draws from the asymmetric Laplace distribution."""

    name = "asymmetric_laplace"
    _print_name = ("AsymmetricLaplace", "\\operatorname{AsymmetricLaplace}")
    positive = ("beta", "gamma")

    @staticmethod
    def sides(beta, gamma):
        """Return two exponential sides."""
        return Side(1.0 / beta, gamma, False), Side(1.0 / gamma, beta, False)

    @staticmethod
    def log_density(value, theta, beta, gamma):
        """Return the log density; parameters are not checked."""
        deviation = value - theta
        # Switching on the rate, not on the log density, keeps every gradient finite.
        slope = pt.switch(deviation <= 0, beta, -gamma)
        return slope * deviation - pt.log(1.0 / beta + 1.0 / gamma)


class AsymmetricLaplace(pm.Continuous):
    """Two exponentials back to back, with different rates left and right of the mode.

    `bayescal.families` has the density, mean and variance, as for all distributions here.

    Parameters
    ----------
    theta : tensor_like of float
        Mode.
    beta, gamma : tensor_like of float
        Inverse scales left and right of the mode, positive.

    Notes
    -----
    ``pymc.AsymmetricLaplace(mu=theta, b=sqrt(beta * gamma), kappa=sqrt(gamma / beta))`` has the
    same density, but neither distribution nor quantile function.

    Examples
    --------
    >>> import pymc as pm
    >>> scores = AsymmetricLaplace.dist(theta=1.0, beta=0.5, gamma=1.0)
    >>> round(float(pm.logcdf(scores, 1.0).exp().eval()), 4)
    0.6667
    """

    rv_type = AsymmetricLaplaceRV
    rv_op = AsymmetricLaplaceRV.rv_op
    support_point, logp, logcdf, logccdf, icdf = methods_of(AsymmetricLaplaceRV)

    @classmethod
    def dist(cls, theta: Any, beta: Any, gamma: Any, **kwargs: Any) -> Any:
        """Return a variable outside a model; ``kwargs`` as for any PyMC distribution."""
        return super().dist([theta, beta, gamma], **kwargs)


class AsymmetricGaussianRV(TwoSidedRV):
    """Draws from the asymmetric Gaussian distribution."""

    name = "asymmetric_gaussian"
    _print_name = ("AsymmetricGaussian", "\\operatorname{AsymmetricGaussian}")
    positive = ("sigma_left", "sigma_right")

    @staticmethod
    def sides(sigma_left, sigma_right):
        """Return two Gaussian sides."""
        return Side(sigma_left, sigma_left, True), Side(sigma_right, sigma_right, True)

    @staticmethod
    def log_density(value, theta, sigma_left, sigma_right):
        """Return the log density; parameters are not checked."""
        deviation = value - theta
        # Switching on the scale, not on the log density, keeps every gradient finite.
        sigma = pt.switch(deviation <= 0, sigma_left, sigma_right)
        log_mode = LOG_TWICE_STANDARD_MODE - pt.log(sigma_left + sigma_right)
        return log_mode - 0.5 * (deviation / sigma) ** 2


class AsymmetricGaussian(pm.Continuous):
    """Two half-normals back to back, with different scales left and right of the mode.

    Parameters
    ----------
    theta : tensor_like of float
        Mode.
    sigma_left, sigma_right : tensor_like of float
        Scales left and right of the mode, positive.

    Examples
    --------
    >>> import pymc as pm
    >>> scores = AsymmetricGaussian.dist(theta=1.0, sigma_left=2.0, sigma_right=1.0)
    >>> round(float(pm.logcdf(scores, 1.0).exp().eval()), 4)
    0.6667
    """

    rv_type = AsymmetricGaussianRV
    rv_op = AsymmetricGaussianRV.rv_op
    support_point, logp, logcdf, logccdf, icdf = methods_of(AsymmetricGaussianRV)

    @classmethod
    def dist(cls, theta: Any, sigma_left: Any, sigma_right: Any, **kwargs: Any) -> Any:
        """Return a variable outside a model; ``kwargs`` as for any PyMC distribution."""
        return super().dist([theta, sigma_left, sigma_right], **kwargs)
