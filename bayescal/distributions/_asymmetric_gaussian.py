"""Asymmetric Gaussian: formulas as graphs, for positive scales, which nothing here checks."""

import math

import pytensor.tensor as pt

from bayescal.distributions._symbolic import (
    SQRT2,
    half_normal_quantile,
    log_erfc,
    log_mass_up_to,
    split,
)

LOG_TWICE_STANDARD_MODE = 0.5 * math.log(2.0 / math.pi)


def logpdf(value, theta, sigma_left, sigma_right):
    """Log density."""
    deviation = value - theta
    # Switching on the scale, not on the log density, keeps every gradient finite.
    sigma = pt.switch(deviation <= 0, sigma_left, sigma_right)
    log_mode = LOG_TWICE_STANDARD_MODE - pt.log(sigma_left + sigma_right)
    return log_mode - 0.5 * (deviation / sigma) ** 2


def logcdf(value, theta, sigma_left, sigma_right):
    """Log of P(X <= value)."""
    deviation = value - theta
    below = deviation <= 0
    # Each branch sees the mode where the other one is taken: neither overflows.
    z_left = pt.switch(below, -deviation, 0.0) / (SQRT2 * sigma_left)
    z_right = pt.switch(below, 0.0, deviation) / (SQRT2 * sigma_right)
    left = log_erfc(z_left) - pt.log1p(sigma_right / sigma_left)
    right = log_mass_up_to(sigma_left, sigma_right, body=pt.erf(z_right), tail=pt.erfc(z_right))
    return pt.switch(below, left, right)


def logsf(value, theta, sigma_left, sigma_right):
    """Log of P(X > value)."""
    # The upper tail of X is the lower tail of -X: no 1 - cdf, so nothing cancels.
    return logcdf(-value, -theta, sigma_right, sigma_left)


def ppf(q, theta, sigma_left, sigma_right):
    """Quantile function."""
    below, tail, body = split(q, sigma_left, sigma_right)
    distance = half_normal_quantile(tail, body)
    return theta + pt.switch(below, -sigma_left * distance, sigma_right * distance)
