"""The fit of one problem, shared by `ScoreCalibrator` and the command line."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayescal.fitting import population as prior_knowledge
from bayescal.fitting import settings
from bayescal.fitting.covariates import Covariates, Frame
from bayescal.fitting.curves.curves import READ_ONCE
from bayescal.fitting.engines.combination import GROUP, find_levels
from bayescal.fitting.engines.monotone.engine import LaplaceFits, as_probabilities, mode_log_odds
from bayescal.fitting.engines.point_estimates import fit_classes
from bayescal.fitting.fitted_topics import extend_results
from bayescal.fitting.parts.combination import LEFT_OUT, fit_parts, part_of, read_curves
from bayescal.fitting.parts.configured import AUTO, PROGRAM
from bayescal.fitting.parts.part import POSTERIOR, Groups, Options, Reading, Task, all_paths
from bayescal.fitting.population import Population, kept_population
from bayescal.fitting.posterior import Posterior, pack
from bayescal.fitting.problems.problem import Problems
from bayescal.fitting.problems.results_problem import ScoreProblem
from bayescal.fitting.results import diagnostics, tree
from bayescal.fitting.results.calibration import read_calibration
from bayescal.fitting.results.tree import Fit, Results, problem_groups, read_documents
from bayescal.fitting.scores import KLASS, BinaryScores, TopicScores, read_binary_scores, together
from bayescal.fitting.settings import CurveParameters, ScoreParameters
from bayescal.inference.design_effect import DesignEffect, design_effect
from bayescal.metrics.scores import losses
from bayescal.support import validation, weighting
from bayescal.support.labels import match_labels
from bayescal.support.numerics import one_blas_thread, probability
from bayescal.support.parallel import workers
from bayescal.support.score_checks import score_problems, swapped_classes, warn_of_scores
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd


class FittedScores(Fit[ScoreParameters]):
    """The fit of one problem."""

    estimator = "ScoreCalibrator"
    parameter_type = ScoreParameters

    def _prepare(self) -> None:
        self.calibration = read_calibration(self.groups, stated=self._scores_stated)
        self.mle = self.calibration.fits

    @cached_property
    def diagnostics_(self) -> diagnostics.Diagnostics | None:
        """Quality of the posterior draws; None without draws."""
        return diagnostics.diagnose(self.groups) if self.results.has_posterior else None

    @classmethod
    def from_results(cls, results: Results) -> Self:
        """Return the fit that made results."""
        fitted = super().from_results(results)
        # A file keeps a population that was not given by its path.
        if fitted.parameters.prior_knowledge is None:
            fitted.parameters.prior_knowledge = kept_population(results.groups)
        return fitted

    @classmethod
    def saved_parameters(cls, parameters: CurveParameters) -> dict[str, Any]:
        """Return the parameters without a population, which has its own groups."""
        saved, known = dict(vars(parameters)), parameters.prior_knowledge
        return saved if isinstance(known, str | Path) else saved | {"prior_knowledge": None}

    @property
    def inference(self) -> str:
        """Return the name of the inference, "auto" resolved."""
        return settings.inference_name(self.parameters)

    @property
    def score_problems_(self) -> tuple[str, ...]:
        """Return the problems of the scores, each with advice."""
        groups = self.results.groups
        observed, weight = groups["observed_data"], groups["constant_data"]["weight"].values
        raw = replace(self.calibration, scores_are="scores")
        effect = self.design_effect
        of_effect = (effect.problem,) if effect is not None and effect.problem else ()
        found = score_problems(
            observed["score"].values,
            observed["label"].values == 1,
            weight,
            classes=self.classes.tolist(),
            stated=self._scores_stated,
            taken=self.calibration.scores_are,
            log_odds=lambda scores: raw.log_odds(scores, self.parameters.point),
        )
        return of_effect + found + self.swapped_classes

    @cached_property
    def swapped_classes(self) -> tuple[str, ...]:
        """Return the problem of a program alone whose log-odds are those of the other class."""
        draws, data = self.calibration.draws, read_documents(self.groups)
        if draws is None or [each.kind for each in all_paths(self.groups)] != [PROGRAM]:
            return ()
        some = draws.take(np.linspace(0, draws.size - 1, min(draws.size, 20)).astype(np.intp))
        log_odds = some.label_log_odds(data).mean(axis=0)
        classes = self.classes.tolist()
        return swapped_classes(data.score, log_odds, data.positive, data.weight, classes)

    @property
    def left_out_log_odds(self) -> Floats:
        """Return the log-odds of the documents fitted, each given all others, (n,)."""
        groups = self.results.groups
        raw = replace(self.calibration, scores_are="scores")
        fitted = raw.log_odds(groups["observed_data"]["score"], self.parameters.point)
        left_out: Floats = groups[LEFT_OUT]["log_odds"].values
        # Of many documents, those without weight and others that are not left out change nothing.
        return np.where(np.isnan(left_out), fitted, left_out)

    @property
    def draw_problems(self) -> tuple[str, ...]:
        """Return the problems of the draws."""
        return () if self.diagnostics_ is None else self.diagnostics_.problems

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the problems of the scores and of the draws."""
        return (*self.score_problems_, *self.draw_problems)

    def updated(
        self,
        parameters: ScoreParameters,
        scores: ArrayLike,
        labels: ArrayLike,
        sample_weight: ArrayLike | None,
        forgetting: float,
        clusters: ArrayLike | None,
        covariates: Frame,
    ) -> Self:
        """Return the fit to these documents and to further ones; see `ScoreCalibrator.update`."""
        validation.check_share(forgetting=forgetting)
        calibration, groups = self.calibration, self.results.groups
        of_new = calibration.of_documents(scores, covariates)
        old = read_documents(groups)
        if (old.cluster is None) != (clusters is None):
            raise ValueError(
                "clusters must be given in update if they were in fit, and only then: fit all"
                " documents together."
            )
        if tree.read_base_rate(groups) is not None:
            raise ValueError(
                "update must follow a fit without inclusion, whose documents are not kept as"
                " they were sampled: fit all documents together."
            )
        new = read_new(
            scores,
            labels,
            sample_weight,
            scores_are=calibration.scores_are,
            ends=calibration.ends,
            classes=self.classes,
        )
        if calibration.covariates is not None:
            columns = calibration.covariates
            columns = columns.like(covariates, new.score.size, columns.levels)
            new = replace(new, covariates=columns)
        before = of_new.log_odds(scores, parameters.point, READ_ONCE)
        record = with_row(groups, before, new, forgetting)
        new = replace(new, cluster=weighting.cluster_names(clusters, new.score.size, "scores"))
        options = settings.read_options(parameters)
        data, effect = _counted(joined(old.divided_by(1.0 / old.factor), new, forgetting), options)
        refitted = fit_groups(options, data, kept_population(groups))
        fitted = self.of_groups(parameters, effect | refitted | record, self.classes)
        diagnostics.warn_of_problems(fitted.draw_problems)
        return fitted

    def evidence(self) -> xr.Dataset:
        """Return the evidence of the first part's families and warps."""
        groups = self.results.groups
        first = next(iter(all_paths(groups)), None)
        if first is None or first.kind == PROGRAM or first.evidence not in groups:
            raise AttributeError(
                f"inference={self.inference!r} has no evidence; fit with inference='exact'."
            )
        if kept_population(groups) is not None:
            raise AttributeError(
                "a fit around a population has no evidence of families and warps, which the"
                " population has decided: combination_ has the weights of its parts."
            )
        return groups[first.evidence]

    def fitted_problems(self) -> Problems:
        """Return the one problem, under the empty name, for plots and reports."""
        return Problems([""], lambda _: self._problem, by_topic=False)

    @cached_property
    def _problem(self) -> ScoreProblem:
        # Kept, since a problem keeps the tables of its curves.
        point, own = self.parameters.point, self.calibration
        return ScoreProblem.of_groups(self, self.groups, own, name="", point=point)

    @property
    def _scores_stated(self) -> bool:
        """Return whether the user, or a population, stated the meaning of the scores."""
        parameters = self.parameters
        by_population = not settings.names_priors_of_parts(parameters.prior_knowledge)
        return parameters.scores_are != AUTO or by_population


