"""The joint density of families with sides of one kind, whose width's prior is conjugate.

For one class, standardised scores, D_l(theta), D_r(theta) the summed deviations (power 1) or
squared deviations (power 2) left and right of theta, w the share of the left side and s the
width, the likelihood is proportional to s^-N exp(-A/s) (Laplace) or s^-N exp(-A/s^2) (Gaussian),

    A = D_l/w + D_r/(1 - w)    or    A = D_l/(2 w^2) + D_r/(2 (1 - w)^2),

and the conjugate prior InverseGamma(a0, b0) of s or s^2 integrates s out:

    p(x | theta, w) = c^N b0^a0 Gamma(a) / (Gamma(a0) (b0 + A)^a),    a = a0 + N or a0 + N/2,

in v = logit(w) the log of a sum of exponentials, which is concave.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from bayescal.engines.exact.deviations import DeviationSums
from bayescal.engines.exact.joint import JointDensity, Prior
from bayescal.validation import Floats

HALF_LOG_TWO_OVER_PI = 0.5 * math.log(2.0 / math.pi)


class ConjugateDensity(JointDensity):
    """
    log p(x, theta, w) of one class, both of whose sides are exponential or both Gaussian.

    Parameters
    ----------
    sums : DeviationSums
        Of the standardised scores; their powers decide between Laplace and Gaussian.
    prior : Prior
        Of the class.
    """

    def __init__(self, sums: DeviationSums, prior: Prior) -> None:
        super().__init__(sums, prior)
        n, self.power = sums.total, sums.powers[0]
        self.shape = prior.width_shape + n / self.power
        self.scale = prior.width_scale**self.power
        self.constant = (
            prior.width_shape * math.log(self.scale)
            + math.lgamma(self.shape)
            - math.lgamma(prior.width_shape)
            - self._log_normaliser
            + (n * HALF_LOG_TWO_OVER_PI if self.power == 2 else 0.0)
        )

    def log_density(self, theta: Floats, v: Floats, left: Floats, right: Floats) -> Floats:
        """Return log p(x, theta, v), v = logit(w), given D_l and D_r at theta."""
        out = self.constant - 0.5 * (theta / self.prior.theta_scale) ** 2
        if self.prior.symmetric:
            return out - self.shape * np.log(self.scale + self.spread(v, left, right))
        inverse_left, inverse_right, of_share = self._of_share(v)
        spread = self._spread(left, right, inverse_left, inverse_right)
        return out - self.shape * np.log(self.scale + spread) - of_share

    def spread(self, v: Floats, left: Floats, right: Floats) -> Floats:
        """Return A, the sum that the width's posterior adds to its scale."""
        return self._spread(left, right, 1.0 + np.exp(-v), 1.0 + np.exp(v))

    def draw_width(self, theta: Floats, v: Floats, rng: np.random.Generator) -> Floats:
        """Return a draw of the width for each theta and v: its posterior is the prior's kind."""
        scale = self.scale + self.spread(v, *self.sums(theta))
        inverse_gamma = scale / rng.standard_gamma(self.shape, theta.size)
        width: Floats = inverse_gamma if self.power == 1 else np.sqrt(inverse_gamma)
        return width

    def _spread(
        self, left: Floats, right: Floats, inverse_left: Floats, inverse_right: Floats
    ) -> Floats:
        """Return the same from the inverses of the shares."""
        if self.power == 1:
            return left * inverse_left + right * inverse_right
        squares = left * inverse_left * inverse_left + right * inverse_right * inverse_right
        return 0.5 * squares

    def _first_share(self, left: Floats, right: Floats) -> Floats:
        power = 1.0 / (self.power + 1.0)
        first: Floats = power * (np.log(left + self.scale) - np.log(right + self.scale))
        return first

    def _derivatives(self, v: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        w, rest = special.expit(v), special.expit(-v)
        if self.power == 1:
            p, q = left / w, right / rest
            second = p * rest + q * w
        else:
            p, q = 0.5 * left / w / w, 0.5 * right / rest / rest
            second = 2.0 * (p * rest * (1.0 + rest) + q * w * (1.0 + w))
        total = self.scale + p + q
        ratio = self.power * (q * w - p * rest) / total
        return -self.shape * ratio, self.shape * (second / total - ratio**2)
