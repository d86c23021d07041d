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

from __future__ import annotations

from bayescal.families._functions import two_sided_family

FAMILY = two_sided_family(
    "laplace",
    powers=(1, 1),
    parameters={
        "theta": "Mode, in raw score units.",
        "beta": "Inverse scale of both sides.",
    },
)

logpdf = FAMILY.logpdf
cdf = FAMILY.cdf
logcdf = FAMILY.logcdf
logsf = FAMILY.logsf
ppf = FAMILY.ppf
rvs = FAMILY.rvs
mean = FAMILY.mean
variance = FAMILY.variance
fit = FAMILY.fit
