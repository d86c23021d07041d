"""The joint density of mode and share, width integrated out, and its integral over the share.

In v = logit(w), w the share of the mass left of the mode, the log density is strictly concave: so
Newton finds its mode, and the trapezoid rule on a grid v = mode + h sinh(tau) integrates it,
Gaussian near the mode, exponential tails.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import special

from bayescal.engines.exact.deviations import DeviationSums
from bayescal.validation import Floats

TAU = np.linspace(-3.5, 3.5, 21)
LOG_COSH = np.log(np.cosh(TAU))
NEWTON_STEPS = 12
LONGEST_STEP = 2.0
# Of shares: beyond there is no mass, and inverses and their squares must not overflow.
LARGEST_LOGIT = 300.0


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
        width_scale^2) where both sides are Gaussian.
    """

    theta_scale: float = 2.0
    share_alpha: float = 2.0
    share_beta: float = 2.0
    width_shape: float = 2.0
    width_scale: float = 1.0
    symmetric: bool = False


class JointDensity(ABC):
    """
    log p(x, theta, w) of one class.

    Parameters
    ----------
    sums : DeviationSums
        Of the standardised scores; their powers decide between the families.
    prior : Prior
        Of the class.
    """

    def __init__(self, sums: DeviationSums, prior: Prior) -> None:
        self.sums, self.prior = sums, prior

    @abstractmethod
    def log_density(self, theta: Floats, v: Floats, left: Floats, right: Floats) -> Floats:
        """Return log p(x, theta, v), v = logit(w), given the sums of deviations at theta."""

    @abstractmethod
    def draw_width(self, theta: Floats, v: Floats, rng: np.random.Generator) -> Floats:
        """Return a draw of the width for each theta and v."""

    @abstractmethod
    def _first_share(self, left: Floats, right: Floats) -> Floats:
        """Return where Newton starts: the likelihood's best v, kept from infinity by the prior."""

    @abstractmethod
    def _derivatives(self, v: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Return the first derivative in v of the log likelihood, and minus the second."""

    @property
    def _log_normaliser(self) -> float:
        """Return the log of what the priors of theta and w divide by."""
        normal = math.log(self.prior.theta_scale) + 0.5 * math.log(2.0 * math.pi)
        if self.prior.symmetric:
            return normal
        return normal + float(special.betaln(self.prior.share_alpha, self.prior.share_beta))

    def _of_share(self, v: Floats) -> tuple[Floats, Floats, Floats]:
        """Return 1/w, 1/(1 - w), and minus the log of Beta's density of v up to a constant."""
        # With e = exp(-|v|), the smaller share is e/(1 + e): one exponential serves all.
        small = np.exp(-np.minimum(np.abs(v), LARGEST_LOGIT))
        whole = 1.0 + small
        rising, of_smaller = v > 0.0, whole / small
        inverse_left = np.where(rising, whole, of_smaller)
        inverse_right = np.where(rising, of_smaller, whole)
        # The Jacobian w (1 - w) turns Beta's exponents a - 1 into a.
        exponents = self.prior.share_alpha + self.prior.share_beta
        beta = np.where(rising, self.prior.share_beta, self.prior.share_alpha)
        return inverse_left, inverse_right, exponents * np.log(whole) + beta * np.abs(v)

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
        v = self._first_share(left, right)
        curvature = np.ones_like(v)
        for _ in range(NEWTON_STEPS):
            slope, curvature = self._posterior_derivatives(v, left, right)
            step = np.clip(slope / curvature, -LONGEST_STEP, LONGEST_STEP)
            v = v + step
            if np.all(np.abs(step) * np.sqrt(curvature) < 1e-3):
                break
        return v, self._posterior_derivatives(v, left, right)[1]

    def _posterior_derivatives(
        self, v: Floats, left: Floats, right: Floats
    ) -> tuple[Floats, Floats]:
        w, rest = special.expit(v), special.expit(-v)
        a, b = self.prior.share_alpha, self.prior.share_beta
        slope, curvature = self._derivatives(v, left, right)
        return a * rest - b * w + slope, (a + b) * w * rest + curvature
