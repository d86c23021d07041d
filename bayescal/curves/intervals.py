"""Quantiles over draws, shortest intervals, and the level at which intervals hold a whole curve."""

from __future__ import annotations

import numpy as np

from bayescal.validation import Floats

# So many draws are put in order by vectorised sorts sooner than the few that are wanted are picked.
SORTED = 1000


def quantiles(values: Floats, levels: Floats) -> Floats:
    """
    Return quantiles over draws, pointwise: those of ``np.quantile(values, levels, axis=0)``.

    Parameters
    ----------
    values : array of shape (draws, n)
        Draws at each of n points.
    levels : array of shape (l,)
        Between 0 and 1.

    Returns
    -------
    array of shape (l, n)

    Examples
    --------
    >>> quantiles(np.array([[0.0], [1.0], [4.0]]), np.array([0.5, 0.75]))
    array([[1. ],
           [2.5]])
    """
    last = values.shape[0] - 1
    position = levels * last
    low = position.astype(np.intp)
    high = np.minimum(low + 1, last)
    ordered = np.array(values.T, order="C")
    if last < SORTED:
        ordered.sort(axis=1)
    else:
        ordered.partition(np.union1d(low, high), axis=1)
    below, above = ordered[:, low], ordered[:, high]
    share, gap = position - low, above - below
    # From the nearer end, as np.quantile does, so that the ends themselves are met.
    found: Floats = np.where(share < 0.5, below + gap * share, above - gap * (1.0 - share))
    return found.T


def highest_density(values: Floats, level: float) -> Floats:
    """
    Return the shortest interval that holds a share of draws, pointwise.

    Parameters
    ----------
    values : array of shape (draws, n)
        Draws at each of n points.
    level : float
        The share, between 0 and 1.

    Returns
    -------
    array of shape (2, n)
        Ends: draws, of which the interval holds ceil(level draws).

    Examples
    --------
    >>> highest_density(np.array([[0.0], [0.1], [0.2], [5.0]]), 0.7)
    array([[0. ],
           [0.2]])
    """
    ordered = _ordered(values)
    point, draws = ordered.shape
    inside = int(np.ceil(level * draws))
    start = (ordered[:, inside - 1 :] - ordered[:, : draws - inside + 1]).argmin(axis=1)
    ends = np.stack([start, start + inside - 1])
    return np.asarray(ordered[np.arange(point), ends])


def _ordered(values: Floats) -> Floats:
    """Return the draws of each point in order, shape (n, draws): side by side what is sorted."""
    ordered = np.array(values.T, order="C")
    ordered.sort(axis=1)
    return ordered


def simultaneous_tail(curves: Floats, level: float) -> float:
    """
    Return the tail share at which pointwise equal-tailed intervals hold whole curves.

    The largest t such that at least `level` of the curves lie within their pointwise t and 1 - t
    quantiles at all points at once (Besag et al., Statistical Science 1995, section 6.3).

    Parameters
    ----------
    curves : array of shape (draws, n)
        Values of each draw's curve at n points.
    level : float
        Share of curves to hold, between 0 and 1.

    Examples
    --------
    >>> straight = np.linspace(0.0, 1.0, 101)[:, None] * np.ones(7)
    >>> simultaneous_tail(straight, 0.9)
    0.05
    """
    # scipy.stats takes as long to import as a fit does, and pointwise bands have no use for it.
    from scipy import stats

    draws = curves.shape[0]
    rank = stats.rankdata(curves, axis=0, method="min") - 1
    reverse = draws - stats.rankdata(curves, axis=0, method="max")
    depth = np.minimum(rank, reverse).min(axis=1)
    # So many curves must be at least as deep as the tail is.
    kept = int(np.ceil(level * draws))
    return float(np.sort(depth)[draws - kept] / (draws - 1)) if draws > 1 else 0.0
