"""References for the tests of families and fits, independent of the package's own formulas.

Densities come from scipy, tail probabilities from decimals of 60 digits, the best likelihood from
sums over all scores and a search over modes and scales that knows no closed form.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from scipy import stats

# Mode, left scale, right scale: skew of 1e3 to both sides, tiny and huge scores, a distant mode.
SHAPES = {
    "standard": (0.0, 1.0, 1.0),
    "narrow left": (1.75, 0.5, 2.0),
    "strong skew left": (-3.0, 1.0, 1e-3),
    "strong skew right": (-3.0, 1.0, 1e3),
    "distant": (1e6, 2.0, 0.3),
    "tiny": (1e-15, 3e-15, 1e-16),
    "tiniest": (0.0, 1e-150, 3e-150),
    "huge": (-2e99, 1e99, 5e98),
}
# The power of |x - theta| in the exponent.
POWERS = {"laplace": 1, "asymmetric_laplace": 1, "gaussian": 2, "asymmetric_gaussian": 2}
# The integral of exp(-z^power/power) over z > 0: side times it is a side's share of the width.
HALF_WIDTH = {1: 1.0, 2: np.sqrt(np.pi / 2.0)}
PARAMETERS = {
    "gaussian": ("mu", "sigma"),
    "laplace": ("theta", "beta"),
    "asymmetric_laplace": ("theta", "beta", "gamma"),
    "asymmetric_gaussian": ("theta", "sigma_left", "sigma_right"),
}
ASYMMETRIC = tuple(name for name in PARAMETERS if len(PARAMETERS[name]) == 3)


@dataclass(frozen=True)
class Row:
    """A family at a mode and two scales, in whose units deviations from the mode count as 1."""

    family: str
    name: str
    theta: float
    left: float
    right: float

    @property
    def parameters(self) -> tuple[float, ...]:
        return to_parameters(self.family, self.theta, self.left, self.right)

    @property
    def reference(self) -> Any:
        """Scipy's distribution, or the mixture of one for each side."""
        if self.family == "gaussian":
            return stats.norm(self.theta, self.left)
        if self.family == "laplace":
            return stats.laplace(self.theta, self.left)
        if self.family == "asymmetric_laplace":
            # scipy: exp(-kappa (x - loc)/scale) right, exp((x - loc)/(kappa scale)) left.
            scale, kappa = np.sqrt(self.left) * np.sqrt(self.right), np.sqrt(self.left / self.right)
            return Quiet(stats.laplace_asymmetric(kappa, loc=self.theta, scale=scale))
        return TwoSides(POWERS[self.family], self.theta, self.left, self.right)

    def at(self, z: Any) -> Any:
        """Return the scores at z scales from the mode: negative z on the left."""
        z = np.asarray(z, dtype=np.float64)
        return self.theta + z * np.where(z < 0.0, self.left, self.right)


class Quiet:
    """Scipy's asymmetric Laplace, which overflows on the side that it then discards."""

    def __init__(self, frozen):
        self.logpdf = frozen.logpdf
        self.cdf = np.errstate(over="ignore", invalid="ignore")(frozen.cdf)


class TwoSides:
    """A half-normal or exponential to the right, a reflected one to the left, alike at the mode."""

    def __init__(self, power, theta, left, right):
        self.theta = theta
        side = {1: stats.expon, 2: stats.halfnorm}[power]
        self.left, self.right = side(scale=left), side(scale=right)
        self.share_left, self.share_right = left / (left + right), right / (left + right)

    def logpdf(self, x):
        left = np.log(self.share_left) + self.left.logpdf(self.theta - x)
        right = np.log(self.share_right) + self.right.logpdf(x - self.theta)
        return np.where(x < self.theta, left, right)

    def cdf(self, x):
        left = self.share_left * self.left.sf(self.theta - x)
        return left + self.share_right * self.right.cdf(x - self.theta)


def to_parameters(family, theta, left, right):
    """Return a family's own parameters, in its order."""
    scales = [1.0 / scale if POWERS[family] == 1 else scale for scale in (left, right)]
    return (theta, *scales[: len(PARAMETERS[family]) - 1])


def to_scales(family, parameters):
    """Return (theta, left, right) of a fit's parameters."""
    theta, *scales = parameters.values()
    scales = [scales[0], scales[-1]]
    return theta, *(1 / s if POWERS[family] == 1 else s for s in scales)


def relative(expected, rel):
    """Return an approximation to a relative tolerance alone, without an absolute one."""
    return pytest.approx(expected, rel=rel, abs=0.0)


ROWS = [
    Row(family, name, theta, left, right)
    for family in PARAMETERS
    for name, (theta, left, right) in SHAPES.items()
    if family in ASYMMETRIC
] + [
    Row(family, name, theta, scale, scale)
    for family in PARAMETERS
    for name, (theta, scale, _) in SHAPES.items()
    if family not in ASYMMETRIC and "skew" not in name
]


