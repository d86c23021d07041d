r"""A family of densities with one mode, and its fit by maximum likelihood.

The densities have the mode theta, the power p and a scale on either side:

.. math:: p(x) = \frac{1}{Z} e^{-z^p/p}, \quad z = \frac{|x - \theta|}{\text{scale}},
          \quad Z = c\,(\text{left} + \text{right})

with the scale of the side that x is on; p is 1 for exponential sides, 2 for Gaussian ones. The mass
of a side is c scale/Z, c = 1 or sqrt(pi/2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import compress
from numbers import Real
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.families import _profile
from bayescal.families._profile import HALF_WIDTH, Profile, Sums
from bayescal.support.numerics import centre_and_spread, median
from bayescal.support.validation import Floats, as_reals, as_scores, check_choice, check_positive
from bayescal.support.weighting import as_weights

Number = TypeVar("Number", float, Floats)
Rng = np.random.Generator | int | None
Size = int | tuple[int, ...] | None
# The mean of z and of z^2 on a side of power p.
MEAN_DISTANCE = {1: 1.0, 2: math.sqrt(2.0 / math.pi)}
MEAN_SQUARE = {1: 2.0, 2: 1.0}


@dataclass(frozen=True)
class ScaleFloor:
    """The floor under each side's scale, and its effect.

    Attributes
    ----------
    name : str
        "scale_floor", or "off" when only Bennett's very large inverse scale is left.
    floor : float
        The smallest scale allowed, in raw score units.
    acted : tuple of str
        The parameters whose scales would be below the floor without it.
    """

    name: str
    floor: float
    acted: tuple[str, ...]


@dataclass(frozen=True)
class FamilyFit:
    """A maximum-likelihood fit.

    Attributes
    ----------
    parameters : dict of str to float
        The family's parameters by name, in the family's order.
    log_likelihood : float
        Natural log of the (weighted) likelihood at the parameters.
    weight : float
        Number of scores, or the sum of their weights.
    scale_floor : ScaleFloor
        The floor against degenerate optima, and whether it acted.
    """

    parameters: dict[str, float]
    log_likelihood: float
    weight: float
    scale_floor: ScaleFloor


@dataclass(frozen=True)
class Family:
    """A family of densities with one mode: its methods take scores in raw score units.

    Its methods' formulas are those of `bayescal.families`, in natural logarithms. Engines fit a
    family by its power alone, so it cannot be subclassed: for another shape use
    `bayescal.Density`, which takes any PyMC distribution.

    Attributes
    ----------
    name : str
        The name in the registry, also of its program in models/.
    parameters : tuple of str
        The mode, then one parameter for equal sides or one for each side; every method takes them
        in this order.
    power : int
        p of exp(-(distance/side)^p), up to factors: 1 for exponential sides, whose parameters are
        the rates 1/side, 2 for Gaussian ones, whose parameters are sigmas.
    """

    name: str
    parameters: tuple[str, ...]
    power: int

    def __post_init__(self) -> None:
        if self.power not in HALF_WIDTH:
            raise ValueError(
                "power must be 1 for exponential sides or 2 for Gaussian ones, got"
                f" {self.power}: only these powers are implemented. For a density of another shape"
                " use bayescal.Density."
            )
        if len(self.parameters) not in (2, 3):
            raise ValueError(
                "parameters must be a mode and one for each side, or one for equal sides, got"
                f" {self.parameters}."
            )

    def __init_subclass__(cls) -> None:
        raise TypeError(
            f"{cls.__name__} cannot be a subclass of Family: maximum likelihood and the exact and"
            " the pooled engine read its power, not methods, and would fit another density. Use"
            " bayescal.Density, which NUTS and inference='map' fit."
        )

    @property
    def symmetric(self) -> bool:
        """Whether both sides are the same."""
        return len(self.parameters) == 2

    def density(self, *parameters: ArrayLike, **named: ArrayLike) -> TwoSided:
        """Return the density at parameters in the family's order, or by name, which broadcast."""
        names = self.parameters[len(parameters) :]
        if set(named) != set(names) or len(parameters) > len(self.parameters):
            raise TypeError(
                f"{self.name} takes {', '.join(self.parameters)}; got {len(parameters)} by position"
                f" and {', '.join(named) or 'none'} by name."
            )
        own = (*parameters, *(named[name] for name in names))
        values = [as_reals(each, name) for name, each in zip(self.parameters, own, strict=True)]
        check_positive(**dict(zip(self.parameters[1:], values[1:], strict=True)))
        return TwoSided(*self.sides(*values), self.power)

    def logpdf(self, x: ArrayLike, *parameters: ArrayLike, **named: ArrayLike) -> Floats:
        """Return the log of the density at scores."""
        return self.density(*parameters, **named).logpdf(x)

    def cdf(self, x: ArrayLike, *parameters: ArrayLike, **named: ArrayLike) -> Floats:
        """Return P(X <= x) at scores."""
        return self.density(*parameters, **named).cdf(x)

    def logcdf(self, x: ArrayLike, *parameters: ArrayLike, **named: ArrayLike) -> Floats:
        """Return log P(X <= x) at scores."""
        return self.density(*parameters, **named).logcdf(x)

    def logsf(self, x: ArrayLike, *parameters: ArrayLike, **named: ArrayLike) -> Floats:
        """Return log P(X > x) at scores."""
        return self.density(*parameters, **named).logsf(x)

    def ppf(self, q: ArrayLike, *parameters: ArrayLike, **named: ArrayLike) -> Floats:
        """Return the quantiles at probabilities, the inverse of `cdf`."""
        return self.density(*parameters, **named).ppf(q)

    def rvs(
        self, *parameters: ArrayLike, size: Size = None, rng: Rng = None, **named: ArrayLike
    ) -> Floats:
        """Draw scores, of shape `size`, by the seed `rng`."""
        return self.density(*parameters, **named).rvs(size, rng)

    def mean(self, *parameters: ArrayLike, **named: ArrayLike) -> Floats:
        """Return the mean, in score units."""
        return self.density(*parameters, **named).mean()

    def variance(self, *parameters: ArrayLike, **named: ArrayLike) -> Floats:
        """Return the variance, in squared score units."""
        return self.density(*parameters, **named).variance()

    def fit(
        self,
        x: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        candidates: str = "exact",
        scale_floor: ScaleFloorOption = "auto",
    ) -> FamilyFit:
        """Return the exact maximum of the likelihood; `bayescal.families` has the formulas.

        Parameters
        ----------
        x : array-like of shape (n,)
            Scores.
        sample_weight : array-like of shape (n,), optional
            How often each score counts; 1 by default.
        candidates : {"exact", "bennett"}
            "bennett" is the paper's search, which tries the scores and nine points in each interval
            between them and is never better. Symmetric fits are closed forms.
        scale_floor : "auto", float or None
            The floor under each side's scale, in score units. "auto" is 1.5 spreads of `x` over
            sqrt(N); None is 1e-12 of the spread, which only keeps the density of equal scores
            finite.
        """
        check_choice("candidates", candidates, CANDIDATES)
        raw = as_scores(x, "x")
        weight = as_weights(sample_weight, raw.size)
        if weight is not None:
            raw, weight = raw[weight > 0.0], weight[weight > 0.0]
        total = float(raw.size) if weight is None else float(weight.sum())
        resolved = resolve_scale_floor(scale_floor, raw, weight)
        if self.symmetric:
            best = _fit_symmetric(self.power, raw, weight, total, resolved.floor)
        else:
            best = _fit_sides(self.power, raw, weight, candidates, resolved.floor)
        values = self.from_sides(best.theta, best.left, best.right)
        parameters = dict(zip(self.parameters, values, strict=True))
        acted = tuple(compress(self.parameters[1:], best.below))
        return FamilyFit(parameters, best.log_likelihood, total, replace(resolved, acted=acted))

    def from_sides(self, theta: Number, left: Number, right: Number) -> tuple[Number, ...]:
        """Return the family's parameters for a mode and two sides.

        Sides are mean distances, 1/rate, for power 1, and sigmas for power 2; a symmetric family
        uses the left one.
        """
        values = theta, self._inverted(left), self._inverted(right)
        return values[: len(self.parameters)]

    def sides(self, *parameters: Number) -> tuple[Number, Number, Number]:
        """Return mode, left and right side of parameters; the inverse of `from_sides`."""
        return parameters[0], self._inverted(parameters[1]), self._inverted(parameters[-1])

    def _inverted(self, side: Number) -> Number:
        """Convert between rates and mean distances; leave sigmas unchanged."""
        return 1.0 / side if self.power == 1 else side


