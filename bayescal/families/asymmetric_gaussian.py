r"""Asymmetric Gaussian (two-piece normal): half a Gaussian of its own to each side of the mode.

.. math:: p(x) = \frac{2}{\sqrt{2\pi}(\sigma_l+\sigma_r)}
          \exp\left(-\frac{(x-\theta)^2}{2\sigma^2}\right),
          \quad \sigma = \sigma_l \text{ if } x \le \theta \text{ else } \sigma_r

theta is the mode in raw score units; sigma_left and sigma_right are the scales beside it.
The mean is theta + sqrt(2/pi) (sigma_right - sigma_left), the variance
(1 - 2/pi) (sigma_right - sigma_left)^2 + sigma_left sigma_right, and
sigma_left / (sigma_left + sigma_right) of the scores lie below the mode.
Source: Bennett, SIGIR 2003, section 4.2; dissertation, section 3.2.3.

The fit: for a mode theta with D_l2, D_r2 the summed squared deviations left and right of it and N
scores, sigma_left^2 = (D_l2 + D_l2^(2/3) D_r2^(1/3)) / N and sigma_right alike (dissertation,
eqs. 3.21-3.22); the log-likelihood falls with cbrt(D_l2) + cbrt(D_r2). Its optimum is usually
between two scores, and there can be several local ones; intervals are discarded by bounds until
the global one is left, to machine precision, in O(n log n).

Examples
--------
>>> logpdf([-1.0, 0.0, 1.0], 0.0, 1.0, 3.0).round(4)
array([-2.1121, -1.6121, -1.6676])
>>> round(float(logcdf(-40.0, 0.0, 1.0, 1.0)), 4), round(float(logsf(40.0, 0.0, 1.0, 1.0)), 4)
(-804.6084, -804.6084)
>>> round(float(cdf(0.0, 0.0, 1.0, 3.0)), 12), round(float(ppf(0.25, 0.0, 1.0, 3.0)), 12)
(0.25, 0.0)
>>> rvs(0.0, 1.0, 2.0, size=3, rng=1).shape
(3,)
>>> round(float(mean(0.0, 1.0, 2.0)), 6), round(float(variance(0.0, 2.0, 2.0)), 12)
(0.797885, 4.0)
>>> result = fit([-1.0, 1.0, 2.0, 4.0, 9.0], scale_floor=0.5)
>>> list(result.parameters), result.scale_floor.acted
(['theta', 'sigma_left', 'sigma_right'], ('sigma_left',))
"""

from numpy.typing import ArrayLike

from bayescal.families._density import Rng, Size
from bayescal.families._family import Family, Fit, ScaleFloorOption
from bayescal.support.validation import Floats


def logpdf(x: ArrayLike, theta: ArrayLike, sigma_left: ArrayLike, sigma_right: ArrayLike) -> Floats:
    """
    Return the log density per score unit, given `theta`, `sigma_left` and `sigma_right`.

    log(sqrt(2/pi)/(sigma_left + sigma_right)) - (x - theta)^2/(2 sigma^2) at scores `x`, with the
    sigma of the side of x (Bennett 2003, section 4.2).
    """
    return FAMILY.logpdf(x, theta, sigma_left, sigma_right)


def cdf(x: ArrayLike, theta: ArrayLike, sigma_left: ArrayLike, sigma_right: ArrayLike) -> Floats:
    """
    Return P(X <= x), given `theta`, `sigma_left` and `sigma_right`.

    2 sigma_left/s Phi((x - theta)/sigma_left) at scores `x` up to the mode, 1 - 2 sigma_right/s
    Phi((theta - x)/sigma_right) beyond, with s = sigma_left + sigma_right.
    """
    return FAMILY.cdf(x, theta, sigma_left, sigma_right)


def logcdf(x: ArrayLike, theta: ArrayLike, sigma_left: ArrayLike, sigma_right: ArrayLike) -> Floats:
    """
    Return the natural log of P(X <= x), given `theta`, `sigma_left` and `sigma_right`.

    The logarithm of `cdf` at scores `x`, accurate in both tails.
    """
    return FAMILY.logcdf(x, theta, sigma_left, sigma_right)


def logsf(x: ArrayLike, theta: ArrayLike, sigma_left: ArrayLike, sigma_right: ArrayLike) -> Floats:
    """
    Return the natural log of P(X > x), given `theta`, `sigma_left` and `sigma_right`.

    The logarithm of 1 - `cdf` at scores `x`, accurate in both tails.
    """
    return FAMILY.logsf(x, theta, sigma_left, sigma_right)


def ppf(q: ArrayLike, theta: ArrayLike, sigma_left: ArrayLike, sigma_right: ArrayLike) -> Floats:
    """
    Return the inverse of `cdf`, the quantiles, given `theta`, `sigma_left` and `sigma_right`.

    theta + sigma_left Phi^-1(q s/(2 sigma_left)) at probabilities `q` up to sigma_left/s, theta -
    sigma_right Phi^-1((1 - q) s/(2 sigma_right)) above, with s = sigma_left + sigma_right; nan
    outside [0, 1].
    """
    return FAMILY.ppf(q, theta, sigma_left, sigma_right)


def rvs(
    theta: ArrayLike,
    sigma_left: ArrayLike,
    sigma_right: ArrayLike,
    *,
    size: Size = None,
    rng: Rng = None,
) -> Floats:
    """Draw scores given `theta`, `sigma_left`, `sigma_right`, of shape `size`, by seed `rng`."""
    return FAMILY.rvs(theta, sigma_left, sigma_right, size=size, rng=rng)


def mean(theta: ArrayLike, sigma_left: ArrayLike, sigma_right: ArrayLike) -> Floats:
    """Return the mean, in score units: `theta` + sqrt(2/pi) (`sigma_right` - `sigma_left`)."""
    return FAMILY.mean(theta, sigma_left, sigma_right)


def variance(theta: ArrayLike, sigma_left: ArrayLike, sigma_right: ArrayLike) -> Floats:
    """
    Return the variance, in squared score units, given `theta`, `sigma_left` and `sigma_right`.

    (1 - 2/pi) (sigma_right - sigma_left)^2 + sigma_left sigma_right.
    """
    return FAMILY.variance(theta, sigma_left, sigma_right)


def fit(
    x: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    candidates: str = "exact",
    scale_floor: ScaleFloorOption = "auto",
) -> Fit:
    """
    Maximise the likelihood of raw scores, exactly.

    The global optimum over the mode, with the scales of the dissertation's eqs. 3.21-3.22 at
    each mode (see the module). `x` has shape (n,); `sample_weight` counts each score, 1 by
    default, and N is its sum. `candidates` is "exact", or "bennett" for the paper's search,
    which tries the scores and nine points in each interval between them and is never better.
    `scale_floor` is the floor of each side's scale in score units: "auto" is 1.5 spreads of `x`
    over sqrt(N); None is 1e-12 of the spread, which only keeps the density of equal scores
    finite.
    """
    return FAMILY.fit(x, sample_weight, candidates=candidates, scale_floor=scale_floor)


FAMILY = Family(
    "asymmetric_gaussian", ("theta", "sigma_left", "sigma_right"), powers=(2, 2), symmetric=False
)
