"""Point estimates and intervals from draws of a curve of log-odds.

Scores are processed in blocks, so that memory never holds draws x scores for more than one block.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.fitting.posterior import Posterior, log_odds_of_mean
from bayescal.support.validation import Floats, as_reals, check_fraction, unmasked

# A class prior at prediction time: a number, a distribution, or draws.
Prior = float | ArrayLike | Any
SUM_TOLERANCE = 1e-6


def prior_draws(prior: Prior, draws: int) -> Floats:
    """Return draws of a class prior, the same at every call."""
    level = (np.arange(draws) + 0.5) / draws
    prior = unmasked(getattr(prior, "draws", prior), "prior")
    is_distribution = hasattr(prior, "ppf")
    if is_distribution:
        values = np.asarray(prior.ppf(level), dtype=np.float64)
    else:
        try:
            values = as_reals(prior, "prior").ravel()
        except ValueError:
            values = np.empty(0)
        if not values.size:
            raise ValueError(
                "prior must be a number between 0 and 1, draws of one, or a frozen scipy.stats"
                f" distribution, got {prior!r}."
            )
    # nan fails both checks.
    check_fraction(prior=float(values.min()))
    check_fraction(prior=float(values.max()))
    if not is_distribution and values.size > 1 and sum_to_one(values):
        raise ValueError(
            "prior must be P(+), the share of positives, or draws of it; got"
            f" {values.size} numbers that sum to 1, as those of classes: give that of the"
            " positive one."
        )
    quantiles = values if is_distribution else np.quantile(values, level)
    return np.random.default_rng(0).permutation(quantiles)


def sum_to_one(values: ArrayLike) -> bool:
    """Return whether numbers sum to 1, like shares of classes, unlike draws of a prior."""
    return bool(abs(np.sum(np.asarray(values, dtype=np.float64)) - 1.0) <= SUM_TOLERANCE)


# Quantiles over draws, shortest intervals, and levels of simultaneous bands.

# Up to this number of draws, vectorised sorting is faster than partitioning.
SORTED = 1000


def quantiles(values: Floats, levels: Floats) -> Floats:
    """Return quantiles over draws, as ``np.quantile(values, levels, axis=0)`` does, but faster."""
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
    # From the nearer end, as in np.quantile, so that the ends are exact.
    result: Floats = np.where(share < 0.5, below + gap * share, above - gap * (1.0 - share))
    return result.T


def highest_density(values: Floats, level: float) -> Floats:
    """Return the shortest interval that holds a share of draws, pointwise."""
    ordered = _ordered(values)
    point, draws = ordered.shape
    inside = int(np.ceil(level * draws))
    start = (ordered[:, inside - 1 :] - ordered[:, : draws - inside + 1]).argmin(axis=1)
    ends = np.stack([start, start + inside - 1])
    return np.asarray(ordered[np.arange(point), ends])


def _ordered(values: Floats) -> Floats:
    """Return the sorted draws of each point, shape (n, draws), contiguous in memory."""
    ordered = np.array(values.T, order="C")
    ordered.sort(axis=1)
    return ordered


def simultaneous_tail(curves: Floats, level: float) -> float:
    """
    Return the tail share at which pointwise equal-tailed intervals hold whole curves.

    The largest t such that at least `level` of the curves lie within their pointwise t and 1 - t
    quantiles at all points at once (Besag et al., Statistical Science 1995, section 6.3).
    """
    # A slow import, which pointwise bands do not need.
    from scipy import stats

    draws = curves.shape[0]
    rank = stats.rankdata(curves, axis=0, method="min") - 1
    reverse = draws - stats.rankdata(curves, axis=0, method="max")
    depth = np.minimum(rank, reverse).min(axis=1)
    # Number of curves that must be at least as deep as the tail.
    kept = int(np.ceil(level * draws))
    return float(np.sort(depth)[draws - kept] / (draws - 1)) if draws > 1 else 0.0


BLOCK_ELEMENTS = 1 << 22


def predictive_log_odds(draws: Posterior, scores: Floats) -> Floats:
    """Return the log-odds of P(+ | s, data); shape (scores,)."""
    out = np.empty_like(scores)
    for part in blocks(draws.size, scores.size):
        out[part] = draws.predictive(scores[part])
    return out


def mean_log_odds(draws: Posterior, scores: Floats) -> Floats:
    """Return the log-odds of the mean over draws of P_k(+|s); shape (scores,)."""
    out = np.empty_like(scores)
    for part in blocks(draws.size, scores.size):
        out[part] = log_odds_of_mean(draws.log_odds(scores[part]))
    return out


def quantiles_of_log_odds(draws: Posterior, scores: Floats, levels: Floats) -> Floats:
    """Return pointwise quantiles over draws of the log-odds, shape (levels, scores)."""
    out = np.empty((levels.size, scores.size))
    for part in blocks(draws.size, scores.size):
        out[:, part] = quantiles(draws.log_odds(scores[part]), levels)
    return out


def blocks(draws: int, scores: int) -> Iterator[slice]:
    """Yield slices of the scores, so that draws x scores fit into a block of memory."""
    width = max(1, BLOCK_ELEMENTS // draws)
    for start in range(0, scores, width):
        yield slice(start, min(start + width, scores))
