"""Whether one forecaster tells all that another does: what it says can be blurred into the other's.

Both questions ask for a stochastic map h(j|i), a linear programme.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bayescal.locality.forecasts import Forecasts
from bayescal.validation import Floats

# Of what has to be equal, the sum of all differences: the programme's own rounding.
TOLERANCE = 1e-7


def is_at_least_as_refined(
    first: Forecasts, second: Forecasts, tolerance: float = TOLERANCE
) -> bool:
    """
    Return whether one calibrated forecaster is at least as refined as another one.

    It is if its forecasts, passed on with noise, are calibrated and come as often as the other's:
    some stochastic h(j|i) has P(pi_j) = sum_i h P(pi_i) and pi_j P(pi_j) = sum_i pi_i h P(pi_i)
    (Bennett's dissertation, equations 3.1 and 3.2). A partial order: of two, none may be.

    Parameters
    ----------
    first, second : Forecasts
        Of the same samples, both calibrated.
    tolerance : float
        How far the two sides may be apart in all; of samples, more than their noise.

    Raises
    ------
    ValueError
        If one is not calibrated: ask whether it `is_sufficient`.

    Examples
    --------
    >>> from bayescal.locality import forecasts
    >>> labels = [1, 1, 1, 0]
    >>> blunt, sharp = (forecasts(p, labels) for p in ([0.75] * 4, [1.0, 1.0, 0.5, 0.5]))
    >>> is_at_least_as_refined(sharp, blunt), is_at_least_as_refined(blunt, sharp)
    (True, False)
    """
    for each in (first, second):
        if not each.is_calibrated(max(tolerance, 1e-9)):
            raise ValueError(
                "refinement compares calibrated forecasters, got one of which a share of"
                f" {each.share} is positive where it says {each.value}: use is_sufficient."
            )
    source, target = (
        each.frequency * np.stack([np.ones_like(each.value), each.value])
        for each in (first, second)
    )
    return stochastic_map(source, target)[1] <= tolerance


def is_sufficient(first: Forecasts, second: Forecasts, tolerance: float = TOLERANCE) -> bool:
    """
    Return whether one forecaster is sufficient for another one, calibrated or not.

    It is if some stochastic h(j|i) has P(pi_j|c) = sum_i h(j|i) P(pi_i|c) for both classes c
    (Bennett's dissertation, equation 3.3). Of two forecasters to choose from one takes the
    sufficient one; both together may still say more than it does.

    Parameters
    ----------
    first, second : Forecasts
        Of the same samples.
    tolerance : float
        How far the two sides may be apart in all; of samples, more than their noise.

    Examples
    --------
    >>> from bayescal.locality import forecasts
    >>> labels = [1, 1, 1, 0]
    >>> odd, sharp = (forecasts(p, labels) for p in ([0.1] * 4, [0.9, 0.9, 0.3, 0.3]))
    >>> is_sufficient(sharp, odd), is_sufficient(odd, sharp)
    (True, False)
    """
    return stochastic_map(first.given_class, second.given_class)[1] <= tolerance


def stochastic_map(source: ArrayLike, target: ArrayLike) -> tuple[Floats, float]:
    """
    Return the stochastic map that brings one set of distributions nearest to another.

    It minimises sum |source h - target| over maps h with rows that are distributions.

    Parameters
    ----------
    source, target : array-like of shape (rows, m) and (rows, k)
        Row by row to be mapped; not negative.

    Returns
    -------
    tuple of an array of shape (m, k) and float
        h, and the sum of absolute differences that is left: 0 if the one can be blurred into the
        other.

    Raises
    ------
    ValueError
        If they have different numbers of rows.

    Examples
    --------
    >>> h, left = stochastic_map([[0.5, 0.5]], [[0.25, 0.75]])
    >>> h.sum(axis=1).tolist(), left
    ([1.0, 1.0], 0.0)
    """
    from scipy.optimize import linprog

    a, b = (np.atleast_2d(np.asarray(each, dtype=np.float64)) for each in (source, target))
    if len(a) != len(b):
        raise ValueError(f"source and target must have as many rows, got {len(a)} and {len(b)}.")
    m, k = a.shape[1], b.shape[1]
    # Unknowns: h row by row, then what the sums lack and what they have too much of.
    blurred, whole = np.kron(a, np.eye(k)), np.kron(np.eye(m), np.ones((1, k)))
    slack, none = np.eye(b.size), np.zeros((m, b.size))
    equal = np.block([[blurred, slack, -slack], [whole, none, none]])
    cost = np.r_[np.zeros(m * k), np.ones(2 * b.size)]
    found = linprog(cost, A_eq=equal, b_eq=np.r_[b.ravel(), np.ones(m)])
    if found.x is None or found.fun is None:
        raise RuntimeError(f"the linear programme of a stochastic map failed: {found.message}")
    return found.x[: m * k].reshape(m, k), float(found.fun)


def _moments(given: Forecasts) -> Floats:
    """Return P(pi) and pi P(pi), shape (2, m)."""
    return given.frequency * np.stack([np.ones_like(given.value), given.value])
