r"""Leave-one-out predictive probabilities of the labels, from draws of the whole posterior.

    p(y_i | s_i, rest) = 1 / mean over draws of 1 / p(y_i | s_i, draw),

an average with importance ratios 1/p(y_i | s_i, draw), Pareto-smoothed where they are uneven
(Vehtari, Gelman and Gabry, Statistics and Computing 2017). Where the shape k of their tail says
that a document carries too much of the posterior for that, the next dearer way is taken: ratios to
the posterior's proposal, whose tails are longer than the posterior's; a proposal moved one step
towards the posterior of the rest; a fit to the rest.
"""

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.fitting.engines.monotone.density import Pieces, Prior
from bayescal.fitting.engines.monotone.posterior import (
    Importance,
    MonotoneCurves,
    MonotonePosterior,
    draw_monotone,
)
from bayescal.inference.importance import WORST_K, left_out, smooth, weigh
from bayescal.support.numerics import log_sum_exp
from bayescal.support.validation import Floats

# The most distinct scores of each label that are computed one by one; more use a table.
MOST_SCORES = 96
# With so many draws of ratios the log score of all documents varies by 0.07 nats or so.
MOST_DRAWS = 1000
ROWS_AT_ONCE = 64
# The dearer ways are for this many documents at most, the most influential of them.
MOST_AGAIN = 10
# Better methods cost milliseconds: importance sampling need not go to its limit of 0.7.
GOOD_K = 0.5
STEP_DRAWS = 2000


@dataclass(frozen=True)
class LeaveOneOut:
    """Predictive probabilities of labels that were left out."""

    log_probability: Floats  # log p(y_i | s_i, all other documents), natural logarithm, (m,)
    # Pareto shape of the importance ratios: above 0.7 the value is unreliable, (m,)
    pareto_k: Floats

    def log_odds(self, positive: NDArray[np.bool_]) -> Floats:
        """Return the log-odds of + of each document, whose label is given."""
        log_odds = _log_odds_of(self.log_probability)
        return np.where(positive, log_odds, -log_odds)


def leave_one_out(
    posterior: MonotoneCurves,
    x: Floats,
    positive: NDArray[np.bool_],
    weight: Floats | None,
    prior: Prior,
    rng: np.random.Generator,
    importance: Importance | None = None,
    index: NDArray[np.intp] | None = None,
) -> LeaveOneOut:
    """
    Return the probability of labels, each given its score and all other documents.

    Of a weight above 1, only 1 is left out.
    """
    index = np.arange(x.size) if index is None else index
    log_probability, k = np.empty(index.size), np.empty(index.size)
    # Draws are in random order: the first ones are a sample.
    some = MonotoneCurves(
        posterior.pieces, posterior.intercept[:MOST_DRAWS], posterior.slopes[:MOST_DRAWS]
    )
    for label in (False, True):
        mine = np.flatnonzero(positive[index] == label)
        if mine.size:
            own = None if weight is None else weight[index[mine]]
            log_probability[mine], k[mine] = _of_label(some, x[index[mine]], own, label)
    weights = np.ones(x.size) if weight is None else weight
    again = partial(_fit, posterior, x, positive, prior, rng)
    worst = np.argsort(-k)[:MOST_AGAIN]
    for j in worst[k[worst] > GOOD_K]:
        i = index[j]
        power = min(weights[i], 1.0)
        rest = weights.copy()
        rest[i] -= power
        # Without the only document there is nothing to draw from again.
        if not rest.any():
            continue
        sign = 1.0 if positive[i] else -1.0
        if importance is None:
            importance = again(weights).importance
        proposed = _by_proposal(importance, posterior.pieces, x[[i]], sign, power, rng)
        log_probability[j], k[j] = proposed
        if k[j] > WORST_K:
            others = again(rest)
            log_p = special.log_expit(sign * others.log_odds(x[[i]])[:, 0])
            log_probability[j] = special.logsumexp(log_p) - math.log(log_p.size)
            k[j] = others.pareto_k
    return LeaveOneOut(log_probability, k)


