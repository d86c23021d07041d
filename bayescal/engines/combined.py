"""The combination of class densities and log-odds fits, weighed by labels left out.

The parts are complements: with few positives the shapes of the classes tell more than the labels
alone; with many a log-odds fit does not suffer from a wrong family; a straight line needs least;
and densities that are wrong in a detail are right again once labels have bent their log-odds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from scipy import special

from bayescal.engines.data import BinaryScores
from bayescal.engines.stacking import stack
from bayescal.validation import Floats

# Documents that weights are learnt from, half of them positive where there are so many.
MOST_DOCUMENTS = 20_000
TINY = np.finfo(float).tiny  # in place of no weight at all
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


def combination_dataset(
    log_odds: Mapping[str, Floats],
    belief: Mapping[str, float],
    data: BinaryScores,
    documents: Documents,
) -> xr.Dataset:
    """
    Return the weights of the parts in their mixture and why: leave-one-out log scores.

    `elpd` is the sum over documents of log p(y_i | s_i, others), natural logarithm, and `se` the
    standard error of its difference to the best part's.

    Parameters
    ----------
    log_odds : mapping of str to array
        By part, those of the documents left out.
    belief : mapping of str to float
        Documents' worth of belief in the parts that are weighed; others, which these follow, have
        no weight.
    data : BinaryScores
        All documents.
    documents : Documents
        Those that weights are learnt from.
    """
    score = log_scores(np.stack(list(log_odds.values())), data.positive[documents.index])
    elpd, se = compare(score, documents.weight)
    weighed = np.array([part in belief for part in log_odds])
    weight = np.zeros(weighed.size)
    beliefs = np.array([belief[part] for part in log_odds if part in belief])
    weight[weighed] = stack(score[weighed], documents.weight, beliefs)
    variables = {
        "weight": ("part", weight),
        "elpd": ("part", elpd),
        "se": ("part", se),
    }
    return xr.Dataset(variables, {"part": list(log_odds)})


def log_scores(log_odds: Floats | np.float64, positive: NDArray[np.bool_]) -> Floats:
    """Return log p(y) of documents, natural logarithm, by log-odds that broadcast against y."""
    scores: Floats = special.log_expit(np.where(positive, log_odds, -log_odds))
    return scores


def compare(score: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """
    Return the sum of each row of log scores, and standard errors of differences to the best.

    Of no documents sums are 0, and the errors are not known: nan.
    """
    elpd = score @ weight
    if not weight.size:
        return elpd, np.full_like(elpd, np.nan)
    difference = (score - score[elpd.argmax()]) * weight
    return elpd, np.sqrt(weight.size) * difference.std(axis=1)
