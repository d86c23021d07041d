"""The fit of graded labels: for each grade above the lowest a fit of two classes, a stage."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit

from bayescal.fitting import settings
from bayescal.fitting.engines.point_estimates import without_densities
from bayescal.fitting.fitted_scores import FittedScores, fit_scores
from bayescal.fitting.population import kept_population
from bayescal.fitting.posterior import Posterior
from bayescal.fitting.problems.problem import FittedProblem, Problems
from bayescal.fitting.results import diagnostics
from bayescal.fitting.results.calibration import Calibration
from bayescal.fitting.results.tree import Fit, Results, kept_below, read_below, read_documents
from bayescal.fitting.scores import BinaryScores
from bayescal.fitting.settings import CurveParameters, ScoreParameters
from bayescal.inference.design_effect import DesignEffect
from bayescal.support import labels, validation
from bayescal.support.numerics import probability
from bayescal.support.score_checks import ScoresWarning, warn_of_scores
from bayescal.support.validation import Floats, Integers

MOST_GRADES = 20  # each costs a fit; more distinct labels are measurements
LABELS = "observed_data"  # the group of the documents' grades, by position


@dataclass(eq=False, repr=False)
class GradeParameters(CurveParameters):
    """The parameters of an `OrdinalCalibrator`; see its docstring."""

    _: KW_ONLY
    grades: Sequence[Any] | None = None


@dataclass(frozen=True)
class GainDraws(Posterior):
    """Draws of log-odds of an expected gain, sum_k gain_k P(grade k | s), with gains in [0, 1].

    With gains of 0 below a grade and 1 from it on, this is the probability to reach the grade.
    """

    drawn: ClassVar = ("stages", "prior", "shift")

    stages: tuple[Posterior, ...]  # P(grade >= k | s, grade >= k - 1) for k = 1, ..., K
    gain: Floats  # (K + 1,)
    prior: Floats  # (draws,): the expected gain in the population fitted
    shift: Floats  # (draws,): change of log-odds by a new prior

    def log_odds(self, scores: Floats) -> Floats:
        """Return log-odds of shape (draws, scores)."""
        curves = [each.log_odds(scores) for each in self.stages]
        return self._of_curves(curves) + self.shift[:, None]

    def predictive(self, scores: Floats) -> Floats:
        """Return the log-odds of the expectation over draws, which are independent by stage."""
        curves = [each.predictive(scores) for each in self.stages]
        return np.asarray(self._of_curves(curves) + self.shift.mean())

    def _of_curves(self, curves: list[Floats]) -> Floats:
        with np.errstate(divide="ignore"):
            log_gain, log_loss = np.log(self.gain), np.log1p(-self.gain)
        above, below = np.full((2, *curves[0].shape), -np.inf)
        reached = np.zeros(curves[0].shape)  # log P(grade >= k)
        for k, curve in enumerate(curves):
            stays = reached + log_expit(-curve)
            above = np.logaddexp(above, log_gain[k] + stays)
            below = np.logaddexp(below, log_loss[k] + stays)
            reached = reached + log_expit(curve)
        above = np.logaddexp(above, log_gain[-1] + reached)
        return np.asarray(above - np.logaddexp(below, log_loss[-1] + reached))


def of_grades(p: Floats, complement: Floats | None = None) -> Floats:
    """Return P(grade) from the stages' probabilities and their complements, (..., K + 1)."""
    q, one = 1.0 - p if complement is None else complement, np.ones((*p.shape[:-1], 1))
    reached = np.concatenate([one, np.cumprod(p, axis=-1)], axis=-1)
    return np.asarray(reached * np.concatenate([q, one], axis=-1))