# Decimals: exact to 60 digits, with exponents that do not end at 308.
DIGITS = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def exact_log_tails(row: Row, x: float) -> tuple[float, float]:
    """Return log P(X <= x) and log P(X > x)."""
    with localcontext(DIGITS):
        values = dict(zip(PARAMETERS[row.family], map(Decimal, row.parameters), strict=True))
        theta, left, right = to_scales(row.family, values)
        z = Decimal(float(x)) - theta
        side = left if z <= 0 else right
        tail = side / (left + right) * _side_tail(abs(z) / side, POWERS[row.family])
        # 1 - tail would end at its 60th digit.
        rest = (1 - tail).ln() if tail > Decimal("1e-20") else -tail - tail * tail / 2
        return (float(tail.ln()), float(rest)) if z <= 0 else (float(rest), float(tail.ln()))


def _side_tail(z: Decimal, power: int) -> Decimal:
    """Return the survival function of the standard exponential or half-normal."""
    if power == 1:
        return (-z).exp()
    height = (-z * z / 2).exp() * (2 / PI).sqrt()
    if z < 6:
        return 1 - height * _rising_series(z)
    fraction = z
    for k in range(600, 0, -1):  # Laplace's continued fraction z + 1/(z + 2/(z + 3/...))
        fraction = z + k / fraction
    return height / fraction


def _rising_series(z: Decimal) -> Decimal:
    """Return z + z^3/3 + z^5/(3 5) + ...: the integral of the density over its height."""
    total = term = z
    k = 1
    while term > total * Decimal("1e-62"):
        k += 2
        term *= z * z / k
        total += term
    return total


def log_likelihood(family, x, weight, theta, left, right):
    """Return the log-likelihood as a sum over scores, of the densities as the paper writes them."""
    power, scale = POWERS[family], np.where(x <= theta, left, right)
    height = 1.0 / (HALF_WIDTH[power] * (left + right))
    return float(np.sum(weight * (np.log(height) - (np.abs(x - theta) / scale) ** power / power)))


def brute_force(family, x, weight, floor):
    """Return the highest log-likelihood found over modes, and scales of at least `floor`."""
    knots = np.unique(x)
    if knots.size == 1:
        return profile(family, x, weight, knots, floor).max()
    thetas = np.interp(np.arange((knots.size - 1) * 12 + 1) / 12, np.arange(knots.size), knots)
    for _ in range(7):
        values = profile(family, x, weight, thetas, floor, rounds=30)
        order = np.argsort(values)[-6:]
        best, width = thetas[order], np.diff(np.sort(np.unique(thetas))).max()
        thetas = np.unique(np.concatenate([best, *(_around(thetas, i, width) for i in order)]))
    return profile(family, x, weight, thetas, floor).max()


def _around(thetas, i, width):
    low = thetas[i - 1] if i > 0 else thetas[i] - width / 12
    high = thetas[i + 1] if i + 1 < thetas.size else thetas[i] + width / 12
    return np.linspace(low, high, 13)


def profile(family, x, weight, thetas, floor, rounds=50):
    """Return the log-likelihood of each mode at its best scales.

    In the logs of the scales minus log-likelihood is convex, so that a grid around the best point
    of a grid twice as wide closes in on the minimum.
    """
    p, total = POWERS[family], weight.sum()
    deviation = x - thetas[:, None]
    left = np.sum(weight * np.maximum(-deviation, 0.0) ** p, axis=1)[:, None] / total / p
    right = np.sum(weight * np.maximum(deviation, 0.0) ** p, axis=1)[:, None] / total / p
    lowest, steps = np.log(floor), np.linspace(-1.0, 1.0, 7)
    symmetric = family not in ASYMMETRIC
    first, second = (steps, steps) if symmetric else map(np.ravel, np.meshgrid(steps, steps))
    half = 0.5 * (np.log(np.ptp(x) + floor) + 1.0 - lowest)
    a = b = np.full((thetas.size, 1), lowest + half)
    for _ in range(rounds):
        grid_a = np.maximum(a + half * first, lowest)
        grid_b = np.maximum(b + half * second, lowest)
        value = (
            np.log(HALF_WIDTH[p])
            + np.logaddexp(grid_a, grid_b)
            + left * np.exp(-p * grid_a)
            + right * np.exp(-p * grid_b)
        )
        best = np.argmin(value, axis=1)[:, None]
        a, b = np.take_along_axis(grid_a, best, 1), np.take_along_axis(grid_b, best, 1)
        half *= 0.6
    return -total * np.take_along_axis(value, best, 1)[:, 0]
