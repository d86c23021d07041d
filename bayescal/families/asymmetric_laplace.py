r"""Asymmetric Laplace: an exponential of its own to each side of the mode.

.. math:: p(x) = \frac{\beta\gamma}{\beta+\gamma}
          \begin{cases} e^{-\beta(\theta-x)} & x \le \theta \\
                        e^{-\gamma(x-\theta)} & x > \theta \end{cases}

theta is the mode in raw score units; beta and gamma are the inverse scales left and right of it.
Source: Bennett, SIGIR 2003, section 4.1 and dissertation, section 3.2.3.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bayescal.families._family import Family, Fit, Rng, draw_shape
from bayescal.families._guard import GuardOption
from bayescal.families._laplace_profile import LAPLACE_SIDES
from bayescal.families._two_sided import fit_two_sided
from bayescal.validation import Floats, check_positive

PARAMETERS = ("theta", "beta", "gamma")


def logpdf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike) -> Floats:
    """
    Return the natural log of the density.

    Parameters
    ----------
    x, theta, beta, gamma : array-like
        Scores, mode, inverse scales left and right; broadcast against each other.

    Raises
    ------
    ValueError
        If beta or gamma is not positive and finite.

    Examples
    --------
    >>> float(logpdf(0.0, 0.0, 1.0, 1.0)) == float(np.log(0.5))
    True
    """
    theta, beta, gamma = _arrays(theta, beta, gamma)
    deviation = np.asarray(x, dtype=np.float64) - theta
    slope = np.where(deviation > 0.0, -gamma, beta)
    return _log_height(beta, gamma) + slope * deviation


def logcdf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike) -> Floats:
    """
    Return the natural log of P(X <= x), accurate in both tails.

    Examples
    --------
    >>> float(logcdf(-800.0, 0.0, 1.0, 1.0)) == -800.0 + float(np.log(0.5))
    True
    """
    theta, beta, gamma = _arrays(theta, beta, gamma)
    return _log_below(np.asarray(x, dtype=np.float64) - theta, beta, gamma)


def logsf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike) -> Floats:
    """
    Return the natural log of P(X > x), accurate in both tails.

    Examples
    --------
    >>> float(logsf(800.0, 0.0, 1.0, 1.0)) == -800.0 + float(np.log(0.5))
    True
    """
    theta, beta, gamma = _arrays(theta, beta, gamma)
    # P(X > x) is P(-X < -x), and -X belongs to the family with its sides exchanged.
    return _log_below(theta - np.asarray(x, dtype=np.float64), gamma, beta)


def cdf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike) -> Floats:
    """
    Return P(X <= x); at the mode it is gamma / (beta + gamma).

    Examples
    --------
    >>> round(float(cdf(0.0, 0.0, 1.0, 3.0)), 12)
    0.75
    """
    return np.exp(logcdf(x, theta, beta, gamma))


def ppf(q: ArrayLike, theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike) -> Floats:
    """
    Return the quantile function, the inverse of `cdf`; nan for q outside [0, 1].

    Examples
    --------
    >>> float(ppf(0.75, 0.0, 1.0, 3.0))
    0.0
    """
    theta, beta, gamma = _arrays(theta, beta, gamma)
    q = np.asarray(q, dtype=np.float64)
    below, above = gamma / (beta + gamma), beta / (beta + gamma)
    with np.errstate(divide="ignore", invalid="ignore"):
        return theta + np.where(
            q < below, np.log(q / below) / beta, -np.log((1.0 - q) / above) / gamma
        )


def rvs(
    theta: ArrayLike,
    beta: ArrayLike,
    gamma: ArrayLike,
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
    theta, beta, gamma = _arrays(theta, beta, gamma)
    shape = draw_shape(size, theta, beta, gamma)
    generator = np.random.default_rng(rng)
    left = generator.random(shape) * (beta + gamma) < gamma
    length = generator.standard_exponential(shape)
    return theta + np.where(left, -length / beta, length / gamma)


def mean(theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike) -> Floats:
    """
    Return theta + 1/gamma - 1/beta.

    Examples
    --------
    >>> float(mean(0.0, 1.0, 0.5))
    1.0
    """
    theta, beta, gamma = _arrays(theta, beta, gamma)
    return theta + (1.0 / gamma - 1.0 / beta)


def variance(theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike) -> Floats:
    """
    Return 1/beta^2 + 1/gamma^2.

    Examples
    --------
    >>> float(variance(0.0, 1.0, 0.5))
    5.0
    """
    theta, beta, gamma = _arrays(theta, beta, gamma)
    return 0.0 * theta + 1.0 / beta**2 + 1.0 / gamma**2


def fit(
    x: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    candidates: str = "exact",
    guard: GuardOption = "auto",
) -> Fit:
    """
    Maximise the likelihood, exactly.

    For a mode theta with D_l, D_r the summed deviations left and right of it and N scores,
    beta = N / (D_l + sqrt(D_l D_r)), gamma = N / (D_r + sqrt(D_l D_r)) (dissertation, eq. 3.13),
    and the log-likelihood is N log N - N - 2 N log(sqrt(D_l) + sqrt(D_r)). Between neighbouring
    scores the sum of roots is concave in theta, so the global maximum is at a score: one pass
    over the sorted scores finds it. The floor of `guard` keeps the profile concave there: it is
    a minimum over scales of functions linear in theta.

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
        Floor of 1/beta and 1/gamma, in score units. "auto": 1.5 spreads of `x` over sqrt(N), so
        that it stops acting as N grows. None: only 1e-12 of the spread,
        which stands for Bennett's very large inverse scale.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Examples
    --------
    >>> result = fit([0.0, 1.0, 2.0, 4.0, 9.0], guard=0.5)
    >>> result.parameters["theta"], result.guard.acted
    (0.0, ('beta',))
    """
    result = fit_two_sided(LAPLACE_SIDES, x, sample_weight, candidates, guard)
    return result.as_fit(PARAMETERS, (result.theta, 1.0 / result.left, 1.0 / result.right))


def _arrays(theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike) -> tuple[Floats, Floats, Floats]:
    check_positive(beta=beta, gamma=gamma)
    return (
        np.asarray(theta, dtype=np.float64),
        np.asarray(beta, dtype=np.float64),
        np.asarray(gamma, dtype=np.float64),
    )


def _log_height(beta: Floats, gamma: Floats) -> Floats:
    # beta gamma / (beta + gamma) as 1 / (u + v): no product to overflow.
    return -np.log(1.0 / beta + 1.0 / gamma)


def _log_below(deviation: Floats, beta: Floats, gamma: Floats) -> Floats:
    # log1p of the ratio: the logarithm of a share that rounds to 1 would be 0.
    left = -np.log1p(beta / gamma) + beta * np.minimum(deviation, 0.0)
    z = gamma * np.maximum(deviation, 0.0)
    above = beta / (beta + gamma) * np.exp(-z)
    # 1 - above, where it is small, is (gamma - beta expm1(-z)) / (beta + gamma): a sum, no
    # difference of near-equal numbers.
    near = np.log((gamma - beta * np.expm1(-z)) / (beta + gamma))
    right = np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), near)
    return np.where(deviation <= 0.0, left, right)


FAMILY = Family(
    name="asymmetric_laplace",
    parameters=PARAMETERS,
    powers=(1, 1),
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
