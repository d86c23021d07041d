"""Asymmetric Laplace: formulas as graphs, for beta, gamma > 0, which nothing here checks."""

import pytensor.tensor as pt

from bayescal.distributions._symbolic import exponential_quantile, log_mass_up_to, split


def logpdf(value, theta, beta, gamma):
    """Log density."""
    deviation = value - theta
    # Switching on the rate, not on the log density, keeps every gradient finite.
    slope = pt.switch(deviation <= 0, beta, -gamma)
    return slope * deviation - pt.log(1.0 / beta + 1.0 / gamma)


def logcdf(value, theta, beta, gamma):
    """Log of P(X <= value)."""
    deviation = value - theta
    below = deviation <= 0
    left = beta * deviation - pt.log1p(beta / gamma)
    # Clamped to the mode where the left branch is taken: the exponential would overflow.
    decay = -gamma * pt.switch(below, 0.0, deviation)
    right = log_mass_up_to(gamma, beta, body=-pt.expm1(decay), tail=pt.exp(decay))
    return pt.switch(below, left, right)


def logsf(value, theta, beta, gamma):
    """Log of P(X > value)."""
    # The upper tail of X is the lower tail of -X: no 1 - cdf, so nothing cancels.
    return logcdf(-value, -theta, gamma, beta)


def ppf(q, theta, beta, gamma):
    """Quantile function."""
    below, tail, body = split(q, gamma, beta)
    distance = exponential_quantile(tail, body)
    return theta + pt.switch(below, -distance / beta, distance / gamma)
