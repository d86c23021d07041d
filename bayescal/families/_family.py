"""Records of a family of densities and of its fit: frozen data and functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike

from bayescal.families._density import HALF_WIDTH, TwoSided
from bayescal.support.validation import Floats, check_positive

# Functions of (x or q, *parameters), of (*parameters), and of (*parameters, size=, rng=): the
# number of parameters differs by family, so that types state the returned value only.
Density = Callable[..., Floats]
Moment = Callable[..., Floats]
Sampler = Callable[..., Floats]
Number = TypeVar("Number", float, Floats)


def side_units(powers: tuple[int, int]) -> tuple[float, float]:
    """
    Return the contribution of a unit of the left and of the right side to a density's width.

    The width is the mass over the height at the mode, sqrt(pi/2) of it for each sigma; between two
    Gaussian sides that factor is left out: their width is the sum of the sigmas.

    Examples
    --------
    >>> side_units((1, 1)), side_units((2, 2))
    ((1.0, 1.0), (1.0, 1.0))
    """
    if powers[0] == powers[1]:
        return 1.0, 1.0
    return HALF_WIDTH[powers[0]], HALF_WIDTH[powers[1]]


@dataclass(frozen=True)
class ScaleFloor:
    """
    The floor under each side's scale, and whether the data asked for less.

    Attributes
    ----------
    name : str
        "scale_floor", or "off" when only Bennett's very large inverse scale is left.
    floor : float
        The smallest scale allowed, in raw score units.
    acted : tuple of str
        The parameters whose scales fall below the floor in the fit without it; empty when it
        changed nothing.
    """

    name: str
    floor: float
    acted: tuple[str, ...]


@dataclass(frozen=True)
class Fit:
    """
    A maximum-likelihood fit.

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
    """
    A family of densities: the same functions in the same order for every family.

    Attributes
    ----------
    name : str
        The name in the registry, also of its program in models/.
    parameters : tuple of str
        Parameter names, in the order in which every function takes them.
    powers : tuple of int
        p of exp(-(distance / side)^p) left and right of the mode, up to factors: 1 for an
        exponential side, 2 for a Gaussian one.
    symmetric : bool
        Whether both sides are the same.
    logpdf, cdf, logcdf, logsf, ppf : callable
        Functions of ``(x, *parameters)``; logarithms are natural, x in raw score units.
    rvs : callable
        Draws, from ``(*parameters, size=, rng=)``.
    mean, variance : callable
        Functions of ``(*parameters)``.
    fit : callable
        Maximum likelihood, from ``(x, sample_weight=None, *, candidates=, scale_floor=)``.
    mirrored : Family or None
        The positive class's densities where they are the negative class's mirror images; None
        where both classes have the same family.
    """

    name: str
    parameters: tuple[str, ...]
    powers: tuple[int, int]
    symmetric: bool
    logpdf: Density
    cdf: Density
    logcdf: Density
    logsf: Density
    ppf: Density
    rvs: Sampler
    mean: Moment
    variance: Moment
    fit: Callable[..., Fit]
    mirrored: Family | None = None

    def __post_init__(self) -> None:
        if not set(self.powers) <= set(HALF_WIDTH):
            raise ValueError(
                "powers must be 1 for an exponential side and 2 for a Gaussian one, got"
                f" {self.powers}: only these powers are implemented."
            )

    def of_class(self, positive: bool) -> Family:
        """Return the family of one class's densities."""
        return self.mirrored if positive and self.mirrored is not None else self

    def density(self, *parameters: ArrayLike) -> TwoSided:
        """
        Return the density at the family's parameters, whose methods are the family's functions.

        Parameters
        ----------
        *parameters : array-like
            In the family's order; they broadcast against each other.

        Returns
        -------
        TwoSided
            By mode and sides.

        Raises
        ------
        ValueError
            If a scale or a rate is not positive and finite.
        """
        values = [np.asarray(each, dtype=np.float64) for each in parameters]
        check_positive(**dict(zip(self.parameters[1:], values[1:], strict=True)))
        return TwoSided(*self.sides(*values), self.powers)

    @property
    def by_side(self) -> tuple[int, int, int]:
        """Return the positions of mode, left and right parameter; exponential sides come first."""
        if self.symmetric:
            return 0, 1, 1
        return (0, 2, 1) if self.powers[0] > self.powers[1] else (0, 1, 2)

    def from_sides(self, theta: Number, left: Number, right: Number) -> tuple[Number, ...]:
        """
        Return the family's parameters for a mode and two sides.

        Sides are mean distances, 1/rate, where the power is 1, sigmas where it is 2; a symmetric
        family takes the left one.
        """
        first, second = self._inverted(left, right)
        values = (theta, first, second)
        # A swap of two positions: `by_side` is its own inverse.
        return tuple(values[k] for k in self.by_side[: len(self.parameters)])

    def sides(self, *parameters: Number) -> tuple[Number, Number, Number]:
        """Return mode, left and right side of parameters; the inverse of `from_sides`."""
        mode, left, right = self.by_side
        first, second = self._inverted(parameters[left], parameters[right])
        return parameters[mode], first, second

    def _inverted(self, left: Number, right: Number) -> tuple[Number, Number]:
        """Convert between rates and mean distances; leave sigmas unchanged."""
        first, second = self.powers
        return 1.0 / left if first == 1 else left, 1.0 / right if second == 1 else right
