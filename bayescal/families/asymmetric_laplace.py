r"""Asymmetric Laplace: an exponential of its own to each side of the mode.

.. math:: p(x) = \frac{\beta\gamma}{\beta+\gamma}
          \begin{cases} e^{-\beta(\theta-x)} & x \le \theta \\
                        e^{-\gamma(x-\theta)} & x > \theta \end{cases}

theta is the mode in raw score units; beta and gamma are the inverse scales left and right of it.
The mean is theta + 1/gamma - 1/beta, the variance 1/beta^2 + 1/gamma^2, and gamma/(beta + gamma)
of the scores lie below the mode.
Source: Bennett, SIGIR 2003, section 4.1 and dissertation, section 3.2.3.

The fit: for a mode theta with D_l, D_r the summed deviations left and right of it and N scores,
beta = N / (D_l + sqrt(D_l D_r)), gamma = N / (D_r + sqrt(D_l D_r)) (dissertation, eq. 3.13), and
the log-likelihood is N log N - N - 2 N log(sqrt(D_l) + sqrt(D_r)). Between neighbouring scores the
sum of roots is concave in theta, so the global maximum is at a score: one pass over the sorted
scores finds it. The floor under the scales keeps the profile concave there: it is a minimum over
scales of functions linear in theta.

Examples
--------
>>> logpdf([-1.0, 0.0, 1.0], 0.0, 1.0, 3.0).round(4)
array([-1.2877, -0.2877, -3.2877])
>>> round(float(logcdf(-800.0, 0.0, 1.0, 1.0)), 4), round(float(logsf(800.0, 0.0, 1.0, 1.0)), 4)
(-800.6931, -800.6931)
>>> round(float(cdf(0.0, 0.0, 1.0, 3.0)), 12), round(float(ppf(0.75, 0.0, 1.0, 3.0)), 12)
(0.75, 0.0)
>>> rvs(0.0, 1.0, 2.0, size=3, rng=1).shape
(3,)
>>> round(float(mean(0.0, 1.0, 0.5)), 12), round(float(variance(0.0, 1.0, 0.5)), 12)
(1.0, 5.0)
>>> result = fit([0.0, 1.0, 2.0, 4.0, 9.0], scale_floor=0.5)
>>> result.parameters["theta"], result.scale_floor.acted
(0.0, ('beta',))
"""

from numpy.typing import ArrayLike

from bayescal.families._density import Rng, Size
from bayescal.families._family import Family, Fit, ScaleFloorOption
from bayescal.support.validation import Floats


def logpdf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike) -> Floats:
    """
    Return the natural log of the density per score unit, given `theta`, `beta` and `gamma`.

    log(beta gamma/(beta + gamma)) - beta (theta - x) at scores `x` up to the mode, less gamma (x -
    theta) beyond (Bennett 2003, section 4.1).
    """
    return FAMILY.logpdf(x, theta, beta, gamma)


def cdf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike) -> Floats:
    """
    Return P(X <= x), given `theta`, `beta` and `gamma`.

    gamma/(beta + gamma) exp(-beta (theta - x)) at scores `x` up to the mode, 1 - beta/(beta +
    gamma) exp(-gamma (x - theta)) beyond.
    """
    return FAMILY.cdf(x, theta, beta, gamma)


def logcdf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike) -> Floats:
    """
    Return the natural log of P(X <= x), given `theta`, `beta` and `gamma`.

    The logarithm of `cdf` at scores `x`, accurate in both tails.
    """
    return FAMILY.logcdf(x, theta, beta, gamma)


def logsf(x: ArrayLike, theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike) -> Floats:
    """
    Return the natural log of P(X > x), given `theta`, `beta` and `gamma`.

    The logarithm of 1 - `cdf` at scores `x`, accurate in both tails.
    """
    return FAMILY.logsf(x, theta, beta, gamma)


def ppf(q: ArrayLike, theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike) -> Floats:
    """
    Return the quantile function, the inverse of `cdf`, given `theta`, `beta` and `gamma`.

    theta + log(q (beta + gamma)/gamma)/beta at probabilities `q` up to gamma/(beta + gamma), theta
    - log((1 - q) (beta + gamma)/beta)/gamma above; nan outside [0, 1].
    """
    return FAMILY.ppf(q, theta, beta, gamma)


def rvs(
    theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike, *, size: Size = None, rng: Rng = None
) -> Floats:
    """Draw scores given `theta`, `beta` and `gamma`, of shape `size`, by the seed `rng`."""
    return FAMILY.rvs(theta, beta, gamma, size=size, rng=rng)


def mean(theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike) -> Floats:
    """Return the mean, in raw score units, `theta` + 1/`gamma` - 1/`beta`."""
    return FAMILY.mean(theta, beta, gamma)


def variance(theta: ArrayLike, beta: ArrayLike, gamma: ArrayLike) -> Floats:
    """Return the variance, in squared score units, 1/`beta`^2 + 1/`gamma`^2, whatever `theta`."""
    return FAMILY.variance(theta, beta, gamma)


def fit(
    x: ArrayLike,
    sample_weight: ArrayLike | None = None,
    *,
    candidates: str = "exact",
    scale_floor: ScaleFloorOption = "auto",
) -> Fit:
    """
    Maximise the likelihood of raw scores, exactly.

    The global optimum over the mode, which is a score, with the inverse scales of the
    dissertation's eq. 3.13 at each mode (see the module). `x` has shape (n,); `sample_weight`
    counts each score, 1 by default, and N is its sum. `candidates` is "exact", or "bennett" for
    the paper's search, which tries the scores and nine points in each interval between them and
    is never better. `scale_floor` is the floor of each side's scale in score units: "auto" is
    1.5 spreads of `x` over sqrt(N); None is 1e-12 of the spread, which only keeps the density
    of equal scores finite.
    """
    return FAMILY.fit(x, sample_weight, candidates=candidates, scale_floor=scale_floor)


FAMILY = Family("asymmetric_laplace", ("theta", "beta", "gamma"), powers=(1, 1), symmetric=False)
