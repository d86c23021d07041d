r"""Gaussian: the normal density.

.. math:: p(x) = \frac{1}{\sigma\sqrt{2\pi}} e^{-(x-\mu)^2/(2\sigma^2)}

mu is the mean in raw score units, sigma the standard deviation.
Everything but the fit is the asymmetric Gaussian with equal sides.
Source: Bennett, SIGIR 2003, section 5 (the symmetric baselines).
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from bayescal.families import asymmetric_gaussian as two_sided
from bayescal.families._family import Family, Fit, Rng
from bayescal.families._guard import GuardOption
from bayescal.families._symmetric import fit_gaussian
from bayescal.validation import Floats, check_positive

PARAMETERS = ("mu", "sigma")


def logpdf(x: ArrayLike, mu: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the natural log of the density.

    Parameters
    ----------
    x, mu, sigma : array-like
        Scores, mean, standard deviation; broadcast against each other.

    Raises
    ------
    ValueError
        If sigma is not positive and finite.

    Examples
    --------
    >>> round(float(logpdf(0.0, 0.0, 1.0)), 6)
    -0.918939
    """
    check_positive(sigma=sigma)
    return two_sided.logpdf(x, mu, sigma, sigma)


def logcdf(x: ArrayLike, mu: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the natural log of P(X <= x), accurate in both tails.

    Examples
    --------
    >>> round(float(logcdf(-40.0, 0.0, 1.0)), 4)
    -804.6084
    """
    check_positive(sigma=sigma)
    return two_sided.logcdf(x, mu, sigma, sigma)


def logsf(x: ArrayLike, mu: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the natural log of P(X > x), accurate in both tails.

    Examples
    --------
    >>> round(float(logsf(40.0, 0.0, 1.0)), 4)
    -804.6084
    """
    check_positive(sigma=sigma)
    return two_sided.logsf(x, mu, sigma, sigma)


def cdf(x: ArrayLike, mu: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return P(X <= x).

    Examples
    --------
    >>> float(cdf(3.0, 3.0, 1.0))
    0.5
    """
    check_positive(sigma=sigma)
    return two_sided.cdf(x, mu, sigma, sigma)


def ppf(q: ArrayLike, mu: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the quantile function, the inverse of `cdf`; nan for q outside [0, 1].

    Examples
    --------
    >>> float(ppf(0.5, 3.0, 1.0))
    3.0
    """
    check_positive(sigma=sigma)
    return two_sided.ppf(q, mu, sigma, sigma)


def rvs(
    mu: ArrayLike,
    sigma: ArrayLike,
    *,
    size: int | tuple[int, ...] | None = None,
    rng: Rng = None,
) -> Floats:
    """
    Draw scores; `size` defaults to the parameters' broadcast shape.

    Examples
    --------
    >>> rvs(0.0, 1.0, size=3, rng=1).shape
    (3,)
    """
    check_positive(sigma=sigma)
    return two_sided.rvs(mu, sigma, sigma, size=size, rng=rng)


def mean(mu: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return mu, broadcast against sigma.

    Examples
    --------
    >>> float(mean(3.0, 1.0))
    3.0
    """
    check_positive(sigma=sigma)
    return two_sided.mean(mu, sigma, sigma)


def variance(mu: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return sigma^2.

    Examples
    --------
    >>> round(float(variance(3.0, 2.0)), 12)
    4.0
    """
    check_positive(sigma=sigma)
    return two_sided.variance(mu, sigma, sigma)


def fit(
    x: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    candidates: str = "exact",
    guard: GuardOption = "auto",
) -> Fit:
    """
    Maximise the likelihood: mu is the mean, sigma^2 = sum (x - mu)^2 / N.

    Parameters
    ----------
    x : array-like of shape (n,)
        Raw scores.
    sample_weight : array-like of shape (n,) or None
        Weights, as counts: a weight of 2 equals repeating the score, and N is their sum.
    candidates : {"exact", "bennett"}
        For the same call as its siblings'; both are this closed form.
    guard : "auto", float or None
        Floor of sigma, in score units. "auto": 1.5 spreads of `x` over sqrt(N), so that
        it stops acting as N grows. None: only 1e-12 of the spread,
        which keeps the density finite when all scores are equal.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Examples
    --------
    >>> fit([0.0, 2.0, 4.0], guard=None).parameters
    {'mu': 2.0, 'sigma': 1.632993161855452}
    """
    return fit_gaussian(PARAMETERS, x, sample_weight, candidates, guard)


FAMILY = Family(
    name="gaussian",
    parameters=PARAMETERS,
    powers=(2, 2),
    symmetric=True,
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