# Maximum likelihood of every family, with a floor under each side's scale.
#
# Symmetric families have closed forms. For others `_profile.py` has the best scales at every
# candidate for the mode, and the narrowest candidate wins: a score or, if sides are Gaussian, a
# point between two scores.
#
# With few scores the likelihood often peaks at the smallest or largest of them: one side is empty,
# its scale 0, and the calibrated probability exactly 0 or 1 beyond the mode. With one score, or all
# equal, the likelihood is unbounded. So the fit maximises over scales of at least the floor.

CANDIDATES = ("exact", "bennett")
ScaleFloorOption = float | Literal["auto"] | None
# Chosen by held-out log-loss on calibration data: studies/scale_floor.py.
FLOOR_FACTOR = 1.5
# "Off" still needs Bennett's "very large constant" for an inverse scale whose side is empty.
OFF_FRACTION = 1e-12
# The inverse of a smaller scale would be infinite.
LEAST = 1e-300


def automatic_floor(spread: float, n: float, factor: float = FLOOR_FACTOR) -> float:
    """Return the floor under each side's scale, factor * spread / sqrt(n), in raw score units.

    It falls with n, so that the fit remains consistent.

    Parameters
    ----------
    spread : float
        The robust spread of the scores (in calibration, of both classes pooled).
    n : float
        Number of the scores fitted, or the sum of their weights.
    factor : float
        Positive.
    """
    return factor * spread / math.sqrt(n)


