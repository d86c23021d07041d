"""The text of models for reports: its blocks, with the priors and their values in use."""

from collections.abc import Sequence

import numpy as np

from bayescal.families import Family
from bayescal.families.warps import IDENTITY
from bayescal.fitting.engines.combination import LAPSE_PRIOR
from bayescal.fitting.engines.exact.joint_density import resolve
from bayescal.fitting.engines.monotone.density import Prior
from bayescal.fitting.engines.monotone.engine import LaplaceFits
from bayescal.fitting.engines.pooled.combination import BELIEF_IN_POPULATION
from bayescal.fitting.engines.pooled.hyperparameters import (
    TopicHyperparameters,
    read_hyperparameters,
)
from bayescal.fitting.engines.pooled.log_odds import HYPERPRIOR
from bayescal.fitting.engines.pooled.population import (
    DENSITY_NAMES,
    LOG_ODDS_NAMES,
    GaussianHyperprior,
    Hyperprior,
    hyperpriors_of_rates,
)
from bayescal.fitting.parts.combination import (
    chosen,
    compared_with_populations,
    read_lapse,
    with_those_followed,
)
from bayescal.fitting.parts.part import Block, Groups, Reading
from bayescal.fitting.parts.recalibrated import recalibration_block
from bayescal.fitting.population import Population, kept_population
from bayescal.fitting.results.topics import at_topic
from bayescal.fitting.results.tree import read_documents
from bayescal.fitting.settings import ScoreParameters, read_options


def describe_scores(
    parameters: ScoreParameters, groups: Groups, *, several: bool = False
) -> list[Block]:
    """Return the model of one problem, part by part."""
    population = kept_population(groups)
    if population is not None:
        return _describe_around(population)
    options, data = read_options(parameters), read_documents(groups)
    blocks = [Block("inference", {"method": options.inference})]
    scale = None if several else data.centre_and_spread
    if options.inference == "mle":
        families = (options.reference,)
        values = {"families": families, "warps": (IDENTITY,), "prior": None, "scale": scale}
        return [*blocks, Block("densities", values)]
    parts = options.parts
    options = compared_with_populations(parts, LaplaceFits(data), options).options
    for part in with_those_followed(chosen(parts, data, options), options):
        blocks += part.describe(options, scale)
    if options.combined:
        blocks.append(Block("combination", {"lapse": options.lapse, "prior": LAPSE_PRIOR}))
    return blocks


def describe_topics(
    groups: Groups,
    families: Sequence[Family],
    pooling: str,
    hyperparameters: TopicHyperparameters,
    *,
    several: bool = True,
) -> list[Block]:
    """Return the model of many topics, part by part."""
    reading = Reading.of(at_topic(groups, None))
    scale = reading.centre, reading.spread
    blocks = [Block("topics", {"pooling": pooling, "families": families})]
    if pooling != "partial":
        prior = resolve(tuple(families), scale, hyperparameters.own)
        return [*blocks, Block("density_priors", {"families": families, "prior": prior})]
    given = hyperparameters.populations
    common = {
        "single": len(families) == 1,
        "centre": reading.centre,
        "spread": reading.spread,
        "rates": hyperpriors_of_rates(given),
    }
    for family in families:
        hyperprior = Hyperprior.of(family.powers[0]).with_values(DENSITY_NAMES, given)
        moments = _moments(DENSITY_NAMES, hyperprior)
        blocks.append(Block("population", common | {"family": family, "hyperpriors": moments}))
    if len(families) == 1:
        return blocks
    moments = _moments(LOG_ODDS_NAMES, HYPERPRIOR.with_values(LOG_ODDS_NAMES, given))
    lapse = {"lapse": _lapse_of(groups), "prior": LAPSE_PRIOR, "belief": BELIEF_IN_POPULATION}
    return [
        *blocks,
        recalibration_block(),
        Block("log_odds_population", {"prior": Prior(), "hyperpriors": moments}),
        Block("combination", lapse),
    ]


def _describe_around(population: Population) -> list[Block]:
    """Return the model of a problem that was fitted as one more topic of a population."""
    families, hyper = population.of_families, population.parameters["prior_knowledge"]
    hyperparameters = read_hyperparameters(hyper, "partial", families)
    return [
        Block("inference", {"method": "exact"}),
        Block("population_of_others", {}),
        *describe_topics(population.results.groups, families, "partial", hyperparameters),
    ]


def _moments(names: Sequence[str], prior: GaussianHyperprior) -> dict[str, tuple[float, float]]:
    """Return mean and standard deviation of each hyperparameter."""
    return dict(zip(names, zip(prior.mean, prior.scale, strict=True), strict=True))


def _lapse_of(groups: Groups) -> float | None:
    """Return the fixed lapse rate; None if it was learned."""
    drawn = read_lapse(groups)
    if drawn is None:
        return 0.0
    return None if np.any(drawn != drawn[0]) else float(drawn[0])
