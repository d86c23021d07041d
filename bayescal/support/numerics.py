"""Bayes' rule in log-odds, logs of sums of exponentials, robust scales, blocks, BLAS."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.support.validation import LEAST_SPREAD, Floats

Size = TypeVar("Size", float, Floats)

# Bayes' rule for two classes works in log-odds: naive Bayes' probabilities are exactly 0 or 1 for a
# tenth of the documents.

IN_CACHE = 1 << 14  # log-odds in a block of `probabilities`
PSEUDO_COUNT = 0.5  # documents of each class added to those in a gap: Jeffreys' prior


def class_prior(positive: float, total: float) -> float:
    """Return the smoothed share of positives, (n_+ + 1) / (n + 2), of counts or weights."""
    # The posterior mean under a uniform prior (Bennett's dissertation, section 3.2.4).
    return (positive + 1.0) / (total + 2.0)


def log_odds(prior: ArrayLike, log_positive: ArrayLike, log_negative: ArrayLike) -> Floats:
    """Return logit(prior) + log p(s|+) - log p(s|-), natural logarithms."""
    ratio: Floats = np.asarray(log_positive) - np.asarray(log_negative)
    return special.logit(np.asarray(prior, dtype=np.float64)) + ratio


def probability(log_odds: ArrayLike, out: Floats | None = None) -> Floats:
    """Return 1 / (1 + exp(-log-odds)), in `out` if it is given."""
    values = np.asarray(log_odds, dtype=np.float64)
    out = np.empty_like(values) if out is None else out
    # Four times as fast as scipy.special.expit, whose exponential is not vectorised.
    np.negative(values, out=out)
    with np.errstate(over="ignore"):
        np.exp(out, out=out)
    out += 1.0
    np.divide(1.0, out, out=out)
    return out


def probabilities(log_odds: Floats) -> Floats:
    """Return P(-) and P(+) of log-odds, shape (n, 2), in the order of scikit-learn's classes."""
    both: Floats = np.empty((log_odds.size, 2))
    # In blocks: allocating memory for a million documents takes longer than their exponentials.
    for first in range(0, log_odds.size, IN_CACHE):
        some = slice(first, first + IN_CACHE)
        both[some, 0], both[some, 1] = probability(-log_odds[some]), probability(log_odds[some])
    return both


def log_probabilities(log_odds: Floats) -> Floats:
    """Return natural logarithms of `probabilities`, finite where those round to 0."""
    return np.asarray(special.log_expit(np.stack([-log_odds, log_odds], axis=1)))


def log_odds_of_mixture(log_odds: Floats, weight: Floats) -> Floats:
    """Return the log-odds of the weighted mean over rows of probabilities; shape (n,)."""
    # Finite where the mean rounds to 0 or 1.
    b = weight[:, None]
    positive = special.logsumexp(special.log_expit(log_odds), axis=0, b=b)
    return np.asarray(positive - special.logsumexp(special.log_expit(-log_odds), axis=0, b=b))


def log_sum_exp(values: Floats, axis: int) -> Floats:
    """Return the log of the sum of exp(values) along an axis; overwrites the values."""
    top = values.max(axis=axis, keepdims=True)
    # exp(-inf - (-inf)) is not a number. (scipy's logsumexp takes a seventh of a fit's time.)
    top[np.isneginf(top)] = 0.0
    values -= top
    with np.errstate(divide="ignore"):
        total: Floats = np.log(np.exp(values, out=values).sum(axis=axis))
    total += top.squeeze(axis)
    return total


# Robust centre and spread of scores: units of scale floors, priors and plots.

# 1 / Phi^-1(3/4): scales a Gaussian's median absolute deviation to its standard deviation.
MAD_TO_SIGMA = 1.482602218505602
# Differences of scores below this many units in the last place are rounding errors.
ROUNDING = 8.0
# Least spread relative to the classes' reach; a Gaussian's spread is most of its reach.
SMALLEST_SHARE = 0.02
# `bulk_width`: share of the scores in the interval, and the most scores used.
QUARTER, MOST = 0.25, 20_000


