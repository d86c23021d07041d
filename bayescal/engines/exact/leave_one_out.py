"""What class densities say of each document when they have not seen it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayescal.density_draws import DensityDraws
from bayescal.engines.data import BinaryScores
from bayescal.engines.pareto import smooth
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
    label, counted = data.positive, slice(None) if data.weight is None else data.weight > 0.0
    node = _nodes(data.score[counted], label[counted])
    thinned = np.arange(min(MOST_DRAWS, negative.size))
    log_density = []
    for klass, draws in ((False, negative), (True, positive)):
        log_p = draws.take(thinned).logpdf(node).T
        log_weight, _ = smooth(-log_p)
        others = log_sum_exp(log_weight + log_p, axis=1)
        whole = log_sum_exp(log_p, axis=1) - np.log(thinned.size)
        # What a document says when left out depends on its score alone, and smoothly.
        own, other = (np.interp(data.score, node, values) for values in (others, whole))
        log_density.append(np.where(label == klass, own, other))
    n_negative, n_positive = data.total(False), data.total(True)
    # No class is left with less than nothing.
    prior = np.log(np.maximum(n_positive - label, 0.0) + base[0])
    prior -= np.log(np.maximum(n_negative - ~label, 0.0) + base[1])
    log_odds: Floats = prior + log_density[1] - log_density[0]
    return log_odds


def _nodes(scores: Floats, label: NDArray[np.bool_]) -> Floats:
    """Return scores close to one another where either class has many, the ends among them."""
    levels = np.linspace(0.0, 1.0, MOST_NODES)
    each = (np.unique(scores[label == klass]) for klass in (False, True))
    few = [own if own.size <= levels.size else np.quantile(own, levels) for own in each]
    return np.unique(np.concatenate(few))
