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

from __future__ import annotations

from bayescal.families._functions import two_sided_family

FAMILY = two_sided_family(
    "asymmetric_gaussian",
    powers=(2, 2),
    parameters={
        "theta": "Mode, in raw score units.",
        "sigma_left": "Scale left of the mode, in score units.",
        "sigma_right": "Scale right of the mode, in score units.",
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
