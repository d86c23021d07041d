"""What class densities say of each document when they have not seen it."""

from __future__ import annotations

import numpy as np

from bayescal.density_draws import DensityDraws
from bayescal.engines.data import BinaryScores
from bayescal.engines.pareto import left_out
from bayescal.log_sum import log_sum_exp
from bayescal.validation import Floats

# Scores of a class and draws that leave-one-out densities are worked out at, at most.
MOST_NODES, MOST_DRAWS = 128, 1000


def leave_one_out_of_densities(
    negative: DensityDraws,
    positive: DensityDraws,
    data: BinaryScores,
    base: tuple[float, float] = (1.0, 1.0),
) -> Floats:
    """
    Return the log-odds of + of all documents, each given all others, by two class densities.

    Bayes' rule with log p(s_i | own class, others) by Pareto-smoothed importance sampling, the
    other class's posterior predictive density, and the class prior without the document: the mean
    of Beta(base + (n+, n-)).
    """
    label, weight = data.positive, data.weight
    thinned = np.arange(min(MOST_DRAWS, negative.size))
    densities = negative.take(thinned), positive.take(thinned)
    # Documents of a class that has no weight at all keep a 0, which counts for nothing either.
    log_density = np.zeros((2, label.size))
    for own in (False, True):
        mine = np.flatnonzero(label == own)
        score = data.score[mine]
        node = _nodes(score if weight is None else score[weight[mine] > 0.0])
        if node.size:
            # What a document says when left out depends on its score alone, and smoothly.
            for klass, draws in enumerate(densities):
                at_node = _left_out(draws, node) if klass == own else _predictive(draws, node)
                log_density[klass, mine] = np.interp(score, node, at_node)
    n_negative, n_positive = data.total(False), data.total(True)
    # No class is left with less than nothing.
    prior = np.log(np.maximum(n_positive - label, 0.0) + base[0])
    prior -= np.log(np.maximum(n_negative - ~label, 0.0) + base[1])
    log_odds: Floats = prior + log_density[1] - log_density[0]
    return log_odds


def _nodes(scores: Floats) -> Floats:
    """Return the scores of a class, or as many quantiles as are enough, the ends among them."""
    own = np.unique(scores)
    levels = np.linspace(0.0, 1.0, MOST_NODES)
    return own if own.size <= levels.size else np.unique(np.quantile(own, levels))


def _left_out(draws: DensityDraws, node: Floats) -> Floats:
    """Return log p(s | own class, others) at scores of the class, each left out."""
    log_p = draws.logpdf(node).T
    # A density that underflows has no inverse: it is smoothed as a logarithm.
    with np.errstate(over="ignore"):
        inverse = np.exp(-log_p)
    value, _ = left_out(inverse, lambda rows: log_p[rows])
    return value


def _predictive(draws: DensityDraws, node: Floats) -> Floats:
    """Return log p(s | class), the mean over draws."""
    log_p = draws.logpdf(node).T
    mean: Floats = log_sum_exp(log_p, axis=1) - np.log(draws.size)
    return mean
