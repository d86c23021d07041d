"""The combination of many topics: densities around populations, recalibrated, and log-odds fits.

One monotone curve recalibrates the densities' log-odds of all topics; monotone log-odds have their
own population. The documents of all topics together decide whether an end of the scores has
separate levels; the topics' levels at one end are draws from one beta, like their base rates.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayescal.families.draws import IDENTITY
from bayescal.fitting.engines import combination
from bayescal.fitting.engines.combination import EndLevels, Ends, PartWeights
from bayescal.fitting.engines.exact.engine import (
    MOST_DRAWS,
    DensitySides,
    leave_one_out_of_densities,
)
from bayescal.fitting.engines.monotone.engine import LaplaceFits, LogOddsFit, fit_monotone
from bayescal.fitting.engines.pooled.engine import DensitiesOfTopics
from bayescal.fitting.engines.pooled.hyperparameters import TopicHyperparameters
from bayescal.fitting.engines.pooled.log_odds import (
    LogOddsOfTopics,
    add_log_odds,
    fit_log_odds,
    leave_out,
)
from bayescal.fitting.engines.pooled.population import (
    Normal,
    added_rates,
    draw_base_rates,
    rates_given,
)
from bayescal.fitting.scores import BinaryScores, TopicScores, rows_of, together
from bayescal.inference.newton import log_scores, stack
from bayescal.support.numerics import class_prior, log_odds_of_mixture
from bayescal.support.parallel import in_parallel
from bayescal.support.validation import Floats

# Mean and standard deviation of the logit of the levels' mean.
HYPERPRIOR: Mapping[str, Normal] = {"logit_rate": (0.0, 2.0)}
UNIFORM = (1.0, 1.0)  # the beta of levels before the labels


@dataclass(frozen=True)
class TopicLevels:
    """Draws of the levels of all topics, and of P(+) of all documents."""

    topics: EndLevels  # topics first
    unseen: EndLevels  # of a topic without documents
    population: Floats  # parameters of the betas of levels and of P(+), (ends + 1, 2, draws)


def find_ends(data: TopicScores) -> Ends | None:
    """Return the ends where the labels of all topics favour separate levels, or None."""
    tied = combination.find_levels(BinaryScores(data.score, data.positive, data.weight))
    if tied is None:
        return None
    ends = tied.ends(data.score.min())
    return ends if between(ends, data).score.size else None


def between(ends: Ends, data: TopicScores) -> TopicScores:
    """Return the documents between the ends, of topics whose scores differ."""
    others = data.take(ends.of(data.score) < 0)
    return others.without(others.constant())


def _counts(ends: Ends, data: TopicScores) -> list[tuple[Floats, Floats]]:
    """Return weights of positives and negatives by topic, at each end and for all documents."""
    at = ends.of(data.score)
    parts = [*(data.take(at == k) for k in range(ends.end.size)), data]
    return [
        (part.counts(True).astype(np.float64), part.counts(False).astype(np.float64))
        for part in parts
    ]


def draw_levels(
    ends: Ends,
    data: TopicScores,
    draws: int,
    rng: np.random.Generator,
    hyperpriors: Mapping[str, Normal],
    *,
    apart: tuple[float, float] | None = None,
) -> TopicLevels:
    """Return draws of the levels and of the base rates of all topics, around a population."""
    counts = _counts(ends, data)
    if apart is None:
        priors = [HYPERPRIOR] * ends.end.size + [hyperpriors]
        drawn = [
            draw_base_rates(*each, draws, rng, prior)
            for each, prior in zip(counts, priors, strict=True)
        ]
    else:
        betas = [UNIFORM] * ends.end.size + [apart]
        fixed = [np.repeat(np.array(beta)[:, None], draws, axis=1) for beta in betas]
        drawn = [
            (rates_given(own, *each, rng), own) for own, each in zip(fixed, counts, strict=True)
        ]
    rates, populations = zip(*drawn, strict=True)
    nothing = np.zeros(1)
    unseen = [rates_given(each, nothing, nothing, rng)[0] for each in populations]
    return TopicLevels(_levels(ends, rates), _levels(ends, unseen), np.stack(populations))


def add_levels(
    ends: Ends, population: Floats, data: TopicScores, rng: np.random.Generator
) -> EndLevels:
    """Return draws of levels and base rates of further topics."""
    pairs = zip(population, _counts(ends, data), strict=True)
    return _levels(ends, [added_rates(own, *each, rng)[0] for own, each in pairs])


def _levels(ends: Ends, rates: Sequence[Floats]) -> EndLevels:
    """Return levels from draws of P(+) at each end and of all documents."""
    return EndLevels(ends, np.stack(rates[:-1], axis=-1), rates[-1])


DENSITIES = ("asymmetric_laplace", "gaussian")
# Densities around populations; their mixture recalibrated; log-odds around a population.
WEIGHT_NAMES = (*DENSITIES, "recalibrated", "monotone")
# Prior weight of each part, in documents ...
BELIEF = 0.5
# ... and of the population's weights for a topic.
BELIEF_IN_POPULATION = 10.0


@dataclass(frozen=True)
class LeftOut:
    """Leave-one-out log scores of documents of all topics."""

    score: Floats  # (parts, n): each part's log score
    weight: Floats  # (n,): number of documents that each represents
    code: NDArray[np.intp]  # (n,): the topic of each document
    both: NDArray[np.bool_]  # (topics,): topics with both classes, which inform the weights
    positive: NDArray[np.bool_]  # (n,): the labels


def weigh_topics(left_out: LeftOut) -> tuple[PartWeights, PartWeights]:
    """Return the weights of all topics together, and each topic's own with these as prior."""
    known = left_out.both[left_out.code]
    population = combination.weigh(left_out.score[:, known], left_out.weight[known], BELIEF)
    own = own_weights(left_out, population.weight)
    return population, replace(population, weight=own)


