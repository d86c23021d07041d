r"""Hybrid: half a Gaussian outside, an exponential on the side that faces the other class.

.. math:: p(x) = \frac{1}{Z}
          \begin{cases} e^{-(x-\theta)^2/(2\sigma^2)} & x \le \theta \\
                        e^{-\lambda(x-\theta)} & x > \theta \end{cases},
          \quad Z = \frac{1}{\lambda} + \sigma\sqrt{\pi/2}

theta is the mode in raw score units, rate (lambda) the inverse scale of the exponential side,
sigma the scale of the Gaussian one. Negatives lie below positives: these are the densities of
negatives, facing right; those of positives are their mirror images, `FAMILY.of_class(True)`.
Source: future work of Bennett, SIGIR 2003.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.families._between import best_between
from bayescal.families._family import Family, Fit, Rng, draw_shape
from bayescal.families._guard import GuardOption
from bayescal.families._hybrid_profile import HYBRID_SIDES
from bayescal.families._hybrid_sides import HALF_WIDTH, excess, log_rest, quantile, shares
from bayescal.families._reflected import Reflected
from bayescal.families._two_sided import fit_two_sided
from bayescal.validation import Floats, check_positive

PARAMETERS = ("theta", "rate", "sigma")


def logpdf(x: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the natural log of the density.

    Parameters
    ----------
    x, theta, rate, sigma : array-like
        Scores, mode, inverse scale right, scale left; broadcast against each other.

    Raises
    ------
    ValueError
        If rate or sigma is not positive and finite.

    Examples
    --------
    >>> logpdf([-1.0, 1.0], 0.0, 1.0, 1.0).round(4)
    array([-1.3124, -1.8124])
    """
    theta, rate, sigma = _arrays(theta, rate, sigma)
    deviation = np.asarray(x, dtype=np.float64) - theta
    z = np.minimum(deviation, 0.0) / sigma
    with np.errstate(over="ignore"):  # beyond 1e154 scales the log density is -infinity
        fall = 0.5 * z * z + rate * np.maximum(deviation, 0.0)
    return -np.log(1.0 / rate + HALF_WIDTH * sigma) - fall