def read_prior_knowledge(parameters: ScoreParameters) -> Population | None:
    """Return the population to fit around; None if parts have their own priors."""
    if settings.names_priors_of_parts(parameters.prior_knowledge):
        return None
    return prior_knowledge.read_population_of(parameters)


def fit_scores(
    parameters: ScoreParameters,
    scores: ArrayLike,
    y: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
    covariates: Frame = None,
    clusters: ArrayLike | None = None,
) -> FittedScores:
    """Fit scores and labels of one problem; see `ScoreCalibrator.fit`."""
    options = settings.read_options(parameters)
    population = read_prior_knowledge(parameters)
    units = settings.read_units(parameters.units)
    asked = parameters.scores_are
    scores_are = population.scores_are if population else settings.resolve_scores(asked)
    data, classes = read_binary_scores(
        scores,
        y,
        sample_weight,
        scores_are,
        parameters.positive,
        inclusion,
        by_part=population is None and options.inference in ("exact", "mle"),
    )
    data = replace(data, units=units)
    if covariates is not None:
        programs = options.programs
        if len(programs) != 1 or options.combined:
            raise ValueError(
                "covariates are for a Program alone that takes them; got"
                f" parts={parameters.parts!r}."
            )
        data = replace(data, covariates=Covariates.read(covariates, data.score.size))
    if population is None and asked == AUTO and options.inference == "exact":
        data = as_probabilities(data)
    data = replace(data, cluster=weighting.cluster_names(clusters, data.score.size, "scores"))
    data, effect = _counted(data, options)
    groups = fit_groups(options, data, population)
    fitted = FittedScores.of_groups(parameters, effect | groups, classes)
    diagnostics.warn_of_problems(fitted.draw_problems)
    swapped = fitted.swapped_classes
    warn_of_scores(*(each for each in fitted.score_problems_ if each not in swapped))
    for each in swapped:
        validation.warn_user(f"{each}.")
    return fitted


