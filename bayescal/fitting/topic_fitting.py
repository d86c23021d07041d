"""From scores of many topics to their results, and further topics added to these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.families import Family
from bayescal.fitting.engines.exact.engine import MOST_DRAWS
from bayescal.fitting.engines.exact.mixture import resolve
from bayescal.fitting.engines.pooled.combination import (
    DensitiesOfTopics,
    combine_topics,
    extend_combination,
)
from bayescal.fitting.engines.pooled.engine import (
    TopicPosterior,
    add_topics,
    fit_topics,
    fit_unpooled,
)
from bayescal.fitting.engines.pooled.hyperparameters import TopicHyperparameters
from bayescal.fitting.engines.pooled.nuts import Sampler
from bayescal.fitting.parts.of_topics import densities_place, prefix_of
from bayescal.fitting.results import topics as topic_documents
from bayescal.fitting.results import topics as topic_log_odds
from bayescal.fitting.results import topics as topic_parts
from bayescal.fitting.results.topics import (
    build_topics,
    join_topics,
    read_population,
    read_scale,
    with_prefix,
)
from bayescal.fitting.results.tree import Results
from bayescal.fitting.scores import BinaryScores, TopicScores

Families = tuple[Family, ...]


@dataclass(frozen=True)
class TopicOptions:
    """Settings of a fit of many topics."""

    # Of the densities; with more than one their combination
    families: Families
    # {"partial", "none", "complete"}: see `engines.pooled.engine.fit_topics`
    pooling: str
    # Those that are not the default
    hyperparameters: TopicHyperparameters
    # Chains, and draws of each
    chains: int
    draws: int
    # What users' scores are; of probabilities their log-odds are fitted
    scores_are: str
    # Takes the place of the fast engine where topics are pooled around a population
    sampler: Sampler | None
    # Source of randomness
    rng: np.random.Generator
    # The lapse rate of a combination; None learns it
    lapse: float | None


def fit_topic_results(data: TopicScores, options: TopicOptions, attrs: dict[str, str]) -> Results:
    """Return the results of all topics: of one family, or of the combination of several."""
    families, given, rng = options.families, options.hyperparameters, options.rng
    units = resolve(families, data.units(), given.own)
    scale, draws = (units.centre, units.spread), options.draws * options.chains
    # Scores that are all the same ask for densities of no width, and others' of less.
    shaped = data if options.pooling == "none" else data.without(data.constant())
    if not shaped.score.size:
        raise ValueError(
            "scores must differ within a topic: all scores of every topic are the same, and say"
            " nothing of its labels."
        )
    topics = _by_topic(shaped)
    groups: dict[str, xr.Dataset] = {}
    densities = []
    for family in families:
        found = _fit_family(topics, family, scale, options)
        of_family = build_topics(
            found,
            data.names,
            _counts(shaped),
            fit_unpooled(topics, family.name),
            chains=options.chains,
            scale=scale,
        )
        groups |= densities_place(family, families).note()
        groups |= with_prefix(of_family, prefix_of(family, families))
        base = found.rate_population.mean(axis=1)
        densities.append(DensitiesOfTopics(family, found.sides, (base[0], base[1]), scale[0]))
    if len(families) > 1:
        combination = combine_topics(
            topics, densities, scale, rng, draws=draws, hyperparameters=given, lapse=options.lapse
        )
        reach = float(data.score.min()), float(data.score.max())
        shape = options.chains, options.draws
        groups |= topic_parts.combination_groups(combination, data.names, reach, shape)
    groups |= topic_documents.build_documents(data, options.scores_are)
    return Results(groups, attrs)


def _fit_family(
    topics: list[BinaryScores], family: Family, scale: tuple[float, float], options: TopicOptions
) -> TopicPosterior:
    """Return the draws of one family's densities, by the fast engine or by a sampler."""
    if options.sampler is not None:
        return options.sampler(
            topics,
            family,
            options.rng,
            draws=options.draws,
            chains=options.chains,
            scale=scale,
            hyperparameters=options.hyperparameters,
        )
    return fit_topics(
        topics,
        family,
        options.rng,
        draws=options.draws * options.chains,
        pooling=options.pooling,
        scale=scale,
        hyperparameters=options.hyperparameters,
    )


def extend_results(
    results: Results, data: TopicScores, families: Families, rng: np.random.Generator
) -> Results:
    """Return results with further topics around the population, each as if it were the only one."""
    topics = _by_topic(data)
    groups = dict(results.groups)
    densities = []
    for family in families:
        prefix = prefix_of(family, families)
        population, scale = read_population(groups, prefix), read_scale(groups)
        found = add_topics(topics, family, population, rng, scale)
        unpooled = fit_unpooled(topics, family.name)
        groups |= join_topics(groups, prefix, found, data.names, _counts(data), unpooled)
        base = population.rate.mean(axis=1)
        densities.append(DensitiesOfTopics(family, found.sides, (base[0], base[1]), scale[0]))
    if len(families) > 1:
        base_weight, weight = topic_parts.weights_of_population(groups)
        along = topic_parts.read_recalibration(groups)
        # As many draws as those of densities that weights are learnt from.
        along = along.take(np.arange(min(MOST_DRAWS, along.size)))
        direct, weights = extend_combination(
            topics,
            densities,
            rng,
            base_weight=base_weight,
            recalibrate=along.predictive,
            fitted=topic_log_odds.read(groups),
            population=weight,
        )
        groups |= topic_parts.joined_groups(groups, direct, weights, data.names)
    groups |= topic_documents.join_documents(groups, data)
    return Results(groups, results.attrs)


def _counts(data: TopicScores) -> NDArray[Any]:
    return np.stack([data.counts(False), data.counts(True)])


def _by_topic(data: TopicScores) -> list[BinaryScores]:
    weight = data.weight
    return [
        BinaryScores(
            data.score[rows], data.positive[rows], None if weight is None else weight[rows]
        )
        for rows in data.rows()
    ]
