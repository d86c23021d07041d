"""The fit of one problem, which `ScoreCalibrator` and the command line share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike, NDArray

from bayescal.fitting.engines.monotone.engine import as_probabilities
from bayescal.fitting.parts.configured import AUTO
from bayescal.fitting.parts.part import places
from bayescal.fitting.population import kept_population, read_prior_knowledge
from bayescal.fitting.problems.problem import Problems
from bayescal.fitting.problems.score_problem import read_score_problem
from bayescal.fitting.results import diagnostics, storage, tree
from bayescal.fitting.results.calibration import read_calibration
from bayescal.fitting.results.tree import ProblemResults, read_documents
from bayescal.fitting.score_fitting import MOST_DIRECT, fit_results, joined, read_new, with_row
from bayescal.fitting.scores import read_binary_scores
from bayescal.fitting.settings import (
    ScoreParameters,
    inference_name,
    read_settings,
    read_units,
    resolve_scores,
)
from bayescal.support.score_checks import score_problems, warn_of_scores
from bayescal.support.validation import check_share

if TYPE_CHECKING:
    import xarray as xr

NAME = "ScoreCalibrator"  # the estimator that files name


class FittedScores:
    """
    A fitted problem: parameters, results and classes. It does not change.

    Parameters
    ----------
    parameters : ScoreParameters
        Parameters of the fit.
    results : ProblemResults
        Results of the fit.
    classes : array of shape (2,)
        The negative and the positive class.

    Attributes
    ----------
    calibration : Calibration
        The curve of log-odds, its intervals and draws.
    diagnostics_ : Diagnostics or None
        Quality of the posterior draws, if there are any.

    Raises
    ------
    ValueError
        If draws are not finite.
    """

    def __init__(
        self, parameters: ScoreParameters, results: ProblemResults, classes: NDArray[Any]
    ) -> None:
        self.parameters, self.results, self.classes = parameters, results, classes
        self.diagnostics_ = diagnostics.diagnose(results.groups) if results.has_posterior else None
        self._read_calibration()

    @classmethod
    def from_results(cls, results: xr.DataTree) -> Self:
        """Return the fit that made a tree of results."""
        found = ProblemResults.of_tree(results)
        parameters, classes = tree.read(found.attrs)
        # Of a population that was no path a file holds nothing but the population itself.
        if parameters["prior_knowledge"] is None:
            parameters["prior_knowledge"] = kept_population(found.groups)
        return cls(ScoreParameters(**parameters), found, classes)

    @property
    def inference(self) -> str:
        """Return the name of the inference, "auto" resolved."""
        return inference_name(self.parameters.inference)

    @property
    def tree(self) -> xr.DataTree:
        """Return the tree of results."""
        return self.results.tree

    @property
    def score_problems_(self) -> tuple[str, ...]:
        """Return the problems of the scores, each with advice."""
        groups = self.results.groups
        observed, weight = groups["observed_data"], groups["constant_data"]["weight"].values
        raw = replace(self.calibration, scores_are="scores")
        return score_problems(
            observed["score"].values,
            observed["label"].values == 1,
            weight,
            classes=self.classes.tolist(),
            given=self._scores_stated,
            taken=self.calibration.scores_are,
            log_odds=lambda scores: raw.log_odds(scores, self.parameters.point_estimate),
        )

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the problems of the scores and of the draws."""
        found = self.diagnostics_
        return (*self.score_problems_, *(() if found is None else found.problems))

    def updated(
        self,
        parameters: ScoreParameters,
        scores: ArrayLike,
        labels: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        forgetting: float = 1.0,
    ) -> Self:
        """Return the fit to these documents and to further ones; see `ScoreCalibrator.update`."""
        check_share(forgetting=forgetting)
        calibration, groups = self.calibration, self.results.groups
        new = read_new(
            scores,
            labels,
            sample_weight,
            scores_are=calibration.scores_are,
            ends=calibration.ends,
            classes=self.classes,
        )
        before = calibration.log_odds(scores, parameters.point_estimate, MOST_DIRECT)
        record = with_row(groups, before, new, forgetting)
        data = joined(read_documents(groups), new, forgetting)
        attrs = _attributes(parameters, self.classes)
        found = fit_results(read_settings(parameters), data, attrs, kept_population(groups))
        results = replace(found, groups={**found.groups, **record})
        fitted = type(self)(parameters, results, self.classes)
        diagnostics.warn_of_problems(fitted.diagnostics_)
        return fitted

    def evidence(self) -> xr.Dataset:
        """Return the evidence of the first part's families and warps."""
        groups = self.results.groups
        paths = [place.evidence for place in places(groups)]
        if not paths or paths[0] not in groups:
            raise AttributeError(
                f"inference={self.inference!r} has no evidence; fit with inference='exact'."
            )
        if kept_population(groups) is not None:
            raise AttributeError(
                "a fit around a population has no evidence of families and warps, which the"
                " population has decided: combination_ has the weights of its parts."
            )
        return groups[paths[0]]

    def fitted_problems(self) -> Problems:
        """Return the one problem, as plots and reports read it, under the empty name."""
        problem = read_score_problem(
            self.tree,
            self.classes,
            self.calibration,
            point=self.parameters.point_estimate,
            inference=self.inference,
            found=self.diagnostics_,
            # Not lambdas: problems are sent to other processes and kept in files.
            score_problems=partial(getattr, self, "score_problems_"),
            settings=partial(read_settings, self.parameters),
        )
        return Problems([problem.name], lambda _: problem, by_topic=False)

    def save(self, path: str | Path) -> Path:
        """Write the fit to a netCDF file; `bayescal.load` reads it."""
        return storage.write_tree(self.tree, path)

    @property
    def _scores_stated(self) -> bool:
        """Return whether the user, or a population, stated what the scores are."""
        stated = self.parameters.scores_are != AUTO
        return stated or kept_population(self.results.groups) is not None

    def _read_calibration(self) -> None:
        self.calibration = read_calibration(self.results.groups, told=self._scores_stated)
        self.mle = self.calibration.fits

    def __getstate__(self) -> dict[str, Any]:
        # The calibration is read from the results, and would be kept twice.
        return {k: v for k, v in vars(self).items() if k not in ("calibration", "mle")}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self._read_calibration()


def fit_scores(
    parameters: ScoreParameters,
    scores: ArrayLike,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
) -> FittedScores:
    """Fit scores and labels of one problem; see `ScoreCalibrator.fit`."""
    settings = read_settings(parameters)
    population = read_prior_knowledge(parameters)
    units = read_units(parameters.units)
    asked = parameters.scores_are
    scores_are = population.scores_are if population else resolve_scores(asked)
    data, classes = read_binary_scores(scores, y, sample_weight, scores_are, parameters.positive)
    data = replace(data, units=units)
    if population is None and asked == AUTO and settings.inference == "exact":
        data = as_probabilities(data)
    results = fit_results(settings, data, _attributes(parameters, classes), population)
    fitted = FittedScores(parameters, results, classes)
    diagnostics.warn_of_problems(fitted.diagnostics_)
    warn_of_scores(fitted.score_problems_)
    return fitted


def _attributes(parameters: ScoreParameters, classes: NDArray[Any]) -> dict[str, str]:
    """Return the provenance of a fit."""
    return tree.describe(NAME, dict(sorted(vars(parameters).items())), classes)
