"""The joint density of mode and share, width integrated out, and its integral over the share.

In v = logit(w), w the share of the mass left of the mode, the log density is strictly concave:
Newton's method finds its mode, and the trapezoid rule on a grid v = mode + h sinh(tau) integrates
it, with its Gaussian core and exponential tails.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
from scipy import special

from bayescal.families import Family
from bayescal.families._profile import deviation_sums, sort_scores
from bayescal.support.validation import Floats, check_positive


class DeviationSums:
    """D_l(theta), D_r(theta): sums of w |x - theta|^power left and right of any theta."""

    def __init__(self, x: Floats, weight: Floats | None, power: int) -> None:
        self.power = power
        self.total = 0.0
        self.scores = x[:0]
        if x.size and (weight is None or weight.any()):
            self._sums = deviation_sums(sort_scores(x, weight), power)
            self.scores, self.total = self._sums.scores.x, self._sums.scores.total

    def __call__(self, theta: Floats) -> tuple[Floats, Floats]:
        """Return D_l and D_r at modes of any shape."""
        if self.total == 0.0:
            return np.zeros_like(theta), np.zeros_like(theta)
        inside = np.clip(theta, self.scores[0], self.scores[-1])
        left, right = self._inside(inside)
        # Beyond the scores one side is empty and the other one shifts as a whole.
        below, above = np.maximum(inside - theta, 0.0), np.maximum(theta - inside, 0.0)
        unit = self._sums.scores.unit
        return (
            self._moved(left, above, self._sums.left.absolute[-1] * unit),
            self._moved(right, below, self._sums.right.absolute[0] * unit),
        )

    def quantiles(self, most: int) -> Floats:
        """Return `most` scores at even levels of their weight, including both ends."""
        if self.total == 0.0:
            return self.scores
        # By weight, not by position: a weight of 2 is a repetition.
        level = np.linspace(0.0, self.total, most)
        picked = np.searchsorted(self._sums.scores.before, level).clip(max=self.scores.size - 1)
        return np.asarray(self.scores[picked])

    def _inside(self, theta: Floats) -> tuple[Floats, Floats]:
        sums, ordered = self._sums, self.scores
        if ordered.size == 1:
            return np.zeros_like(theta), np.zeros_like(theta)
        index = np.searchsorted(ordered, theta, side="right") - 1
        index = np.minimum(index, ordered.size - 2)
        gap = ordered[index + 1] - ordered[index]
        share = np.divide(theta - ordered[index], gap, out=np.ones_like(theta), where=gap > 0.0)
        left, right = sums.between(index, share)
        unit = sums.scores.unit**self.power
        return left * unit, right * unit

    def _moved(self, at_end: Floats, distance: Floats, moment: float) -> Floats:
        """Return the sum after a shift by a distance, given the moment of power 1."""
        if self.power == 1:
            return at_end + self.total * distance
        return np.asarray(at_end + distance * (2.0 * moment + distance * self.total))


TAU = np.linspace(-3.5, 3.5, 21)
LOG_COSH = np.log(np.cosh(TAU))
NEWTON_STEPS = 12
LONGEST_STEP = 2.0
# More extreme shares have no mass, and squares of their inverses would overflow.
LARGEST_LOGIT = 200.0


@dataclass(frozen=True)
class DensityPrior:
    """Prior of one class, in standardised units, with the programs' names."""

    theta_scale: float = 2.0  # theta ~ Normal(0, theta_scale)
    share_alpha: float = 2.0  # w ~ Beta(share_alpha, share_beta)
    share_beta: float = 2.0
    # s ~ InverseGamma(width_shape, width_scale); for Gaussian sides
    # s^2 ~ InverseGamma(width_shape, width_scale^2)
    width_shape: float = 2.0
    width_scale: float = 1.0
    symmetric: bool = False  # whether w is fixed at 1/2


HALF_LOG_TWO_OVER_PI = 0.5 * math.log(2.0 / math.pi)


