"""Bounds beyond which the data of a validation do not support a likelihood ratio."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.likelihood_ratio.measures import read_comparisons
from bayescal.support.validation import Floats, check_positive

STEP = 0.01


class LikelihoodRatioBounds(NamedTuple):
    """The smallest and the largest log10 LR that the data support."""

    lower: float
    upper: float


class _Counts(NamedTuple):
    """Log10 LRs of both classes in order."""

    negative: Floats
    positive: Floats

    def above(self, t: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return the numbers of LRs of each class above each threshold."""
        negative, positive = (each.size - np.searchsorted(each, t, "right") for each in self)
        return negative.astype(np.float64), positive.astype(np.float64)

    def mirrored(self) -> _Counts:
        """Return the counts with the two propositions exchanged."""
        return _Counts(np.sort(-self.positive), np.sort(-self.negative))

    @property
    def values(self) -> Floats:
        """Return all different log10 LRs in order."""
        return np.unique(np.concatenate(self))


def _read(y_true: ArrayLike, log10_lr: ArrayLike) -> _Counts:
    compared = read_comparisons(y_true, log10_lr)
    lr, positive = compared.log10_lr, compared.positive
    return _Counts(np.sort(lr[~positive]), np.sort(lr[positive]))


def elub(y_true: ArrayLike, log10_lr: ArrayLike, *, step: float = STEP) -> LikelihoodRatioBounds:
    """Return the empirical lower and upper bounds of LRs, in log10; lower <= 0 <= upper.

    One misleading LR is added to each class: infinity to the negatives and 0 to the positives. At a
    threshold LR of 10^t, deciding by the LRs then costs u(t) = P(LR <= 10^t | +) + 10^t P(LR > 10^t
    | -), and LR = 1 for all comparisons costs min(1, 10^t). The bounds are the ends of the range of
    t around 0 in which u does not exceed that.

    Parameters
    ----------
    y_true, log10_lr
        As in `cllr`.
    step : float
        Distance of the thresholds tried, in log10; the last one within the range is a bound.

    References
    ----------
    P. Vergeer, A. van Es, A. de Jongh, I. Alberink and R. Stoel, *Numerical likelihood ratios
    outputted by LR systems are often based on extrapolation: when to stop extrapolating?*, Science
    and Justice 56, 2016.

    Examples
    --------
    >>> round(elub([0, 0, 1, 1, 1], [-2.0, -1.0, 0.0, 1.0, 2.0]).upper, 2)
    0.17
    """
    counts = _read(y_true, log10_lr)
    check_positive(step=step)
    high = min(counts.values[-1], np.log10(counts.negative.size + 1.0))
    low = max(counts.values[0], -np.log10(counts.positive.size + 1.0))
    steps = np.arange(min(0, int(low // step)), max(0, int(high // step) + 1) + 1)
    t = steps * step
    false, true = counts.above(t)
    miss = 1.0 - true / (counts.positive.size + 1.0)
    accepted = (false + 1.0) / (counts.negative.size + 1.0)
    useless = np.minimum(1.0, 10.0**t) / (miss + 10.0**t * accepted) < 1.0
    upper = np.min(t[(steps >= 0) & useless] - step, initial=t[-1])
    lower = np.max(t[(steps <= 0) & useless] + step, initial=t[0])
    return LikelihoodRatioBounds(min(float(lower), 0.0), max(float(upper), 0.0))


def invariance_bounds(y_true: ArrayLike, log10_lr: ArrayLike) -> LikelihoodRatioBounds:
    """Return the bounds of invariance verification, in log10; lower <= 0 <= upper.

    Let p(t) and q(t) be the Jeffreys estimates (k + 1/2) / (n + 1) of P(LR >= 10^t) for positives
    and for negatives, where k of n LRs are 10^t or more. The upper bound is the first t > 0 with
    log10 p(t)/q(t) < t: LRs that large occur less often than they claim. The lower bound is the
    last t < 0 with log10 (1 - p(t))/(1 - q(t)) > t. Without such a t the bound is the largest LR of
    the positives, or the smallest of the negatives. The crossing itself is computed: lir's grid of
    steps of 0.001 misses failures that are narrower.

    Parameters
    ----------
    y_true, log10_lr
        As in `cllr`.

    References
    ----------
    I. Alberink, J. Leegwater, J. Malmborg, A. Nordgaard, M. Sjerps and L. van der Ham, *A
    transparent method to determine limit values for likelihood ratio systems*, 2025.

    Examples
    --------
    >>> round(invariance_bounds([0, 0, 1, 1, 1], [-2.0, -1.0, 0.0, 1.0, 2.0]).lower, 3)
    -0.824
    """
    counts = _read(y_true, log10_lr)
    upper, lower = _first_failure(counts), 0.0 - _first_failure(counts.mirrored())
    return LikelihoodRatioBounds(min(lower, 0.0), max(upper, 0.0))


def _first_failure(counts: _Counts) -> float:
    """Return the first t > 0 at which LRs of 10^t or more occur less often than they claim."""
    # Counts of LRs >= t are constant on (start, end].
    start = np.unique(np.append(counts.values[counts.values > 0.0], 0.0))
    false, true = counts.above(start)
    share = np.log10((true + 0.5) / (counts.positive.size + 1.0))
    limit = share - np.log10((false + 0.5) / (counts.negative.size + 1.0))
    end = start[1:]
    crossed = np.flatnonzero(limit[:-1] < end)
    if not crossed.size:
        return float(counts.positive[-1])
    return float(max(start[crossed[0]], limit[crossed[0]]))


def source_bounds(negatives: float, positives: float) -> LikelihoodRatioBounds:
    """Return the bounds (-log10 positives, log10 negatives).

    No LR then exceeds the number of independent counterexamples.

    Parameters
    ----------
    negatives, positives : float
        Number of independent comparisons of each class, or of sources.

    Examples
    --------
    >>> source_bounds(100, 10)
    LikelihoodRatioBounds(lower=-1.0, upper=2.0)
    """
    check_positive(negatives=negatives, positives=positives)
    return LikelihoodRatioBounds(
        min(-float(np.log10(positives)), 0.0), max(float(np.log10(negatives)), 0.0)
    )
