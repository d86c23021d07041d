"""The combination of many topics: densities around populations, recalibrated, and direct log-odds.

The densities borrow from other topics; one monotone curve along their log-odds mends for all topics
what is wrong with the families; each topic's own log-odds need none of this to hold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayescal.bayes import log_odds_of_mixture
from bayescal.engines.combined import (
    DIRECT_BENDS,
    MOST_DOCUMENTS,
    MOST_DRAWS,
    RECALIBRATION,
    Documents,
    leave_one_out_of_densities,
    log_scores,
    pick_documents,
)
from bayescal.engines.data import BinaryScores
from bayescal.engines.monotone.engine import Direct, fit_direct
from bayescal.engines.pooled.engine import densities_of
from bayescal.engines.pooled.weights import BELIEF, LeftOut, Weights, own_weights, weigh
from bayescal.engines.stacking import stack
from bayescal.families import Family
from bayescal.parallel import in_parallel
from bayescal.validation import Floats
from bayescal.warps import IDENTITY

FEWEST_DOCUMENTS = 200  # of a topic that weights are learnt from, where there are so many


@dataclass(frozen=True)
class DensitiesOfTopics:
    """
    Draws of one family, of all topics.

    Attributes
    ----------
    family : Family
    sides : array of shape (2, 3, topics, draws)
        Mode and sides of both classes, in raw score units.
    base : tuple of float
        Mean parameters of the beta that rates are from.
    centre : float
        Of all scores.
    """

    family: Family
    sides: Floats
    base: tuple[float, float]
    centre: float


@dataclass(frozen=True)
class OwnLogOdds:
    """
    A topic's own monotone log-odds.

    Attributes
    ----------
    direct : Direct
        The posterior.
    left_out : array of shape (documents,)
        Log-odds of documents left out, those that weights are learnt from.
    """

    direct: Direct
    left_out: Floats


@dataclass(frozen=True)
class TopicCombination:
    """
    What makes one curve of several parts for every topic.

    Attributes
    ----------
    recalibration : Direct
        Of all topics, along the log-odds of the densities' mixture.
    base_weight : array of shape (densities,)
        Of the families in that mixture.
    own : list of OwnLogOdds or None
        Of each topic; None for those without documents of both classes.
    weights : Weights
        Of the parts.
    """

    recalibration: Direct
    base_weight: Floats
    own: list[OwnLogOdds | None]
    weights: Weights


def combine_topics(
    topics: Sequence[BinaryScores],
    densities: Sequence[DensitiesOfTopics],
    rng: np.random.Generator,
    *,
    draws: int,
) -> TopicCombination:
    """
    Fit what the densities leave to fit, and weigh the parts by documents left out.

    Parameters
    ----------
    topics : sequence of BinaryScores
        Of every topic, without weights; a topic may lack documents of a class, or have none.
    densities : sequence of DensitiesOfTopics
        Of the families in `weights.DENSITIES`.
    rng : numpy.random.Generator
        Source of randomness.
    draws : int
        How many.
    """
    data = _Documents(topics, rng)
    own = _fit_own(topics, data.picked, rng, draws)
    of_densities = _left_out_by_densities(topics, densities)
    index, positive = data.index, data.positive
    base_weight = stack(log_scores(of_densities[:, index], positive[index]), data.weight, BELIEF)
    recalibration = fit_direct(
        BinaryScores(log_odds_of_mixture(of_densities, base_weight), positive),
        rng,
        draws=draws,
        bends=(IDENTITY,),
        hyperparameters=RECALIBRATION,
    )
    shared = np.vstack([of_densities[:, index], recalibration.leave_one_out(index, rng)])
    weights = weigh(data.left_out(shared, own), len(topics))
    return TopicCombination(recalibration, base_weight, own, weights)


def extend_combination(
    topics: Sequence[BinaryScores],
    densities: Sequence[DensitiesOfTopics],
    rng: np.random.Generator,
    *,
    draws: int,
    base_weight: Floats,
    recalibrate: Callable[[Floats], Floats],
    population: Floats,
) -> tuple[list[OwnLogOdds | None], Floats]:
    """
    Return own log-odds and weights of topics that the population was not fitted to.

    Parameters
    ----------
    topics, densities, rng, draws
        As of `combine_topics`.
    base_weight : array of shape (densities,)
        Of the mixture that is recalibrated.
    recalibrate : callable
        From the mixture's log-odds to those recalibrated.
    population : array of shape (parts,)
        The population's weights.
    """
    data = _Documents(topics, rng)
    own = _fit_own(topics, data.picked, rng, draws)
    of_densities = _left_out_by_densities(topics, densities)[:, data.index]
    recalibrated = recalibrate(log_odds_of_mixture(of_densities, base_weight))
    left_out = data.left_out(np.vstack([of_densities, recalibrated]), own)
    return own, own_weights(left_out, len(topics), population)


class _Documents:
    """All topics' documents one after the other, and those that weights are learnt from."""

    def __init__(self, topics: Sequence[BinaryScores], rng: np.random.Generator) -> None:
        most = max(MOST_DOCUMENTS // len(topics), FEWEST_DOCUMENTS)
        self.picked = [pick_documents(data, rng, most) for data in topics]
        self.positive = np.concatenate([data.positive for data in topics])
        starts = np.cumsum([0, *(data.score.size for data in topics[:-1])])
        sizes = [each.index.size for each in self.picked]
        local = np.concatenate([each.index for each in self.picked])
        self.index = local + np.repeat(starts, sizes)
        self.weight = np.concatenate([each.weight for each in self.picked])
        self.code = np.repeat(np.arange(len(topics)), sizes)

    def left_out(self, shared: Floats, own: Sequence[OwnLogOdds | None]) -> LeftOut:
        """Return log scores by log-odds of the shared parts, (parts - 1, n), and of own ones."""
        last = [
            np.full(each.index.size, np.nan) if mine is None else mine.left_out
            for each, mine in zip(self.picked, own, strict=True)
        ]
        score = log_scores(np.vstack([shared, np.concatenate(last)]), self.positive[self.index])
        return LeftOut(score, self.weight, self.code)


def _left_out_by_densities(
    topics: Sequence[BinaryScores], densities: Sequence[DensitiesOfTopics]
) -> Floats:
    """Return log-odds of all documents left out, one topic after the other; (densities, n)."""
    tasks = [
        (data, [replace(each, sides=each.sides[:, :, t, :MOST_DRAWS]) for each in densities])
        for t, data in enumerate(topics)
    ]
    return np.concatenate(list(in_parallel(_leave_out, tasks)), axis=1)


def _leave_out(task: tuple[BinaryScores, list[DensitiesOfTopics]]) -> Floats:
    data, densities = task
    out = np.empty((len(densities), data.score.size))
    if data.score.size:
        for row, each in zip(out, densities, strict=True):
            pair = densities_of(each.sides, each.family, each.centre)
            row[:] = leave_one_out_of_densities(*pair, data, each.base)
    return out


def _fit_own(
    topics: Sequence[BinaryScores],
    picked: Sequence[Documents],
    rng: np.random.Generator,
    draws: int,
) -> list[OwnLogOdds | None]:
    # A seed a topic: what is drawn of it does not depend on the others, nor on the workers.
    seeds = rng.integers(1 << 63, size=len(topics)).tolist()
    tasks = [
        (data, each, seed, draws) for data, each, seed in zip(topics, picked, seeds, strict=True)
    ]
    return list(in_parallel(_fit_one, tasks))


def _fit_one(task: tuple[BinaryScores, Documents, int, int]) -> OwnLogOdds | None:
    data, documents, seed, draws = task
    if not (data.total(False) and data.total(True)):
        return None
    rng = np.random.default_rng(seed)
    direct = fit_direct(data, rng, draws=draws, bends=DIRECT_BENDS)
    return OwnLogOdds(direct, direct.leave_one_out(documents.index, rng))