def own_weights(left_out: LeftOut, population: Floats) -> Floats:
    """Return each topic's weights around the population's; shape (topics, parts)."""
    topics = left_out.both.size
    out = np.tile(population, (topics, 1))
    for t, rows in enumerate(rows_of(left_out.code, topics)):
        if left_out.both[t]:
            belief = BELIEF_IN_POPULATION * population
            out[t] = stack(left_out.score[:, rows], left_out.weight[rows], belief)
    return out


FEWEST_DOCUMENTS = 200  # smallest limit on a topic's documents for the weights
MOST_NODES = 256  # nodes of the table of a curve that is evaluated at thousands of documents


@dataclass(frozen=True)
class TopicCombination:
    """The parts and weights of every topic's curve."""

    recalibration: LogOddsFit  # of all topics, as a function of the mixture's log-odds
    base_weight: Floats  # (densities,): weights of the families in that mixture
    direct: LogOddsOfTopics  # monotone log-odds of the score
    population: PartWeights  # of all topics
    weights: PartWeights  # of each topic
    lapse: Floats | None  # (draws,): lapse rate of all topics; None for no lapses


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
    """Fit the parts other than densities, and weigh all by leave-one-out log scores."""
    documents = _Documents(topics, rng)
    # The first densities give P(+).
    of_first = densities[0].topics.prior, densities[0].unseen.prior
    direct = fit_log_odds(
        topics, scale, rng, draws=draws, hyperparameters=hyperparameters, base_rates=of_first
    )
    of_densities = _left_out_by_densities(topics, densities)
    index, data = documents.index, documents.all
    score = log_scores(of_densities[:, index], data.positive[index])
    base_weight = stack(score, documents.weight, BELIEF)
    recalibration = fit_monotone(
        LaplaceFits(replace(data, score=log_odds_of_mixture(of_densities, base_weight))),
        rng,
        draws=draws,
        asinh_scales=(IDENTITY,),
        hyperparameters=combination.RECALIBRATION,
    )
    recalibrated, _ = recalibration.leave_one_out(index, rng)
    left_out = documents.left_out(of_densities[:, index], recalibrated, direct, rng)
    population, weights = weigh_topics(left_out)
    base_rates = np.array([class_prior(each.total(True), each.total()) for each in topics])
    lapses = combination.lapse_of_mixture(
        left_out.score,
        weights.weight[left_out.code].T,
        base_rates[left_out.code],
        left_out.positive,
        left_out.weight,
        draws,
        rng,
        lapse,
    )
    return TopicCombination(recalibration, base_weight, direct, population, weights, lapses)


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
    """Return log-odds and weights of topics that the population was not fitted to."""
    documents = _Documents(topics, rng)
    direct = add_log_odds(topics, fitted, rng, densities[0].topics.prior)
    of_densities = _left_out_by_densities(topics, densities)[:, documents.index]
    recalibrated = _at_many(recalibrate, log_odds_of_mixture(of_densities, base_weight))
    left_out = documents.left_out(of_densities, recalibrated, direct, rng)
    return direct, own_weights(left_out, population)


