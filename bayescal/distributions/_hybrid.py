"""Hybrid: formulas as graphs, for positive rate and sigma, facing 1 or -1; nothing here checks."""

import math

import pytensor.tensor as pt

from bayescal.distributions._symbolic import (
    SQRT2,
    exponential_quantile,
    half_normal_quantile,
    log_erfc,
    log_mass_up_to,
    split,
)

HALF_WIDTH = math.sqrt(math.pi / 2.0)


def logpdf(value, theta, rate, sigma, facing):
    """Log density."""
    forward = facing * (value - theta)
    faced = forward > 0
    # Each side sees the mode where the other one is taken: neither overflows.
    fall = rate * pt.switch(faced, forward, 0.0)
    fall += 0.5 * (pt.switch(faced, 0.0, forward) / sigma) ** 2
    return -pt.log(1.0 / rate + HALF_WIDTH * sigma) - fall


def logcdf(value, theta, rate, sigma, facing):
    """Log of P(X <= value)."""
    deviation = value - theta
    below, gaussian_left = deviation <= 0, facing > 0
    left, right = _masses(rate, sigma, gaussian_left)
    distance = pt.switch(below, -deviation, 0.0)
    tail = pt.switch(gaussian_left, log_erfc(distance / (SQRT2 * sigma)), -rate * distance)
    log_left = tail - pt.log1p(right / left)
    distance = pt.switch(below, 0.0, deviation)
    fall, z = -rate * distance, distance / (SQRT2 * sigma)
    body = pt.switch(gaussian_left, -pt.expm1(fall), pt.erf(z))
    tail = pt.switch(gaussian_left, pt.exp(fall), pt.erfc(z))
    return pt.switch(below, log_left, log_mass_up_to(left, right, body=body, tail=tail))


def logsf(value, theta, rate, sigma, facing):
    """Log of P(X > value)."""
    # The upper tail of X is the lower tail of -X: no 1 - cdf, so nothing cancels.
    return logcdf(-value, -theta, rate, sigma, -facing)


def ppf(q, theta, rate, sigma, facing):
    """Quantile function."""
    gaussian_left = facing > 0
    below, tail, body = split(q, *_masses(rate, sigma, gaussian_left))
    gaussian = sigma * half_normal_quantile(tail, body)
    exponential = exponential_quantile(tail, body) / rate
    distance = pt.switch(pt.eq(below, gaussian_left), gaussian, exponential)
    return theta + pt.switch(below, -distance, distance)


def _masses(rate, sigma, gaussian_left):
    """Masses left and right of the mode, up to a common factor."""
    gaussian, exponential = HALF_WIDTH * sigma, 1.0 / rate
    left = pt.switch(gaussian_left, gaussian, exponential)
    return left, pt.switch(gaussian_left, exponential, gaussian)
