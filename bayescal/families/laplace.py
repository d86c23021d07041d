r"""Laplace: the same exponential to both sides of the mode.

.. math:: p(x) = \tfrac{\beta}{2} e^{-\beta|x-\theta|}

theta is the mode in raw score units, beta the inverse scale; the variance is 2 / beta^2.
Everything but the fit is the asymmetric Laplace with equal sides.
Source: Bennett, SIGIR 2003, section 5 (the symmetric baselines).

The fit: theta is the median, beta = N / sum |x - theta|.

Examples
--------
>>> logpdf([-1.0, 0.0, 1.0], 0.0, 1.0).round(4)
array([-1.6931, -0.6931, -1.6931])
>>> round(float(logcdf(-40.0, 0.0, 1.0)), 4), round(float(logsf(40.0, 0.0, 1.0)), 4)
(-40.6931, -40.6931)
>>> float(cdf(3.0, 3.0, 1.0)), float(ppf(0.5, 3.0, 1.0))
(0.5, 3.0)
>>> rvs(0.0, 1.0, size=3, rng=1).shape
(3,)
>>> float(mean(3.0, 1.0)), round(float(variance(3.0, 2.0)), 12)
(3.0, 0.5)
>>> fit([0.0, 2.0, 4.0], scale_floor=None).parameters
{'theta': 2.0, 'beta': 0.75}
"""

from numpy.typing import ArrayLike

from bayescal.families._density import Rng, Size
from bayescal.families._family import Family, Fit, ScaleFloorOption
from bayescal.support.validation import Floats


def logpdf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike) -> Floats:
    """
    Return the natural log of the density per score unit, given `theta` and `beta`.

    log(beta/2) - beta |x - theta| at scores `x`.
    """
    return FAMILY.logpdf(x, theta, beta)


def cdf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike) -> Floats:
    """
    Return P(X <= x), given `theta` and `beta`.

    exp(-beta (theta - x))/2 at scores `x` up to the mode, 1 - exp(-beta (x - theta))/2 beyond.
    """
    return FAMILY.cdf(x, theta, beta)


def logcdf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike) -> Floats:
    """
    Return the natural log of P(X <= x), given `theta` and `beta`.

    The logarithm of `cdf` at scores `x`, accurate in both tails.
    """
    return FAMILY.logcdf(x, theta, beta)


def logsf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike) -> Floats:
    """
    Return the natural log of P(X > x), given `theta` and `beta`.

    The logarithm of 1 - `cdf` at scores `x`, accurate in both tails.
    """
    return FAMILY.logsf(x, theta, beta)


def ppf(q: ArrayLike, theta: ArrayLike, beta: ArrayLike) -> Floats:
    """
    Return the quantile function, the inverse of `cdf`, given `theta` and `beta`.

    theta + log(2 q)/beta at probabilities `q` up to 1/2, theta - log(2 (1 - q))/beta above; nan
    outside [0, 1].
    """
    return FAMILY.ppf(q, theta, beta)


def rvs(theta: ArrayLike, beta: ArrayLike, *, size: Size = None, rng: Rng = None) -> Floats:
    """Draw scores given `theta` and `beta`, of shape `size`, by the seed `rng`."""
    return FAMILY.rvs(theta, beta, size=size, rng=rng)


def mean(theta: ArrayLike, beta: ArrayLike) -> Floats:
    """Return the mean, in raw score units: `theta`; it broadcasts against `beta`."""
    return FAMILY.mean(theta, beta)


def variance(theta: ArrayLike, beta: ArrayLike) -> Floats:
    """Return the variance, in squared score units: 2/`beta`^2; it broadcasts against `theta`."""
    return FAMILY.variance(theta, beta)


def fit(
    x: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    candidates: str = "exact",
    scale_floor: ScaleFloorOption = "auto",
) -> Fit:
    """
    Maximise the likelihood of raw scores, exactly.

    theta is the median and beta = N/sum |x - theta| (Bennett 2003, section 5). `x` has shape
    (n,); `sample_weight` counts each score, 1 by default, and N is its sum. `candidates`
    changes nothing: the fit is a closed form. `scale_floor` is the floor of each side's scale
    in score units: "auto" is 1.5 spreads of `x` over sqrt(N); None is 1e-12 of the spread,
    which only keeps the density of equal scores finite.
    """
    return FAMILY.fit(x, sample_weight, candidates=candidates, scale_floor=scale_floor)


FAMILY = Family("laplace", ("theta", "beta"), powers=(1, 1), symmetric=True)
