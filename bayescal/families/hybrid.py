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
"""

from __future__ import annotations

from bayescal.families._functions import two_sided_family

FAMILY = two_sided_family(
    "hybrid",
    powers=(2, 1),
    parameters={
        "theta": "Mode, in raw score units.",
        "rate": "Inverse scale of the exponential side.",
        "sigma": "Scale of the Gaussian side, in score units.",
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