def even_nodes(x: Floats, most: int) -> Floats:
    """Return the distinct values, or at most so many quantiles of them and evenly spaced values."""
    own = np.unique(x)
    if own.size <= most:
        return own
    # Quantiles alone leave the ends, where few values lie, without nodes.
    share = np.linspace(0.0, 1.0, most // 2)
    return np.union1d(np.quantile(own, share), own[0] + share * (own[-1] - own[0]))


def centre_and_spread(x: Floats, weight: Floats | None = None) -> tuple[float, float]:
    """Return the median of scores and a robust measure of their spread, at least 1e-280."""
    # 1.4826 times the median absolute deviation; if that is 0 the mean absolute deviation; and of
    # scores that are equal but for rounding their absolute value, or 1.
    if weight is not None and not weight.all():
        x, weight = x[weight > 0.0], weight[weight > 0.0]
    centre = median(x, weight)
    deviation = np.abs(x - centre)
    spread = MAD_TO_SIGMA * median(deviation, weight)
    if spread <= rounding(abs(centre)):
        spread = float(np.average(deviation, weights=weight))
    if spread <= rounding(abs(centre)):
        spread = abs(centre) or 1.0
    return centre, max(spread, LEAST_SPREAD)


def units_of(x: Floats, positive: NDArray[np.bool_], weight: Floats | None) -> tuple[float, float]:
    """Return the units of priors: the median of scores, and a spread that serves both classes."""
    # At least 1/50 of the range of both classes' quartiles: if most documents have almost the same
    # score (uninformative trees), their deviation is no unit for the others.
    centre, spread = centre_and_spread(x, weight)
    own = [_quartiles(x, weight, positive == label) for label in (False, True)]
    ends = np.array([each for each in own if each is not None])
    reach = float(ends[:, 1].max() - ends[:, 0].min()) if ends.size else 0.0
    return centre, max(spread, SMALLEST_SHARE * reach)


def bulk_width(x: Floats, weight: Floats | None = None) -> float:
    """Return the width of the shortest interval that holds a quarter of the scores."""
    step = max(1, x.size // MOST)
    x, weight = x[::step], np.ones(x.size)[::step] if weight is None else weight[::step]
    order = np.argsort(x)
    order = order[weight[order] > 0.0]
    x, weight = x[order], weight[order]
    reached = np.cumsum(weight)
    # For each start the weight to reach; rounding of the running sum must not add a score.
    enough = (reached - weight + QUARTER * reached[-1]) * (1.0 - x.size * np.finfo(np.float64).eps)
    last = np.searchsorted(reached, enough)
    whole = last < x.size
    return float((x[last[whole]] - x[whole]).min())


def _quartiles(x: Floats, weight: Floats | None, mine: NDArray[np.bool_]) -> Floats | None:
    """Return the first and third quartile of a class; None if the class has no weight."""
    own = None if weight is None else weight[mine]
    if not (mine.any() if own is None else own.any()):
        return None
    return np.asarray(np.quantile(x[mine], (0.25, 0.75), method="inverted_cdf", weights=own))


def rounding(size: Size) -> Size:
    """Return the largest rounding difference of equal scores of this absolute value."""
    return ROUNDING * np.finfo(np.float64).eps * size


def median(x: Floats, weight: Floats | None) -> float:
    """Return the midpoint of the interval of (weighted) medians."""
    if weight is None:
        return float(np.median(x))
    order = np.argsort(x)
    share = np.cumsum(weight[order])
    share /= share[-1]
    # Rounding errors of a sum of n terms must not move the median off a tie at exactly one half.
    slack = x.size * np.finfo(np.float64).eps
    lower = int(np.searchsorted(share, 0.5 - slack))
    upper = min(int(np.searchsorted(share, 0.5 + slack, side="right")), x.size - 1)
    return float(0.5 * x[order[lower]] + 0.5 * x[order[upper]])


_blas_is_limited = ContextVar("bayescal_blas_is_limited", default=False)


def blocks_of(size: int, n: int) -> list[slice]:
    """Return slices of at most `size` that cover n things."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread inside the context."""
    if _blas_is_limited.get() or threading.current_thread() is not threading.main_thread():
        # OpenBLAS has one limit for all threads; other threads must not undo the main thread's.
        yield
        return
    token = _blas_is_limited.set(True)
    try:
        with _thread_pools().limit(limits=1, user_api="blas"):
            yield
    finally:
        _blas_is_limited.reset(token)


@cache
def _thread_pools() -> Any:
    # The controller knows only loaded libraries, and scipy has a BLAS of its own.
    import scipy.special  # noqa: F401
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