def resolve_scale_floor(
    scale_floor: ScaleFloorOption, x: Floats, weight: Floats | None
) -> ScaleFloor:
    """Turn the `scale_floor` argument of a fit into a floor in raw score units."""
    if scale_floor is None:
        return ScaleFloor("off", max(OFF_FRACTION * centre_and_spread(x, weight)[1], LEAST), ())
    if isinstance(scale_floor, str) and scale_floor == "auto":
        n = float(x.size) if weight is None else float(weight.sum())
        floor = automatic_floor(centre_and_spread(x, weight)[1], n)
        return ScaleFloor("scale_floor", max(floor, LEAST), ())
    value: Any = scale_floor
    number = isinstance(value, Real) and not isinstance(value, bool)
    if not number or not 0.0 < float(value) < math.inf:
        raise ValueError(
            "scale_floor must be 'auto', None (off) or a positive floor in score units, got"
            f" {scale_floor!r}."
        )
    return ScaleFloor("scale_floor", float(scale_floor), ())


@dataclass(frozen=True)
class SidesFit:
    """The best mode and scales, in raw score units; `below` marks scales that need the floor."""

    theta: float
    left: float
    right: float
    log_likelihood: float
    below: tuple[bool, bool] = (False, False)


def _fit_symmetric(
    power: int, x: Floats, weight: Floats | None, total: float, floor: float
) -> SidesFit:
    """Return the median and the mean deviation (power 1), or mean and standard deviation (2)."""
    if power == 1:
        theta = median(x, weight)
        free = float(np.average(np.abs(x - theta), weights=weight))
    else:
        # Relative to a score, so that the mean of equal scores is exact.
        theta = float(x[0] + np.average(x - x[0], weights=weight))
        deviation = np.abs(x - theta)
        # Squares of tiny or huge scores would underflow or overflow.
        unit = float(deviation.max()) or 1.0
        free = unit * math.sqrt(np.average((deviation / unit) ** 2, weights=weight))
    scale = max(free, floor)
    log_width = math.log(2.0 * HALF_WIDTH[power] * scale)
    log_likelihood = -total * (log_width + (free / scale) ** power / power)
    return SidesFit(theta, scale, scale, log_likelihood, (free < floor,) * 2)


