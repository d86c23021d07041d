"""The model of one problem in words and formulas, with the priors and their values in use."""

from __future__ import annotations

from bayescal.engines.data import BinaryScores
from bayescal.engines.monotone.outlines import Outlines
from bayescal.engines.pooled.hyperparameters import read_hyperparameters
from bayescal.fitted.topic_model import describe_results
from bayescal.formulas import densities, lapses
from bayescal.formulas.block import Block
from bayescal.formulas.mathml import formula
from bayescal.formulas.population import combination
from bayescal.parts.stack import chosen, told_of, with_those_followed
from bayescal.prior_knowledge import Population
from bayescal.settings import Settings
from bayescal.warps import IDENTITY

HOW = {
    "exact": "Independent draws from the posterior, without Markov chains.",
    "nuts": "Draws from the posterior by PyMC's No-U-Turn sampler.",
    "map": "The mode of the posterior; there are no draws and so no bands.",
    "mle": "Maximum likelihood; there is no prior, no posterior and so no band.",
}
WEIGHED = (
    "The parts are weighed by stacking: the weights maximise the log score of their mixture for"
    " labels left out. Bands hold draws from each part in proportion to its weight."
)

AROUND = (
    "This problem is one more topic of a population, which was learnt from a history of others and"
    " does not learn from this one: its prior is what they say of the next topic."
)


def describe(settings: Settings, data: BinaryScores, *, several: bool) -> list[Block]:
    """
    Return the model, part by part.

    Parameters
    ----------
    settings : Settings
        Of the fit.
    data : BinaryScores
        The documents fitted.
    several : bool
        Whether it stands for others of the same settings, each with its own centre and spread.
    """
    blocks = [Block("Inference", HOW[settings.inference])]
    scale = None if several else data.centre_and_spread
    if settings.inference != "exact":
        return [*blocks, *_of_program(settings, scale)]
    options = told_of(settings.parts, Outlines(data), settings.options).options
    for part in with_those_followed(chosen(settings.parts, data, options)):
        blocks += part.describe(options, scale)
    if settings.options.combined:
        blocks.append(Block("Combination", WEIGHED, tuple(map(formula, combination()))))
        blocks += lapses.blocks(settings.options.lapse)
    return blocks


def describe_around(population: Population) -> list[Block]:
    """Return the model of a problem that was fitted as one more topic of a population."""
    given = read_hyperparameters(
        population.parameters["hyperparameters"], "partial", population.of_families
    )
    return [
        Block("Inference", HOW["exact"]),
        Block("Prior knowledge", AROUND),
        *describe_results(population.results.groups, population.of_families, "partial", given),
    ]


def _of_program(settings: Settings, scale: tuple[float, float] | None) -> list[Block]:
    """Return the densities that a program, or maximum likelihood, is of."""
    families, given = (settings.reference,), settings.options.hyperparameters
    if settings.inference != "mle" and settings.program is None:
        return densities.blocks(families, (IDENTITY,), scale, given)
    blocks = densities.likelihood(families, (IDENTITY,))
    if settings.inference == "mle":
        return blocks
    shown = ", ".join(f"{name} = {value:g}" for name, value in given.items())
    text = f"The priors are those of the model program {settings.program}. {shown}"
    return [*blocks, Block("Priors", text.strip())]
