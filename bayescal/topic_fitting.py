"""From scores of many topics to their results, and further topics added to these."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.engines.data import BinaryScores
from bayescal.engines.exact.hyperparameters import resolve
from bayescal.engines.exact.leave_one_out import MOST_DRAWS
from bayescal.engines.pooled.added import add_topics
from bayescal.engines.pooled.combined import (
    DensitiesOfTopics,
    combine_topics,
    extend_combination,
)
from bayescal.engines.pooled.engine import TopicPosterior, fit_topics
from bayescal.engines.pooled.hyperparameters import TopicHyperparameters
from bayescal.engines.pooled.sampled import Sampler
from bayescal.engines.pooled.unpooled import fit_unpooled
from bayescal.families import Family
from bayescal.parts.of_topics import densities_place, prefix_of
from bayescal.results import topic_documents, topic_log_odds, topic_parts
from bayescal.results.groups import Results
from bayescal.results.topics import (
    build_topics,
    join_topics,
    read_population,
    read_scale,
    with_prefix,
)
from bayescal.topic_scores import TopicScores

Families = tuple[Family, ...]


@dataclass(frozen=True)
class TopicOptions:
    """
    What is to be fitted to many topics, and how.

    Attributes
    ----------
    families : tuple of Family
        Of the densities; with more than one their combination.
    pooling : {"partial", "none", "complete"}
        See `engines.pooled.engine.fit_topics`.
    hyperparameters : TopicHyperparameters
        Those that are not the default.
    chains, draws : int
        Chains, and draws of each.
    scores_are : str
        What users' scores are; of probabilities their log-odds are fitted.
    sampler : Sampler or None
        Takes the place of the fast engine where topics are pooled around a population.
    rng : numpy.random.Generator
        Source of randomness.
    lapse : float or None
        The lapse rate of a combination; None learns it.
    """

    families: Families
    pooling: str
    hyperparameters: TopicHyperparameters
    chains: int
    draws: int
    scores_are: str
    sampler: Sampler | None
    rng: np.random.Generator
    lapse: float | None


def fit_topic_results(data: TopicScores, options: TopicOptions, attrs: dict[str, str]) -> Results:
    """
    Return the results of all topics: of one family, or of the combination of several.

    Parameters
    ----------
    data : TopicScores
        Of all topics.
    options : TopicOptions
        How they are fitted.
    attrs : dict
        Provenance.

    Raises
    ------
    ValueError
        If topics are pooled and all scores of every one are the same, or a hyperparameter is not
        legal.
    """
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
            topics,
            densities,
            scale,
            rng,
            draws=draws,
            hyperparameters=given,
            lapse=options.lapse,
        )
        reach = float(data.score.min()), float(data.score.max())
        shape = options.chains, options.draws
        groups |= topic_parts.combination_groups(combination, data.names, reach, shape)
    groups |= topic_documents.build(data, options.scores_are)
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
    groups |= topic_documents.join(groups, data)
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