def _fit_sides(
    power: int, x: Floats, weight: Floats | None, candidates: str, floor: float
) -> SidesFit:
    """Return the best of the candidates, each side with its own scale."""
    sums = _profile.deviation_sums(_profile.sort_scores(x, weight), power)
    # The floor matters only if the free optimum is below it.
    free_floor = min(OFF_FRACTION * sums.scores.unit, floor)
    free = _best_fit(sums, candidates, free_floor)
    below = (free.left <= floor, free.right <= floor)
    acts = any(below) and free_floor < floor
    return replace(_best_fit(sums, candidates, floor) if acts else free, below=below)


def _best_fit(sums: Sums, candidates: str, floor: float) -> SidesFit:
    scores = sums.scores
    profile = Profile(sums, floor / scores.unit)
    best = _profile.best_score(profile)
    if candidates == "bennett":
        best = _profile.best_on_grid(profile, best)
    elif sums.power == 2:  # with exponential sides the best mode is a score
        best = _profile.best_between(profile, best)
    left, right = profile.scales(np.asarray(best.left), np.asarray(best.right))
    theta = scores.x[best.index]
    if best.share > 0.0:
        theta += best.share * (scores.x[best.index + 1] - theta)
    log_width = np.log(best.width) + np.log(scores.unit)
    return SidesFit(
        theta=float(theta),
        left=float(left * scores.unit),
        right=float(right * scores.unit),
        log_likelihood=float(-scores.total * (log_width + profile.log_offset)),
    )


