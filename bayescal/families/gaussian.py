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

from __future__ import annotations

from bayescal.families._functions import two_sided_family

FAMILY = two_sided_family(
    "gaussian",
    powers=(2, 2),
    parameters={
        "mu": "Mean, in raw score units.",
        "sigma": "Standard deviation, in score units.",
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
