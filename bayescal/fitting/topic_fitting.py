"""Fit scores of many topics, and add further topics to the results."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from bayescal.families import Family
from bayescal.fitting.engines.combination import GROUP as LEVELS
from bayescal.fitting.engines.exact.engine import MOST_DRAWS
from bayescal.fitting.engines.exact.joint_density import Hyperparameters, resolve
from bayescal.fitting.engines.pooled.combination import (
    DensitiesOfTopics,
    add_levels,
    between,
    combine_topics,
    draw_levels,
    extend_combination,
    find_ends,
)
from bayescal.fitting.engines.pooled.engine import (
    AddedTopics,
    TopicPosterior,
    add_topics,
    fit_topics,
    fit_unpooled,
    sides_of,
)
from bayescal.fitting.engines.pooled.hyperparameters import TopicHyperparameters
from bayescal.fitting.engines.pooled.nuts import Sampler
from bayescal.fitting.engines.pooled.population import beta_like, draw_base_rates
from bayescal.fitting.parts.part import POSTERIOR, Reading
from bayescal.fitting.parts.pooled import densities_paths
from bayescal.fitting.posterior import pack
from bayescal.fitting.results import topics as topic_groups
from bayescal.fitting.results.tree import Results, read_scores_are
from bayescal.fitting.scores import BinaryScores, TopicScores
from bayescal.support.validation import Floats

Families = tuple[Family, ...]
RATE_DRAWS = 4000


@dataclass(frozen=True)
class TopicOptions:
    """Settings of a fit of many topics."""

    families: Families  # families of densities; several make the combination
    pooling: str  # {"partial", "none", "complete"}: see `engines.pooled.engine.fit_topics`
    hyperparameters: TopicHyperparameters  # non-default hyperparameters
    chains: int  # number of chains
    draws: int  # draws of each
    scores_are: str  # meaning of the scores; probabilities are fitted as log-odds
    sampler: Sampler | None  # replaces the fast engine for partial pooling
    rng: np.random.Generator  # source of randomness
    lapse: float | None  # the lapse rate of a combination; None learns it


def fit_topic_groups(data: TopicScores, options: TopicOptions) -> dict[str, xr.Dataset]:
    """Return the groups of all topics: of one family, or of the combination of several."""
    families, hyperparameters, rng = options.families, options.hyperparameters, options.rng
    units = resolve(families, data.units(), hyperparameters.own)
    scale, shape = (units.centre, units.spread), (options.chains, options.draws)
    # Constant scores imply zero width and shrink the widths of other topics.
    shaped = data if options.pooling == "none" else data.without(data.constant())
    if not shaped.score.size:
        raise ValueError(
            "scores must differ within a topic: all scores of every topic are the same, and say"
            " nothing of its labels."
        )
    ends = find_ends(shaped) if options.sampler is None else None
    topics = _by_topic(shaped if ends is None else between(ends, shaped))
    groups: dict[str, xr.Dataset] = {}
    fits, densities = [], []
    for family in families:
        fit = _fit_family(topics, family, scale, options)
        fits.append(fit)
        densities.append(_drawn(family, fit, fit.rate_population))
        paths = densities_paths(family, families)
        groups |= topic_groups.density_groups(paths, fit, densities[-1].draws, data.names, shape)
    if len(families) > 1:
        combination = combine_topics(
            topics,
            densities,
            scale,
            rng,
            draws=options.draws * options.chains,
            hyperparameters=hyperparameters,
            lapse=options.lapse,
        )
        groups |= topic_groups.combination_groups(
            combination, fits[0], densities[0].base, data.names, shape
        )
    if ends is not None:
        pooled = options.pooling != "none"
        levels = draw_levels(
            ends,
            data,
            options.draws * options.chains,
            rng,
            hyperparameters.populations,
            apart=None if pooled else (units.prior_alpha, units.prior_beta),
        )
        groups |= topic_groups.level_groups(levels, data.names, shape)
    groups |= _documents(data, shaped, families[0], scale, options.scores_are)
    if data.rate_counts is not None:
        groups |= topic_groups.with_base_rates(
            groups, *_base_rates(data.rate_counts, units, options)
        )
    return groups


def _base_rates(
    counts: Floats, prior: Hyperparameters, options: TopicOptions
) -> tuple[Floats, Floats]:
    """Return the betas of P(+) of every sampled topic, (topics, 2), and of an unseen one, (2,)."""
    positives, negatives = counts.T
    if options.pooling == "none":
        unseen = np.array([prior.prior_alpha, prior.prior_beta])
        return counts + unseen, unseen
    rate, population = draw_base_rates(
        positives, negatives, RATE_DRAWS, options.rng, options.hyperparameters.populations
    )
    new = np.asarray(options.rng.beta(*population))
    return np.array([beta_like(each) for each in rate]), beta_like(new)


def _drawn(
    family: Family, posterior: TopicPosterior | AddedTopics, rate_population: Floats
) -> DensitiesOfTopics:
    """Return a family's draws and mean base rate, for the combination."""
    alpha, beta = rate_population.mean(axis=1).tolist()
    draws = sides_of(posterior.sides, posterior.rate, (family.name,))
    return DensitiesOfTopics(draws, (alpha, beta))


