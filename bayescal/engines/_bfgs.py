"""BFGS with a weak Wolfe line search, for functions with kinks.

Laplace likelihoods have a kink in theta at every score. Optimisers that insist on the strong
Wolfe conditions, as scipy's do, stop at the first one; BFGS with the weak conditions does not
(A. S. Lewis, M. L. Overton, Nonsmooth optimization via quasi-Newton methods, Math. Prog. 2013).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayescal.validation import Floats

Objective = Callable[[Floats], tuple[float, Floats]]

SUFFICIENT_DECREASE, CURVATURE = 1e-4, 0.5
LINE_STEPS = 60
SMALL_STEPS = 8  # so many steps in a row without progress end the search


def minimise(
    objective: Objective, start: Floats, *, tolerance: float = 1e-12, iterations: int = 1000
) -> tuple[Floats, float, bool]:
    """
    Return a local minimum of a function with kinks.

    Parameters
    ----------
    objective : callable
        point -> (value, gradient); infinite or nan where the point is not allowed.
    start : array of shape (d,)
        Where to begin; its value must be finite.
    tolerance : float
        Decrease, relative to 1 + |value|, that counts as progress.
    iterations : int
        Limit of steps.

    Returns
    -------
    point, value, converged
        `converged` is False only if the limit of steps ended the search.
    """
    # A likelihood without a maximum drives the Hessian out of the doubles: the line search then
    # finds nothing, and the search ends where it is.
    with np.errstate(over="ignore", invalid="ignore"):
        return _minimise(objective, start, tolerance, iterations)


def _minimise(
    objective: Objective, start: Floats, tolerance: float, iterations: int
) -> tuple[Floats, float, bool]:
    point, inverse_hessian = start, np.eye(start.size)
    value, gradient = objective(point)
    idle = 0
    for iteration in range(iterations):
        direction = -inverse_hessian @ gradient
        if gradient @ direction >= 0.0:
            inverse_hessian, direction = np.eye(start.size), -gradient
        step = 1.0 if iteration else 1.0 / max(1.0, float(np.linalg.norm(gradient)))
        found = _line_search(objective, point, value, gradient, direction, step)
        if found is None:
            return point, value, True
        new_point, new_value, new_gradient = found
        inverse_hessian = _update(
            inverse_hessian, new_point - point, new_gradient - gradient, first=iteration == 0
        )
        idle = idle + 1 if value - new_value <= tolerance * (1.0 + abs(new_value)) else 0
        point, value, gradient = new_point, new_value, new_gradient
        if idle == SMALL_STEPS:
            return point, value, True
    return point, value, False


def _line_search(
    objective: Objective,
    point: Floats,
    value: float,
    gradient: Floats,
    direction: Floats,
    step: float,
) -> tuple[Floats, float, Floats] | None:
    slope = float(gradient @ direction)
    low, high, best = 0.0, np.inf, None
    for _ in range(LINE_STEPS):
        new_point = point + step * direction
        new_value, new_gradient = objective(new_point)
        if not new_value <= value + SUFFICIENT_DECREASE * step * slope:
            high = step
        elif new_gradient @ direction < CURVATURE * slope:
            low, best = step, (new_point, new_value, new_gradient)
        else:
            return new_point, new_value, new_gradient
        step = 0.5 * (low + high) if np.isfinite(high) else 2.0 * low
    return best


def _update(inverse_hessian: Floats, step: Floats, change: Floats, *, first: bool) -> Floats:
    curvature = float(step @ change)
    if not curvature > 0.0:
        return inverse_hessian
    if first:
        inverse_hessian = np.eye(step.size) * (curvature / float(change @ change))
    left = np.eye(step.size) - np.outer(step, change) / curvature
    return left @ inverse_hessian @ left.T + np.outer(step, step) / curvature
