"""Symbolic helpers of the distributions: quantiles of sides, masses, draws by inversion, checks."""

import math
from typing import Any

import numpy as np
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_icdf_parameters, check_icdf_value, check_parameters
from pymc.distributions.distribution import SymbolicRandomVariable
from pymc.distributions.shape_utils import implicit_size_from_params, rv_size_is_none
from pymc.pytensorf import floatX, normalize_rng_param
from pytensor.tensor.random.basic import uniform
from pytensor.tensor.random.utils import normalize_size_param


def drawn(op: Any, rng: Any, size: Any, *parameters: Any) -> tuple[Any, Any]:
    """Draw from one of pytensor's distributions in a graph."""
    # Calling the Op returns the draws alone in pytensor 2 and warns in pytensor 3 that it will
    # stop doing so. Its node has had the same two outputs all the time.
    next_rng, draws = op.make_node(rng, size, *parameters).outputs
    return next_rng, draws


SQRT2 = math.sqrt(2.0)


def log_erfc(z):
    """Return the log of erfc for z >= 0."""
    near = z < 0.5
    # erfcx carries the far tail, where erfc underflows; near 0 it rounds log(1 - small).
    log_near = pt.log1p(-pt.erf(pt.switch(near, z, 0.0)))
    return pt.switch(near, log_near, pt.log(pt.erfcx(z)) - z**2)


def half_normal_quantile(tail, body):
    """Return the distance with mass ``tail`` beyond and ``body`` before it, on a Gaussian side."""
    near = body < 0.5
    # erfcinv(tail) loses digits where the tail is nearly 1; there the body is the accurate one.
    z_near = pt.erfinv(pt.switch(near, body, 0.0))
    return SQRT2 * pt.switch(near, z_near, pt.erfcinv(tail))


def exponential_quantile(tail, body):
    """Return the distance with mass ``tail`` beyond and ``body`` before, on an exponential side."""
    near = body < 0.5
    # log(tail) loses digits where the tail is nearly 1; there the body is the accurate one.
    distance_near = -pt.log1p(-pt.switch(near, body, 0.0))
    return pt.switch(near, distance_near, -pt.log(tail))


def log_mass_up_to(left, right, body, tail):
    """Return the log of the mass of the left side and of the first part of the right one."""
    mass_after = right / (left + right) * tail
    near = mass_after > 0.5
    # Close to the mode 1 - mass_after cancels if the left side is thin: add up what lies before.
    # Far from it the sum rounds to 1, and only what lies after is known accurately.
    log_near = pt.log((left + right * body) / (left + right))
    log_far = pt.log1p(-pt.switch(near, 0.0, mass_after))
    return pt.switch(near, log_near, log_far)


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


def require_positive(result, **parameters):
    """Make ``result`` depend on the named parameters being positive."""
    return check_parameters(result, *_conditions(parameters), msg=_message(parameters))


def require_positive_icdf(result, value, **parameters):
    """Check the parameters of a quantile, which is nan where ``value`` is no probability."""
    result = check_icdf_value(result, value)
    return check_icdf_parameters(result, *_conditions(parameters), msg=_message(parameters))


def _conditions(parameters):
    return [parameter > 0 for parameter in parameters.values()]


def _message(parameters):
    return ", ".join(f"{name} > 0" for name in parameters)


class GraphRV(SymbolicRandomVariable):
    """Draws by a graph of other draws, which subclasses define as ``graph``."""

    @classmethod
    def graph(cls, rng, size, *params):
        """Return the generator after the draws, and draws of shape ``size``."""
        raise NotImplementedError

    @classmethod
    def rv_op(cls, *params, size=None, rng=None):
        """Build the graph of draws of shape ``size``."""
        # Integer parameters of few bits would be divided in single precision.
        parameters = [floatX(pt.as_tensor(param)) for param in params]
        rng = normalize_rng_param(rng)
        size = normalize_size_param(size)
        if rv_size_is_none(size):
            size = implicit_size_from_params(*parameters, ndims_params=cls.ndims_params)
        inputs = [rng, size, *parameters]
        return cls(inputs=inputs, outputs=[*cls.graph(rng, size, *parameters)])(*inputs)


class InverseCdfRV(GraphRV):
    """Draws by inversion of the distribution function, which subclasses define as ``ppf``."""

    extended_signature = "[rng],[size],(),(),()->[rng],()"

    @staticmethod
    def ppf(q, *params):
        """Return the quantile function."""
        raise NotImplementedError

    @classmethod
    def graph(cls, rng, size, *params):
        """Draw quantiles at uniform levels."""
        next_rng, q = drawn(uniform, rng, size, 0.0, 1.0)
        # 0, and in single precision 1, do come up; no draw may be infinite.
        rounding = np.finfo(q.dtype).epsneg
        return next_rng, cls.ppf(pt.clip(q, rounding / 2, 1 - rounding), *params)
