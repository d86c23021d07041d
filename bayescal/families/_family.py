"""A family of densities and its fit by maximum likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import compress
from numbers import Real
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from bayescal.families import _profile
from bayescal.families._density import HALF_WIDTH, Rng, Size, TwoSided
from bayescal.families._profile import Profile, Sums
from bayescal.support.numerics import centre_and_spread, median
from bayescal.support.validation import Floats, as_reals, as_scores, check_choice, check_positive
from bayescal.support.weighting import as_weights

Number = TypeVar("Number", float, Floats)


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
        """Return the density at parameters in the family's order, or by name, which broadcast.

        Raises
        ------
        TypeError
            If a parameter is missing, or unknown to the family.
        ValueError
            If a scale or a rate is not positive and finite.
        """
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
