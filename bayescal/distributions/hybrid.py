"""The hybrid distribution for PyMC."""

import pymc as pm
import pytensor.tensor as pt
from pymc.distributions.dist_math import check_icdf_parameters, check_parameters

from bayescal.distributions import _hybrid as formulas
from bayescal.distributions._symbolic import (
    InverseCdfRV,
    require_positive,
    require_positive_icdf,
)

FACING = "facing is 1 or -1"


class HybridRV(InverseCdfRV):
    """Draws from the hybrid distribution."""

    name = "hybrid"
    extended_signature = "[rng],[size],(),(),(),()->[rng],()"
    _print_name = ("Hybrid", "\\operatorname{Hybrid}")
    ppf = staticmethod(formulas.ppf)


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
        1 if the exponential side is the right one, as of negatives, which lie below positives;
        -1 if it is the left one, as of positives.

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
    def dist(cls, theta, rate, sigma, facing=1.0, **kwargs):
        """Make a variable that no model knows; ``kwargs`` as for any PyMC distribution."""
        return super().dist([theta, rate, sigma, facing], **kwargs)

    def support_point(rv, size, theta, rate, sigma, facing):
        """Where chains start: the mode."""
        return pt.full(size, theta)

    def logp(value, theta, rate, sigma, facing):
        """Log density."""
        return _checked(formulas.logpdf(value, theta, rate, sigma, facing), rate, sigma, facing)

    def logcdf(value, theta, rate, sigma, facing):
        """Log of P(X <= value)."""
        return _checked(formulas.logcdf(value, theta, rate, sigma, facing), rate, sigma, facing)

    def logccdf(value, theta, rate, sigma, facing):
        """Log of P(X > value)."""
        return _checked(formulas.logsf(value, theta, rate, sigma, facing), rate, sigma, facing)

    def icdf(value, theta, rate, sigma, facing):
        """Quantile function; nan where ``value`` is no probability."""
        result = formulas.ppf(value, theta, rate, sigma, facing)
        result = check_icdf_parameters(result, _is_facing(facing), msg=FACING)
        return require_positive_icdf(result, value, rate=rate, sigma=sigma)


def _checked(result, rate, sigma, facing):
    result = check_parameters(result, _is_facing(facing), msg=FACING)
    return require_positive(result, rate=rate, sigma=sigma)


def _is_facing(facing):
    return pt.eq(pt.abs(facing), 1.0)