def _counted(data: BinaryScores, options: Options) -> tuple[BinaryScores, dict[str, xr.Dataset]]:
    """Return documents that count by the design effect of their clusters, and its group."""
    if data.cluster is None:
        return data, {}
    effect = _effect_of(data, data.cluster, options)
    if effect.factor > 1.0 and options.inference != "mle":
        data = data.divided_by(effect.factor)
    return data, {tree.CLUSTERS: xr.Dataset(asdict(effect))}


def _effect_of(data: BinaryScores, clusters: NDArray[np.str_], options: Options) -> DesignEffect:
    """Return the design effect of clusters, with residuals of the mode of monotone log-odds."""
    _, code = np.unique(clusters, return_inverse=True)
    if options.programs:
        raise ValueError(
            "clusters must be None for a Program, which states the dependence of documents itself."
        )
    # Fitted as if documents were independent: dependence does not bias P(+ | s).
    data, sampled = data.given_scores, data.base_rate is not None
    p = probability(mode_log_odds(data))
    return design_effect(data.positive, p, code, data.weight, sampled=sampled)


# From scores of one problem to its results.


def fit_groups(
    options: Options, data: BinaryScores, population: Population | None = None
) -> dict[str, xr.Dataset]:
    """Return the groups of one problem: maximum likelihood and, unless "mle", the posterior."""
    if population is not None:
        return _fit_around(population, options, data)
    fits = fit_classes(
        options.reference, data, candidates=options.candidates, scale_floor=options.scale_floor
    )
    return problem_groups(data, fits, _posterior(options, data))


def draw_prior(options: Options, groups: Groups, draws: int) -> tuple[xr.Dataset, Posterior]:
    """Return one chain of prior draws of the posterior's variables, and the draws as curves."""
    population = kept_population(groups)
    if population is not None:
        return prior_knowledge.draw_of_population(population.results.groups, draws)
    data, posterior = read_documents(groups), groups[POSTERIOR]
    first = all_paths(groups)[0]
    curves = read_curves(groups, [first], Reading.of(groups))
    options = replace(options, draws=draws, chains=1)
    task = Task(LaplaceFits(data), options, options.rng, {})
    part = options.program(first.name) or part_of(first.kind)
    return part.prior(task, curves[first.name], posterior)


def _fit_around(
    population: Population, options: Options, data: BinaryScores
) -> dict[str, xr.Dataset]:
    """Return the groups of the problem as one more topic of a population."""
    families, units = population.of_families, population.units
    data = replace(data, units=(units["centre"], units["spread"]))
    fits = fit_classes(
        families[0], data, candidates=options.candidates, scale_floor=options.scale_floor
    )
    # One topic is not worth another process.
    with workers(1), one_blas_thread():
        extended = extend_results(population.results, _as_topic(data), families, options.rng)
    topic = prior_knowledge.groups_of_topic(extended.groups)
    return problem_groups(
        data, fits, topic | tree.kept_below(prior_knowledge.KEPT, population.results)
    )


def _as_topic(data: BinaryScores) -> TopicScores:
    """Return the documents of one problem with positive weight, as an unnamed topic."""
    one = TopicScores(
        names=np.array([""]),
        code=np.zeros(data.score.size, dtype=np.intp),
        score=data.score,
        positive=data.positive,
        classes=np.array(KLASS),
        weight=data.weight,
    )
    return one if data.weight is None else one.take(data.weight > 0.0)