def _documents(
    data: TopicScores,
    shaped: TopicScores,
    family: Family,
    scale: tuple[float, float],
    scores_are: str,
    others: tuple[float, ...] = (),
) -> dict[str, xr.Dataset]:
    """Return the groups of documents, with maximum likelihood of `shaped`."""
    unpooled = fit_unpooled(_by_topic(shaped), family.name)
    counts = np.stack([shaped.counts(False), shaped.counts(True)])
    return topic_groups.document_groups(data, scale, scores_are, family, unpooled, counts, others)


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
    """Return results with further topics around the population, each fitted independently."""
    groups = results.groups
    of_levels = topic_groups.read_levels_of_population(groups)
    topics = _by_topic(data if of_levels is None else between(of_levels[0], data))
    reading = Reading.of(topic_groups.at_topic(groups, None))
    scale = reading.centre, reading.spread
    sizes = groups[POSTERIOR].sizes
    shape = sizes["chain"], sizes["draw"]
    added: dict[str, xr.Dataset] = {}
    densities = []
    for family in families:
        paths = densities_paths(family, families)
        population = topic_groups.read_population(groups, paths)
        posterior = add_topics(topics, family, population, rng, scale)
        densities.append(_drawn(family, posterior, population.rate))
        draws = densities[-1].draws
        added |= topic_groups.added_groups(paths, posterior, draws, data.names, shape)
    if len(families) > 1:
        base_weight, weight = topic_groups.weights_of_population(groups)
        along = topic_groups.read_recalibration(groups)
        # Weights are learned from the same number of draws of the densities.
        along = along.take(np.arange(min(MOST_DRAWS, along.size)))
        direct, weights = extend_combination(
            topics,
            densities,
            rng,
            base_weight=base_weight,
            recalibrate=along.predictive,
            fitted=topic_groups.read_log_odds_population(groups),
            population=weight,
        )
        added |= topic_groups.added_log_odds_groups(
            direct, densities[0].draws.prior, data.names, shape
        )
        added |= topic_groups.weight_groups(weights, data.names)
    if of_levels is not None:
        levels = add_levels(*of_levels, data, rng)
        added[LEVELS] = pack(levels, shape, data.names)
    documents = _documents(
        data, data, families[0], scale, read_scores_are(groups), reading.score_range
    )
    joined = topic_groups.append_topics(groups, added) | topic_groups.join_documents(
        groups, documents
    )
    return Results({**groups, **joined}, results.attrs)


def _by_topic(data: TopicScores) -> list[BinaryScores]:
    weight = data.weight
    return [
        BinaryScores(
            data.score[rows], data.positive[rows], None if weight is None else weight[rows]
        )
        for rows in data.rows()
    ]
