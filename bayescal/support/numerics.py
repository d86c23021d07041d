"""Bayes' rule in log-odds, logs of sums of exponentials, robust scales."""

from typing import overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.support.validation import Floats

# Bayes' rule for two classes. Probabilities come last: naive Bayes scores passed through a sigmoid
# first are exactly 0 or 1 for a tenth of the documents.

IN_CACHE = 1 << 14  # log-odds that are turned into probabilities at once


def class_prior(positive: float, total: float) -> float:
    """
    Return the smoothed share of positives, (n_+ + 1) / (n + 2).

    The mean of the posterior of the class prior under a uniform Beta(1, 1), and Bennett's choice
    (dissertation, section 3.2.4). With weights, sums of weights stand for counts.
    """
    return (positive + 1.0) / (total + 2.0)


def log_odds(prior: ArrayLike, log_positive: ArrayLike, log_negative: ArrayLike) -> Floats:
    """Return logit(prior) + log p(s|+) - log p(s|-), natural logarithms."""
    ratio: Floats = np.asarray(log_positive) - np.asarray(log_negative)
    return special.logit(np.asarray(prior, dtype=np.float64)) + ratio


def probability(log_odds: ArrayLike, out: Floats | None = None) -> Floats:
    """Return 1 / (1 + exp(-log-odds)), in `out` if it is given."""
    values = np.asarray(log_odds, dtype=np.float64)
    out = np.empty_like(values) if out is None else out
    # As scipy.special.expit, whose exponential is not vectorised: four times as fast.
    np.negative(values, out=out)
    with np.errstate(over="ignore"):
        np.exp(out, out=out)
    out += 1.0
    np.divide(1.0, out, out=out)
    return out


def probabilities(log_odds: Floats) -> Floats:
    """Return P(-) and P(+) of log-odds, shape (n, 2), in the order of scikit-learn's classes."""
    both: Floats = np.empty((log_odds.size, 2))
    # Memory of a million documents takes longer to come by than their exponentials.
    for first in range(0, log_odds.size, IN_CACHE):
        some = slice(first, first + IN_CACHE)
        both[some, 0], both[some, 1] = probability(-log_odds[some]), probability(log_odds[some])
    return both


def log_probabilities(log_odds: Floats) -> Floats:
    """Return natural logarithms of `probabilities`, which stay finite where these round to 0."""
    return np.asarray(special.log_expit(np.stack([-log_odds, log_odds], axis=1)))


def log_odds_of_mixture(log_odds: Floats, weight: Floats) -> Floats:
    """
    Return the log-odds of the weighted mean over rows of probabilities; shape (n,).

    log sum_k w_k P_k(+) - log sum_k w_k P_k(-), finite where the mean rounds to 0 or 1.
    """
    b = weight[:, None]
    positive = special.logsumexp(special.log_expit(log_odds), axis=0, b=b)
    mixed: Floats = positive - special.logsumexp(special.log_expit(-log_odds), axis=0, b=b)
    return mixed


# Logs of sums of exponentials, where scipy's own are a seventh of what a fit takes.


def log_sum_exp(values: Floats, axis: int) -> Floats:
    """Return the log of the sum of exp(values) along an axis; the values are overwritten."""
    top = values.max(axis=axis, keepdims=True)
    # exp(-inf - (-inf)) is not a number.
    top[np.isneginf(top)] = 0.0
    values -= top
    with np.errstate(divide="ignore"):
        total: Floats = np.log(np.exp(values, out=values).sum(axis=axis))
    total += top.squeeze(axis)
    return total


# Robust centre and spread of scores: the yardstick of scale floors, priors and plots.

# 1 / Phi^-1(3/4): makes the median absolute deviation estimate a Gaussian's standard deviation.
MAD_TO_SIGMA = 1.482602218505602
# Scores of a classifier that says nothing may differ by so many units in the last place: warped by
# a spread like that they would be all equal.
ROUNDING = 8.0
# Of how far both classes reach; a Gaussian's spread is most of that, so that it seldom acts.
SMALLEST_SHARE = 0.02
# Of a spread: widths of densities are a share of it, and their inverses must not overflow.
LEAST = 1e-280
# Of the scores, in the narrowest place; and how many are looked at.
QUARTER, MOST = 0.25, 20_000


def centre_and_spread(x: Floats, weight: Floats | None = None) -> tuple[float, float]:
    """
    Return the median of scores and a positive measure of their spread.

    The spread is 1.4826 times the median absolute deviation; where more than half of the scores
    tie and it vanishes, the mean absolute deviation; where all scores are equal but for rounding,
    their absolute value (1 if that is 0), and never below 1e-280, so that it and its inverse are
    positive for all legal data.
    """
    if weight is not None and not weight.all():
        x, weight = x[weight > 0.0], weight[weight > 0.0]
    centre = median(x, weight)
    deviation = np.abs(x - centre)
    spread = MAD_TO_SIGMA * median(deviation, weight)
    if spread <= rounding(abs(centre)):
        spread = float(np.average(deviation, weights=weight))
    if spread <= rounding(abs(centre)):
        spread = abs(centre) or 1.0
    return centre, max(spread, LEAST)


def units_of(x: Floats, positive: NDArray[np.bool_], weight: Floats | None) -> tuple[float, float]:
    """
    Return the units of priors: the median of scores, and a spread that serves both classes.

    The spread is that of `centre_and_spread`, or 1/50 of how far the classes reach, from the lowest
    of their first quartiles to the highest of their third ones, if that is more. Where most
    documents have all but the same score (trees that find nothing), the deviation of most is no
    unit for the others. Quartiles, because a few scores may lie anywhere.
    """
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
    # The first scores with which an interval that begins at each holds enough; rounding in a
    # running sum must not ask for one more.
    enough = (reached - weight + QUARTER * reached[-1]) * (1.0 - x.size * np.finfo(np.float64).eps)
    last = np.searchsorted(reached, enough)
    whole = last < x.size
    return float((x[last[whole]] - x[whole]).min())


def _quartiles(x: Floats, weight: Floats | None, mine: NDArray[np.bool_]) -> Floats | None:
    """Return the first and the third quartile of a class, None of one without any weight."""
    own = None if weight is None else weight[mine]
    if not (mine.any() if own is None else own.any()):
        return None
    quartiles: Floats = np.quantile(x[mine], (0.25, 0.75), method="inverted_cdf", weights=own)
    return quartiles


@overload
def rounding(size: float) -> float: ...
@overload
def rounding(size: Floats) -> Floats: ...
def rounding(size: float | Floats) -> float | Floats:
    """Return the largest rounding difference of equal scores of this absolute value."""
    return ROUNDING * np.finfo(np.float64).eps * size


def median(x: Floats, weight: Floats | None) -> float:
    """Return the midpoint of the interval of (weighted) medians."""
    if weight is None:
        return float(np.median(x))
    order = np.argsort(x)
    share = np.cumsum(weight[order])
    share /= share[-1]
    # Rounding in a running sum of n terms must not move the median off a tie at exactly one half.
    slack = x.size * np.finfo(np.float64).eps
    lower = int(np.searchsorted(share, 0.5 - slack))
    upper = min(int(np.searchsorted(share, 0.5 + slack, side="right")), x.size - 1)
    return float(0.5 * x[order[lower]] + 0.5 * x[order[upper]])
