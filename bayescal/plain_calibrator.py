"""What a ScoreCalibrator is without scikit-learn, whose import takes longer than a fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from numpy.typing import ArrayLike, NDArray

from bayescal.engines.data import read_binary_scores
from bayescal.engines.score_kind import as_probabilities
from bayescal.families import ScaleFloorOption
from bayescal.fitted.problem import Problems
from bayescal.fitted.score_problem import read_score_problem
from bayescal.learned_prior.names import LEARNED, VAGUE
from bayescal.prior_knowledge import kept_population, read_prior_knowledge
from bayescal.results import diagnostics, provenance, storage
from bayescal.results.calibration import Calibration, read_calibration
from bayescal.results.tree import ProblemResults
from bayescal.score_checks import score_problems, warn_of_scores
from bayescal.score_fitting import fit_results
from bayescal.settings import AUTO, DEPRECATED, read_settings, resolve_inference, resolve_scores

if TYPE_CHECKING:
    import xarray as xr

NAME = "ScoreCalibrator"  # what files say made them


class PlainCalibrator:
    """
    The parameters, the fit, the problem and the file of a `ScoreCalibrator`, whose base it is.

    The command line makes these, and has no use for a scikit-learn estimator. Parameters and
    attributes are those of `ScoreCalibrator`.
    """

    def __init__(
        self,
        family: str = "auto",
        inference: str = "auto",
        *,
        parts: str | Sequence[str] = "auto",
        program: str | Path | None = None,
        hyperparameters: Mapping[str, float] | None = None,
        scores_are: str = "auto",
        positive: Any = None,
        warp: str | float = "auto",
        averaging: str = "auto",
        monotone: bool = False,
        candidates: str = "exact",
        scale_floor: ScaleFloorOption = "auto",
        point: str | None = None,
        lapse: str | float = AUTO,
        prior_knowledge: Any = LEARNED,
        draws: int = 1000,
        chains: int = 4,
        sampler_options: Mapping[str, Any] | None = None,
        random_state: Any = None,
        progressbar: bool = False,
        guard: Any = DEPRECATED,
    ) -> None:
        self.family = family
        self.inference = inference
        self.parts = parts
        self.program = program
        self.hyperparameters = hyperparameters
        self.scores_are = scores_are
        self.positive = positive
        self.warp = warp
        self.averaging = averaging
        self.monotone = monotone
        self.candidates = candidates
        self.scale_floor = scale_floor
        self.point = point
        self.lapse = lapse
        self.prior_knowledge = prior_knowledge
        self.draws = draws
        self.chains = chains
        self.sampler_options = sampler_options
        self.guard = guard
        self.random_state = random_state
        self.progressbar = progressbar

    def fit(
        self,
        scores: ArrayLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """
        Fit the calibrator to scores and labels.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 1)
            Raw scores, larger for likelier positives; from documents the classifier was not
            trained on (cross-validated scores).
        y : array-like of shape (n,)
            Labels, two classes, both present.
        sample_weight : array-like of shape (n,), optional
            A weight of 2 equals repeating the document, and a weight of 0 leaving it out: weights
            are powers of the likelihood. With "mle" that holds to rounding. Where draws are made
            it holds to their Monte Carlo error, by which two seeds differ too: with 4,000 draws its
            standard deviation is at most 0.005 in probability for the default. The weights of
            families that are stacked are learnt from at most 256 scores of a class, and those of
            parts from at most 20,000 documents. If there are more, repeating documents changes
            which of them are taken; this has moved probabilities of "average" by 0.01.

        Raises
        ------
        ValueError
            If an argument is not as described. The calibrator is then as it was before.
        FileNotFoundError
            If `prior_knowledge` is a path where there is no file.

        Warns
        -----
        ScoresWarning
            If something is wrong with the scores; `score_problems_` says the same.
        ConvergenceWarning
            If posterior draws are not to be trusted; `diagnostics_` says the same.
        """
        settings = read_settings(self)
        population = read_prior_knowledge(self)
        scores_are = population.scores_are if population else resolve_scores(self.scores_are)
        data, classes = read_binary_scores(scores, y, sample_weight, scores_are, self.positive)
        if population is None and self.scores_are == AUTO and settings.inference == "exact":
            data = as_probabilities(data)
        attrs = provenance.describe(NAME, self._parameters(), classes)
        self._set_results(fit_results(settings, data, attrs, population), classes)
        diagnostics.warn_of_problems(self.diagnostics_)
        warn_of_scores(self.score_problems_)
        return self

    @property
    def results_(self) -> xr.DataTree:
        """The tree of results for every inference, without posterior where there is none."""
        self._check_fitted()
        return self._results.tree

    @property
    def score_problems_(self) -> tuple[str, ...]:
        """What is wrong with the scores fitted, and what to do."""
        self._check_fitted()
        observed = self._results.groups["observed_data"]
        weight = self._results.groups["constant_data"]["weight"].values
        raw = replace(self._calibration, scores_are="scores")
        return score_problems(
            observed["score"].values,
            observed["label"].values == 1,
            weight,
            classes=self.classes_.tolist(),
            given=self._told(self._results),
            taken=self._calibration.scores_are,
            log_odds=lambda scores: raw.log_odds(scores, self._point),
        )

    def fitted_problems(self) -> Problems:
        """
        Return the one problem fitted, as plots and reports read it, under the empty name.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If nothing was fitted yet.
        """
        self._check_fitted()
        problem = read_score_problem(
            self.results_,
            self.classes_,
            self._calibration,
            point=self._point,
            inference=self.inference_,
            found=self.diagnostics_,
            # Not lambdas: problems are sent to other processes and kept in files.
            score_problems=partial(getattr, self, "score_problems_"),
            settings=partial(read_settings, self),
        )
        return Problems([problem.name], lambda _: problem, by_topic=False)

    def save(self, path: str | Path) -> Path:
        """
        Write the fitted calibrator to a netCDF file; `bayescal.load` reads it.

        Raises
        ------
        FileNotFoundError
            If the folder of `path` does not exist.
        """
        self._check_fitted()
        return storage.write_tree(self.results_, path)

    @classmethod
    def from_results(cls, results: xr.DataTree) -> Self:
        """Return the calibrator that made a tree of results, `results_`."""
        found = ProblemResults.of_tree(results)
        parameters, classes = provenance.read(found.attrs)
        # Files of earlier versions say nothing of it, and had the package's own priors. Of a
        # population that was no path a file holds nothing but the population itself.
        if parameters.setdefault("prior_knowledge", VAGUE) is None:
            parameters["prior_knowledge"] = kept_population(found.groups)
        calibrator = cls(**parameters)
        calibrator._set_results(found, classes)
        return calibrator

    @property
    def _point(self) -> str:
        return self.point or ("mean" if self.monotone else "predictive")

    def _parameters(self) -> dict[str, Any]:
        """Return the parameters under their names of today, as files keep them."""
        now = {name: getattr(self, name) for name in sorted(signature(type(self)).parameters)}
        old = now.pop("guard")
        return now if old == DEPRECATED else now | {"scale_floor": old}

    def _set_results(self, results: ProblemResults, classes: NDArray[Any]) -> None:
        calibration = self._read_calibration(results)
        checked = diagnostics.diagnose(results.groups) if results.has_posterior else None
        self.classes_ = classes
        self.inference_ = resolve_inference(self.inference, self.program)
        self._results: ProblemResults = results
        self.mle_ = calibration.fits
        self.diagnostics_ = checked
        self._calibration = calibration

    def _read_calibration(self, results: ProblemResults) -> Calibration:
        return read_calibration(results.groups, told=self._told(results))

    def _told(self, results: ProblemResults) -> bool:
        """Return whether somebody said what the scores are: the user, or what is known before."""
        return self.scores_are != AUTO or kept_population(results.groups) is not None

    def _check_fitted(self) -> None:
        """Raise NotFittedError before the fit."""
        if not hasattr(self, "classes_"):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self, "classes_")
