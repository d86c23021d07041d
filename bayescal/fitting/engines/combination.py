r"""Stacking: weights of a combination by left-out predictive densities, and its lapse rate.

Class densities and log-odds fits complement each other. With few positives the shapes of the
classes tell more than the labels alone; with many a log-odds fit does not suffer from a wrong
family; a straight line needs the fewest labels; and densities that are wrong in a detail are right
again once labels have bent their log-odds.

Lapses are documents whose label has nothing to do with their score: labels are sometimes wrong, and
later documents differ from those fitted. With lambda their share, pi the base rate and P_0 the
combination,

    P(+|s) = (1 - lambda) P_0(+|s) + lambda pi:

however far out a score is, the probability stays lambda pi away from 0 and lambda (1 - pi) away
from 1. Left-out labels show how often this is needed:

    p(lambda | labels) ~ Beta(lambda; a, b) prod_i [(1 - lambda) P_0(y_i | s_i, others)
                                                    + lambda pi(y_i)],

in which the base rate is one more member of the mixture, with a prior of its own. The name is that
of the same term in psychometric functions (F. A. Wichmann, N. J. Hill, "The psychometric function:
I", Perception & Psychophysics 63, 2001, equation 1).
"""

from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.fitting.scores import BinaryScores
from bayescal.inference.stacking import compare, log_scores, stack
from bayescal.support.validation import Floats

# The most documents that inform the weights, half of them positive if there are enough.
MOST_DOCUMENTS = 20_000
TINY = np.finfo(float).tiny  # in place of no weight at all
# The densities' log-odds need no standardising and are nearly right: slopes near 1.
RECALIBRATION = {"centre": 0.0, "spread": 1.0, "slope_scale": 0.4}


@dataclass(frozen=True)
class DocumentSample:
    """The documents that weights are learnt from."""

    index: NDArray[np.intp]  # their positions in the data, of int
    weight: Floats  # the number of documents that each represents


def pick_documents(
    data: BinaryScores, rng: np.random.Generator, most: int = MOST_DOCUMENTS
) -> DocumentSample:
    """Return all documents, or a sample of each class that stands for all of it."""
    own = np.ones(data.score.size) if data.weight is None else data.weight
    picked, weight = [], []
    positives = int(np.count_nonzero(data.positive))
    rarer = min(positives, data.score.size - positives)
    most = max(most // 2, most - rarer)
    for positive in (False, True):
        index = np.flatnonzero((data.positive == positive) & (own > 0.0))
        if index.size > most:
            index = np.sort(rng.choice(index, most, replace=False))
        picked.append(index)
        weight.append(own[index] * (data.total(positive) / max(own[index].sum(), TINY)))
    return DocumentSample(np.concatenate(picked), np.concatenate(weight))


@dataclass(frozen=True)
class PartWeights:
    """The weights of the parts in their mixture, and the leave-one-out log scores behind them."""

    axes: ClassVar = {"weight": ("part",), "elpd": ("part",), "se": ("part",)}

    weight: Floats  # (parts,), or (topics, parts): they sum to one
    # (parts,): sums over documents of log p(y_i | s_i, others), natural logarithm
    elpd: Floats
    se: Floats  # (parts,): standard errors of their differences to the best part's


def weigh(score: Floats, weight: Floats, belief: Floats | float) -> PartWeights:
    """
    Return the weights of parts by their log scores of documents left out, (parts, documents).

    A part whose belief, its prior weight in documents, is nan has the weight 0.
    """
    elpd, se = compare(score, weight)
    beliefs = np.broadcast_to(belief, len(score))
    weighed = ~np.isnan(beliefs)
    weights = np.zeros(len(score))
    weights[weighed] = stack(score[weighed], weight, beliefs[weighed])
    return PartWeights(weights, elpd, se)


# Most mass is near 0, little above some hundredths; chosen on data sets that were not used to judge
# it (docs/defaults.md).
LAPSE_PRIOR = (0.2, 13.0)
# Cells of equal prior probability; within one the posterior is as good as the prior.
CELLS = 256
LAST_HALVES = 32
AT_ONCE = 1 << 20  # documents x cells
ALIKE = 1e-3  # log scores of documents that are counted together
SMALLEST = 1e-12  # no lapse: below what probabilities are rounded to


def lapse_of_mixture(
    score: Floats,
    part_weight: Floats,
    base: Floats | float,
    positive: NDArray[np.bool_],
    weight: Floats,
    draws: int,
    rng: np.random.Generator,
    fixed: float | None,
) -> Floats | None:
    """
    Return draws of the lapse rate given the mixture's leave-one-out predictions.

    Weights of parts, (parts, 1) or (parts, documents), mix their log scores; documents that lapse
    are positive with the base rate.
    """
    mixture = special.logsumexp(score, axis=0, b=part_weight)
    log_base = log_scores(special.logit(base), positive)
    return draw_lapse(mixture, log_base, weight, draws, rng, fixed=fixed)


def draw_lapse(
    log_score: Floats,
    log_base: Floats,
    weight: Floats,
    draws: int,
    rng: np.random.Generator,
    *,
    prior: tuple[float, float] = LAPSE_PRIOR,
    fixed: float | None = None,
) -> Floats | None:
    """Return draws of lambda given labels left out, shape (draws,); None where it is fixed at 0."""
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
    """Return the log-odds of (1 - lambda) P_0(+|s) + lambda pi."""
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