@dataclass(frozen=True)
class TwoSided:
    """Densities of all families, at parameters that broadcast against each other."""

    theta: Floats  # modes, in raw score units
    left: Floats  # scales of the left side
    right: Floats  # scales of the right side
    power: int  # of both sides, 1 or 2

    def logpdf(self, x: ArrayLike) -> Floats:
        """Return the natural log of the density."""
        z_left, z_right = self._distances(as_reals(x, "x") - self.theta)
        mass_left, mass_right = self._masses()
        with np.errstate(over="ignore"):  # beyond 1e154 scales the log density is -infinity
            fall = _fall(z_left, self.power) + _fall(z_right, self.power)
        return -np.log(mass_left + mass_right) - fall

    def cdf(self, x: ArrayLike) -> Floats:
        """Return P(X <= x); at the mode it is the mass of the left side."""
        return np.exp(self.logcdf(x))

    def logcdf(self, x: ArrayLike) -> Floats:
        """Return the natural log of P(X <= x), accurate in both tails."""
        return self._log_below(as_reals(x, "x") - self.theta)

    def logsf(self, x: ArrayLike) -> Floats:
        """Return the natural log of P(X > x), accurate in both tails."""
        # P(X > x) = P(-X < -x): no 1 - cdf, so nothing cancels.
        reflected = TwoSided(-self.theta, self.right, self.left, self.power)
        return reflected._log_below(self.theta - as_reals(x, "x"))

    def ppf(self, q: ArrayLike) -> Floats:
        """Return the quantile function, the inverse of `cdf`; nan for q outside [0, 1]."""
        q = as_reals(q, "x")
        below, above = self._shares()
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.theta + np.where(
                q < below,
                -self.left * _distance(q / below, self.power),
                self.right * _distance((1.0 - q) / above, self.power),
            )

    def rvs(self, size: Size = None, rng: Rng = None) -> Floats:
        """Draw scores; `size` defaults to the parameters' broadcast shape."""
        shape = _draw_shape(size, self.theta, self.left, self.right)
        generator = np.random.default_rng(rng)
        mass_left, mass_right = self._masses()
        on_left = generator.random(shape) * (mass_left + mass_right) < mass_left
        if self.power == 1:
            distance = generator.standard_exponential(shape)
        else:
            distance = np.abs(generator.standard_normal(shape))
        return self.theta + distance * np.where(on_left, -self.left, self.right)

    def mean(self) -> Floats:
        """Return the mean, in raw score units."""
        return self.theta + self._excess()

    def variance(self) -> Floats:
        """Return the variance, in squared score units."""
        share_left, share_right = self._shares()
        # No higher power of a tiny scale than its square, which would underflow.
        square_left = share_left * MEAN_SQUARE[self.power] * self.left**2
        square_right = share_right * MEAN_SQUARE[self.power] * self.right**2
        return 0.0 * self.theta + square_left + square_right - self._excess() ** 2

    def _masses(self) -> tuple[Floats, Floats]:
        """Return the masses of the sides for a density of height 1 at the mode."""
        half_width = HALF_WIDTH[self.power]
        return half_width * self.left, half_width * self.right

    def _shares(self) -> tuple[Floats, Floats]:
        mass_left, mass_right = self._masses()
        return mass_left / (mass_left + mass_right), mass_right / (mass_left + mass_right)

    def _excess(self) -> Floats:
        """Return mean - theta."""
        share_left, share_right = self._shares()
        distance = MEAN_DISTANCE[self.power]
        return share_right * (distance * self.right) - share_left * (distance * self.left)

    def _distances(self, deviation: Floats) -> tuple[Floats, Floats]:
        """Return the distances of x left and right of the mode in scales; one of them is 0."""
        return np.minimum(deviation, 0.0) / -self.left, np.maximum(deviation, 0.0) / self.right

    def _log_below(self, deviation: Floats) -> Floats:
        """Return log P(X <= x), by the deviation of x from the mode."""
        mass_left, mass_right = self._masses()
        z_left, z_right = self._distances(deviation)
        # log1p of the ratio, since a share may round to 1.
        on_left = _log_tail(z_left, self.power) - np.log1p(mass_right / mass_left)
        mass = mass_left + mass_right
        above = mass_right / mass * _tail(z_right, self.power)
        # A small 1 - above is computed as a sum, without cancellation.
        near = np.log((mass_left + mass_right * _body(z_right, self.power)) / mass)
        on_right = np.where(above < 0.5, np.log1p(-np.minimum(above, 0.5)), near)
        return np.where(deviation <= 0.0, on_left, on_right)


def _fall(z: Floats, power: int) -> Floats:
    """Return z^p / p."""
    return z if power == 1 else 0.5 * z * z


def _body(z: Floats, power: int) -> Floats:
    """Return the part of a side's mass that lies within z scales of the mode."""
    return -np.expm1(-z) if power == 1 else special.erf(z / math.sqrt(2.0))


def _tail(z: Floats, power: int) -> Floats:
    """Return the part of a side's mass that lies beyond z scales from the mode."""
    return np.exp(-z) if power == 1 else 2.0 * special.ndtr(-z)


def _log_tail(z: Floats, power: int) -> Floats:
    if power == 1:
        return -z
    # log1p keeps the digits of tails near 1.
    near = np.log1p(-special.erf(np.minimum(z, 1.0) / math.sqrt(2.0)))
    return np.where(z < 1.0, near, math.log(2.0) + special.log_ndtr(-z))


def _distance(tail: Floats, power: int) -> Floats:
    """Return the distance from the mode, in scales, with a given tail mass beyond."""
    return -np.log(tail) if power == 1 else -special.ndtri(0.5 * tail)


def _draw_shape(size: Size, *parameters: Floats) -> tuple[int, ...]:
    """Return the shape of random draws: `size`, or the parameters' broadcast shape."""
    own = np.broadcast_shapes(*(parameter.shape for parameter in parameters))
    shape = own if size is None else tuple(int(n) for n in np.atleast_1d(size))
    try:
        fits = np.broadcast_shapes(own, shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(f"size must be a shape that parameters of shape {own} fit, got {size}.")
    return shape
