r"""Laplace: the same exponential to both sides of the mode.

.. math:: p(x) = \tfrac{\beta}{2} e^{-\beta|x-\theta|}

theta is the mode in raw score units, beta the inverse scale.
Everything but the fit is the asymmetric Laplace with equal sides.
Source: Bennett, SIGIR 2003, section 5 (the symmetric baselines).
"""

from __future__ import annotations

from numpy.typing import ArrayLike

from bayescal.families import asymmetric_laplace as two_sided
from bayescal.families._family import Family, Fit, Rng
from bayescal.families._guard import GuardOption
from bayescal.families._symmetric import fit_laplace
from bayescal.validation import Floats, check_positive

PARAMETERS = ("theta", "beta")


def logpdf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike) -> Floats:
    """
    Return the natural log of the density.

    Parameters
    ----------
    x, theta, beta : array-like
        Scores, mode, inverse scale; broadcast against each other.

    Raises
    ------
    ValueError
        If beta is not positive and finite.

    Examples
    --------
    >>> round(float(logpdf(0.0, 0.0, 1.0)), 6)
    -0.693147
    """
    check_positive(beta=beta)
    return two_sided.logpdf(x, theta, beta, beta)


def logcdf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike) -> Floats:
    """
    Return the natural log of P(X <= x), accurate in both tails.

    Examples
    --------
    >>> round(float(logcdf(-40.0, 0.0, 1.0)), 4)
    -40.6931
    """
    check_positive(beta=beta)
    return two_sided.logcdf(x, theta, beta, beta)


def logsf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike) -> Floats:
    """
    Return the natural log of P(X > x), accurate in both tails.

    Examples
    --------
    >>> round(float(logsf(40.0, 0.0, 1.0)), 4)
    -40.6931
    """
    check_positive(beta=beta)
    return two_sided.logsf(x, theta, beta, beta)


def cdf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike) -> Floats:
    """
    Return P(X <= x).

    Examples
    --------
    >>> float(cdf(3.0, 3.0, 1.0))
    0.5
    """
    check_positive(beta=beta)
    return two_sided.cdf(x, theta, beta, beta)


def ppf(q: ArrayLike, theta: ArrayLike, beta: ArrayLike) -> Floats:
    """
    Return the quantile function, the inverse of `cdf`; nan for q outside [0, 1].

    Examples
    --------
    >>> float(ppf(0.5, 3.0, 1.0))
    3.0
    """
    check_positive(beta=beta)
    return two_sided.ppf(q, theta, beta, beta)


def rvs(
    theta: ArrayLike,
    beta: ArrayLike,
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
    check_positive(beta=beta)
    return two_sided.rvs(theta, beta, beta, size=size, rng=rng)


def mean(theta: ArrayLike, beta: ArrayLike) -> Floats:
    """
    Return theta, broadcast against beta.

    Examples
    --------
    >>> float(mean(3.0, 1.0))
    3.0
    """
    check_positive(beta=beta)
    return two_sided.mean(theta, beta, beta)


def variance(theta: ArrayLike, beta: ArrayLike) -> Floats:
    """
    Return 2 / beta^2.

    Examples
    --------
    >>> round(float(variance(3.0, 2.0)), 12)
    0.5
    """
    check_positive(beta=beta)
    return two_sided.variance(theta, beta, beta)


def fit(
    x: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    candidates: str = "exact",
    guard: GuardOption = "auto",
) -> Fit:
    """
    Maximise the likelihood: theta is the median, beta = N / sum |x - theta|.

    Parameters
    ----------
    x : array-like of shape (n,)
        Raw scores.
    sample_weight : array-like of shape (n,) or None
        Weights, as counts: a weight of 2 equals repeating the score, and N is their sum.
    candidates : {"exact", "bennett"}
        For the same call as its siblings'; both are this closed form.
    guard : "auto", float or None
        Floor of the scale 1/beta, in score units. "auto": 1.5 spreads of `x` over sqrt(N), so that
        it stops acting as N grows. None: only 1e-12 of the spread,
        which keeps the density finite when all scores are equal.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Examples
    --------
    >>> fit([0.0, 2.0, 4.0], guard=None).parameters
    {'theta': 2.0, 'beta': 0.75}
    """
    return fit_laplace(PARAMETERS, x, sample_weight, candidates, guard)


FAMILY = Family(
    name="laplace",
    parameters=PARAMETERS,
    powers=(1, 1),
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
