"""The asymmetric Laplace distribution for PyMC."""

from typing import Any

import pymc as pm
import pytensor.tensor as pt

from bayescal.distributions import _symbolic


class AsymmetricLaplaceRV(_symbolic.InverseCdfRV):
    """Draws from the asymmetric Laplace distribution."""

    name = "asymmetric_laplace"
    _print_name = ("AsymmetricLaplace", "\\operatorname{AsymmetricLaplace}")

    @staticmethod
    def ppf(q, theta, beta, gamma):
        """Return the quantile function."""
        below, tail, body = _symbolic.split(q, gamma, beta)
        distance = _symbolic.exponential_quantile(tail, body)
        return theta + pt.switch(below, -distance / beta, distance / gamma)


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
    def dist(cls, theta: Any, beta: Any, gamma: Any, **kwargs: Any) -> Any:
        """Return a variable outside a model; ``kwargs`` as for any PyMC distribution."""
        return super().dist([theta, beta, gamma], **kwargs)

    def support_point(rv, size, theta, beta, gamma):
        """Return the mode, where chains start."""
        return pt.full(size, theta)

    def logp(value, theta, beta, gamma):
        """Return the log density."""
        return _symbolic.require_positive(
            log_density(value, theta, beta, gamma), beta=beta, gamma=gamma
        )

    def logcdf(value, theta, beta, gamma):
        """Return the log of P(X <= value)."""
        return _symbolic.require_positive(
            log_below(value, theta, beta, gamma), beta=beta, gamma=gamma
        )

    def logccdf(value, theta, beta, gamma):
        """Return the log of P(X > value)."""
        return _symbolic.require_positive(
            log_above(value, theta, beta, gamma), beta=beta, gamma=gamma
        )

    def icdf(value, theta, beta, gamma):
        """Return the quantile function; nan where ``value`` is no probability."""
        return _symbolic.require_positive_icdf(
            AsymmetricLaplaceRV.ppf(value, theta, beta, gamma), value, beta=beta, gamma=gamma
        )


def log_density(value, theta, beta, gamma):
    """Return the log density; parameters are not checked."""
    deviation = value - theta
    # Switching on the rate, not on the log density, keeps every gradient finite.
    slope = pt.switch(deviation <= 0, beta, -gamma)
    return slope * deviation - pt.log(1.0 / beta + 1.0 / gamma)


def log_below(value, theta, beta, gamma):
    """Return the log of P(X <= value)."""
    deviation = value - theta
    below = deviation <= 0
    left = beta * deviation - pt.log1p(beta / gamma)
    # Clamped to the mode where the left branch is taken: the exponential would overflow.
    decay = -gamma * pt.switch(below, 0.0, deviation)
    right = _symbolic.log_mass_up_to(gamma, beta, body=-pt.expm1(decay), tail=pt.exp(decay))
    return pt.switch(below, left, right)


def log_above(value, theta, beta, gamma):
    """Return the log of P(X > value)."""
    # The upper tail of X is the lower tail of -X: no 1 - cdf, so nothing cancels.
    return log_below(-value, -theta, gamma, beta)