class JointDensity:
    """log p(x, theta, w) of one class.

    For standardised scores, D_l(theta), D_r(theta) the summed deviations (power 1) or squared
    deviations (power 2) left and right of theta, w the share of the left side and s the width, the
    likelihood is proportional to s^-N exp(-A/s) (Laplace) or s^-N exp(-A/s^2) (Gaussian),

        A = D_l/w + D_r/(1 - w)    or    A = D_l/(2 w^2) + D_r/(2 (1 - w)^2),

    and the conjugate prior InverseGamma(a0, b0) of s or s^2 integrates s out:

        p(x | theta, w) = c^N b0^a0 Gamma(a) / (Gamma(a0) (b0 + A)^a),    a = a0 + N or a0 + N/2,

    in v = logit(w) the log of a sum of exponentials, which is concave.
    """

    def __init__(self, sums: DeviationSums, prior: DensityPrior) -> None:
        self.sums, self.prior = sums, prior
        n, self.power = sums.total, sums.power
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
        """Return a draw of the width for each theta and v, from the conjugate posterior."""
        scale = self.scale + self.spread(v, *self.sums(theta))
        inverse_gamma = scale / rng.standard_gamma(self.shape, theta.size)
        return np.asarray(inverse_gamma if self.power == 1 else np.sqrt(inverse_gamma))

    def _spread(
        self, left: Floats, right: Floats, inverse_left: Floats, inverse_right: Floats
    ) -> Floats:
        """Return A from the inverses of the shares."""
        if self.power == 1:
            return left * inverse_left + right * inverse_right
        squares = left * inverse_left * inverse_left + right * inverse_right * inverse_right
        return 0.5 * squares

    @property
    def _log_normaliser(self) -> float:
        """Return the log of the normalising constants of the priors of theta and w."""
        normal = math.log(self.prior.theta_scale) + 0.5 * math.log(2.0 * math.pi)
        if self.prior.symmetric:
            return normal
        return normal + float(special.betaln(self.prior.share_alpha, self.prior.share_beta))

    def _of_share(self, v: Floats) -> tuple[Floats, Floats, Floats]:
        """Return 1/w, 1/(1 - w), and minus the log of Beta's density of v up to a constant."""
        # With e = exp(-|v|), the smaller share is e/(1 + e): one exponential suffices.
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
        return np.asarray(top + np.log(integral * step))

    def on_share_grid(self, theta: Floats) -> tuple[Floats, Floats, Floats]:
        """Return mode and step of v = mode + step sinh(tau) at each theta, and log p - log step."""
        left, right = self.sums(theta)
        mode, curvature = self._share_mode(left, right)
        step = 1.0 / np.sqrt(curvature)
        v = mode[:, None] + step[:, None] * np.sinh(TAU)
        values = self.log_density(theta[:, None], v, left[:, None], right[:, None])
        return mode, step, values + LOG_COSH

    def _share_mode(self, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        # Start from the likelihood's best v, bounded by the prior.
        v = (np.log(left + self.scale) - np.log(right + self.scale)) * (1.0 / (self.power + 1.0))
        curvature = np.ones_like(v)
        for _ in range(NEWTON_STEPS):
            slope, curvature = self._derivatives(v, left, right)
            step = np.clip(slope / curvature, -LONGEST_STEP, LONGEST_STEP)
            v = v + step
            if np.all(np.abs(step) * np.sqrt(curvature) < 1e-3):
                break
        return v, self._derivatives(v, left, right)[1]

    def _derivatives(self, v: Floats, left: Floats, right: Floats) -> tuple[Floats, Floats]:
        """Return the first derivative in v of log p, and minus the second."""
        w, rest = special.expit(v), special.expit(-v)
        if self.power == 1:
            p, q = left / w, right / rest
            second = p * rest + q * w
        else:
            p, q = 0.5 * left / w / w, 0.5 * right / rest / rest
            second = 2.0 * (p * rest * (1.0 + rest) + q * w * (1.0 + w))
        total = self.scale + p + q
        ratio = self.power * (q * w - p * rest) / total
        a, b = self.prior.share_alpha, self.prior.share_beta
        slope: Floats = a * rest - b * w - self.shape * ratio
        curvature = (a + b) * w * rest + self.shape * (second / total - ratio**2)
        return slope, curvature


@dataclass(frozen=True)
class Hyperparameters:
    """The programs' keyword arguments, with their defaults; see models/."""

    centre: float
    spread: float
    theta_scale: float = 2.0
    share_alpha: float = 2.0
    share_beta: float = 2.0
    width_shape: float = 2.0
    width_scale: float = 1.0
    prior_alpha: float = 1.0
    prior_beta: float = 1.0

    def prior_of(self, family: Family) -> DensityPrior:
        """Return a class's prior in standardised units."""
        return DensityPrior(
            theta_scale=self.theta_scale,
            share_alpha=self.share_alpha,
            share_beta=self.share_beta,
            width_shape=self.width_shape,
            width_scale=self.width_scale,
            symmetric=family.symmetric,
        )


def resolve(
    families: tuple[Family, ...],
    centre_and_spread: tuple[float, float],
    hyperparameters: Mapping[str, float] | None,
) -> Hyperparameters:
    """Return the users' hyperparameters, with defaults for the others."""
    known = [field.name for field in fields(Hyperparameters)]
    if all(family.symmetric for family in families):
        known = [name for name in known if not name.startswith("share")]
    unknown = sorted(set(hyperparameters or {}) - set(known))
    if unknown:
        raise ValueError(
            f"hyperparameters of family {', '.join(repr(f.name) for f in families)} are"
            f" {', '.join(known)}; got {', '.join(map(repr, unknown))}."
        )
    centre, spread = centre_and_spread
    usual = {"centre": centre, "spread": spread}
    settings = Hyperparameters(**(usual | dict(hyperparameters or {})))
    check_positive(**{name: getattr(settings, name) for name in known if name != "centre"})
    if not math.isfinite(settings.centre):
        raise ValueError(f"centre must be finite, got {settings.centre}.")
    return settings
