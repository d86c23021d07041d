"""The combination of parts: weights by stacking, a lapse rate, and levels at ends of the scores.

See "The combination", "Lapses" and "Many documents at an end of the scores" in docs/mathematics.md.
Leave-one-out predictions inform the lapse rate lambda, the weight of the base rate pi:

    p(lambda | labels) ~ Beta(lambda; a, b) prod_i [(1 - lambda) P_0(y_i | s_i, others)
                                                    + lambda pi(y_i)].

The name comes from psychometric functions (F. A. Wichmann, N. J. Hill, "The psychometric function:
I", Perception & Psychophysics 63, 2001, equation 1).
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.fitting.engines.monotone.engine import WARPS, LaplaceFits, vague_log_evidence
from bayescal.fitting.posterior import SAMPLE
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.newton import compare, log_scores, stack
from bayescal.support.numerics import log_odds_of_mixture
from bayescal.support.validation import Floats
from bayescal.support.weighting import representatives

# The largest number of documents for the weights, half of them positive if possible.
MOST_DOCUMENTS = 20_000
# The densities' log-odds are nearly calibrated and not standardised: slopes near 1.
RECALIBRATION = {"centre": 0.0, "spread": 1.0, "slope_scale": 0.4}


def pick_documents(
    data: BinaryScores, most: int = MOST_DOCUMENTS
) -> tuple[NDArray[np.intp], Floats]:
    """Return positions of all documents, or of one for each cell of similar scores, and weights."""
    own = data.weights
    picked, weight = [], []
    positives = int(np.count_nonzero(data.positive))
    rarer = min(positives, data.score.size - positives)
    most = max(most // 2, most - rarer)
    for positive in (False, True):
        index = np.flatnonzero((data.positive == positive) & (own > 0.0))
        chosen, each = representatives(data.score[index], own[index], most)
        picked.append(index[chosen])
        weight.append(each)
    return np.concatenate(picked), np.concatenate(weight)


@dataclass(frozen=True)
class PartWeights:
    """The weights of the parts in their mixture, and the leave-one-out log scores behind them."""

    axes: ClassVar = dict.fromkeys(("weight", "elpd", "se", "pareto_k"), ("part",))

    weight: Floats  # (parts,), or (topics, parts), summing to one
    elpd: Floats  # (parts,): sums over documents of log p(y_i | s_i, others), natural logarithm
    se: Floats  # (parts,): standard errors of elpd differences to the best part
    # (parts,): largest Pareto k behind elpd, nan without any; None if it is not kept
    pareto_k: Floats | None = None


def weigh(
    score: Floats, weight: Floats, belief: Floats | float, pareto_k: Floats | None = None
) -> PartWeights:
    """Return the weights of parts by their leave-one-out log scores, (parts, documents)."""
    # Beliefs are prior weights in documents; a part with a belief of nan gets the weight 0.
    elpd, se = compare(score, weight)
    beliefs = np.broadcast_to(belief, len(score))
    weighed = ~np.isnan(beliefs)
    weights = np.zeros(len(score))
    weights[weighed] = stack(score[weighed], weight, beliefs[weighed])
    if pareto_k is not None:
        pareto_k = pareto_k.max(axis=1)
        pareto_k = np.where(pareto_k > -np.inf, pareto_k, np.nan)
    return PartWeights(weights, elpd, se, pareto_k)


# Most mass is near 0, little above some hundredths; chosen on data sets apart from the test data
# (docs/defaults.md).
LAPSE_PRIOR = (0.2, 13.0)
# Cells of equal prior probability, with a constant likelihood in each.
CELLS = 256
LAST_HALVES = 32
AT_ONCE = 1 << 20  # documents x cells of a block
ALIKE = 1e-3  # resolution of log scores
SMALLEST = 1e-12  # lapse rates below it have no effect


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
    """Return draws of the lapse rate given the mixture's leave-one-out predictions."""
    mixture = special.logsumexp(score, axis=0, b=part_weight)
    log_base = log_scores(special.logit(base), positive)
    return draw_lapse(mixture, log_base, weight, draws, rng, fixed=fixed)


def left_out_of_mixture(
    log_odds: Floats, part_weight: Floats, lapse: Floats | None, base: float
) -> Floats:
    """Return the mixture's leave-one-out log-odds, (m,), from those of the parts, (parts, m)."""
    rate = 0.0 if lapse is None else float(lapse.mean())
    return with_lapses(log_odds_of_mixture(log_odds, part_weight), rate, base)


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
    """Return draws of lambda given leave-one-out scores, shape (draws,); None if fixed at 0."""
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
    """Return levels, starts and middles of cells, and the beta's quantiles there."""
    even = np.arange(2 * CELLS) / (2 * CELLS)
    level = np.r_[even, 1.0 - (1.0 - even[-1]) * 0.5 ** np.arange(1, LAST_HALVES), 1.0]
    return level, np.maximum(special.betaincinv(*prior, level), SMALLEST)


