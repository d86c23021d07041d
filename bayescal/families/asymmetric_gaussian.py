r"""Asymmetric Gaussian (two-piece normal): half a Gaussian of its own to each side of the mode.

.. math:: p(x) = \frac{2}{\sqrt{2\pi}(\sigma_l+\sigma_r)}
          \exp\left(-\frac{(x-\theta)^2}{2\sigma^2}\right),
          \quad \sigma = \sigma_l \text{ if } x \le \theta \text{ else } \sigma_r

theta is the mode in raw score units; sigma_left and sigma_right are the scales beside it.
Source: Bennett, SIGIR 2003, section 4.2; dissertation, section 3.2.3.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.families._between import best_between
from bayescal.families._family import Family, Fit, Rng, draw_shape
from bayescal.families._gaussian_profile import GAUSSIAN_SIDES
from bayescal.families._guard import GuardOption
from bayescal.families._two_sided import fit_two_sided
from bayescal.validation import Floats, check_positive

PARAMETERS = ("theta", "sigma_left", "sigma_right")

_HALF_LOG_TWO_OVER_PI = 0.5 * math.log(2.0 / math.pi)


def logpdf(x: ArrayLike, theta: ArrayLike, sigma_left: ArrayLike, sigma_right: ArrayLike) -> Floats:
    """
    Return the natural log of the density.

    Parameters
    ----------
    x, theta, sigma_left, sigma_right : array-like
        Scores, mode, scales left and right; broadcast against each other.

    Raises
    ------
    ValueError
        If a scale is not positive and finite.

    Examples
    --------
    >>> round(float(logpdf(0.0, 0.0, 1.0, 1.0)), 6)
    -0.918939
    """
    theta, sigma_left, sigma_right = _arrays(theta, sigma_left, sigma_right)
    deviation = np.asarray(x, dtype=np.float64) - theta
    z = deviation / np.where(deviation > 0.0, sigma_right, sigma_left)
    with np.errstate(over="ignore"):  # beyond 1e154 scales the log density is -infinity
        return _HALF_LOG_TWO_OVER_PI - np.log(sigma_left + sigma_right) - 0.5 * z * z


def logcdf(x: ArrayLike, theta: ArrayLike, sigma_left: ArrayLike, sigma_right: ArrayLike) -> Floats:
    """
    Return the natural log of P(X <= x), accurate in both tails.

    Examples
    --------
    >>> round(float(logcdf(-40.0, 0.0, 1.0, 1.0)), 4)
    -804.6084
    """
    theta, sigma_left, sigma_right = _arrays(theta, sigma_left, sigma_right)
    return _log_below(np.asarray(x, dtype=np.float64) - theta, sigma_left, sigma_right)


def logsf(x: ArrayLike, theta: ArrayLike, sigma_left: ArrayLike, sigma_right: ArrayLike) -> Floats:
    """
    Return the natural log of P(X > x), accurate in both tails.

    Examples
    --------
    >>> round(float(logsf(40.0, 0.0, 1.0, 1.0)), 4)
    -804.6084
    """
    theta, sigma_left, sigma_right = _arrays(theta, sigma_left, sigma_right)
    # P(X > x) is P(-X < -x), and -X belongs to the family with its sides exchanged.
    return _log_below(theta - np.asarray(x, dtype=np.float64), sigma_right, sigma_left)


def cdf(x: ArrayLike, theta: ArrayLike, sigma_left: ArrayLike, sigma_right: ArrayLike) -> Floats:
    """
    Return P(X <= x); at the mode it is sigma_left / (sigma_left + sigma_right).

    Examples
    --------
    >>> round(float(cdf(0.0, 0.0, 1.0, 3.0)), 12)
    0.25
    """
    return np.exp(logcdf(x, theta, sigma_left, sigma_right))


def ppf(q: ArrayLike, theta: ArrayLike, sigma_left: ArrayLike, sigma_right: ArrayLike) -> Floats:
    """
    Return the quantile function, the inverse of `cdf`; nan for q outside [0, 1].

    Examples
    --------
    >>> float(ppf(0.25, 0.0, 1.0, 3.0))
    0.0
    """
    theta, sigma_left, sigma_right = _arrays(theta, sigma_left, sigma_right)
    q = np.asarray(q, dtype=np.float64)
    below = sigma_left / (sigma_left + sigma_right)
    above = sigma_right / (sigma_left + sigma_right)
    left = sigma_left * special.ndtri(0.5 * q / below)
    right = -sigma_right * special.ndtri(0.5 * (1.0 - q) / above)
    return theta + np.where(q < below, left, right)


def rvs(
    theta: ArrayLike,
    sigma_left: ArrayLike,
    sigma_right: ArrayLike,
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
    theta, sigma_left, sigma_right = _arrays(theta, sigma_left, sigma_right)
    shape = draw_shape(size, theta, sigma_left, sigma_right)
    generator = np.random.default_rng(rng)
    left = generator.random(shape) * (sigma_left + sigma_right) < sigma_left
    length = np.abs(generator.standard_normal(shape))
    return theta + np.where(left, -length * sigma_left, length * sigma_right)


def mean(theta: ArrayLike, sigma_left: ArrayLike, sigma_right: ArrayLike) -> Floats:
    """
    Return theta + sqrt(2/pi) (sigma_right - sigma_left).

    Examples
    --------
    >>> round(float(mean(0.0, 1.0, 2.0)), 6)
    0.797885
    """
    theta, sigma_left, sigma_right = _arrays(theta, sigma_left, sigma_right)
    return theta + math.sqrt(2.0 / math.pi) * (sigma_right - sigma_left)


def variance(theta: ArrayLike, sigma_left: ArrayLike, sigma_right: ArrayLike) -> Floats:
    """
    Return (1 - 2/pi) (sigma_right - sigma_left)^2 + sigma_left sigma_right.

    Examples
    --------
    >>> round(float(variance(0.0, 2.0, 2.0)), 12)
    4.0
    """
    theta, sigma_left, sigma_right = _arrays(theta, sigma_left, sigma_right)
    skew = (1.0 - 2.0 / math.pi) * (sigma_right - sigma_left) ** 2
    return 0.0 * theta + skew + sigma_left * sigma_right


def fit(
    x: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    candidates: str = "exact",
    guard: GuardOption = "auto",
) -> Fit:
    """
    Maximise the likelihood, exactly.

    For a mode theta with D_l2, D_r2 the summed squared deviations left and right of it and N
    scores, sigma_left^2 = (D_l2 + D_l2^(2/3) D_r2^(1/3)) / N and sigma_right alike (dissertation,
    eqs. 3.21-3.22); the log-likelihood falls with cbrt(D_l2) + cbrt(D_r2). Its optimum is usually
    between two scores, and there can be several local ones; intervals are discarded by bounds
    until the global one is left, to machine precision, in O(n log n).

    Parameters
    ----------
    x : array-like of shape (n,)
        Raw scores.
    sample_weight : array-like of shape (n,) or None
        Weights, as counts: a weight of 2 equals repeating the score, and N is their sum.
    candidates : {"exact", "bennett"}
        "bennett" tries the scores and nine points in each interval between them, as the paper's
        tables did; it is never better.
    guard : "auto", float or None
        Floor of both scales, in score units. "auto": 1.5 spreads of `x` over sqrt(N), so that
        it stops acting as N grows. None: only 1e-12 of the spread,
        which stands for Bennett's very small scale.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Examples
    --------
    >>> result = fit([-1.0, 1.0, 2.0, 4.0, 9.0], guard=0.5)
    >>> list(result.parameters), result.guard.acted
    (['theta', 'sigma_left', 'sigma_right'], ('sigma_left',))
    """
    result = fit_two_sided(GAUSSIAN_SIDES, x, sample_weight, candidates, guard, best_between)
    return result.as_fit(PARAMETERS, (result.theta, result.left, result.right))


def _arrays(
    theta: ArrayLike, sigma_left: ArrayLike, sigma_right: ArrayLike
) -> tuple[Floats, Floats, Floats]:
    check_positive(sigma_left=sigma_left, sigma_right=sigma_right)
    return (
        np.asarray(theta, dtype=np.float64),
        np.asarray(sigma_left, dtype=np.float64),
        np.asarray(sigma_right, dtype=np.float64),
    )


def _log_below(deviation: Floats, sigma_left: Floats, sigma_right: Floats) -> Floats:
    width = sigma_left + sigma_right
    z = np.minimum(deviation, 0.0) / sigma_left
    # log1p keeps what is left of a share, or of 2 Phi(z), that rounds to 1.
    half = np.log1p(special.erf(np.maximum(z, -1.0) / math.sqrt(2.0)))
    left = np.where(z > -1.0, half, math.log(2.0) + special.log_ndtr(z))
    left -= np.log1p(sigma_right / sigma_left)
    z = np.maximum(deviation, 0.0) / sigma_right
    above = 2.0 * sigma_right / width * special.ndtr(-z)
    # 1 - above, where it is small, is (sigma_left + sigma_right erf(z/sqrt 2)) / width: a sum,
    # no difference of near-equal numbers.
    near = np.log((sigma_left + sigma_right * special.erf(z / math.sqrt(2.0))) / width)
    right = np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), near)
    return np.where(deviation <= 0.0, left, right)


FAMILY = Family(
    name="asymmetric_gaussian",
    parameters=PARAMETERS,
    powers=(2, 2),
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
