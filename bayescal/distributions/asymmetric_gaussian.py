"""The asymmetric Gaussian distribution for PyMC."""

import pymc as pm
import pytensor.tensor as pt

from bayescal.distributions import _asymmetric_gaussian as formulas
from bayescal.distributions._symbolic import (
    InverseCdfRV,
    require_positive,
    require_positive_icdf,
)


class AsymmetricGaussianRV(InverseCdfRV):
    """Draws from the asymmetric Gaussian distribution."""

    name = "asymmetric_gaussian"
    _print_name = ("AsymmetricGaussian", "\\operatorname{AsymmetricGaussian}")
    ppf = staticmethod(formulas.ppf)


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
    def dist(cls, theta, sigma_left, sigma_right, **kwargs):
        """Make a variable that no model knows; ``kwargs`` as for any PyMC distribution."""
        return super().dist([theta, sigma_left, sigma_right], **kwargs)

    def support_point(rv, size, theta, sigma_left, sigma_right):
        """Where chains start: the mode."""
        return pt.full(size, theta)

    def logp(value, theta, sigma_left, sigma_right):
        """Log density."""
        result = formulas.logpdf(value, theta, sigma_left, sigma_right)
        return require_positive(result, sigma_left=sigma_left, sigma_right=sigma_right)

    def logcdf(value, theta, sigma_left, sigma_right):
        """Log of P(X <= value)."""
        result = formulas.logcdf(value, theta, sigma_left, sigma_right)
        return require_positive(result, sigma_left=sigma_left, sigma_right=sigma_right)

    def logccdf(value, theta, sigma_left, sigma_right):
        """Log of P(X > value)."""
        result = formulas.logsf(value, theta, sigma_left, sigma_right)
        return require_positive(result, sigma_left=sigma_left, sigma_right=sigma_right)

    def icdf(value, theta, sigma_left, sigma_right):
        """Quantile function; nan where ``value`` is no probability."""
        result = formulas.ppf(value, theta, sigma_left, sigma_right)
        return require_positive_icdf(result, value, sigma_left=sigma_left, sigma_right=sigma_right)