def read_grades(y: Any, grades: Any) -> tuple[NDArray[Any], Integers]:
    """Return the grades, lowest first, and the position of each document's grade."""
    own = labels.as_column(y, "y")
    found = np.unique(own)
    labels.check_kept(found, "y")
    if grades is None and own.dtype.kind not in "biuf":
        raise ValueError(
            "grades must list the labels of y from the lowest to the highest, as they are no"
            f" numbers, such as grades=('poor', 'fair', 'good'); y holds"
            f" {validation.first_of(found.tolist())}."
        )
    order = found if grades is None else labels.as_column(grades, "grades")
    if not 2 <= order.size <= MOST_GRADES:
        advice = "merge some, such as by pandas.cut, also of a continuous target."
        if order.size == 1:
            advice = "only one class is present; label documents of another grade."
        raise ValueError(f"y must hold 2 to {MOST_GRADES} grades, got {order.size}: {advice}")
    members = labels.of_each_class(own, order, "y", ": grades must name all labels")
    code = members.argmax(axis=0)
    absent = order[np.bincount(code, minlength=order.size) == 0].tolist()
    if absent:
        raise ValueError(
            f"grades must differ, each with a document in y, got none of {absent[0]!r}: leave it"
            " out of grades, or merge it with a neighbour."
        )
    return order, code


