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

from __future__ import annotations

from bayescal.families._functions import two_sided_family

FAMILY = two_sided_family(
    "asymmetric_laplace",
    powers=(1, 1),
    parameters={
        "theta": "Mode, in raw score units.",
        "beta": "Inverse scale left of the mode.",
        "gamma": "Inverse scale right of the mode.",
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
