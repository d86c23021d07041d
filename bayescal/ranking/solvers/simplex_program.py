"""A convex quadratic program on the simplex, by an active-set method."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats, Integers

# Of the largest diagonal element. With more cuts than features the matrix is singular, and a
# direction without curvature becomes a very long step, which ends where a weight reaches zero.
RIDGE = 1e-11
# Of the range of the gradients: weights are optimal when none can gain more.
TOLERANCE = 1e-9
MOST_STEPS = 10_000


def solve_on_simplex(matrix: Floats, linear: Floats, start: Floats) -> Floats:
    """
    Return the a >= 0 of sum 1 that minimises a.K a / 2 - b.a.

    A set of positive weights is solved exactly under the sum constraint; a step towards its
    solution ends at the first weight that would fall below zero, which leaves the set. When all
    stay, the coordinate of the smallest gradient joins it, until none is smaller.

    Parameters
    ----------
    matrix : array of shape (n, n)
        K, symmetric, positive semidefinite.
    linear : array of shape (n,)
        b.
    start : array of shape (n,)
        Where to start: none negative, of sum 1.

    References
    ----------
    P. Wolfe, *Finding the nearest point in a polytope*, Mathematical Programming 11, 1976, to which
    the linear term is added.

    Examples
    --------
    >>> solve_on_simplex(np.eye(2), np.array([0.0, 0.5]), np.array([1.0, 0.0])).round(6)
    array([0.25, 0.75])
    """
    weights = start.copy()
    active = weights > 0.0
    value = np.inf
    for _ in range(MOST_STEPS):
        _settle(weights, active, matrix, linear)
        gradient = matrix @ weights - linear
        before, value = value, float(weights @ (gradient - linear))  # twice the objective
        entering = int(gradient.argmin())
        gain = float(gradient @ weights - gradient[entering])
        # Every step gains, unless what is to be gained is below rounding.
        if value >= before or active[entering] or gain <= TOLERANCE * np.ptp(gradient):
            break
        active[entering] = True
    return weights


def _settle(weights: Floats, active: NDArray[np.bool_], matrix: Floats, linear: Floats) -> None:
    """Move to the best weights of the active set, in place, taking out those that reach zero."""
    while True:
        members = np.flatnonzero(active)
        current = weights[members]
        direction = _direction(members, int(current.argmax()), matrix, weights @ matrix - linear)
        falling = direction < 0.0
        limits = np.full(members.size, np.inf)
        limits[falling] = current[falling] / -direction[falling]
        first = int(limits.argmin())
        step = min(1.0, float(limits[first]))
        weights[members] = np.maximum(current + step * direction, 0.0)
        if limits[first] > 1.0:
            break
        weights[members[first]] = 0.0
        active[members[first]] = False
    weights /= weights.sum()


def _direction(members: Integers, anchor: int, matrix: Floats, gradient: Floats) -> Floats:
    """
    Return the step of sum 0 to the best weights, of any sign, that are 0 outside the members.

    The anchor's weight is what the others leave, which makes a problem without a constraint. Any
    member would do; rounding errors matter least to the largest.
    """
    others = np.delete(members, anchor)
    reference = members[anchor]
    to_reference = matrix[others, reference]
    reduced = matrix[np.ix_(others, others)] - to_reference - to_reference[:, None]
    reduced += matrix[reference, reference]
    if others.size:
        diagonal = np.abs(np.diagonal(reduced))
        reduced[np.diag_indices(others.size)] += RIDGE * diagonal.max() + np.finfo(float).tiny
    step = -np.linalg.solve(reduced, gradient[others] - gradient[reference])
    return np.insert(step, anchor, -step.sum())
