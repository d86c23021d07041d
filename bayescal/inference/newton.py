"""Newton's method for maxima, and roots of precision matrices."""

from collections.abc import Callable
from typing import Any

import numpy as np

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
