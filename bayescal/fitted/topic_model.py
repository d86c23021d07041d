"""The model of many topics in words and formulas, with the priors and their values in use."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayescal.engines.exact.hyperparameters import resolve
from bayescal.engines.pooled.hyperparameters import TopicHyperparameters
from bayescal.engines.pooled.weights import BELIEF_IN_POPULATION
from bayescal.families import Family
from bayescal.formulas import lapses
from bayescal.formulas.block import Block
from bayescal.formulas.densities import RULE, bayes_rule, density, in_words, priors, title
from bayescal.formulas.log_odds import PIECES
from bayescal.formulas.mathml import formula, letter
from bayescal.formulas.numbers import in_text
from bayescal.formulas.population import combination, log_odds_population, population
from bayescal.parts.lapses import read_lapse
from bayescal.parts.monotone import MONOTONE
from bayescal.parts.places import Groups
from bayescal.parts.recalibrated import recalibration_block
from bayescal.results.topics import read_scale

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


def describe_results(
    groups: Groups,
    families: Sequence[Family],
    pooling: str,
    given: TopicHyperparameters,
) -> list[Block]:
    """Return the model of results of topics, part by part; arguments as of `describe`."""
    drawn = read_lapse(groups)
    fixed = 0.0 if drawn is None else float(drawn[0])
    learnt = drawn is not None and bool(np.any(drawn != fixed))
    return describe(families, pooling, read_scale(groups), given, None if learnt else fixed)


def describe(
    families: Sequence[Family],
    pooling: str,
    scale: tuple[float, float],
    given: TopicHyperparameters,
    lapse: float | None,
) -> list[Block]:
    """
    Return the model, part by part.

    Parameters
    ----------
    families : sequence of Family
        Of the densities; with more than one they are combined with further parts.
    pooling : {"partial", "none", "complete"}
        How topics are fitted.
    scale : tuple of float
        Centre and spread of all scores.
    given : TopicHyperparameters
        Those that are not the default.
    lapse : float or None
        The lapse rate, where it is fixed; None where labels left out tell it.
    """
    densities = [formula(bayes_rule()), *(formula(density(each)) for each in families)]
    blocks = [
        Block("Topics", POOLED[pooling]),
        Block("Class densities", _densities_in_words(families), tuple(densities)),
    ]
    if pooling != "partial":
        where = "m and S are the robust centre and spread of the scores"
        return [*blocks, priors(families, resolve(tuple(families), scale, given.own), where)]
    centre, spread = map(in_text, scale)
    text = (
        f"With scores standardised by m = {centre} and S = {spread}, of each class and"
        " topic t; the six hyperparameters of a class have Gaussian priors."
    )
    for family in families:
        lines = population(family.powers[0], symmetric=family.symmetric, given=given.populations)
        head = f"Population, {title(family)}" if len(families) > 1 else "Population"
        letters = LETTERS if family.symmetric else LETTERS + SHARES
        blocks.append(Block(head, f"{text} {letters}", tuple(map(formula, lines))))
    if len(families) == 1:
        return blocks
    return [*blocks, *_others(given), *lapses.blocks(lapse)]


def _densities_in_words(families: Sequence[Family]) -> str:
    shapes = " ".join(f"{title(each)}: {in_words(each)}" for each in families)
    return f"Of each topic by itself. {RULE} {shapes}"


def _others(given: TopicHyperparameters) -> list[Block]:
    """Return the parts of topics' combination beside its densities."""
    text = (
        "The parts are weighed by stacking: the weights maximise the log score of their mixture for"
        " labels left out, of all topics; each topic's weights are around these, which count as"
        f" {BELIEF_IN_POPULATION:g} documents. The recalibrated log-odds are one curve for all"
        " topics; monotone log-odds are each topic's own, around a population."
    )
    pieces = (
        f"{MONOTONE.text} Here x is the score, warped and standardised, and knots and"
        f" x\N{SUBSCRIPT ZERO} are those of all topics. {PIECES}{OF_LOG_ODDS}"
    )
    lines = log_odds_population(given.populations)
    return [
        recalibration_block(),
        Block("Population, log-odds", pieces, tuple(map(formula, lines))),
        Block("Combination", text, tuple(map(formula, combination()))),
    ]