def logcdf(x: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the natural log of P(X <= x), accurate in both tails.

    Examples
    --------
    >>> round(float(logcdf(-40.0, 0.0, 1.0, 1.0)), 4)
    -804.5019
    """
    theta, rate, sigma = _arrays(theta, rate, sigma)
    deviation = np.asarray(x, dtype=np.float64) - theta
    z = np.minimum(deviation, 0.0) / sigma
    length = 1.0 / rate
    # log1p keeps what is left of a share, or of 2 Phi(z), that rounds to 1.
    half = np.log1p(special.erf(np.maximum(z, -1.0) / math.sqrt(2.0)))
    left = np.where(z > -1.0, half, math.log(2.0) + special.log_ndtr(z))
    left -= np.log1p(length / (HALF_WIDTH * sigma))
    fall = rate * np.maximum(deviation, 0.0)
    body, tail = -np.expm1(-fall), np.exp(-fall)
    return np.where(deviation <= 0.0, left, log_rest(HALF_WIDTH * sigma, length, body, tail))


def logsf(x: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the natural log of P(X > x), accurate in both tails.

    Examples
    --------
    >>> round(float(logsf(800.0, 0.0, 1.0, 1.0)), 4)
    -800.8124
    """
    theta, rate, sigma = _arrays(theta, rate, sigma)
    deviation = np.asarray(x, dtype=np.float64) - theta
    length = 1.0 / rate
    right = -np.log1p(HALF_WIDTH * sigma / length) - rate * np.maximum(deviation, 0.0)
    z = np.minimum(deviation, 0.0) / sigma
    body, tail = special.erf(-z / math.sqrt(2.0)), 2.0 * special.ndtr(z)
    left = log_rest(length, HALF_WIDTH * sigma, body, tail)
    return np.where(deviation < 0.0, left, right)


def cdf(x: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return P(X <= x); at the mode it is c sigma / (1/rate + c sigma), c = sqrt(pi/2).

    Examples
    --------
    >>> round(float(cdf(0.0, 0.0, 1.0, 1.0)), 4)
    0.5562
    """
    return np.exp(logcdf(x, theta, rate, sigma))


def ppf(q: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the quantile function, the inverse of `cdf`; nan for q outside [0, 1].

    Examples
    --------
    >>> round(float(ppf(0.9, 0.0, 1.0, 1.0)), 4)
    1.4902
    """
    q = np.asarray(q, dtype=np.float64)
    return quantile(q, 1.0 - q, *_arrays(theta, rate, sigma))


def isf(q: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return where P(X > x) is q, accurate for the smallest q; nan for q outside [0, 1].

    Examples
    --------
    >>> round(float(isf(1e-300, 0.0, 1.0, 1.0)), 4)
    689.9631
    """
    q = np.asarray(q, dtype=np.float64)
    return quantile(1.0 - q, q, *_arrays(theta, rate, sigma))


def rvs(
    theta: ArrayLike,
    rate: ArrayLike,
    sigma: ArrayLike,
    *,
    size: int | tuple[int, ...] | None = None,
    rng: Rng = None,
) -> Floats:
    """
    Draw scores; `size` defaults to the parameters' broadcast shape.

    Examples
    --------
    >>> rvs(0.0, 1.0, 2.0, size=3, rng=1).shape
    (3,)
    """
    theta, rate, sigma = _arrays(theta, rate, sigma)
    shape = draw_shape(size, theta, rate, sigma)
    generator = np.random.default_rng(rng)
    left = generator.random(shape) < shares(rate, sigma)[0]
    outside = np.abs(generator.standard_normal(shape)) * sigma
    return theta + np.where(left, -outside, generator.standard_exponential(shape) / rate)


def mean(theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return theta + (1/rate^2 - sigma^2) / Z.

    Examples
    --------
    >>> float(mean(3.0, 1.0, 1.0))
    3.0
    """
    theta, rate, sigma = _arrays(theta, rate, sigma)
    return theta + excess(rate, sigma)


def variance(theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return (2/rate^3 + c sigma^3) / Z - (mean - theta)^2, c = sqrt(pi/2).

    Examples
    --------
    >>> round(float(variance(0.0, 1.0, 1.0)), 4)
    1.4438
    """
    theta, rate, sigma = _arrays(theta, rate, sigma)
    left, right = shares(rate, sigma)
    # Shares of second moments: nothing that is a power of a tiny scale but of two.
    second = 2.0 * right / rate**2 + left * sigma**2
    return 0.0 * theta + second - excess(rate, sigma) ** 2


def fit(
    x: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    candidates: str = "exact",
    guard: GuardOption = "auto",
) -> Fit:
    """
    Maximise the likelihood, exactly.

    For a mode theta with D_l2 the summed squared deviations left of it, D_r the summed ones right
    of it and N scores, 1/rate^2 = Z D_r/N and c sigma^3 = Z D_l2/N, where y = Z^(1/6) is the
    positive root of y^4 = sqrt(D_r/N) y + c cbrt(D_l2/(c N)). The optimum may be a score or lie
    between two; intervals are discarded by bounds until the global one is left, to machine
    precision, in O(n log n).

    Parameters
    ----------
    x : array-like of shape (n,)
        Raw scores.
    sample_weight : array-like of shape (n,) or None
        Weights, as counts: a weight of 2 equals repeating the score, and N is their sum.
    candidates : {"exact", "bennett"}
        "bennett" tries the scores and nine points in each interval between them, as the paper's
        tables did for its densities; it is never better.
    guard : "auto", float or None
        Floor of 1/rate and sigma, in score units. "auto": 1.5 spreads of `x` over sqrt(N), so
        that it stops acting as N grows. None: only 1e-12 of the spread.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Examples
    --------
    >>> result = fit([-1.0, 0.0, 1.0, 2.0, 9.0], guard=0.5)
    >>> list(result.parameters), result.guard.acted
    (['theta', 'rate', 'sigma'], ('sigma',))
    """
    found = fit_two_sided(HYBRID_SIDES, x, sample_weight, candidates, guard, best_between)
    named = found.as_fit(("theta", "sigma", "rate"), (found.theta, found.left, 1.0 / found.right))
    parameters = {name: named.parameters[name] for name in PARAMETERS}
    acted = tuple(name for name in PARAMETERS if name in named.guard.acted)
    return replace(named, parameters=parameters, guard=replace(named.guard, acted=acted))


def _arrays(theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> tuple[Floats, ...]:
    check_positive(rate=rate, sigma=sigma)
    return tuple(np.asarray(each, dtype=np.float64) for each in (theta, rate, sigma))


FAMILY = Family(
    name="hybrid",
    parameters=PARAMETERS,
    powers=(2, 1),
    symmetric=False,
    logpdf=logpdf,
    cdf=cdf,
    logcdf=logcdf,
    logsf=logsf,
    ppf=ppf,
    rvs=rvs,
    mean=mean,
    variance=variance,
    fit=fit,
)
FAMILY = replace(FAMILY, mirrored=Reflected(FAMILY, isf).as_family())
