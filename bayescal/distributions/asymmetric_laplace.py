"""The asymmetric Laplace distribution for PyMC."""

import pymc as pm
import pytensor.tensor as pt

from bayescal.distributions import _asymmetric_laplace as formulas
from bayescal.distributions._symbolic import (
    InverseCdfRV,
    require_positive,
    require_positive_icdf,
)


class AsymmetricLaplaceRV(InverseCdfRV):
    """Draws from the asymmetric Laplace distribution."""

    name = "asymmetric_laplace"
    _print_name = ("AsymmetricLaplace", "\\operatorname{AsymmetricLaplace}")
    ppf = staticmethod(formulas.ppf)


class AsymmetricLaplace(pm.Continuous):
    r"""Two exponentials back to back, with a rate of its own on either side of the mode.

    .. math::

        f(x) = \frac{\beta\gamma}{\beta + \gamma}
            \begin{cases}
                e^{-\beta(\theta - x)} & x \le \theta \\
                e^{-\gamma(x - \theta)} & x > \theta
            \end{cases}
        \qquad
        P(X \le \theta) = \frac{\gamma}{\beta + \gamma}

    ========  =======================================
    Support   :math:`x \in \mathbb{R}`
    Mode      :math:`\theta`
    Mean      :math:`\theta + 1/\gamma - 1/\beta`
    Variance  :math:`1/\beta^2 + 1/\gamma^2`
    ========  =======================================

    Parameters
    ----------
    theta : tensor_like of float
        Mode.
    beta : tensor_like of float
        Inverse scale left of the mode (beta > 0).
    gamma : tensor_like of float
        Inverse scale right of the mode (gamma > 0).

    Notes
    -----
    ``pymc.AsymmetricLaplace(mu=theta, b=sqrt(beta * gamma), kappa=sqrt(gamma / beta))`` has the
    same density; it has neither distribution nor quantile function.

    References
    ----------
    P. N. Bennett, "Using Asymmetric Distributions to Improve Text Classifier Probability
    Estimates", SIGIR 2003, section on asymmetric densities.

    Examples
    --------
    Half of the left side's rate puts twice the right side's mass there:

    >>> import pymc as pm
    >>> scores = AsymmetricLaplace.dist(theta=1.0, beta=0.5, gamma=1.0)
    >>> round(float(pm.logp(scores, 1.0).exp().eval()), 4)
    0.3333
    >>> round(float(pm.logcdf(scores, 1.0).exp().eval()), 4)
    0.6667
    """

    rv_type = AsymmetricLaplaceRV
    rv_op = AsymmetricLaplaceRV.rv_op

    @classmethod
    def dist(cls, theta, beta, gamma, **kwargs):
        """Make a variable that no model knows; ``kwargs`` as for any PyMC distribution."""
        return super().dist([theta, beta, gamma], **kwargs)

    def support_point(rv, size, theta, beta, gamma):
        """Where chains start: the mode."""
        return pt.full(size, theta)

    def logp(value, theta, beta, gamma):
        """Log density."""
        return require_positive(formulas.logpdf(value, theta, beta, gamma), beta=beta, gamma=gamma)

    def logcdf(value, theta, beta, gamma):
        """Log of P(X <= value)."""
        return require_positive(formulas.logcdf(value, theta, beta, gamma), beta=beta, gamma=gamma)

    def logccdf(value, theta, beta, gamma):
        """Log of P(X > value)."""
        return require_positive(formulas.logsf(value, theta, beta, gamma), beta=beta, gamma=gamma)

    def icdf(value, theta, beta, gamma):
        """Quantile function; nan where ``value`` is no probability."""
        return require_positive_icdf(
            formulas.ppf(value, theta, beta, gamma), value, beta=beta, gamma=gamma
        )
