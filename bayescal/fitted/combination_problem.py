"""A combination of classifiers as a problem: its score is the combined log-odds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bayescal.fitted.problem import FittedProblem, numbers_of
from bayescal.results.diagnostics import Diagnostics

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.formulas.block import Block

INFERENCE = "Independent draws from the posterior, without Markov chains."
SCORE = (
    "The score is the combined log-odds, whose curve is the straight line of what it says. The band"
    " at a score is that of the share of positives among documents of this score; one document is"
    " less certain, and the combination tells how much (predict_interval)."
)


@dataclass(frozen=True)
class CombinationProblem(FittedProblem):
    """
    The combination of several classifiers in one binary problem.

    Documents are those fitted, with log-odds by combinations that had not seen their labels.

    Attributes
    ----------
    combiner : str
        Its name.
    found : Diagnostics
        Of its draws.
    table : callable
        From a level to the posterior of its coefficients; rows (class, parameter).
    blocks : callable
        The model in words and formulas.
    """

    combiner: str
    found: Diagnostics
    table: Callable[[float], pd.DataFrame]
    blocks: Callable[[], list[Block]]

    @property
    def model(self) -> str:
        """Return the name of the combiner."""
        return self.combiner

    @property
    def problems(self) -> tuple[str, ...]:
        """Return what is wrong with the draws."""
        return self.found.problems

    @property
    def diagnostics(self) -> dict[str, Any]:
        """Return the numbers behind what may be wrong with the draws."""
        return numbers_of(self.found)

    @property
    def parts(self) -> None:
        """Return None: there is one part."""
        return

    def parameters(self, level: float) -> pd.DataFrame:
        """Return the posterior of bias, weights and shifts; rows (class, parameter)."""
        return self.table(level)

    def describe(self, *, several: bool) -> list[Block]:
        """Return the model in words and formulas."""
        from bayescal.formulas.block import Block

        return [Block("Inference", INFERENCE), Block("Score", SCORE), *self.blocks()]