def _posterior(options: Options, data: BinaryScores) -> dict[str, xr.Dataset]:
    if options.inference == "mle":
        return {}
    with one_blas_thread():
        # A lone program is the whole model.
        program = bool(options.programs) and not options.combined
        tied = None if data.by_score or program else find_levels(data)
        if tied is None:
            return fit_parts(data, options)
        groups = fit_parts(tied.rest, options)
        levels = tied.draw(data, options.chains * options.draws, options.rng)
        if LEFT_OUT in groups:
            mixture = tied.left_out(data, groups[LEFT_OUT]["log_odds"].values)
            groups[LEFT_OUT] = xr.Dataset({"log_odds": ("document", mixture)})
        return groups | {GROUP: pack(levels, (options.chains, options.draws))}


# Updates: further documents, with the scores of their predictions before the update.

PREQUENTIAL = "prequential"  # the group of these scores
COLUMNS = ("documents", "log_loss", "brier", "forgetting")
# Documents of smaller weight are dropped, so that a stream with forgetting stays bounded.
LEAST_WEIGHT = 1e-12


def read_new(
    scores: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    scores_are: str,
    ends: tuple[float, float],
    classes: NDArray[Any],
) -> BinaryScores:
    """Return new documents of known classes, one of which may be missing."""
    if y is None:
        raise ValueError("labels must hold the label of every score, got None.")
    values = validation.as_scores_of(scores, scores_are, ends=ends)
    labels = validation.as_array(y, "labels")
    validation.check_same_length("scores", values.size, "labels", len(labels))
    weight = weighting.as_weights(sample_weight, values.size)
    data = BinaryScores(values, match_labels(labels, classes, "labels"), weight, scores_are)
    return replace(data, document=validation.identifiers_of(scores, values.size))


def joined(old: BinaryScores, new: BinaryScores, forgetting: float) -> BinaryScores:
    """Return old and new documents together, in the old units."""
    assert old.weight is not None  # noqa: S101
    kept = old if forgetting == 1.0 else _faded(old, old.weight * forgetting)
    both = together([kept, replace(new, weight=new.weights)])
    assert both.weight is not None  # noqa: S101
    # Without weights, updates and one fit to all documents agree to the bit.
    own = None if np.all(both.weight == 1.0) else weighting.bounded_weights(both.weight)
    clusters = [each.cluster for each in (kept, new) if each.cluster is not None]
    columns = names = None
    if kept.document is not None and new.document is not None:
        names = np.concatenate([kept.document, new.document])
    if kept.covariates is not None and new.covariates is not None:
        columns = kept.covariates.followed_by(new.covariates)
    return replace(
        both,
        weight=own,
        cluster=np.concatenate(clusters) if clusters else None,
        document=None if names is None or np.unique(names).size < names.size else names,
        covariates=columns,
        scores_are=old.scores_are,
        name=old.name,
        units=old.centre_and_spread,
        ends=old.ends,
    )


def _faded(old: BinaryScores, weight: Floats) -> BinaryScores:
    """Return documents with new weights, without negligible ones."""
    kept = weight >= LEAST_WEIGHT
    for own in (old.positive, ~old.positive):
        if not kept[own].any():
            # A class needs at least one document.
            kept |= own & (weight == weight[own].max())
    return replace(old.take(np.flatnonzero(kept)), weight=np.maximum(weight[kept], LEAST_WEIGHT))


def with_row(
    groups: Groups, log_odds: Floats, new: BinaryScores, forgetting: float
) -> dict[str, xr.Dataset]:
    """Return the group of predictions made before each update, earlier updates first."""
    total = losses(log_odds, new.positive, new.weight)
    row = (total.n, total.log_loss / total.n, total.squared_error / total.n, forgetting)
    before = groups.get(PREQUENTIAL)
    table = {
        name: ("update", np.append([] if before is None else before[name].values, float(value)))
        for name, value in zip(COLUMNS, row, strict=True)
    }
    return {PREQUENTIAL: xr.Dataset(table, attrs={"log_loss_unit": "bits"})}


def prequential_table(groups: Groups) -> pd.DataFrame:
    """Return the prequential scores as a table, a row for each update."""
    import pandas as pd

    group = groups.get(PREQUENTIAL)
    none = np.empty(0)
    values = {name: none if group is None else group[name].values for name in COLUMNS}
    updates = values[COLUMNS[0]].size
    return pd.DataFrame(values, index=pd.RangeIndex(1, updates + 1, name="update"))
