r"""Gaussian: the normal density.

.. math:: p(x) = \frac{1}{\sigma\sqrt{2\pi}} e^{-(x-\mu)^2/(2\sigma^2)}

mu is the mean in raw score units, sigma the standard deviation.
Everything but the fit is the asymmetric Gaussian with equal sides.
Source: Bennett, SIGIR 2003, section 5 (the symmetric baselines).

The fit: mu is the mean, sigma^2 = sum (x - mu)^2 / N.

Examples
--------
>>> logpdf([-1.0, 0.0, 1.0], 0.0, 1.0).round(4)
array([-1.4189, -0.9189, -1.4189])
>>> round(float(logcdf(-40.0, 0.0, 1.0)), 4), round(float(logsf(40.0, 0.0, 1.0)), 4)
(-804.6084, -804.6084)
>>> float(cdf(3.0, 3.0, 1.0)), float(ppf(0.5, 3.0, 1.0))
(0.5, 3.0)
>>> rvs(0.0, 1.0, size=3, rng=1).shape
(3,)
>>> float(mean(3.0, 1.0)), round(float(variance(3.0, 2.0)), 12)
(3.0, 4.0)
>>> fit([0.0, 2.0, 4.0], scale_floor=None).parameters
{'mu': 2.0, 'sigma': 1.632993161855452}
"""

from numpy.typing import ArrayLike

from bayescal.families._density import Rng, Size
from bayescal.families._family import Family, Fit, ScaleFloorOption
from bayescal.support.validation import Floats


def logpdf(x: ArrayLike, mu: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the natural log of the density per score unit, given `mu` and `sigma`.

    -(x - mu)^2/(2 sigma^2) - log(sigma sqrt(2 pi)) at scores `x`.
    """
    return FAMILY.logpdf(x, mu, sigma)


def cdf(x: ArrayLike, mu: ArrayLike, sigma: ArrayLike) -> Floats:
    """Return P(X <= x): Phi((x - mu)/sigma) at scores `x`, given `mu` and `sigma`."""
    return FAMILY.cdf(x, mu, sigma)


def logcdf(x: ArrayLike, mu: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the natural log of P(X <= x), given `mu` and `sigma`.

    log Phi((x - mu)/sigma) at scores `x`, accurate in both tails.
    """
    return FAMILY.logcdf(x, mu, sigma)


def logsf(x: ArrayLike, mu: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the natural log of P(X > x), given `mu` and `sigma`.

    log Phi((mu - x)/sigma) at scores `x`, accurate in both tails.
    """
    return FAMILY.logsf(x, mu, sigma)


def ppf(q: ArrayLike, mu: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the quantile function, the inverse of `cdf`, given `mu` and `sigma`.

    mu + sigma Phi^-1(q) at probabilities `q`; nan outside [0, 1].
    """
    return FAMILY.ppf(q, mu, sigma)


def rvs(mu: ArrayLike, sigma: ArrayLike, *, size: Size = None, rng: Rng = None) -> Floats:
    """Draw scores given `mu` and `sigma`, of shape `size`, by the seed `rng`."""
    return FAMILY.rvs(mu, sigma, size=size, rng=rng)


def mean(mu: ArrayLike, sigma: ArrayLike) -> Floats:
    """Return the mean, in raw score units: `mu`; it broadcasts against `sigma`."""
    return FAMILY.mean(mu, sigma)


def variance(mu: ArrayLike, sigma: ArrayLike) -> Floats:
    """Return the variance, in squared score units: `sigma`^2; it broadcasts against `mu`."""
    return FAMILY.variance(mu, sigma)


def fit(
    x: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    candidates: str = "exact",
    scale_floor: ScaleFloorOption = "auto",
) -> Fit:
    """
    Maximise the likelihood of raw scores, exactly.

    mu is the mean and sigma^2 = sum (x - mu)^2/N (Bennett 2003, section 5). `x` has shape (n,);
    `sample_weight` counts each score, 1 by default, and N is its sum. `candidates` changes
    nothing: the fit is a closed form. `scale_floor` is the floor of each side's scale in score
    units: "auto" is 1.5 spreads of `x` over sqrt(N); None is 1e-12 of the spread, which only
    keeps the density of equal scores finite.
    """
    return FAMILY.fit(x, sample_weight, candidates=candidates, scale_floor=scale_floor)


FAMILY = Family("gaussian", ("mu", "sigma"), powers=(2, 2), symmetric=True)
