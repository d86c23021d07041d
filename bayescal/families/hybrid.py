r"""Hybrid: half a Gaussian outside, an exponential on the side that faces the other class.

.. math:: p(x) = \frac{1}{Z}
          \begin{cases} e^{-(x-\theta)^2/(2\sigma^2)} & x \le \theta \\
                        e^{-\lambda(x-\theta)} & x > \theta \end{cases},
          \quad Z = \frac{1}{\lambda} + \sigma\sqrt{\pi/2}

theta is the mode in raw score units, rate (lambda) the inverse scale of the exponential side,
sigma the scale of the Gaussian one. Negatives lie below positives: these are the densities of
negatives, facing right; those of positives are their mirror images, `FAMILY.of_class(True)`.
With c = sqrt(pi/2), the mean is theta + (1/rate^2 - sigma^2) / Z, the variance
(2/rate^3 + c sigma^3) / Z - (mean - theta)^2, and c sigma / Z of the scores lie below the mode.
Source: future work of Bennett, SIGIR 2003.

The fit: for a mode theta with D_l2 the summed squared deviations left of it, D_r the summed ones
right of it and N scores, 1/rate^2 = Z D_r/N and c sigma^3 = Z D_l2/N, where y = Z^(1/6) is the
positive root of y^4 = sqrt(D_r/N) y + c cbrt(D_l2/(c N)). The optimum may be a score or lie
between two; intervals are discarded by bounds until the global one is left, to machine precision,
in O(n log n).

Examples
--------
>>> logpdf([-1.0, 1.0], 0.0, 1.0, 1.0).round(4)
array([-1.3124, -1.8124])
>>> round(float(logcdf(-40.0, 0.0, 1.0, 1.0)), 4), round(float(logsf(800.0, 0.0, 1.0, 1.0)), 4)
(-804.5019, -800.8124)
>>> round(float(cdf(0.0, 0.0, 1.0, 1.0)), 4), round(float(ppf(0.9, 0.0, 1.0, 1.0)), 4)
(0.5562, 1.4902)
>>> rvs(0.0, 1.0, 2.0, size=3, rng=1).shape
(3,)
>>> round(float(mean(3.0, 1.0, 1.0)), 12), round(float(variance(0.0, 1.0, 1.0)), 4)
(3.0, 1.4438)
>>> result = fit([-1.0, 0.0, 1.0, 2.0, 9.0], scale_floor=0.5)
>>> list(result.parameters), result.scale_floor.acted
(['theta', 'rate', 'sigma'], ('sigma',))
>>> positives = FAMILY.of_class(True)
>>> bool(positives.logsf(3.0, 0.5, 1.0, 2.0) == logcdf(-3.0, -0.5, 1.0, 2.0))
True
"""

from numpy.typing import ArrayLike

from bayescal.families._density import Rng, Size
from bayescal.families._family import Family, Fit, ScaleFloorOption
from bayescal.support.validation import Floats


def logpdf(x: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return the natural log of the density per score unit, given `theta`, `rate` and `sigma`.

    -log Z - (x - theta)^2/(2 sigma^2) at scores `x` up to the mode, -log Z - rate (x - theta)
    beyond, with Z = 1/rate + sigma sqrt(pi/2).
    """
    return FAMILY.logpdf(x, theta, rate, sigma)


def cdf(x: ArrayLike, theta: ArrayLike, rate: ArrayLike, sigma: ArrayLike) -> Floats:
    """
    Return P(X <= x), given `theta`, `rate` and `sigma`.

    sigma sqrt(2 pi)/Z Phi((x - theta)/sigma) at scores `x` up to the mode, 1 - exp(-rate (x -
    theta))/(rate Z) beyond, with Z = 1/rate + sigma sqrt(pi/2).
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

    theta + sigma Phi^-1(q Z/(sigma sqrt(2 pi))) at probabilities `q` up to the mass below the mode,
    theta - log((1 - q) rate Z)/rate above, with Z = 1/rate + sigma sqrt(pi/2); nan outside [0, 1].
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

    theta + (1/rate^2 - sigma^2)/Z, with Z = 1/rate + sigma sqrt(pi/2).
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

    The global optimum over the mode, with the scales at each mode by the root of a quartic (see
    the module). `x` has shape (n,); `sample_weight` counts each score, 1 by default, and N is
    its sum. `candidates` is "exact", or "bennett" for the paper's search, which tries the
    scores and nine points in each interval between them and is never better. `scale_floor` is
    the floor of each side's scale in score units: "auto" is 1.5 spreads of `x` over sqrt(N);
    None is 1e-12 of the spread, which only keeps the density of equal scores finite.
    """
    return FAMILY.fit(x, sample_weight, candidates=candidates, scale_floor=scale_floor)


PARAMETERS = ("theta", "rate", "sigma")
# If X has the density of negatives with mode -theta, -X has that of positives with mode theta.
MIRRORED = Family("hybrid", PARAMETERS, powers=(1, 2), symmetric=False)
FAMILY = Family("hybrid", PARAMETERS, powers=(2, 1), symmetric=False, mirrored=MIRRORED)
