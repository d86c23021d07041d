"""The joint density of mode and share, scale integrated out, and its integral over the share.

For one class, standardised scores, D_l(theta), D_r(theta) the summed deviations (power 1) or
squared deviations (power 2) left and right of theta, w the share of the left side and s the
width, the likelihood is proportional to s^-N exp(-A/s) (Laplace) or s^-N exp(-A/s^2) (Gaussian),

    A = D_l/w + D_r/(1 - w)    or    A = D_l/(2 w^2) + D_r/(2 (1 - w)^2),

and the conjugate prior InverseGamma(a0, b0) of s or s^2 integrates s out:

    p(x | theta, w) = c^N b0^a0 Gamma(a) / (Gamma(a0) (b0 + A)^a),    a = a0 + N or a0 + N/2.

In v = logit(w) the log density is strictly concave (log of sums of exponentials of v), so Newton
finds its mode, and the trapezoid rule on a grid v = mode + h sinh(tau) integrates it: Gaussian
near the mode, exponential tails.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from bayescal.engines.exact.deviations import DeviationSums
from bayescal.validation import Floats

TAU = np.linspace(-3.5, 3.5, 21)
LOG_COSH = np.log(np.cosh(TAU))
NEWTON_STEPS = 12
LONGEST_STEP = 2.0
HALF_LOG_TWO_OVER_PI = 0.5 * math.log(2.0 / math.pi)


@dataclass(frozen=True)
class Prior:
    """
    Prior of one class, in standardised units; the names are those of the programs.

    Attributes
    ----------
    theta_scale : float
        theta ~ Normal(0, theta_scale).
    share_alpha, share_beta : float
        w ~ Beta(share_alpha, share_beta).
    symmetric : bool
        Whether w is 1/2 instead, as in the symmetric families.
    width_shape, width_scale : float
        s ~ InverseGamma(width_shape, width_scale), or s^2 ~ InverseGamma(width_shape,
        width_scale^2) for the Gaussian families.
    """

    theta_scale: float = 2.0
    share_alpha: float = 2.0
    share_beta: float = 2.0
    width_shape: float = 2.0
    width_scale: float = 1.0
    symmetric: bool = False


class JointDensity:
    """
    log p(x, theta, w) of one class.

    Parameters
    ----------
    sums : DeviationSums
        Of the standardised scores; their power decides between Laplace and Gaussian.
    prior : Prior
        Of the class.
    """

    def __init__(self, sums: DeviationSums, prior: Prior) -> None:
        self.sums, self.prior = sums, prior
        n = sums.total
        self.shape = prior.width_shape + n / sums.power
        self.scale = prior.width_scale**sums.power
        self.constant = (
            prior.width_shape * math.log(self.scale)
            + math.lgamma(self.shape)
            - math.lgamma(prior.width_shape)
            - math.log(prior.theta_scale)
            - 0.5 * math.log(2.0 * math.pi)
            + (n * HALF_LOG_TWO_OVER_PI if sums.power == 2 else 0.0)
        )
        if not prior.symmetric:
            self.constant -= float(special.betaln(prior.share_alpha, prior.share_beta))

    def log_density(self, theta: Floats, v: Floats, left: Floats, right: Floats) -> Floats:
        """Return log p(x, theta, v), v = logit(w), given D_l and D_r at theta."""
        out = self.constant - 0.5 * (theta / self.prior.theta_scale) ** 2
        if self.prior.symmetric:
            return out - self.shape * np.log(self.scale + self.spread(v, left, right))
        # With e = exp(-|v|), the smaller share is e/(1 + e): one exponential serves all.
        small = np.exp(-np.abs(v))
        whole = 1.0 + small
        larger, smaller = np.where(v > 0.0, (left, right), (right, left))
        spread = self._spread(larger, smaller, whole, whole / small)
        # The Jacobian w (1 - w) turns Beta's exponents a - 1 into a.
        exponents = self.prior.share_alpha + self.prior.share_beta
        beta = np.where(v > 0.0, self.prior.share_beta, self.prior.share_alpha)
        of_share: Floats = exponents * np.log(whole) + beta * np.abs(v)
        return out - self.shape * np.log(self.scale + spread) - of_share

    def spread(self, v: Floats, left: Floats, right: Floats) -> Floats:
        """Return A, the sum that the width's posterior adds to its scale."""
        return self._spread(left, right, 1.0 + np.exp(-v), 1.0 + np.exp(v))

    def _spread(self, one: Floats, other: Floats, inverse: Floats, other_inverse: Floats) -> Floats:
        """Return the same from the two sides and the inverses of their shares."""
        if self.sums.power == 1:
            return one * inverse + other * other_inverse
        return 0.5 * (one * inverse * inverse + other * other_inverse * other_inverse)

    def log_marginal(self, theta: Floats) -> Floats:
        """Return log p(x, theta), the share integrated out; shape of theta."""
        if self.prior.symmetric:
            return self.log_density(theta, np.zeros_like(theta), *self.sums(theta))
        _, step, values = self.on_share_grid(theta)
        top = values.max(axis=1)
        integral = np.exp(values - top[:, None]).sum(axis=1) * (TAU[1] - TAU[0])
        marginal: Floats = top + np.log(integral * step)
        return marginal

    def on_share_grid(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """
        Return mode and step of the grid v = mode + step sinh(tau) at each theta, and log p there.

        The log density is that of (theta, tau) less log(step), of shape (len(theta), len(TAU)).
        """
        left, right = self.sums(theta)
        mode, curvature = self._share_mode(left, right)
        step = 1.0 / np.sqrt(curvature)
        v = mode[:, None] + step[:, None] * np.sinh(TAU)
        values = self.log_density(theta[:, None], v, left[:, None], right[:, None])
        return mode, step, values + LOG_COSH

    def _share_mode(self, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        power = 1.0 / (self.sums.power + 1.0)
        # The likelihood's own best share, kept from 0 and 1 as the prior would.
        near_left, near_right = (left + self.scale) ** power, (right + self.scale) ** power
        v = np.log(near_left) - np.log(near_right)
        curvature = np.ones_like(v)
        for _ in range(NEWTON_STEPS):
            slope, curvature = self._derivatives(v, left, right)
            step = np.clip(slope / curvature, -LONGEST_STEP, LONGEST_STEP)
            v = v + step
            if np.all(np.abs(step) * np.sqrt(curvature) < 1e-3):
                break
        return v, self._derivatives(v, left, right)[1]

    def _derivatives(self, v: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Return the first derivative in v of the log density, and minus the second."""
        w, rest = special.expit(v), special.expit(-v)
        a, b, power = self.prior.share_alpha, self.prior.share_beta, self.sums.power
        if power == 1:
            p, q = left / w, right / rest
            second = p * rest + q * w
        else:
            p, q = 0.5 * left / w / w, 0.5 * right / rest / rest
            second = 2.0 * (p * rest * (1.0 + rest) + q * w * (1.0 + w))
        total = self.scale + p + q
        ratio = power * (q * w - p * rest) / total
        slope = a * rest - b * w - self.shape * ratio
        return slope, (a + b) * w * rest + self.shape * (second / total - ratio**2)