def _log_likelihood(rate: Floats, log_score: Floats, log_base: Floats, weight: Floats) -> Floats:
    """Return the sum over documents of weight log(1 - rate + rate base/score), shape of rate."""
    total = np.zeros(rate.size)
    # Bounded where a score underflows. Documents with nearly equal scores are counted together.
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
    # In place: for thousands of draws new arrays cost more than arithmetic.
    scaled = np.asarray(lapse * (1.0 + small))
    kept = 1.0 - lapse
    small = small * kept
    positive, negative = np.where(up, kept, small), np.where(up, small, kept)
    positive += scaled * base
    scaled *= 1.0 - base
    negative += scaled
    positive /= negative
    return np.asarray(np.log(positive))


GROUP = "levels"  # of a tree
# Smallest number (or weight) of tied documents.
FEWEST = 10.0
# Smallest number of other documents of each class.
FEWEST_OF_CLASS = 3


@dataclass(frozen=True)
class Ends:
    """Ends of the scores at and beyond which documents have separate levels."""

    end: Floats  # (ends,): scores
    lowest: NDArray[np.bool_]  # (ends,): whether all other documents lie above it

    def of(self, scores: Floats) -> NDArray[np.intp]:
        """Return the end that each score is at or beyond, -1 for none."""
        at = np.full(scores.size, -1)
        for k, (end, lowest) in enumerate(zip(self.end, self.lowest, strict=True)):
            at[scores <= end if lowest else scores >= end] = k
        return at


@dataclass(frozen=True)
class EndLevels:
    """Draws of P(+) at each end, and of all documents; many topics are the first axis."""

    axes: ClassVar = {
        "end": ("end",),
        "lowest": ("end",),
        "level": (SAMPLE, "end"),
        "prior": (SAMPLE,),
    }

    ends: Ends
    level: Floats  # (draws, ends)
    prior: Floats  # (draws,)


@dataclass(frozen=True)
class TiedDocuments:
    """The documents at ends with separate levels, and the rest."""

    score: Floats  # (ends,): the ends, ascending
    positive: Floats  # (ends,): the weight of positives at each
    total: Floats  # (ends,): the weight of documents at each
    rest: BinaryScores  # all other documents, in the units of all documents

    def ends(self, lowest: float) -> Ends:
        """Return the ends, given the lowest of all scores."""
        return Ends(self.score, self.score == lowest)

    def draw(self, data: BinaryScores, draws: int, rng: np.random.Generator) -> EndLevels:
        """Return draws of the levels and of P(+) of all documents."""
        a, b = 1.0 + self.positive, 1.0 + self.total - self.positive
        level = rng.beta(a, b, (draws, a.size))
        prior = rng.beta(1.0 + data.total(True), 1.0 + data.total(False), draws)
        return EndLevels(self.ends(data.score_range[0]), level, prior)

    def left_out(self, data: BinaryScores, of_rest: Floats) -> Floats:
        """Return the log-odds of all documents, each given all others, from the rest's, (n,)."""
        at = self.ends(data.score_range[0]).of(data.score)
        tied = at >= 0
        end, label = at[tied], data.positive[tied]
        itself = np.minimum(data.weights[tied], 1.0)
        positive = self.positive[end] - itself * label
        negative = self.total[end] - self.positive[end] - itself * ~label
        out = np.empty(at.size)
        out[tied], out[~tied] = np.log1p(positive) - np.log1p(negative), of_rest
        return out


def find_levels(data: BinaryScores) -> TiedDocuments | None:
    """Return the ends of the scores where the evidence favours separate levels, or None."""
    none = np.empty(0)
    levels = TiedDocuments(none, none, none, data)
    best = None
    for end in _ends(data):
        with_level = _apart(levels, end)
        if min(np.count_nonzero(with_level.rest.positive == k) for k in (0, 1)) < FEWEST_OF_CLASS:
            continue
        best = _log_evidence(levels) if best is None else best
        evidence = _log_evidence(with_level)
        if evidence > best:
            levels, best = with_level, evidence
    order = np.argsort(levels.score)
    if not order.size:
        return None
    score, positive, total = (each[order] for each in (levels.score, levels.positive, levels.total))
    return replace(levels, score=score, positive=positive, total=total)


def _ends(data: BinaryScores) -> Iterator[float]:
    """Yield the largest and the smallest score at which many documents tie."""
    low, high = data.score_range
    for end in (high, low) if low < high else ():
        tied = data.score == end
        if np.count_nonzero(tied) > 1 and data.weights[tied].sum() >= FEWEST:
            yield end


def _apart(levels: TiedDocuments, end: float) -> TiedDocuments:
    """Return the levels with one more end."""
    rest, at = levels.rest, levels.rest.score == end
    return TiedDocuments(
        np.append(levels.score, end),
        np.append(levels.positive, rest.weights[at & rest.positive].sum()),
        np.append(levels.total, rest.weights[at].sum()),
        rest.take(np.flatnonzero(~at)),
    )


def _log_evidence(levels: TiedDocuments) -> float:
    """Return the natural log of the evidence of the rest's curve and of the levels."""
    of_levels = special.betaln(1.0 + levels.positive, 1.0 + levels.total - levels.positive)
    return vague_log_evidence(LaplaceFits(levels.rest), WARPS) + float(of_levels.sum())
