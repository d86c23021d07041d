"""The one problem of a ScoreCalibrator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import xarray as xr
from numpy.typing import NDArray

from bayescal.fitted.documents import Documents
from bayescal.fitted.problem import FittedProblem, numbers_of
from bayescal.parts.places import COMBINATION, flat, model_name
from bayescal.prior_knowledge import kept_population
from bayescal.results.calibration import Calibration
from bayescal.results.diagnostics import Diagnostics
from bayescal.results.summaries import parameter_table
from bayescal.results.tree import read_documents
from bayescal.settings import Settings

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.formulas.block import Block


@dataclass(frozen=True)
class ScoreProblem(FittedProblem):
    """
    The problem of a tree that `results.tree.build_tree` made.

    Attributes
    ----------
    found : Diagnostics or None
        Of its draws.
    score_problems : callable
        What is wrong with the scores, worked out when it is asked for.
    settings : callable
        How it was fitted.
    """

    found: Diagnostics | None
    score_problems: Callable[[], tuple[str, ...]]
    settings: Callable[[], Settings]

    @property
    def model(self) -> str:
        """Return the names of the parts, or of the one family of densities."""
        return model_name(flat(self.tree))

    @property
    def problems(self) -> tuple[str, ...]:
        """Return what is wrong with the scores and the draws, and what the scale floor did."""
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
        from bayescal.fitted.score_model import describe, describe_around

        groups = flat(self.tree)
        population = kept_population(groups)
        if population is not None:
            return describe_around(population)
        return describe(self.settings(), read_documents(groups), several=several)

    def _held_by_floor(self) -> tuple[str, ...]:
        """Return what the scale floor did, where maximum likelihood is all there is."""
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
