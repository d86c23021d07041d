"""What a family of densities is, and what its fit returns: frozen records of data and functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from bayescal.validation import Floats

Rng = np.random.Generator | int | None


# Functions of (x or q, *parameters), of (*parameters), and of (*parameters, size=, rng=): the
# number of parameters differs by family, so types cannot say more than what comes back.
Density = Callable[..., Floats]
Moment = Callable[..., Floats]
Sampler = Callable[..., Floats]


def draw_shape(size: int | tuple[int, ...] | None, *parameters: Floats) -> tuple[int, ...]:
    """
    Return the shape of random draws: `size`, or the parameters' broadcast shape.

    Raises
    ------
    ValueError
        If the parameters do not broadcast to `size`: one draw would serve several of them.
    """
    own = np.broadcast_shapes(*(parameter.shape for parameter in parameters))
    if size is None:
        return own
    shape = tuple(int(n) for n in np.atleast_1d(size))
    if len(own) > len(shape) or np.broadcast_shapes(own, shape) != shape:
        raise ValueError(f"size must be a shape that parameters of shape {own} fit, got {size}.")
    return shape


@dataclass(frozen=True)
class Guard:
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
    guard : Guard
        The guard against degenerate optima, and whether it acted.
    """

    parameters: dict[str, float]
    log_likelihood: float
    weight: float
    guard: Guard


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
    power : int
        p of exp(-(distance / side)^p) to either side of the mode, up to factors: 1 for the
        Laplace families, 2 for the Gaussian ones.
    symmetric : bool
        Whether both sides are the same.
    logpdf, cdf, logcdf, logsf, ppf : callable
        Functions of (x, *parameters); logarithms are natural, x in raw score units.
    rvs : callable
        Draws, from (*parameters, size=, rng=).
    mean, variance : callable
        Functions of (*parameters).
    fit : callable
        Maximum likelihood, from (x, sample_weight=None, *, candidates=, guard=).
    """

    name: str
    parameters: tuple[str, ...]
    power: int
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

    def from_sides(self, theta: Floats, left: Floats, right: Floats) -> tuple[Floats, ...]:
        """
        Return the family's parameters for a mode and two sides.

        Sides are mean distances 1/beta, 1/gamma for the Laplace families, sigmas for the Gaussian
        ones; a symmetric family takes the left one.
        """
        scales = (1.0 / left, 1.0 / right) if self.power == 1 else (left, right)
        return (theta, *scales)[: len(self.parameters)]

    def sides(self, *parameters: Floats) -> tuple[Floats, Floats, Floats]:
        """Return mode, left and right side of parameters; the inverse of `from_sides`."""
        theta, left, right = parameters[0], parameters[1], parameters[-1]
        return (theta, 1.0 / left, 1.0 / right) if self.power == 1 else (theta, left, right)