def _at_many(curve: Callable[[Floats], Floats], x: Floats) -> Floats:
    """Return a smooth curve at points, interpolated in a table if there are many."""
    if x.size <= MOST_NODES:
        return curve(x)
    node = np.unique(np.quantile(x, np.linspace(0.0, 1.0, MOST_NODES)))
    return np.interp(x, node, curve(node))


class _Documents:
    """All topics' documents in long form, and the selection that determines the weights."""

    def __init__(self, topics: Sequence[BinaryScores], rng: np.random.Generator) -> None:
        most = max(combination.MOST_DOCUMENTS // len(topics), FEWEST_DOCUMENTS)
        self.topics, self.all = topics, together(topics)
        picked, weight = zip(
            *(combination.pick_documents(data, most) for data in topics), strict=True
        )
        starts = np.cumsum([0, *(data.score.size for data in topics[:-1])])
        sizes = [each.size for each in picked]
        self.picked = picked
        self.index = np.concatenate(picked) + np.repeat(starts, sizes)
        self.weight = np.concatenate(weight)
        self.code = np.repeat(np.arange(len(topics)), sizes)

    def left_out(
        self,
        of_densities: Floats,
        recalibrated: Floats,
        direct: LogOddsOfTopics,
        rng: np.random.Generator,
    ) -> LeftOut:
        """Return log scores of all parts, computing the monotone log-odds."""
        own = leave_out(self.topics, direct, self.picked, rng)
        log_odds = np.vstack([of_densities, recalibrated, np.concatenate(own)])
        score = log_scores(log_odds, self.all.positive[self.index])
        both = np.array([0 < data.total(True) < data.total() for data in self.topics])
        return LeftOut(score, self.weight, self.code, both, self.all.positive[self.index])


def _left_out_by_densities(
    topics: Sequence[BinaryScores], densities: Sequence[DensitiesOfTopics]
) -> Floats:
    """Return leave-one-out log-odds of all documents in long form; (densities, n)."""
    base = [each.mean_rates for each in densities]
    some = slice(MOST_DRAWS)
    tasks = [
        (data, [each.topics.take((t, some)) for each in densities], base)
        for t, data in enumerate(topics)
    ]
    return np.concatenate(list(in_parallel(_leave_out, tasks)), axis=1)


def _leave_out(task: tuple[BinaryScores, list[DensitySides], list[tuple[float, float]]]) -> Floats:
    data, densities, base = task
    out = np.empty((len(densities), data.score.size))
    if data.score.size:
        for row, each, of_rates in zip(out, densities, base, strict=True):
            row[:] = leave_one_out_of_densities(each, data, of_rates)[0]
    return out
