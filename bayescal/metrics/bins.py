"""Documents in bins of their probability."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bayescal.metrics.inputs import Outcomes
from bayescal.validation import Floats, check_choice, check_count

STRATEGIES = ("uniform", "quantile")


class Bins(NamedTuple):
    """Of every bin that is not empty: weight, mean probability, weighted share of positives."""

    weight: Floats
    prob_pred: Floats
    prob_true: Floats


def bin_outcomes(outcomes: Outcomes, n_bins: int, strategy: str) -> Bins:
    """
    Return documents in bins, as scikit-learn's `calibration_curve` makes them.

    Bins are open on the left; with weights, quantiles are those of documents repeated.
    """
    return summarise(outcomes, bin_index(outcomes, n_bins, strategy))


def summarise(outcomes: Outcomes, index: NDArray[np.intp]) -> Bins:
    """Return documents in the bins that an index names."""
    truth, p, own = outcomes
    weight = np.bincount(index, weights=own).astype(np.float64)
    sums = (np.bincount(index, weights=each if own is None else each * own) for each in (p, truth))
    full = weight > 0.0
    return Bins(weight[full], *(each[full] / weight[full] for each in sums))


def bin_index(outcomes: Outcomes, n_bins: int, strategy: str) -> NDArray[np.intp]:
    """Return each document's bin, 0 to n_bins - 1."""
    check_count("n_bins", n_bins)
    check_choice("strategy", strategy, STRATEGIES)
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if strategy == "quantile":
        edges = quantiles(outcomes.p, outcomes.weight, edges)
    return np.searchsorted(edges[1:-1], outcomes.p)


def quantiles(values: Floats, weight: Floats | None, levels: Floats) -> Floats:
    """
    Return quantiles of values, each repeated as often as its weight says.

    Examples
    --------
    >>> quantiles(np.array([1.0, 4.0]), np.array([2.0, 1.0]), np.array([0.5, 0.75]))
    array([1. , 2.5])
    """
    if weight is None:
        return np.asarray(np.quantile(values, levels))
    order = np.argsort(values)
    ends = np.cumsum(weight[order])
    position = levels * max(ends[-1] - 1.0, 0.0)
    below = np.floor(position)
    last = values.size - 1
    pair = [
        values[order[np.minimum(np.searchsorted(ends, at, side="right"), last)]]
        for at in (below, below + 1.0)
    ]
    return np.asarray(pair[0] + (position - below) * (pair[1] - pair[0]))
