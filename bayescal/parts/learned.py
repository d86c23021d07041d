"""Monotone log-odds around those that classifiers' scores were found to have on other data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayescal.engines.data import BinaryScores
from bayescal.engines.monotone.engine import LogOddsFit
from bayescal.engines.monotone.population import fit_around
from bayescal.parts.monotone import LogOddsPart
from bayescal.parts.options import Options, Task

if TYPE_CHECKING:
    from bayescal.formulas.block import Block


class LearnedPart(LogOddsPart):
    """Log-odds that rise with the score, around those of other problems of the same kind."""

    # As much as all parts of a combination without it.
    pseudo_documents = 2.75
    hyperparameters = frozenset()

    def joins(self, data: BinaryScores, options: Options) -> bool:
        """Return whether a population is known of such scores."""
        return bool(options.populations_for(data))

    def belief(self, options: Options) -> float:
        """Return less the less probable it is that scores are like those of a population."""
        share = 1.0 if options.like_populations is None else options.like_populations
        return share * self.pseudo_documents

    def fit(self, task: Task) -> LogOddsFit:
        """
        Return the posterior around the population that the labels favour.

        Raises
        ------
        ValueError
            If no population is known of such scores.
        """
        populations = task.options.populations_for(task.data)
        if not populations:
            raise ValueError(
                f"the part {self.name!r} needs prior_knowledge='learned', or populations of scores"
                f" that are {task.data.scores_are!r}; there are none."
            )
        return fit_around(
            task.outlines,
            task.rng,
            draws=task.options.draws * task.options.chains,
            populations=populations,
        )

    def describe(self, options: Options, scale: tuple[float, float] | None) -> list[Block]:
        """Return its formula, and the populations."""
        from bayescal.formulas.log_odds import block_of_populations

        return [block_of_populations(self.title, self.text, options.populations)]


LEARNED = LearnedPart(
    "learned",
    "Log-odds around other problems'",
    "Log-odds that rise with x in straight pieces of slopes b, of the likeliest of several"
    " populations of problems met before, which are stated in raw scores.",
)
