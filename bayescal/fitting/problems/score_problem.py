"""The one problem of a ScoreCalibrator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import xarray as xr
from numpy.typing import NDArray

from bayescal.families.warps import IDENTITY
from bayescal.fitting import formulas
from bayescal.fitting.engines.monotone.engine import Outlines
from bayescal.fitting.engines.pooled.hyperparameters import read_hyperparameters
from bayescal.fitting.formulas import Block, combination, formula
from bayescal.fitting.parts.combination import chosen, told_of, with_those_followed
from bayescal.fitting.parts.part import COMBINATION, flat, model_name
from bayescal.fitting.population import Population, kept_population
from bayescal.fitting.problems.problem import Documents, FittedProblem, numbers_of
from bayescal.fitting.problems.topic_problem import describe_results
from bayescal.fitting.results.calibration import Calibration
from bayescal.fitting.results.diagnostics import Diagnostics, parameter_table
from bayescal.fitting.results.tree import read_documents
from bayescal.fitting.scores import BinaryScores
from bayescal.fitting.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.fitting.formulas import Block


@dataclass(frozen=True)
class ScoreProblem(FittedProblem):
    """The problem of a tree that `results.tree.build_tree` made."""

    # Of its draws
    found: Diagnostics | None
    # What is wrong with the scores, worked out when it is asked for
    score_problems: Callable[[], tuple[str, ...]]
    # How it was fitted
    settings: Callable[[], Settings]

    @property
    def model(self) -> str:
        """Return the names of the parts, or of the one family of densities."""
        return model_name(flat(self.tree))

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the problems of scores and draws, and the effect of the scale floor."""
        of_draws = () if self.found is None else self.found.problems
        return (*self.score_problems(), *of_draws, *self._held_by_floor())

    @property
    def diagnostics(self) -> dict[str, Any]:
        """Return the numbers behind what may be wrong with the draws."""
        return numbers_of(self.found)

    @property
    def parts(self) -> pd.DataFrame | None:
        """Return the weights of a combination's parts, and the log scores behind them."""
        if COMBINATION not in self.tree:
            return None
        return self.tree[COMBINATION].to_dataset().to_dataframe()

    def parameters(self, level: float) -> pd.DataFrame:
        """Return maximum likelihood beside the posterior; rows (class, parameter)."""
        return parameter_table(self.tree, self.labels, level)

    def describe(self, *, several: bool) -> list[Block]:
        """Return the model in words and formulas."""
        groups = flat(self.tree)
        population = kept_population(groups)
        if population is not None:
            return describe_around(population)
        return describe(self.settings(), read_documents(groups), several=several)

    def _held_by_floor(self) -> tuple[str, ...]:
        """Return the effect of the scale floor, if maximum likelihood is the only fit."""
        if self.inference != "mle":
            return ()
        fits = self.calibration.fits
        return tuple(
            f"the floor against degenerate fits acts on {', '.join(fit.scale_floor.acted)} of class"
            f" {label}: fit with inference='exact', whose band says how little these scores tell"
            for label, fit in zip(self.labels, (fits.negative, fits.positive), strict=True)
            if fit.scale_floor.acted
        )


def read_score_problem(
    tree: xr.DataTree,
    labels: NDArray[Any],
    calibration: Calibration,
    *,
    point: str,
    inference: str,
    found: Diagnostics | None,
    score_problems: Callable[[], tuple[str, ...]],
    settings: Callable[[], Settings],
) -> ScoreProblem:
    """Return the problem of a tree; arguments as the attributes of `ScoreProblem`."""
    kept = read_documents(flat(tree))
    documents = Documents.of(kept.score, kept.positive, kept.weight)
    return ScoreProblem(
        name="",
        labels=labels,
        tree=tree,
        # The tree's scores are on the internal scale, and so is all that is asked from here on.
        calibration=replace(calibration, scores_are="scores"),
        point=point,
        documents=documents,
        counts=(documents.count(False), documents.count(True)),
        score_name=tree["observed_data"]["score"].attrs.get("long_name", "score"),
        scores_are=calibration.scores_are,
        inference=inference,
        found=found,
        score_problems=score_problems,
        settings=settings,
    )


# The model of one problem in words and formulas, with the priors and their values in use.

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
    """Return the model, part by part."""
    blocks = [Block("Inference", HOW[settings.inference])]
    scale = None if several else data.centre_and_spread
    if settings.inference != "exact":
        return [*blocks, *_of_program(settings, scale)]
    options = told_of(settings.parts, Outlines(data), settings.options).options
    for part in with_those_followed(chosen(settings.parts, data, options)):
        blocks += part.describe(options, scale)
    if settings.options.combined:
        blocks.append(Block("Combination", WEIGHED, tuple(map(formula, combination()))))
        blocks += formulas.lapse_blocks(settings.options.lapse)
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
    families, given = (settings.reference,), settings.by_program.hyperparameters
    if settings.inference != "mle" and not settings.own_program:
        return formulas.density_blocks(families, (IDENTITY,), scale, given)
    blocks = formulas.likelihood(families, (IDENTITY,))
    if settings.inference == "mle":
        return blocks
    shown = ", ".join(f"{name} = {value:g}" for name, value in given.items())
    text = f"The priors are those of the model program {settings.by_program.program}. {shown}"
    return [*blocks, Block("Priors", text.strip())]
