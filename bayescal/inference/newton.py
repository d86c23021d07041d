"""Newton's method for maxima, Laplace's approximation, and roots of precision matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import optimize

from bayescal.support.validation import Floats

# Ridges that are tried, in units of the diagonal.
RIDGES = 10.0 ** np.arange(-15, -1)


def lower_root(matrix: Floats, factorise: Callable[[Any], Any] = np.linalg.cholesky) -> Floats:
    """
    Return the Cholesky factor of a curvature, or of several; shape (..., d, d).

    Where curvatures differ by so many orders of magnitude that rounding of the large ones hides the
    sign of the small ones, the diagonal is raised by the smallest of RIDGES that is enough.
    """
    try:
        return np.asarray(factorise(matrix), dtype=np.float64)
    except np.linalg.LinAlgError:
        diagonal = np.diagonal(matrix, axis1=-2, axis2=-1)
        if not (diagonal > 0.0).all():
            raise
        size = np.sqrt(diagonal)
        unit = matrix / (size[..., :, None] * size[..., None, :])
        for ridge in RIDGES.tolist():
            try:
                root: Floats = factorise(unit + ridge * np.eye(matrix.shape[-1]))
            except np.linalg.LinAlgError:
                continue
            return np.asarray(size[..., :, None] * root)
        raise


def root_of_inverse(matrix: Floats) -> Floats:
    """Return the lower triangular R with positive diagonal whose R R^T is a matrix's inverse."""
    # The Cholesky factor of the matrix in reverse is an upper triangular root.
    upper = lower_root(matrix[::-1, ::-1])[::-1, ::-1]
    return np.asarray(np.linalg.inv(upper).T, dtype=np.float64)


# Newton's method for maxima: with halved steps for vectors, within brackets for many scalars.

# Brackets wider than WIDE are searched by steps of REACH, which find a far mode sooner than halves.
WIDE, REACH = 100.0, 4.0


def climb(
    start: Floats,
    value: Callable[[Floats], float],
    newton: Callable[[Floats], tuple[Floats, float]],
    *,
    tolerance: float,
    steps: int = 60,
    rise: float = 1e-4,
    smallest: float = 1e-8,
) -> Floats:
    """
    Return the maximum of a function by Newton's method, with steps halved until the function rises.
    """
    point, here = start, value(start)
    for _ in range(steps):
        step, decrement = newton(point)
        if decrement < tolerance:
            break
        size, new = 1.0, point + step
        there = value(new)
        while not there >= here + rise * size * decrement:
            size *= 0.5
            if size < smallest:
                return point
            new = point + size * step
            there = value(new)
        point, here = new, there
    return point


def climb_within(
    start: Floats,
    low: Floats,
    high: Floats,
    derivatives: Callable[[Floats], tuple[Floats, Floats]],
    *,
    flattest: float,
    tolerance: float,
    steps: int = 60,
) -> tuple[Floats, Floats]:
    """
    Return the modes of many functions of one variable, and their widths one step before.

    Newton's steps shrink a bracket around each mode, and halve it where they would leave it.
    """
    at = start
    for _ in range(steps):
        slope, curvature = derivatives(at)
        low, high = np.where(slope >= 0.0, at, low), np.where(slope <= 0.0, at, high)
        sd = 1.0 / np.sqrt(np.maximum(curvature, flattest))
        newton = at + slope * sd**2
        inside = (curvature > flattest) & (newton >= low) & (newton <= high)
        reach = np.where(slope > 0.0, np.minimum(at + REACH, high), np.maximum(at - REACH, low))
        middle = np.where(high - low > WIDE, reach, 0.5 * (low + high))
        step = np.where(inside, newton, middle) - at
        at = at + step
        if (np.abs(step) <= tolerance * np.where(inside, sd, 1.0)).all():
            break
    return at, sd


# Steps of central differences, for gradients and for second derivatives.
DIFFERENCE, WIDE_DIFFERENCE = 1e-4, 3e-3


def laplace(
    log_density: Callable[[Floats], Floats], start: Floats, *, flattest: float
) -> tuple[Floats, Floats]:
    """
    Return the mode of a density without derivatives, and the root of its normal approximation.

    The density takes points of shape (m, d). The root R is lower triangular, R R^T the inverse of
    the curvature, whose eigenvalues are taken to be at least `flattest`.
    """
    axes = np.eye(start.size)

    def gradient(point: Floats) -> Floats:
        steps = DIFFERENCE * np.concatenate([axes, -axes])
        ahead, behind = np.split(log_density(point + steps), 2)
        return np.asarray((behind - ahead) / (2.0 * DIFFERENCE))

    def loss(point: Floats) -> float:
        return -float(log_density(point[None])[0])

    found = optimize.minimize(loss, start, jac=gradient, method="BFGS", options={"maxiter": 80})
    mode = found.x
    steps = WIDE_DIFFERENCE * axes
    curvature = np.stack([gradient(mode + step) - gradient(mode - step) for step in steps])
    curvature /= 2.0 * WIDE_DIFFERENCE
    size, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
    root: Floats = np.linalg.cholesky((vectors / np.maximum(size, flattest)) @ vectors.T)
    return mode, root
