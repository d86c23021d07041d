"""The combination of class densities and direct log-odds, weighed by labels left out.

The parts are complements: with few positives the shapes of the classes tell more than the labels
alone; with many a direct fit does not suffer from a wrong family; a straight line needs least; and
densities that are wrong in a detail are right again once labels have bent their log-odds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.density_draws import DensityDraws
from bayescal.engines.data import BinaryScores
from bayescal.engines.pareto import smooth
from bayescal.engines.parts import RECALIBRATED
from bayescal.engines.stacking import stack
from bayescal.log_sum import log_sum_exp
from bayescal.validation import Floats
from bayescal.warps import IDENTITY

# Documents that weights are learnt from, half of them positive where there are so many.
MOST_DOCUMENTS = 20_000
# Scores of a class and draws that leave-one-out densities are worked out at, at most.
MOST_NODES, MOST_DRAWS = 128, 1000
TINY = np.finfo(float).tiny  # in place of no weight at all
# So many documents' worth of belief in each part: with few documents of classes that overlap, two
# densities apart promise more than they hold, and so do log-odds that follow them.
PSEUDO_DOCUMENTS = {"densities": 0.5, RECALIBRATED: 0.25}
PSEUDO_DOCUMENTS_OF_OTHERS = 1.0
# Direct log-odds bend where they like: no warp and the strongest are enough.
DIRECT_BENDS = (IDENTITY, 1.0)
# What densities say needs no standardising, and is right but for details: slopes near 1.
RECALIBRATION = {"centre": 0.0, "spread": 1.0, "slope_scale": 0.4}


@dataclass(frozen=True)
class Documents:
    """
    The documents that weights are learnt from.

    Attributes
    ----------
    index : integer array
        Their positions in the data.
    weight : array
        How many documents each stands for.
    """

    index: NDArray[np.intp]
    weight: Floats


def pick_documents(
    data: BinaryScores, rng: np.random.Generator, most: int = MOST_DOCUMENTS
) -> Documents:
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
    return Documents(np.concatenate(picked), np.concatenate(weight))


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


def combination_dataset(
    log_odds: dict[str, Floats], data: BinaryScores, documents: Documents, alone: str | None
) -> xr.Dataset:
    """
    Return the weights of the parts in their mixture and why: leave-one-out log scores.

    All weight goes to the part `alone`, if one is named.

    `elpd` is the sum over documents of log p(y_i | s_i, others), natural logarithm, and `se` the
    standard error of its difference to the best part's.
    """
    score = log_scores(np.stack(list(log_odds.values())), data.positive[documents.index])
    elpd, se = compare(score, documents.weight)
    belief = [PSEUDO_DOCUMENTS.get(part, PSEUDO_DOCUMENTS_OF_OTHERS) for part in log_odds]
    if alone is None:
        weight = stack(score, documents.weight, np.array(belief))
    else:
        weight = np.array([float(part == alone) for part in log_odds])
    variables = {
        "weight": ("part", weight),
        "elpd": ("part", elpd),
        "se": ("part", se),
    }
    return xr.Dataset(variables, {"part": list(log_odds)})


def log_scores(log_odds: Floats, positive: NDArray[np.bool_]) -> Floats:
    """Return log p(y) of each document, natural logarithm, by log-odds of shape (..., n)."""
    scores: Floats = special.log_expit(np.where(positive, log_odds, -log_odds))
    return scores


def compare(score: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Return the sum of each row of log scores, and standard errors of differences to the best."""
    elpd = score @ weight
    difference = (score - score[elpd.argmax()]) * weight
    return elpd, np.sqrt(weight.size) * difference.std(axis=1)
