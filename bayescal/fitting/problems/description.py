"""Models in words and formulas, with the priors and their values in use."""

from collections.abc import Sequence

import numpy as np

from bayescal.families import Family
from bayescal.families.warps import IDENTITY
from bayescal.fitting import formulas
from bayescal.fitting.engines.exact.mixture import resolve
from bayescal.fitting.engines.monotone.engine import LaplaceFits
from bayescal.fitting.engines.pooled.combination import BELIEF_IN_POPULATION
from bayescal.fitting.engines.pooled.hyperparameters import (
    TopicHyperparameters,
    read_hyperparameters,
)
from bayescal.fitting.formulas import Block
from bayescal.fitting.parts.combination import (
    chosen,
    compared_with_populations,
    read_lapse,
    with_those_followed,
)
from bayescal.fitting.parts.monotone import MONOTONE
from bayescal.fitting.parts.part import Groups, Reading
from bayescal.fitting.parts.recalibrated import recalibration_block
from bayescal.fitting.population import Population, kept_population
from bayescal.fitting.results.topics import at_topic
from bayescal.fitting.results.tree import read_documents
from bayescal.fitting.settings import ScoreParameters, read_options
from bayescal.support.mathml import formula, in_text, letter

HOW = {
    "exact": "Independent draws from the posterior, without Markov chains.",
    "nuts": "Draws from the posterior by PyMC's No-U-Turn sampler.",
    "map": "The mode of the posterior; there are no draws and so no bands.",
    "mle": "Maximum likelihood; there is no prior, no posterior and so no band.",
}
WEIGHED = (
    "The parts are weighed by stacking: the weights maximise the log score of their mixture for"
    " labels left out"
)
DRAWN = ". Bands hold draws from each part in proportion to its weight."
AROUND = (
    "This problem is one more topic of a population, which was learnt from a history of others and"
    " does not learn from this one: its prior is what they say of the next topic."
)
POOLED = {
    "partial": "Topics have densities of their own, whose parameters are draws from a population"
    " that all topics inform: topics with few documents borrow from the others.",
    "none": "Every topic is fitted by itself.",
    "complete": "All topics share their class densities.",
}
LETTERS = (
    f"Of each topic t the peak is {letter('theta')}, the width v, and the base rate P. Over topics,"
    f" peaks have the mean {letter('mu')} and the standard deviation {letter('tau')}; widths have"
    " the typical size m and are the more alike the larger a is; base rates have the mean r and are"
    " the more alike the larger c is."
)
SHARES = (
    f" The share of the left side in the width is w; its mean over topics is {letter('omega')}, and"
    f" topics are the more alike the larger {letter('kappa')} is."
)
OF_LOG_ODDS = (
    f" Over topics, a has the mean {letter('mu')} and the standard deviation {letter('tau')}, and"
    f" {letter('eta')} the mean {letter('nu')} and the standard deviation {letter('psi')}."
)


def describe_scores(
    parameters: ScoreParameters, groups: Groups, *, several: bool = False
) -> list[Block]:
    """Return the model of one problem, part by part."""
    population = kept_population(groups)
    if population is not None:
        return _describe_around(population)
    options, data = read_options(parameters), read_documents(groups)
    blocks = [Block("Inference", HOW[options.inference])]
    scale = None if several else data.centre_and_spread
    if options.inference == "mle":
        return [*blocks, *formulas.likelihood((options.reference,), (IDENTITY,))]
    parts = options.parts
    options = compared_with_populations(parts, LaplaceFits(data), options).options
    for part in with_those_followed(chosen(parts, data, options), options):
        blocks += part.describe(options, scale)
    if not options.combined:
        return blocks
    return [*blocks, *_combined(WEIGHED + DRAWN, options.lapse)]


def describe_topics(
    groups: Groups,
    families: Sequence[Family],
    pooling: str,
    hyperparameters: TopicHyperparameters,
    *,
    several: bool = True,
) -> list[Block]:
    """Return the model of many topics, part by part."""
    drawn, reading = read_lapse(groups), Reading.of(at_topic(groups, None))
    fixed = 0.0 if drawn is None else float(drawn[0])
    learnt = drawn is not None and bool(np.any(drawn != fixed))
    scale, single = (reading.centre, reading.spread), len(families) == 1
    densities = [formulas.bayes_rule(), *map(formulas.density, families)]
    blocks = [
        Block("Topics", POOLED[pooling]),
        Block("Class densities", _in_words(families), tuple(map(formula, densities))),
    ]
    if pooling != "partial":
        where = "m and S are the robust centre and spread of the scores"
        own = resolve(tuple(families), scale, hyperparameters.own)
        return [*blocks, formulas.priors(families, own, where)]
    centre, spread = map(in_text, scale)
    text = (
        f"With scores standardised by m = {centre} and S = {spread}, of each class and"
        " topic t; the six hyperparameters of a class have Gaussian priors."
    )
    for family in families:
        lines = formulas.population(
            family.powers[0], symmetric=family.symmetric, hyperpriors=hyperparameters.populations
        )
        head = "Population" if single else f"Population, {formulas.title(family)}"
        letters = LETTERS if family.symmetric else LETTERS + SHARES
        blocks.append(Block(head, f"{text} {letters}", tuple(map(formula, lines))))
    if single:
        return blocks
    return [*blocks, *_others(hyperparameters), *_weighed_by_topic(None if learnt else fixed)]


def _describe_around(population: Population) -> list[Block]:
    """Return the model of a problem that was fitted as one more topic of a population."""
    families, hyper = population.of_families, population.parameters["hyperparameters"]
    hyperparameters = read_hyperparameters(hyper, "partial", families)
    return [
        Block("Inference", HOW["exact"]),
        Block("Prior knowledge", AROUND),
        *describe_topics(population.results.groups, families, "partial", hyperparameters),
    ]


def _combined(text: str, lapse: float | None) -> list[Block]:
    """Return the combination of several parts, and its lapses."""
    lines = tuple(map(formula, formulas.combination()))
    return [Block("Combination", text, lines), *formulas.lapse_blocks(lapse)]


def _weighed_by_topic(lapse: float | None) -> list[Block]:
    text = (
        f"{WEIGHED}, of all topics; each topic's weights are around these, which count as"
        f" {BELIEF_IN_POPULATION:g} documents. The recalibrated log-odds are one curve for all"
        " topics; monotone log-odds are each topic's own, around a population."
    )
    return _combined(text, lapse)


def _in_words(families: Sequence[Family]) -> str:
    shapes = " ".join(f"{formulas.title(each)}: {formulas.in_words(each)}" for each in families)
    return f"Of each topic by itself. {formulas.RULE} {shapes}"


def _others(hyperparameters: TopicHyperparameters) -> list[Block]:
    """Return the parts of topics' combination beside its densities."""
    pieces = (
        f"{MONOTONE.text} Here x is the score, warped and standardised, and knots and"
        f" x\N{SUBSCRIPT ZERO} are those of all topics. {formulas.PIECES}{OF_LOG_ODDS}"
    )
    lines = formulas.log_odds_population(hyperparameters.populations)
    return [
        recalibration_block(),
        Block("Population, log-odds", pieces, tuple(map(formula, lines))),
    ]
