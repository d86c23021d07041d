r"""Leave-one-out predictive probabilities of the labels, from draws of the whole posterior.

    p(y_i | s_i, rest) = 1 / mean over draws of 1 / p(y_i | s_i, draw),

an average with importance ratios 1/p(y_i | s_i, draw), here Pareto-smoothed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.engines.monotone.density import Prior
from bayescal.engines.monotone.posterior import MonotoneCurves, draw_monotone
from bayescal.engines.pareto import smooth
from bayescal.log_sum import log_sum_exp
from bayescal.validation import Floats

# Distinct scores of each label up to which every one is worked out; more are read off a table.
MOST_SCORES = 256
# Of a table: among so many scores no document's own draws matter, and more change P by 1e-4.
MOST_DRAWS = 1000
ROWS_AT_ONCE = 64
# Few documents sway large data, and fitting those again costs more.
MOST_TO_FIT_AGAIN, MOST_FITS = 5000, 10
# A fit costs hundredths of a second: no need to stretch importance sampling to its limit of 0.7.
GOOD_K = 0.5


@dataclass(frozen=True)
class LeaveOneOut:
    """
    Predictive probabilities of labels that were left out.

    Attributes
    ----------
    log_probability : array of shape (n,)
        log p(y_i | s_i, all other documents), natural logarithm.
    pareto_k : array of shape (n,)
        Pareto shape of the importance ratios: above 0.7 the value is not to be trusted.
    """

    log_probability: Floats
    pareto_k: Floats

    def log_odds(self, positive: NDArray[np.bool_]) -> Floats:
        """Return the log-odds of + of each document, whose label is given."""
        own = np.minimum(self.log_probability, -1e-12)
        log_odds: Floats = own - np.log(-np.expm1(own))
        return np.where(positive, log_odds, -log_odds)


def leave_one_out(
    posterior: MonotoneCurves,
    x: Floats,
    positive: NDArray[np.bool_],
    weight: Floats | None,
    prior: Prior,
    rng: np.random.Generator,
) -> LeaveOneOut:
    """
    Return the probability of each label given its score and all other documents.

    Documents that carry too much of the posterior for importance sampling are left out by fitting
    again, the most influential of them first. Of a weight above 1, that of one document is left
    out; of a smaller one all is.

    Parameters
    ----------
    posterior : MonotoneCurves
        Draws given all documents; its knots are kept.
    x : array of shape (n,)
        The scores that it was drawn from.
    positive : array of shape (n,) of bool
        Their labels.
    weight : array of shape (n,) or None
        Their weights.
    prior : Prior
        Of the posterior.
    rng : numpy.random.Generator
        Source of randomness of new fits.
    """
    log_probability, k = np.empty(x.size), np.empty(x.size)
    for label in (False, True):
        mine = np.flatnonzero(positive == label)
        if mine.size:
            own = None if weight is None else weight[mine]
            log_probability[mine], k[mine] = _of_label(posterior, x[mine], own, label)
    weights = np.ones(x.size) if weight is None else weight
    if x.size <= MOST_TO_FIT_AGAIN:
        for i in np.argsort(-k)[:MOST_FITS]:
            rest = weights.copy()
            rest[i] = max(rest[i] - 1.0, 0.0)
            # Without the only document there is nothing to fit again.
            if k[i] > GOOD_K and rest.any():
                log_probability[i], k[i] = _again(posterior, x, positive, rest, i, prior, rng)
    return LeaveOneOut(log_probability, k)


def _again(
    posterior: MonotoneCurves,
    x: Floats,
    positive: NDArray[np.bool_],
    rest: Floats,
    left_out: int,
    prior: Prior,
    rng: np.random.Generator,
) -> tuple[float, float]:
    draws = posterior.intercept.size
    found = draw_monotone(x, positive, rest, prior, draws, rng, pieces=posterior.pieces)
    sign = 1.0 if positive[left_out] else -1.0
    log_p = special.log_expit(sign * found.log_odds(x[[left_out]])[:, 0])
    return float(special.logsumexp(log_p) - math.log(draws)), found.pareto_k


def _of_label(
    posterior: MonotoneCurves, x: Floats, weight: Floats | None, label: bool
) -> tuple[Floats, Floats]:
    sign = 1.0 if label else -1.0
    power = None if weight is None else np.minimum(weight, 1.0)
    # Documents of no weight say nothing of those that have some.
    node = np.unique(x if weight is None else x[weight > 0.0])
    if node.size > MOST_SCORES:
        # The curve bends at knots; between them it is smooth.
        inside = np.quantile(node, np.linspace(0.0, 1.0, MOST_SCORES))
        node = np.unique(np.r_[inside, posterior.pieces.knots])
        common = 1.0 if power is None else float(np.average(power, weights=weight))
        some = replace(
            posterior,
            intercept=posterior.intercept[:MOST_DRAWS],
            slopes=posterior.slopes[:MOST_DRAWS],
        )
        values, k = _by_importance(some, node, np.full(node.size, common), sign)
        return np.interp(x, node, values), np.interp(x, node, k)
    both = np.stack([x, np.ones(x.size) if power is None else power])
    distinct, back = np.unique(both, axis=1, return_inverse=True)
    values, k = _by_importance(posterior, distinct[0], distinct[1], sign)
    return values[back], k[back]


def _by_importance(
    posterior: MonotoneCurves, x: Floats, power: Floats, sign: float
) -> tuple[Floats, Floats]:
    values, k = np.empty(x.size), np.empty(x.size)
    for start in range(0, x.size, ROWS_AT_ONCE):
        rows = slice(start, start + ROWS_AT_ONCE)
        log_p = special.log_expit(sign * posterior.log_odds(x[rows]).T)
        log_weight, k[rows] = smooth(-power[rows, None] * log_p)
        values[rows] = log_sum_exp(log_weight + log_p, axis=1)
    return values, k
