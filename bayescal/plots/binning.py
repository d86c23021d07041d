"""What the documents themselves say of the log-odds: counts in bins of the score."""

from __future__ import annotations

import math

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special, stats

from bayescal.validation import Floats

MOST_BINS = 15


def default_bins(positive: NDArray[np.bool_]) -> int:
    """
    Return how many bins the rarer class is enough for.

    Examples
    --------
    >>> default_bins(np.arange(100) < 10)
    6
    """
    rarer = min(int(positive.sum()), int((~positive).sum()))
    return max(2, min(MOST_BINS, round(2.0 * math.sqrt(rarer))))


def balanced_edges(score: Floats, positive: NDArray[np.bool_], weight: Floats, bins: int) -> Floats:
    """
    Return inner edges between which lies the same share of the two classes, each counted as half.

    Bins of equally many documents would all lie among the negatives where positives are rare.

    Parameters
    ----------
    score, positive, weight : array of shape (n,)
        The documents.
    bins : int
        How many are wanted; fewer where scores tie.

    Returns
    -------
    array
        Ascending, halfway between neighbouring scores.

    Examples
    --------
    >>> score, positive = np.arange(8.0), np.arange(8) > 5
    >>> balanced_edges(score, positive, np.ones(8), 2)
    array([5.5])
    """
    distinct, code = np.unique(score, return_inverse=True)
    share = np.zeros(distinct.size)
    for which in (positive, ~positive):
        if weight[which].sum() > 0.0:
            share += np.bincount(code[which], weight[which], distinct.size) / weight[which].sum()
    passed = np.cumsum(share) / share.sum()
    # The gap after the last score at which a share is not passed yet, up to rounding.
    wanted = np.arange(1, bins) / bins
    after = np.unique(np.searchsorted(passed, wanted - 1e-9))
    after = after[after < distinct.size - 1]
    middle: Floats = 0.5 * distinct[after] + 0.5 * distinct[after + 1]
    return middle


def _merge_one_sided(edges: Floats, score: Floats, positive: NDArray[np.bool_]) -> Floats:
    """Leave out the edges between bins that hold one class only, the same."""
    place = np.searchsorted(edges, score)
    holds = np.stack(
        [np.bincount(place[which], minlength=edges.size + 1) > 0 for which in (~positive, positive)]
    )
    one_class = holds.sum(axis=0) == 1
    same = (holds[:, 1:] == holds[:, :-1]).all(axis=0)
    kept: Floats = edges[~(one_class[1:] & one_class[:-1] & same)]
    return kept


def empirical_log_odds(
    score: Floats,
    positive: NDArray[np.bool_],
    weight: Floats,
    level: float,
    bins: int | None = None,
) -> xr.Dataset:
    """
    Return the log-odds of the positive class in bins of the score, with intervals.

        log((k + 1/2)/(m + 1/2)),    k positives and m negatives in a bin

    (Haldane and Anscombe), within Jeffreys' interval, quantiles of Beta(k + 1/2, m + 1/2); where
    k or m is 0 its lower or upper end is infinite, as usual. Neighbouring bins of one class, the
    same, become one bin.

    Parameters
    ----------
    score, positive, weight : array of shape (n,)
        The documents.
    level : float
        Of the intervals, between 0 and 1.
    bins : int, optional
        How many, at most; by default what the rarer class is enough for.

    Returns
    -------
    xarray.Dataset
        Dimension bin: bin_score, the mean in the bin, positives, negatives (sums of weights),
        bin_log_odds, bin_lower, bin_upper.

    References
    ----------
    L. D. Brown, T. T. Cai and A. DasGupta, Interval estimation for a binomial proportion,
    Statistical Science 16 (2001), 101-133, section 4.1.2.
    """
    kept = weight > 0.0
    score, positive, weight = score[kept], positive[kept], weight[kept]
    bins = default_bins(positive) if bins is None else bins
    edges = balanced_edges(score, positive, weight, bins) if score.size else np.empty(0)
    edges = _merge_one_sided(edges, score, positive)
    place = np.searchsorted(edges, score)
    total = np.bincount(place, weight, edges.size + 1)
    k = np.bincount(place[positive], weight[positive], edges.size + 1)
    m = np.bincount(place[~positive], weight[~positive], edges.size + 1)
    tail = 0.5 - level / 2.0
    lower = special.logit(stats.beta.ppf(tail, k + 0.5, m + 0.5))
    upper = -special.logit(stats.beta.ppf(tail, m + 0.5, k + 0.5))
    with np.errstate(invalid="ignore"):
        mean = np.bincount(place, weight * score, edges.size + 1) / total
    columns = {
        "bin_score": mean,
        "positives": k,
        "negatives": m,
        "bin_log_odds": np.log((k + 0.5) / (m + 0.5)),
        "bin_lower": np.where(k == 0.0, -np.inf, lower),
        "bin_upper": np.where(m == 0.0, np.inf, upper),
    }
    return xr.Dataset({name: ("bin", values) for name, values in columns.items()})
