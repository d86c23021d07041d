r"""Lapses: the share of documents whose label has nothing to do with their score.

Labels are wrong now and then, and later documents are not quite like those fitted. With lambda the
share of such documents, and pi the share of positives among all,

    P(+|s) = (1 - lambda) P_0(+|s) + lambda pi,

with P_0 what all parts say together: however far out a score is, the probability stays lambda pi
away from 0 and lambda (1 - pi) away from 1. Labels left out tell how often this is needed:

    p(lambda | labels) ~ Beta(lambda; a, b) prod_i [(1 - lambda) P_0(y_i | s_i, others)
                                                    + lambda pi(y_i)],

in which the base rate is one more member of the mixture that stacking weighs, with a prior of its
own. The same term is in psychometric functions (F. A. Wichmann, N. J. Hill, "The psychometric
function: I", Perception & Psychophysics 63, 2001, equation 1), whence its name.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import special

from bayescal.validation import Floats

# Mostly next to none, seldom more than some hundredths; chosen on other data sets than judged by:
# docs/defaults.md.
PRIOR = (0.2, 13.0)
# Cells of equal prior probability; within one the posterior is as good as the prior.
CELLS = 256
LAST_HALVES = 32
AT_ONCE = 1 << 20  # documents x cells
ALIKE = 1e-3  # log scores of documents that are counted together
SMALLEST = 1e-12  # no lapse: below what probabilities are rounded to


def draw_lapse(
    log_score: Floats,
    log_base: Floats,
    weight: Floats,
    draws: int,
    rng: np.random.Generator,
    *,
    prior: tuple[float, float] = PRIOR,
    fixed: float | None = None,
) -> Floats | None:
    """
    Return draws of lambda given labels left out, shape (draws,); None where it is fixed at 0.

    Parameters
    ----------
    log_score : array of shape (n,)
        log P_0(y_i | s_i, all others), natural logarithm.
    log_base : array of shape (n,)
        log of the share of the label y_i among all documents.
    weight : array of shape (n,)
        How many documents each stands for.
    draws : int
        How many.
    rng : numpy.random.Generator
        Source of randomness.
    prior : tuple of float
        a and b of the beta.
    fixed : float, optional
        lambda, where it is known.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> sure, one_wrong = np.full(100, np.log(0.999)), np.log(np.r_[np.full(99, 0.999), 1e-6])
    >>> half, alike = np.full(100, np.log(0.5)), np.ones(100)
    >>> drawn = [draw_lapse(each, half, alike, 4000, rng) for each in (sure, one_wrong)]
    >>> [float(each.mean().round(3)) for each in drawn]
    [0.003, 0.019]
    """
    if fixed is not None:
        return np.full(draws, fixed) if fixed > 0.0 else None
    level, quantile = _quantiles(prior)
    middle = quantile[1 : 2 * CELLS : 2]
    log_likelihood = _log_likelihood(middle, log_score, log_base, weight)
    share = special.softmax(log_likelihood)
    cell = rng.choice(CELLS, draws, p=share)
    return np.interp((cell + rng.random(draws)) / CELLS, level, quantile)


@cache
def _quantiles(prior: tuple[float, float]) -> tuple[Floats, Floats]:
    """
    Return levels and the beta's quantiles there, between which it is as good as uniform.

    The first 2 CELLS are where cells begin and their middles; the last cell, which goes up to 1, is
    halved towards it.
    """
    even = np.arange(2 * CELLS) / (2 * CELLS)
    level = np.r_[even, 1.0 - (1.0 - even[-1]) * 0.5 ** np.arange(1, LAST_HALVES), 1.0]
    return level, np.maximum(special.betaincinv(*prior, level), SMALLEST)


def _log_likelihood(rate: Floats, log_score: Floats, log_base: Floats, weight: Floats) -> Floats:
    """Return the sum over documents of weight log(1 - rate + rate base/score), shape of rate."""
    total = np.zeros(rate.size)
    # A score that underflows is as far from the base rate as numbers go. Thousands of documents are
    # as sure as others: alike to 1/1000 they are one.
    ratio = np.round(np.minimum(log_base - log_score, 600.0) / ALIKE)
    distinct, code = np.unique(ratio, return_inverse=True)
    count = np.asarray(np.bincount(code, weight), dtype=np.float64)
    excess = np.expm1(ALIKE * distinct)
    for part in np.array_split(np.arange(excess.size), 1 + excess.size * rate.size // AT_ONCE):
        total += np.log1p(rate[:, None] * excess[part]) @ count[part]
    return total


def with_lapses(log_odds: Floats, lapse: Floats | float, base: Floats | float) -> Floats:
    """
    Return the log-odds of (1 - lambda) P_0(+|s) + lambda pi.

    Parameters
    ----------
    log_odds : array
        Of P_0, natural logarithm.
    lapse, base : array
        lambda and pi, broadcast against them; a lambda of 0 must not meet infinite log-odds.

    Notes
    -----
    With e = exp(-|f|) the two probabilities are 1/(1 + e) and e/(1 + e), neither of which cancels.

    Examples
    --------
    >>> with_lapses(np.array([-800.0, 0.0, 800.0]), 0.01, 0.5).round(3)
    array([-5.293,  0.   ,  5.293])
    """
    small = np.exp(-np.abs(log_odds))
    up = log_odds >= 0.0
    # Of thousands of draws new arrays cost more than their arithmetic.
    scaled = np.asarray(lapse * (1.0 + small))
    kept = 1.0 - lapse
    small = small * kept
    positive, negative = np.where(up, kept, small), np.where(up, small, kept)
    positive += scaled * base
    scaled *= 1.0 - base
    negative += scaled
    positive /= negative
    out: Floats = np.log(positive)
    return out
