"""Coefficients, diagnostics and posterior of a Bayesian combination, for plots and reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.combining.combiners.bayes import Bayesian
from bayescal.fitting.engines.point_estimates import without_densities
from bayescal.fitting.parts.part import Block
from bayescal.fitting.problems.problem import FittedProblem, numbers_of
from bayescal.fitting.results.calibration import Calibration
from bayescal.fitting.results.diagnostics import Diagnostics
from bayescal.fitting.scores import BinaryScores
from bayescal.support.intervals import tails
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

SCORE_NAME = "combined log-odds"


def table_of(draws: Floats, names: Sequence[str], level: float) -> pd.DataFrame:
    """Return posterior means and equal-tailed intervals of coefficients, from their draws."""
    import pandas as pd

    lower, upper = np.quantile(draws, tails(level), axis=0)
    return pd.DataFrame(
        {"mean": draws.mean(axis=0), "lower": lower, "upper": upper},
        index=pd.Index(names, name="coefficient"),
    )


@dataclass(frozen=True)
class Combination:
    """A Bayesian combination in one binary problem, with its names."""

    posterior: Bayesian = field(repr=False)
    classifiers: Sequence[str]
    indicators: Sequence[str]
    labels: NDArray[Any]  # the negative and the positive class
    combiner: str
    attrs: dict[str, str]  # provenance
    design_effect: ClassVar[None] = None  # clusters count in the weights of documents

    @property
    def names(self) -> list[str]:
        """Return the names of all coefficients."""
        return ["bias", *self.classifiers, *self.indicators]

    def coefficients(self, level: float) -> pd.DataFrame:
        """Return posterior means and intervals of all coefficients."""
        return table_of(self.posterior.weights.draws, self.names, level)

    @property
    def diagnostics(self) -> Diagnostics:
        """Return diagnostics of the draws of the weights and of the calibration curves."""
        weights = self.posterior.weights
        size = float(len(weights.draws))
        calibrators = self.posterior.calibrated.calibrators
        curve_problems = [
            f"calibrator of {name!r}: {problem}"
            for name, calibrator in zip(self.classifiers, calibrators, strict=True)
            if calibrator.diagnostics_ is not None
            for problem in calibrator.diagnostics_.problems
        ]
        return Diagnostics(
            rhat=None,
            ess_bulk=min(size, weights.effective),
            ess_tail=min(size, weights.effective),
            divergences=0,
            draws=int(size),
            efficiency=weights.efficiency,
            pareto_k=weights.pareto_k,
            problems=(*self.posterior.problems, *curve_problems),
        )

    @property
    def tree(self) -> xr.DataTree:
        """Return the posterior in ArviZ's form."""
        # Independent draws are one chain.
        draws, m = self.posterior.weights.draws[None], len(self.classifiers)
        names = {"classifier": list(self.classifiers)}
        variables: dict[str, Any] = {
            "bias": (("chain", "draw"), draws[:, :, 0]),
            "weight": (("chain", "draw", "classifier"), draws[:, :, 1 : 1 + m]),
        }
        if self.indicators:
            variables["shift"] = (("chain", "draw", "indicator"), draws[:, :, 1 + m :])
            names["indicator"] = list(self.indicators)
        dataset = xr.Dataset(variables, names)
        tree = xr.DataTree.from_dict({"posterior": dataset})
        tree.attrs = self.attrs
        return tree

    def problem(self, name: str) -> CombinationProblem:
        """Return the fitted problem, for plots and reports."""
        held_out, labelled = self.posterior.held_out, self.posterior.labelled
        data = BinaryScores(held_out, labelled.positive, labelled.weight, "log_odds")
        centre, spread = data.centre_and_spread
        return CombinationProblem(
            name=name,
            labels=self.labels,
            calibration=Calibration(
                fits=without_densities(data),
                draws=self.posterior.curves,
                centre=centre,
                spread=spread,
                score_range=data.score_range,
                scores_are="scores",
            ),
            point="predictive",
            documents=data,
            counts=(data.total(False), data.total(True)),
            score_name=SCORE_NAME,
            scores_are="log_odds",
            inference="exact",
            fitted=self,
            draw_diagnostics=self.diagnostics,
        )


@dataclass(frozen=True)
class CombinationProblem(FittedProblem):
    """The fitted problem of a combination; documents have held-out log-odds."""

    fitted: Combination
    draw_diagnostics: Diagnostics

    @property
    def model(self) -> str:
        """Return the name of the combiner."""
        return self.fitted.combiner

    @property
    def problems(self) -> tuple[str, ...]:
        """Return problems of the draws, with advice."""
        return self.draw_diagnostics.problems

    @property
    def diagnostics(self) -> dict[str, Any]:
        """Return the diagnostics of the draws by name."""
        return numbers_of(self.draw_diagnostics)

    @property
    def parts(self) -> None:
        """Return None: there is one part."""
        return

    def parameters(self, level: float) -> pd.DataFrame:
        """Return the posterior of bias, weights and shifts; rows (class, parameter)."""
        import pandas as pd

        table = self.fitted.coefficients(level)
        pairs = [(str(self.fitted.labels[1]), name) for name in table.index]
        table.index = pd.MultiIndex.from_tuples(pairs, names=["class", "parameter"])
        return table

    def describe(self, *, several: bool) -> list[Block]:
        """Return the model in words and formulas."""
        values = {"prior": self.fitted.posterior.prior, "indicators": len(self.fitted.indicators)}
        return [Block("inference", {"method": "exact"}), Block("classifier_weights", values)]
