"""The asymmetric Gaussian distribution for PyMC."""

import math
from typing import Any

import pymc as pm
import pytensor.tensor as pt

from bayescal.distributions import _symbolic

LOG_TWICE_STANDARD_MODE = 0.5 * math.log(2.0 / math.pi)


class AsymmetricGaussianRV(_symbolic.InverseCdfRV):
    """Draws from the asymmetric Gaussian distribution."""

    name = "asymmetric_gaussian"
    _print_name = ("AsymmetricGaussian", "\\operatorname{AsymmetricGaussian}")

    @staticmethod
    def ppf(q, theta, sigma_left, sigma_right):
        """Return the quantile function."""
        below, tail, body = _symbolic.split(q, sigma_left, sigma_right)
        distance = _symbolic.half_normal_quantile(tail, body)
        return theta + pt.switch(below, -sigma_left * distance, sigma_right * distance)


class AsymmetricGaussian(pm.Continuous):
    r"""Two half-normals back to back, with a scale of its own on either side of the mode.

    .. math::

        f(x) = \frac{2}{\sqrt{2\pi}\,(\sigma_l + \sigma_r)}
            \begin{cases}
                e^{-(x - \theta)^2 / (2 \sigma_l^2)} & x \le \theta \\
                e^{-(x - \theta)^2 / (2 \sigma_r^2)} & x > \theta
            \end{cases}
        \qquad
        P(X \le \theta) = \frac{\sigma_l}{\sigma_l + \sigma_r}

    ========  ================================================================
    Support   :math:`x \in \mathbb{R}`
    Mode      :math:`\theta`
    Mean      :math:`\theta + \sqrt{2/\pi}\,(\sigma_r - \sigma_l)`
    Variance  :math:`(1 - 2/\pi)(\sigma_r - \sigma_l)^2 + \sigma_l \sigma_r`
    ========  ================================================================

    Parameters
    ----------
    theta : tensor_like of float
        Mode.
    sigma_left : tensor_like of float
        Scale left of the mode (sigma_left > 0).
    sigma_right : tensor_like of float
        Scale right of the mode (sigma_right > 0).

    References
    ----------
    P. N. Bennett, "Using Asymmetric Distributions to Improve Text Classifier Probability
    Estimates", SIGIR 2003, section on asymmetric densities.

    Examples
    --------
    Twice the right side's scale puts twice its mass on the left:

    >>> import pymc as pm
    >>> scores = AsymmetricGaussian.dist(theta=1.0, sigma_left=2.0, sigma_right=1.0)
    >>> round(float(pm.logp(scores, 1.0).exp().eval()), 4)
    0.266
    >>> round(float(pm.logcdf(scores, 1.0).exp().eval()), 4)
    0.6667
    """

    rv_type = AsymmetricGaussianRV
    rv_op = AsymmetricGaussianRV.rv_op

    @classmethod
    def dist(cls, theta: Any, sigma_left: Any, sigma_right: Any, **kwargs: Any) -> Any:
        """Return a variable outside a model; ``kwargs`` as for any PyMC distribution."""
        return super().dist([theta, sigma_left, sigma_right], **kwargs)

    def support_point(rv, size, theta, sigma_left, sigma_right):
        """Return the mode, where chains start."""
        return pt.full(size, theta)

    def logp(value, theta, sigma_left, sigma_right):
        """Return the log density."""
        result = log_density(value, theta, sigma_left, sigma_right)
        return _symbolic.require_positive(result, sigma_left=sigma_left, sigma_right=sigma_right)

    def logcdf(value, theta, sigma_left, sigma_right):
        """Return the log of P(X <= value)."""
        result = log_below(value, theta, sigma_left, sigma_right)
        return _symbolic.require_positive(result, sigma_left=sigma_left, sigma_right=sigma_right)

    def logccdf(value, theta, sigma_left, sigma_right):
        """Return the log of P(X > value)."""
        result = log_above(value, theta, sigma_left, sigma_right)
        return _symbolic.require_positive(result, sigma_left=sigma_left, sigma_right=sigma_right)

    def icdf(value, theta, sigma_left, sigma_right):
        """Return the quantile function; nan where ``value`` is no probability."""
        result = AsymmetricGaussianRV.ppf(value, theta, sigma_left, sigma_right)
        return _symbolic.require_positive_icdf(
            result, value, sigma_left=sigma_left, sigma_right=sigma_right
        )


def log_density(value, theta, sigma_left, sigma_right):
    """Return the log density; parameters are not checked."""
    deviation = value - theta
    # Switching on the scale, not on the log density, keeps every gradient finite.
    sigma = pt.switch(deviation <= 0, sigma_left, sigma_right)
    log_mode = LOG_TWICE_STANDARD_MODE - pt.log(sigma_left + sigma_right)
    return log_mode - 0.5 * (deviation / sigma) ** 2


def log_below(value, theta, sigma_left, sigma_right):
    """Return the log of P(X <= value)."""
    deviation = value - theta
    below = deviation <= 0
    # Each branch sees the mode where the other one is taken: neither overflows.
    z_left = pt.switch(below, -deviation, 0.0) / (_symbolic.SQRT2 * sigma_left)
    z_right = pt.switch(below, 0.0, deviation) / (_symbolic.SQRT2 * sigma_right)
    left = _symbolic.log_erfc(z_left) - pt.log1p(sigma_right / sigma_left)
    right = _symbolic.log_mass_up_to(
        sigma_left, sigma_right, body=pt.erf(z_right), tail=pt.erfc(z_right)
    )
    return pt.switch(below, left, right)


def log_above(value, theta, sigma_left, sigma_right):
    """Return the log of P(X > value)."""
    # The upper tail of X is the lower tail of -X: no 1 - cdf, so nothing cancels.
    return log_below(-value, -theta, sigma_right, sigma_left)
