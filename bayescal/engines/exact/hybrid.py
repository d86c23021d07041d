"""The joint density of the hybrid family: one side Gaussian, the other exponential.

For one class, standardised scores, D_2(theta) the summed squared deviations of the Gaussian side,
D_1(theta) the summed deviations of the exponential one, g the Gaussian side's share of the mass
and s the width 1/rate + sqrt(pi/2) sigma, the prior InverseGamma(a0, b0) of s makes

    p(x, s | theta, g) = b0^a0/Gamma(a0) s^-(M + 1) exp(-B/s - C/s^2),
    M = a0 + N,    B = b0 + D_1/(1 - g),    C = pi/4 D_2/g^2.

`width_integral` integrates s out. In (logit g, -log s) the log density is a linear function minus
exponentials of linear ones, so concave; its integral over s is concave in logit g too (Prekopa).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from bayescal.engines.exact.deviations import DeviationSums
from bayescal.engines.exact.joint import JointDensity, Prior
from bayescal.engines.exact.width_integral import WidthIntegral
from bayescal.families import side_units
from bayescal.validation import Floats

QUARTER_PI = 0.25 * math.pi


class HybridDensity(JointDensity):
    """
    log p(x, theta, w) of one class with a Gaussian side and an exponential one.

    Parameters
    ----------
    sums : DeviationSums
        Of the standardised scores; of powers (2, 1) or (1, 2).
    prior : Prior
        Of the class.
    """

    def __init__(self, sums: DeviationSums, prior: Prior) -> None:
        super().__init__(sums, prior)
        self.gaussian_left = sums.powers[0] == 2
        self.integral = WidthIntegral(prior.width_shape + sums.total)
        self.constant = (
            prior.width_shape * math.log(prior.width_scale)
            - math.lgamma(prior.width_shape)
            - self._log_normaliser
        )

    def log_density(self, theta: Floats, v: Floats, left: Floats, right: Floats) -> Floats:
        """Return log p(x, theta, v), v = logit(w), given the sums of deviations at theta."""
        inverse_left, inverse_right, of_share = self._of_share(v)
        b, c = self._coefficients(left, right, inverse_left, inverse_right)
        out = self.constant - 0.5 * (theta / self.prior.theta_scale) ** 2
        return out + self.integral.log(b, c) - of_share

    def draw_width(self, theta: Floats, v: Floats, rng: np.random.Generator) -> Floats:
        """Return a draw of the width for each theta and v."""
        b, c = self._coefficients(*self.sums(theta), 1.0 + np.exp(-v), 1.0 + np.exp(v))
        return self.integral.draw(b, c, rng)

    def _coefficients(
        self, left: Floats, right: Floats, inverse_left: Floats, inverse_right: Floats
    ) -> tuple[Floats, Floats]:
        """Return B and C from the sums and the inverses of the shares."""
        if not self.gaussian_left:
            left, right, inverse_left, inverse_right = right, left, inverse_right, inverse_left
        b = self.prior.width_scale + right * inverse_right
        return b, QUARTER_PI * left * inverse_left * inverse_left

    def _first_share(self, left: Floats, right: Floats) -> Floats:
        squares, deviations = (left, right) if self.gaussian_left else (right, left)
        unit, shape = self.prior.width_scale, self.integral.shape
        # The ratio of each side's width were it alone: near enough for Newton.
        sigma = np.sqrt((squares + unit * unit) / shape)
        first = np.log(max(side_units(self.sums.powers)) * sigma)
        first -= np.log((deviations + unit) / shape)
        return first if self.gaussian_left else -first

    def _derivatives(self, v: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """
        Return the first derivative in v and minus the second, of the likelihood's best log over s.

        The integral's own derivatives differ by little, and the grid needs no more. With x = 1/s
        at the best width, P = D_1 x/(1 - g), Q = C x^2 and u = logit(g): L_u = 2 (1 - g) Q - g P,
        -L_uu = g P + 2 (1 - g) (2 - g) Q, L_ux x = 4 (1 - g) Q - g P, -L_xx x^2 = M + 2 Q.
        """
        w, rest = special.expit(v), special.expit(-v)
        b, c = self._coefficients(left, right, 1.0 / w, 1.0 / rest)
        g, h = (w, rest) if self.gaussian_left else (rest, w)
        x = self.integral.mode(b, c)
        p, q = (b - self.prior.width_scale) * x * g, c * x * x
        slope, mixed = 2.0 * h * q - p, 4.0 * h * q - p
        curvature = p + 2.0 * h * (1.0 + h) * q - mixed**2 / (self.integral.shape + 2.0 * q)
        return slope if self.gaussian_left else -slope, curvature