def fit_grades(
    parameters: GradeParameters,
    scores: ArrayLike,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> FittedGrades:
    """Fit scores and graded labels; see `OrdinalCalibrator.fit`."""
    if y is None:
        raise ValueError(
            "y must hold the grade of every score: a calibrator requires y to be passed, but the"
            " target y is None."
        )
    values = validation.as_scores(scores)
    grades, code = read_grades(y, parameters.grades)
    validation.check_same_length("scores", values.size, "y", code.size)
    given = {"sample_weight": sample_weight, "inclusion": inclusion, "clusters": clusters}
    more = {name: validation.as_array(v, name) for name, v in given.items() if v is not None}
    for name, each in more.items():
        validation.check_same_length(name, len(each), "scores", values.size)
    # One stream of random numbers for all stages, the first of which is a ScoreCalibrator's.
    own = _of_stage(parameters, random_state=validation.generator(parameters.random_state))
    if (inference := settings.inference_name(own)) in ("mle", "map"):
        raise ValueError(f"inference must be 'exact' or 'nuts', with draws, got {inference!r}.")
    groups = {LABELS: xr.Dataset({"label": ("document", code)})}
    for k in range(1, grades.size):
        rows = np.flatnonzero(code >= k - 1)
        some = {name: each[rows] for name, each in more.items()}
        try:
            with warnings.catch_warnings():
                # The fit reports the problems of all stages.
                warnings.simplefilter("ignore", ScoresWarning)
                warnings.simplefilter("ignore", diagnostics.ConvergenceWarning)
                stage = fit_scores(own, values[rows], code[rows] >= k, **some)
        except ValueError as err:
            err.add_note(f"This was the fit of grades from {grades[k]} on.")
            raise
        # All stages read scores as the first does.
        own = replace(own, scores_are=stage.calibration.scores_are)
        groups |= kept_below(_stage(k), replace(stage.results, groups=stage.results.shown))
    fitted = FittedGrades.of_groups(parameters, groups, grades)
    warn_of_scores(*fitted.problems("score_problems_"))
    diagnostics.warn_of_problems(fitted.problems("draw_problems"))
    return fitted


def _stage(k: int) -> str:
    return f"stage_{k}"


def _of_stage(parameters: GradeParameters, **own: Any) -> ScoreParameters:
    """Return the parameters of a stage."""
    shared = {each.name: getattr(parameters, each.name) for each in fields(CurveParameters)}
    return ScoreParameters(**shared | own)


class FittedGrades(Fit[GradeParameters]):
    """The fit of graded labels."""

    estimator = "OrdinalCalibrator"
    parameter_type = GradeParameters

    def _prepare(self) -> None:
        self.stages: list[FittedScores] = []
        own = _of_stage(self.parameters)
        while stage := read_below(_stage(len(self.stages) + 1), self.groups):
            self.stages.append(FittedScores(own, stage, np.array([False, True])))
            own = replace(own, scores_are=self.stages[0].calibration.scores_are)

    @classmethod
    def from_results(cls, results: Results) -> Self:
        """Return the fit that made results."""
        fitted = super().from_results(results)
        parameters = fitted.parameters
        # The stages keep a population that was not given by its path.
        if parameters.prior_knowledge is None:
            parameters.prior_knowledge = kept_population(fitted.stages[0].groups)
        return cls(parameters, results, fitted.classes)

    @classmethod
    def saved_parameters(cls, parameters: GradeParameters) -> dict[str, Any]:
        """Return the parameters without a population, which the stages keep."""
        return FittedScores.saved_parameters(parameters)

    @cached_property
    def curves(self) -> list[Calibration]:
        """The calibrations of the stages, which read scores as the first does."""
        first, *others = (each.calibration for each in self.stages)
        how = {name: getattr(first, name) for name in ("scores_are", "guessed", "ends")}
        return [first, *(replace(each, **how) for each in others)]

    def probabilities(self, scores: ArrayLike) -> Floats:
        """Return P(grade | s) by the stages' point estimates, (n, K + 1)."""
        point = self.parameters.point
        log_odds = np.stack([each.log_odds(scores, point) for each in self.curves], axis=-1)
        return of_grades(probability(log_odds), probability(-log_odds))

    def sample(self, scores: ArrayLike, index: NDArray[np.intp] | None = None) -> Floats:
        """Return P(grade | s) of all draws, or of those at some positions, (draws, n, K + 1)."""
        curves = self.curves if index is None else [each.take(index) for each in self.curves]
        return of_grades(np.stack([each.sample(scores) for each in curves], axis=-1))

    def expecting(self, gain: Floats) -> Calibration:
        """Return the calibration whose P is an expected gain, up to the last grade with its own."""
        k, first = gain.size - 1, self.curves[0]
        if gain.tolist() == [0.0, 1.0]:
            return first
        some = self.curves[:k]
        stages = tuple(each.posterior for each in some)
        prior = of_grades(np.stack([each.prior for each in stages], axis=1)) @ gain
        return replace(
            first,
            fits=without_densities(self.documents(k)),
            draws=GainDraws(stages, gain, prior, np.zeros_like(prior)),
            jumps=np.concatenate([each.jumps for each in some]),
        )

    @cached_property
    def reached(self) -> list[Calibration]:
        """The calibrations of P(grade >= k | s), k = 1, ..., K."""
        return [self.expecting(np.eye(k + 1)[k]) for k in range(1, self.classes.size)]

    def documents(self, k: int) -> BinaryScores:
        """Return the documents fitted, positive from the grade at position k on."""
        label = self.groups[LABELS]["label"].values
        return replace(read_documents(self.stages[0].groups), positive=label >= k)

    @property
    def events(self) -> list[str]:
        """Return the names of the events that a document reaches a grade."""
        return [f">= {grade}" for grade in self.classes[1:].tolist()]

    def fitted_problems(self) -> Problems:
        """Return P(grade >= k | s) of all documents for each k, with the model of its stage."""
        return Problems(self.events, self._problem, by_topic=True)

    def _problem(self, position: int) -> FittedProblem:
        (own,) = self.stages[position].fitted_problems().values()
        data = self.documents(position + 1)
        return replace(
            own,
            name=self.events[position],
            calibration=replace(self.reached[position], scores_are="scores"),
            documents=data,
            counts=(data.total(False), data.total(True)),
        )

    @property
    def design_effect(self) -> DesignEffect | None:
        """Return the design effect of clusters in the first stage, which has all documents."""
        return self.stages[0].design_effect

    def problems(self, kind: str) -> tuple[str, ...]:
        """Return the problems of the stages, of the scores or of the draws, with advice."""
        named = zip(self.events, self.stages, strict=True)
        return tuple(f"{event}: {text}" for event, each in named for text in getattr(each, kind))
