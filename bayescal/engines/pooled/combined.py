"""The combination of many topics: densities around populations, recalibrated, and log-odds fits.

One monotone curve along the densities' log-odds mends for all topics what is wrong with the
families; monotone log-odds around a population of their own need no density at all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bayescal.bayes import class_prior, log_odds_of_mixture
from bayescal.engines.combined import (
    MOST_DOCUMENTS,
    RECALIBRATION,
    log_scores,
    pick_documents,
)
from bayescal.engines.data import BinaryScores, together
from bayescal.engines.exact.leave_one_out import MOST_DRAWS, leave_one_out_of_densities
from bayescal.engines.monotone.engine import LogOddsFit, fit_monotone
from bayescal.engines.monotone.outlines import Outlines
from bayescal.engines.pooled.engine import densities_of
from bayescal.engines.pooled.hyperparameters import TopicHyperparameters
from bayescal.engines.pooled.log_odds import (
    LogOddsOfTopics,
    add_log_odds,
    fit_log_odds,
    leave_out,
)
from bayescal.engines.pooled.weights import (
    BELIEF,
    LeftOut,
    Weights,
    lapses_of,
    own_weights,
    weigh,
)
from bayescal.engines.stacking import stack
from bayescal.families import Family
from bayescal.parallel import in_parallel
from bayescal.validation import Floats
from bayescal.warps import IDENTITY

FEWEST_DOCUMENTS = 200  # of a topic that weights are learnt from, where there are so many
MOST_NODES = 256  # of a curve that is read at thousands of documents to learn weights from


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
class TopicCombination:
    """
    What makes one curve of several parts for every topic.

    Attributes
    ----------
    recalibration : LogOddsFit
        Of all topics, along the log-odds of the densities' mixture.
    base_weight : array of shape (densities,)
        Of the families in that mixture.
    direct : LogOddsOfTopics
        Monotone log-odds of the score.
    weights : Weights
        Of the parts.
    lapse : array of shape (draws,) or None
        Draws of the lapse rate, the same for all topics; None for no lapses.
    """

    recalibration: LogOddsFit
    base_weight: Floats
    direct: LogOddsOfTopics
    weights: Weights
    lapse: Floats | None


def combine_topics(
    topics: Sequence[BinaryScores],
    densities: Sequence[DensitiesOfTopics],
    scale: tuple[float, float],
    rng: np.random.Generator,
    *,
    draws: int,
    hyperparameters: TopicHyperparameters | None = None,
    lapse: float | None = None,
) -> TopicCombination:
    """
    Fit what the densities leave to fit, and weigh the parts by documents left out.

    Parameters
    ----------
    topics : sequence of BinaryScores
        Of every topic; one may lack documents of a class, or have none.
    densities : sequence of DensitiesOfTopics
        Of the families in `weights.DENSITIES`.
    scale : tuple of float
        Robust centre and spread of all topics' scores.
    rng : numpy.random.Generator
        Source of randomness.
    draws : int
        How many.
    hyperparameters : TopicHyperparameters, optional
        Those that are not the default.
    lapse : float, optional
        The lapse rate of all topics; by default labels left out tell it.
    """
    documents = _Documents(topics, rng)
    direct = fit_log_odds(topics, scale, rng, draws=draws, hyperparameters=hyperparameters)
    of_densities = _left_out_by_densities(topics, densities)
    index, data = documents.index, documents.all
    score = log_scores(of_densities[:, index], data.positive[index])
    base_weight = stack(score, documents.weight, BELIEF)
    recalibration = fit_monotone(
        Outlines(replace(data, score=log_odds_of_mixture(of_densities, base_weight))),
        rng,
        draws=draws,
        asinh_scales=(IDENTITY,),
        hyperparameters=RECALIBRATION,
    )
    recalibrated = recalibration.leave_one_out(index, rng)
    left_out = documents.left_out(of_densities[:, index], recalibrated, direct, rng)
    weights = weigh(left_out)
    lapses = lapses_of(left_out, weights.own, _base_rates(topics), draws, rng, lapse)
    return TopicCombination(recalibration, base_weight, direct, weights, lapses)


def extend_combination(
    topics: Sequence[BinaryScores],
    densities: Sequence[DensitiesOfTopics],
    rng: np.random.Generator,
    *,
    base_weight: Floats,
    recalibrate: Callable[[Floats], Floats],
    fitted: LogOddsOfTopics,
    population: Floats,
) -> tuple[LogOddsOfTopics, Floats]:
    """
    Return log-odds and weights of topics that the population was not fitted to.

    Parameters
    ----------
    topics, densities, rng
        As of `combine_topics`.
    base_weight : array of shape (densities,)
        Of the mixture that is recalibrated.
    recalibrate : callable
        From the mixture's log-odds to those recalibrated.
    fitted : LogOddsOfTopics
        Of the topics that the population was fitted to.
    population : array of shape (parts,)
        The population's weights.
    """
    documents = _Documents(topics, rng)
    direct = add_log_odds(topics, fitted, rng)
    of_densities = _left_out_by_densities(topics, densities)[:, documents.index]
    recalibrated = _at_many(recalibrate, log_odds_of_mixture(of_densities, base_weight))
    left_out = documents.left_out(of_densities, recalibrated, direct, rng)
    return direct, own_weights(left_out, population)


def _at_many(curve: Callable[[Floats], Floats], x: Floats) -> Floats:
    """Return a smooth curve at points of any number, read off a table where they are many."""
    if x.size <= MOST_NODES:
        return curve(x)
    node = np.unique(np.quantile(x, np.linspace(0.0, 1.0, MOST_NODES)))
    return np.interp(x, node, curve(node))


def _base_rates(topics: Sequence[BinaryScores]) -> Floats:
    return np.array([class_prior(data.total(True), data.total()) for data in topics])


class _Documents:
    """All topics' documents one after the other, and those that weights are learnt from."""

    def __init__(self, topics: Sequence[BinaryScores], rng: np.random.Generator) -> None:
        most = max(MOST_DOCUMENTS // len(topics), FEWEST_DOCUMENTS)
        self.topics, self.all = topics, together(topics)
        self.picked = [pick_documents(data, rng, most) for data in topics]
        starts = np.cumsum([0, *(data.score.size for data in topics[:-1])])
        sizes = [each.index.size for each in self.picked]
        local = np.concatenate([each.index for each in self.picked])
        self.index = local + np.repeat(starts, sizes)
        self.weight = np.concatenate([each.weight for each in self.picked])
        self.code = np.repeat(np.arange(len(topics)), sizes)

    def left_out(
        self,
        of_densities: Floats,
        recalibrated: Floats,
        direct: LogOddsOfTopics,
        rng: np.random.Generator,
    ) -> LeftOut:
        """Return log scores by the log-odds of all parts; those of the last are worked out here."""
        own = leave_out(self.topics, direct, [each.index for each in self.picked], rng)
        log_odds = np.vstack([of_densities, recalibrated, np.concatenate(own)])
        score = log_scores(log_odds, self.all.positive[self.index])
        both = np.array([0 < data.total(True) < data.total() for data in self.topics])
        return LeftOut(score, self.weight, self.code, both, self.all.positive[self.index])


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
