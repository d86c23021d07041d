"""The hybrid distribution for PyMC."""

import math
from typing import Any

import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_icdf_parameters, check_parameters

from bayescal.distributions import _symbolic

HALF_WIDTH = math.sqrt(math.pi / 2.0)
FACING = "facing is 1 or -1"


class HybridRV(_symbolic.InverseCdfRV):
    """Draws from the hybrid distribution."""

    name = "hybrid"
    extended_signature = "[rng],[size],(),(),(),()->[rng],()"
    _print_name = ("Hybrid", "\\operatorname{Hybrid}")

    @staticmethod
    def ppf(q, theta, rate, sigma, facing):
        """Return the quantile function."""
        gaussian_left = facing > 0
        below, tail, body = _symbolic.split(q, *_masses(rate, sigma, gaussian_left))
        gaussian = sigma * _symbolic.half_normal_quantile(tail, body)
        exponential = _symbolic.exponential_quantile(tail, body) / rate
        distance = pt.switch(pt.eq(below, gaussian_left), gaussian, exponential)
        return theta + pt.switch(below, -distance, distance)


class Hybrid(pm.Continuous):
    r"""An exponential on the side that faces the other class, half a Gaussian on the outer side.

    .. math::

        f(x) = \frac{1}{1/\lambda + \sigma\sqrt{\pi/2}}
            \begin{cases}
                e^{-\lambda d} & d > 0 \\
                e^{-d^2 / (2 \sigma^2)} & d \le 0
            \end{cases}
        \qquad
        d = \pm (x - \theta)

    ========  ==============================================================================
    Support   :math:`x \in \mathbb{R}`
    Mode      :math:`\theta`
    Mean      :math:`\theta \pm (1/\lambda^2 - \sigma^2) / (1/\lambda + \sigma\sqrt{\pi/2})`
    ========  ==============================================================================

    Parameters
    ----------
    theta : tensor_like of float
        Mode.
    rate : tensor_like of float
        Inverse scale of the exponential side (rate > 0).
    sigma : tensor_like of float
        Scale of the Gaussian side (sigma > 0).
    facing : tensor_like of float
        1 if the exponential side is the right one, for negatives, which lie below positives;
        -1 if it is the left one, for positives.

    References
    ----------
    P. N. Bennett, "Using Asymmetric Distributions to Improve Text Classifier Probability
    Estimates", SIGIR 2003, future work.

    Examples
    --------
    Mirror images:

    >>> import pymc as pm
    >>> right = Hybrid.dist(theta=0.0, rate=1.0, sigma=1.0)
    >>> left = Hybrid.dist(theta=0.0, rate=1.0, sigma=1.0, facing=-1)
    >>> round(float(pm.logp(right, 2.0).exp().eval()), 4)
    0.0601
    >>> round(float(pm.logp(left, -2.0).exp().eval()), 4)
    0.0601
    """

    rv_type = HybridRV
    rv_op = HybridRV.rv_op

    @classmethod
    def dist(cls, theta: Any, rate: Any, sigma: Any, facing: Any = 1.0, **kwargs: Any) -> Any:
        """Return a variable outside a model; ``kwargs`` as for any PyMC distribution."""
        return super().dist([theta, rate, sigma, facing], **kwargs)

    def support_point(rv, size, theta, rate, sigma, facing):
        """Return the mode, where chains start."""
        return pt.full(size, theta)

    def logp(value, theta, rate, sigma, facing):
        """Return the log density."""
        return _checked(log_density(value, theta, rate, sigma, facing), rate, sigma, facing)

    def logcdf(value, theta, rate, sigma, facing):
        """Return the log of P(X <= value)."""
        return _checked(log_below(value, theta, rate, sigma, facing), rate, sigma, facing)

    def logccdf(value, theta, rate, sigma, facing):
        """Return the log of P(X > value)."""
        return _checked(log_above(value, theta, rate, sigma, facing), rate, sigma, facing)

    def icdf(value, theta, rate, sigma, facing):
        """Return the quantile function; nan where ``value`` is no probability."""
        result = HybridRV.ppf(value, theta, rate, sigma, facing)
        result = check_icdf_parameters(result, _is_facing(facing), msg=FACING)
        return _symbolic.require_positive_icdf(result, value, rate=rate, sigma=sigma)


def _checked(result, rate, sigma, facing):
    result = check_parameters(result, _is_facing(facing), msg=FACING)
    return _symbolic.require_positive(result, rate=rate, sigma=sigma)


def _is_facing(facing):
    return pt.eq(pt.abs(facing), 1.0)


def log_density(value, theta, rate, sigma, facing):
    """Return the log density; parameters are not checked."""
    forward = facing * (value - theta)
    faced = forward > 0
    # Each side sees the mode where the other one is taken: neither overflows.
    fall = rate * pt.switch(faced, forward, 0.0)
    fall += 0.5 * (pt.switch(faced, 0.0, forward) / sigma) ** 2
    return -pt.log(1.0 / rate + HALF_WIDTH * sigma) - fall


def log_below(value, theta, rate, sigma, facing):
    """Return the log of P(X <= value)."""
    deviation = value - theta
    below, gaussian_left = deviation <= 0, facing > 0
    left, right = _masses(rate, sigma, gaussian_left)
    distance = pt.switch(below, -deviation, 0.0)
    tail = pt.switch(
        gaussian_left, _symbolic.log_erfc(distance / (_symbolic.SQRT2 * sigma)), -rate * distance
    )
    log_left = tail - pt.log1p(right / left)
    distance = pt.switch(below, 0.0, deviation)
    fall, z = -rate * distance, distance / (_symbolic.SQRT2 * sigma)
    body = pt.switch(gaussian_left, -pt.expm1(fall), pt.erf(z))
    tail = pt.switch(gaussian_left, pt.exp(fall), pt.erfc(z))
    return pt.switch(below, log_left, _symbolic.log_mass_up_to(left, right, body=body, tail=tail))


def log_above(value, theta, rate, sigma, facing):
    """Return the log of P(X > value)."""
    # The upper tail of X is the lower tail of -X: no 1 - cdf, so nothing cancels.
    return log_below(-value, -theta, rate, sigma, -facing)


def _masses(rate, sigma, gaussian_left):
    """Return the masses left and right of the mode, up to a common factor."""
    gaussian, exponential = HALF_WIDTH * sigma, 1.0 / rate
    left = pt.switch(gaussian_left, gaussian, exponential)
    return left, pt.switch(gaussian_left, exponential, gaussian)
