"""Pareto smoothing of importance weights, many sets at once (Vehtari et al., arXiv:1507.02646).

And what it is for mostly: what draws given all documents say of one of them left out.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bayescal.log_sum import log_sum_exp
from bayescal.validation import Floats

# The prior of the shape: ten weights' worth of k = 1/2, as in the paper.
PRIOR_WEIGHTS, PRIOR_SHAPE = 10, 0.5
SHORTEST_TAIL = 5
SMALLEST_QUARTILE = 1e-100
# Ratios of which none is larger than so many times their mean need no smoothing.
EVEN = 5.0


def smooth(log_ratio: Floats) -> tuple[Floats, Floats]:
    """
    Return smoothed log weights, normalised to sum to one, and the Pareto shape k of each row.

    The largest min(S/5, 3 sqrt(S)) ratios are replaced by quantiles of the generalised Pareto
    distribution fitted to them. k below 0.5 means ratios of finite variance, above 0.7 that
    averages over them are not to be trusted.

    Parameters
    ----------
    log_ratio : array of shape (rows, S)
        Log importance ratios, finite or -inf, up to a constant a row.

    Returns
    -------
    log_weight : array of shape (rows, S)
    k : array of shape (rows,)
        -inf where the tail has no spread: equal ratios; inf where a few ratios are all there is.
    """
    log_weight = log_ratio - log_ratio.max(axis=1, keepdims=True)
    size = log_weight.shape[1]
    tail = int(min(0.2 * size, 3.0 * math.sqrt(size)))
    k = np.full(log_weight.shape[0], -np.inf)
    if tail >= SHORTEST_TAIL:
        largest = np.argpartition(log_weight, size - tail - 1, axis=1)[:, size - tail - 1 :]
        values = np.take_along_axis(log_weight, largest, axis=1)
        order = np.argsort(values, axis=1)
        largest = np.take_along_axis(largest, order, axis=1)[:, 1:]
        values = np.take_along_axis(values, order, axis=1)
        # Nothing below the smallest normal number: ratios of -inf have no logarithm to smooth.
        threshold = np.exp(np.maximum(values[:, :1], math.log(np.finfo(float).tiny)))
        excess = np.maximum(np.exp(values[:, 1:]) - threshold, 0.0)
        fitted = excess[:, (tail + 2) // 4 - 1] > 0.0
        # A few ratios next to which all others round to nothing: no tail is heavier.
        k[~fitted & (excess[:, -1] > 0.0)] = np.inf
        rows = np.flatnonzero(fitted)
        k[rows], scale = _fit(excess[rows])
        smoothed = np.log(_quantiles(k[rows, None], scale[:, None], tail) + threshold[rows])
        log_weight[rows[:, None], largest[rows]] = np.minimum(smoothed, 0.0)
    total = np.log(np.exp(log_weight).sum(axis=1, keepdims=True))
    return log_weight - total, k


def left_out(
    inverse: Floats, log_p: Callable[[NDArray[np.intp]], Floats], power: Floats | None = None
) -> tuple[Floats, Floats]:
    """
    Return log p(y_i | others) of documents, natural logarithm, from draws given all documents.

    The mean of p over draws weighted by p^-power; with power 1, 1 / mean(1/p). Ratios that are even
    are taken as they are, others smoothed.

    Parameters
    ----------
    inverse : array of shape (rows, S)
        1/p(y_i | draw), up to a factor a row where the power is 1; may overflow.
    log_p : callable
        Returns log p(y_i | draw) of some rows, up to the same factor.
    power : array of shape (rows,), optional
        How much of each document is left out, where that is not 1.

    Returns
    -------
    value : array of shape (rows,)
    k : array of shape (rows,)
        Pareto shape of the ratios; -inf where they are even.
    """
    power = np.ones(inverse.shape[0]) if power is None else power
    whole = bool((power == 1.0).all())
    with np.errstate(over="ignore", invalid="ignore"):
        ratio = inverse if whole else inverse ** power[:, None]
        mean = ratio.mean(axis=1)
        value = -np.log(mean) if whole else np.log((ratio / inverse).mean(axis=1) / mean)
        even = (ratio.max(axis=1) <= EVEN * mean) & np.isfinite(value)
    k = np.full(value.size, -np.inf)
    rows = np.flatnonzero(~even)
    if rows.size:
        log = log_p(rows)
        log_weight, k[rows] = smooth(-power[rows, None] * log)
        value[rows] = log_sum_exp(log_weight + log, axis=1)
    return value, k


def _fit(x: Floats) -> tuple[Floats, Floats]:
    """Return shape and scale for rows of ascending excesses (Zhang and Stephens, 2009)."""
    n = x.shape[1]
    grid = 30 + math.isqrt(n)
    # In units of the largest, and no quartile so small that its inverse would overflow.
    largest = x[:, -1]
    x = x / largest[:, None]
    quartile = np.maximum(x[:, (n + 2) // 4 - 1, None], SMALLEST_QUARTILE)
    steps = 1.0 - np.sqrt(grid / (np.arange(1, grid + 1) - 0.5))
    b = steps / (3.0 * quartile) + 1.0
    shape = np.log1p(-b[:, :, None] * x[:, None, :]).mean(axis=2)
    log_profile = n * (np.log(-b / shape) - shape - 1.0)
    weight = np.exp(log_profile - log_profile.max(axis=1, keepdims=True))
    weight /= weight.sum(axis=1, keepdims=True)
    weight[weight < 10.0 * np.finfo(float).eps] = 0.0
    best = (b * weight).sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True)
    k = np.log1p(-best * x).mean(axis=1)
    scale = -k / best[:, 0] * largest
    return (n * k + PRIOR_WEIGHTS * PRIOR_SHAPE) / (n + PRIOR_WEIGHTS), scale


def _quantiles(k: Floats, scale: Floats, n: int) -> Floats:
    log_survival = np.log1p(-(np.arange(n) + 0.5) / n)
    # Tails of k in the hundreds reach infinity: their weights are cut at the largest one anyway.
    with np.errstate(over="ignore"):
        quantiles: Floats = scale * np.where(
            np.abs(k) < 1e-12,
            -log_survival,
            np.expm1(-k * log_survival) / np.where(k == 0.0, 1.0, k),
        )
    return quantiles
