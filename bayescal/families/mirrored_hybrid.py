"""Mirrored hybrid: the hybrid's densities of positives, an exponential left of the mode.

If X has the density of `bayescal.families.hybrid` with mode -theta, -X has this one with mode
theta and the same rate and sigma. `hybrid.FAMILY.of_class(True)` is the record.

Examples
--------
>>> from bayescal.families import hybrid
>>> logpdf([-1.0, 1.0], 0.0, 1.0, 1.0).round(4)
array([-1.8124, -1.3124])
>>> bool(logsf(3.0, 0.5, 1.0, 2.0) == hybrid.logcdf(-3.0, -0.5, 1.0, 2.0))
True
"""

from numpy.typing import ArrayLike

from bayescal.families._density import Rng, Size
from bayescal.families._family import Family, Fit, ScaleFloorOption
from bayescal.support.validation import Floats


def logpdf(x: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the natural log of the density per score unit, given `theta`, `rate` and `sigma`.

    -log Z - rate (theta - x) at scores `x` up to the mode, -log Z - (x - theta)^2/(2 sigma^2)
    beyond, with Z = 1/rate + sigma sqrt(pi/2).
    """
    return FAMILY.logpdf(x, theta, rate, sigma)


def cdf(x: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return P(X <= x), given `theta`, `rate` and `sigma`.

    exp(-rate (theta - x))/(rate Z) at scores `x` up to the mode, 1 - sigma sqrt(2 pi)/Z Phi((theta
    - x)/sigma) beyond, with Z = 1/rate + sigma sqrt(pi/2).
    """
    return FAMILY.cdf(x, theta, rate, sigma)


def logcdf(x: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the natural log of P(X <= x), given `theta`, `rate` and `sigma`.

    The logarithm of `cdf` at scores `x`, accurate in both tails.
    """
    return FAMILY.logcdf(x, theta, rate, sigma)


def logsf(x: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the natural log of P(X > x), given `theta`, `rate` and `sigma`.

    The logarithm of 1 - `cdf` at scores `x`, accurate in both tails.
    """
    return FAMILY.logsf(x, theta, rate, sigma)


def ppf(q: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the quantile function, the inverse of `cdf`, given `theta`, `rate` and `sigma`.

    theta + log(q rate Z)/rate at probabilities `q` up to the mass below the mode, theta - sigma
    Phi^-1((1 - q) Z/(sigma sqrt(2 pi))) above, with Z = 1/rate + sigma sqrt(pi/2); nan outside [0,
    1].
    """
    return FAMILY.ppf(q, theta, rate, sigma)


def rvs(
    theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike, *, size: Size = None, rng: Rng = None
) -> Floats:
    """Draw scores given `theta`, `rate` and `sigma`, of shape `size`, by the seed `rng`."""
    return FAMILY.rvs(theta, rate, sigma, size=size, rng=rng)


def mean(theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the mean, in raw score units, given `theta`, `rate` and `sigma`.

    theta + (sigma^2 - 1/rate^2)/Z, with Z = 1/rate + sigma sqrt(pi/2).
    """
    return FAMILY.mean(theta, rate, sigma)


def variance(theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the variance, in squared score units, given `theta`, `rate` and `sigma`.

    (2/rate^3 + sqrt(pi/2) sigma^3)/Z - (mean - theta)^2, with Z = 1/rate + sigma sqrt(pi/2).
    """
    return FAMILY.variance(theta, rate, sigma)


def fit(
    x: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    candidates: str = "exact",
    scale_floor: ScaleFloorOption = "auto",
) -> Fit:
    """
    Maximise the likelihood of raw scores, exactly.

    The fit of `bayescal.families.hybrid` to -x, mirrored. `x` has shape (n,); `sample_weight`
    counts each score, 1 by default, and N is its sum. `candidates` is "exact", or "bennett" for
    the paper's search, which tries the scores and nine points in each interval between them and
    is never better. `scale_floor` is the floor of each side's scale in score units: "auto" is
    1.5 spreads of `x` over sqrt(N); None is 1e-12 of the spread, which only keeps the density
    of equal scores finite.
    """
    return FAMILY.fit(x, sample_weight, candidates=candidates, scale_floor=scale_floor)


FAMILY = Family("hybrid", ("theta", "rate", "sigma"), powers=(1, 2), symmetric=False)