def _fit(
    posterior: MonotoneCurves,
    x: Floats,
    positive: NDArray[np.bool_],
    prior: Prior,
    rng: np.random.Generator,
    weight: Floats,
) -> MonotonePosterior:
    """Return as many draws of the same pieces, given documents of other weights."""
    draws = posterior.intercept.size
    return draw_monotone(x, positive, weight, prior, draws, rng, pieces=posterior.pieces)


def _by_proposal(
    importance: Importance,
    pieces: Pieces,
    x: Floats,
    sign: float,
    power: float,
    rng: np.random.Generator,
) -> tuple[float, float]:
    """Return log p(y_i | s_i, rest) and k by weighted proposals, moved one step if need be."""
    density, sample = importance.density, importance.sample

    def log_p(points: Floats) -> Floats:
        curves = MonotoneCurves(pieces, points[:, 0], density.slopes(points))
        values: Floats = special.log_expit(sign * curves.log_odds(x)[:, 0])
        return values

    def log_density(points: Floats) -> Floats:
        return density.log_density(points) - power * log_p(points)

    own = log_p(sample.points)
    smoothed, k = smooth((sample.log_ratio - power * own)[None])
    log_weight = smoothed[0]
    if k[0] > GOOD_K:
        step = importance.proposal.matched(sample.points, log_weight)
        weighted = weigh(log_density, step, STEP_DRAWS, rng)
        own, log_weight = log_p(weighted.points), weighted.log_weight
        k = np.array([weighted.pareto_k])
    return float(log_sum_exp(log_weight + own, axis=0)), float(k[0])


def _log_odds_of(log_probability: Floats) -> Floats:
    """Return log p/(1 - p) of log p; probabilities are at most 1 - 1e-12."""
    own = np.minimum(log_probability, -1e-12)
    log_odds: Floats = own - np.log(-np.expm1(own))
    return log_odds


def _of_label(
    posterior: MonotoneCurves, x: Floats, weight: Floats | None, label: bool
) -> tuple[Floats, Floats]:
    sign = 1.0 if label else -1.0
    power = None if weight is None else np.minimum(weight, 1.0)
    # Documents of weight 0 do not serve as nodes.
    node = np.unique(x if weight is None else x[weight > 0.0])
    if node.size > MOST_SCORES:
        node = _nodes(node, posterior.pieces.knots)
        common = 1.0 if power is None else float(np.average(power, weights=weight))
        values, k = _by_importance(posterior, node, np.full(node.size, common), sign)
        after = np.searchsorted(node, x).clip(max=node.size - 1)
        before = np.maximum(after - 1, 0)
        # Between knots log-odds are nearly straight, which log probabilities are not.
        log_odds = np.interp(x, node, _log_odds_of(values))
        return special.log_expit(log_odds), np.maximum(k[before], k[after])
    both = np.stack([x, np.ones(x.size) if power is None else power])
    distinct, back = np.unique(both, axis=1, return_inverse=True)
    values, k = _by_importance(posterior, distinct[0], distinct[1], sign)
    return values[back], k[back]


def _nodes(x: Floats, knots: Floats) -> Floats:
    """Return where a table has its entries: half at quantiles, half evenly, and at the knots."""
    quantiles = np.quantile(x, np.linspace(0.0, 1.0, MOST_SCORES // 2))
    even = np.linspace(x[0], x[-1], MOST_SCORES // 2)
    return np.unique(np.concatenate([quantiles, even, knots]))


def _by_importance(
    posterior: MonotoneCurves, x: Floats, power: Floats, sign: float
) -> tuple[Floats, Floats]:
    """Return log p(y_i | s_i, rest) and k, of shape (n,); k is -inf of ratios that are even."""
    values, k = np.empty(x.size), np.empty(x.size)
    for start in range(0, x.size, ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        log_odds_of_label = sign * posterior.log_odds(x[rows]).T
        # Log-odds of -800 have no inverse probability: these are smoothed, as logarithms.
        with np.errstate(over="ignore"):
            inverse = 1.0 + np.exp(-log_odds_of_label)

        def log_p(some: NDArray[np.intp], log_odds: Floats = log_odds_of_label) -> Floats:
            values: Floats = special.log_expit(log_odds[some])
            return values

        values[rows], k[rows] = left_out(inverse, log_p, power[rows])
    return values, k
