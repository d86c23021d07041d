r"""Families of score densities: numpy functions and exact maximum likelihood.

A family is a record, `Family`; its methods take its parameters in its own order. In all formulas
theta (mu for the Gaussian) is the mode in raw score units, D_l and D_r are the summed deviations
|x - theta| of the scores left and right of it, D_l2 and D_r2 the summed squares, N is the number of
scores, or the sum of their weights.

**gaussian** (mu, sigma): the normal density.

.. math:: p(x) = \frac{1}{\sigma\sqrt{2\pi}} e^{-(x-\mu)^2/(2\sigma^2)}

The fit: mu is the mean, sigma^2 = sum (x - mu)^2/N. Source: Bennett, SIGIR 2003, section 5 (the
symmetric baselines).

**laplace** (theta, beta): the same exponential on both sides of the mode.

.. math:: p(x) = \tfrac{\beta}{2} e^{-\beta|x-\theta|}

The variance is 2/beta^2. The fit: theta is the median, beta = N/sum |x - theta|. Source: as for
the Gaussian.

**asymmetric_laplace** (theta, beta, gamma): an exponential on each side of the mode.

.. math:: p(x) = \frac{\beta\gamma}{\beta+\gamma}
          \begin{cases} e^{-\beta(\theta-x)} & x \le \theta \\
                        e^{-\gamma(x-\theta)} & x > \theta \end{cases}

The mean is theta + 1/gamma - 1/beta, the variance 1/beta^2 + 1/gamma^2, and gamma/(beta + gamma)
of the scores lie below the mode. The fit: beta = N/(D_l + sqrt(D_l D_r)), gamma =
N/(D_r + sqrt(D_l D_r)), and the log-likelihood is N log N - N - 2 N log(sqrt(D_l) + sqrt(D_r)).
Between neighbouring scores the sum of roots is concave in theta, so the global maximum is at a
score: one pass over the sorted scores finds it. The floor under the scales keeps the profile
concave there: it is a minimum over scales of functions linear in theta. Source: Bennett, SIGIR
2003, section 4.1 and dissertation, section 3.2.3, eq. 3.13.

**asymmetric_gaussian** (theta, sigma_left, sigma_right): the two-piece normal, half a Gaussian on
each side of the mode.

.. math:: p(x) = \frac{2}{\sqrt{2\pi}(\sigma_l+\sigma_r)}
          \exp\left(-\frac{(x-\theta)^2}{2\sigma^2}\right),
          \quad \sigma = \sigma_l \text{ if } x \le \theta \text{ else } \sigma_r

The mean is theta + sqrt(2/pi) (sigma_right - sigma_left), the variance
(1 - 2/pi) (sigma_right - sigma_left)^2 + sigma_left sigma_right, and
sigma_left/(sigma_left + sigma_right) of the scores lie below the mode. The fit: sigma_left^2 =
(D_l2 + D_l2^(2/3) D_r2^(1/3))/N and sigma_right alike; the log-likelihood falls with cbrt(D_l2) +
cbrt(D_r2). Its optimum is usually between two scores, and there can be several local ones: bounds
discard intervals until the global one is left, to machine precision, in O(n log n). Source:
Bennett, SIGIR 2003, section 4.2; dissertation, section 3.2.3, eqs. 3.21-3.22.

Examples
--------
>>> gaussian.logpdf([-1.0, 0.0, 1.0], 0.0, 1.0).round(4)
array([-1.4189, -0.9189, -1.4189])
>>> laplace.fit([0.0, 2.0, 4.0], scale_floor=None).parameters
{'theta': 2.0, 'beta': 0.75}
>>> result = asymmetric_laplace.fit([0.0, 1.0, 2.0, 4.0, 9.0], scale_floor=0.5)
>>> result.parameters["theta"], result.scale_floor.acted
(0.0, ('beta',))
"""

from collections import UserDict

from bayescal.families._family import (
    Family,
    FamilyFit,
    ScaleFloor,
    ScaleFloorOption,
    automatic_floor,
)


class _Registry(UserDict[str, Family]):
    """Families by name; `parts` takes each name.

    All engines fit a family with the sides of one of the four under another name; NUTS needs its
    program, models/<name>.py. For other shapes use `bayescal.Density`.

    Examples
    --------
    >>> FAMILIES["tent"] = Family("tent", ("peak", "steepness"), power=1)
    >>> FAMILIES.pop("tent").symmetric
    True
    """

    def __setitem__(self, name: str, family: Family) -> None:
        if type(family) is not Family:
            raise TypeError(
                f"FAMILIES[{name!r}] must be a bayescal.families.Family, got"
                f" {type(family).__name__}: maximum likelihood and the exact and the pooled engine"
                " read nothing but its power. For a density of another shape use bayescal.Density."
            )
        if family.name != name:
            raise ValueError(
                f"FAMILIES[{name!r}] must be a family of this name, got {family.name!r}: register"
                " it under its own name."
            )
        super().__setitem__(name, family)


gaussian = Family("gaussian", ("mu", "sigma"), power=2)
laplace = Family("laplace", ("theta", "beta"), power=1)
asymmetric_laplace = Family("asymmetric_laplace", ("theta", "beta", "gamma"), power=1)
asymmetric_gaussian = Family("asymmetric_gaussian", ("theta", "sigma_left", "sigma_right"), power=2)
FAMILIES = _Registry(
    {f.name: f for f in (gaussian, laplace, asymmetric_laplace, asymmetric_gaussian)}
)

__all__ = [
    "FAMILIES",
    "Family",
    "FamilyFit",
    "ScaleFloor",
    "ScaleFloorOption",
    "asymmetric_gaussian",
    "asymmetric_laplace",
    "automatic_floor",
    "gaussian",
    "laplace",
]
