"""Monotone log-odds around those that classifiers' scores were found to have on other data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayescal.engines.data import BinaryScores
from bayescal.engines.monotone.engine import LogOddsFit
from bayescal.engines.monotone.population import LogOddsFitAround, LogOddsPopulation, fit_around
from bayescal.parts.monotone import MONOTONE, LogOddsPart
from bayescal.parts.options import Options, Task

if TYPE_CHECKING:
    from bayescal.formulas.block import Block


class LearnedPart(LogOddsPart):
    """Log-odds that rise with the score, around those of other problems of the same kind."""

    follows = (MONOTONE.name,)
    # As much as all others of a combination together.
    pseudo_documents = 2.75
    hyperparameters = frozenset()

    def joins(self, data: BinaryScores, options: Options) -> bool:
        """Return whether a population is known of such scores."""
        return bool(populations_for(data, options))

    def fit(self, task: Task) -> LogOddsFitAround:
        """
        Return the posterior around the population that the labels favour.

        Raises
        ------
        ValueError
            If no population is known of such scores.
        """
        populations = populations_for(task.data, task.options)
        if not populations:
            raise ValueError(
                f"the part {self.name!r} needs prior_knowledge='learned', or populations of scores"
                f" that are {task.data.scores_are!r}; there are none."
            )
        vague = task.before[MONOTONE.name]
        assert isinstance(vague, LogOddsFit)  # noqa: S101
        return fit_around(
            task.data,
            task.rng,
            draws=task.options.draws * task.options.chains,
            populations=populations,
            vague=vague,
        )

    def describe(self, options: Options, scale: tuple[float, float] | None) -> list[Block]:
        """Return its formula, and the populations."""
        from bayescal.formulas.log_odds import block_of_populations

        return [block_of_populations(self.title, self.text, options.populations)]


def populations_for(data: BinaryScores, options: Options) -> list[LogOddsPopulation]:
    """Return the populations of scores like these."""
    return [each for each in options.populations if data.scores_are in each.scores_are]


LEARNED = LearnedPart(
    "learned",
    "Log-odds around other problems'",
    "Log-odds that rise with x in straight pieces of slopes b, of the likeliest of several"
    " populations of problems met before, which are stated in raw scores.",
)
