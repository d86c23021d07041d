"""The problems that results hold, and the text of their models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.families import Family
from bayescal.families.draws import IDENTITY
from bayescal.fitting.engines.combination import LAPSE_PRIOR
from bayescal.fitting.engines.exact.joint_density import resolve
from bayescal.fitting.engines.monotone.density import Prior
from bayescal.fitting.engines.monotone.engine import LaplaceFits
from bayescal.fitting.engines.pooled.combination import BELIEF_IN_POPULATION
from bayescal.fitting.engines.pooled.hyperparameters import read_hyperparameters
from bayescal.fitting.engines.pooled.log_odds import HYPERPRIOR
from bayescal.fitting.engines.pooled.population import (
    DENSITY_NAMES,
    LOG_ODDS_NAMES,
    GaussianHyperprior,
    Hyperprior,
    hyperpriors_of_rates,
)
from bayescal.fitting.parts import combination
from bayescal.fitting.parts.log_odds import recalibration_block
from bayescal.fitting.parts.part import (
    COMBINATION,
    CONSTANTS,
    Block,
    Groups,
    Reading,
    all_paths,
    cluster_blocks,
    flat,
    model_name,
)
from bayescal.fitting.population import Population, kept_population
from bayescal.fitting.problems.problem import FittedProblem, Problems, numbers_of
from bayescal.fitting.results.calibration import Calibration, read_calibration
from bayescal.fitting.results.diagnostics import (
    Diagnostics,
    parameter_table,
    problems_by_topic,
    topic_table,
)
from bayescal.fitting.results.topics import at_topic, names_of, whose
from bayescal.fitting.results.tree import Results, read_documents, read_effect
from bayescal.fitting.scores import NOTHING
from bayescal.fitting.settings import ScoreParameters, read_options
from bayescal.inference.design_effect import DesignEffect

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ResultsProblems:
    """All problems of results; numbers of all topics are cached."""

    results: Results
    labels: NDArray[Any]  # (2,): the negative and the positive class
    point: str  # the point estimate, see `ScoreCalibrator`
    inference: str  # {"exact", "nuts", "map", "mle"}
    diagnostics: Diagnostics | None  # of the draws of all problems; None without draws
    score_problems: Callable[[], tuple[str, ...]]  # the problems of the scores, computed on request
    describe: Callable[..., list[Block]]  # the model in words and formulas
    flagged: Mapping[Any, str] = field(default_factory=dict)  # problems of documents, by topic
    calibration: Calibration | None = None  # of the only problem, if it was read already

    def problems(self, *, with_new: bool = False) -> Problems:
        """Return the problems by name; `with_new` includes new topics, by the population."""
        if not self.by_topic:
            return Problems([""], lambda _: self._only, by_topic=False)
        read_new = partial(self.read, None) if with_new else None
        return Problems(self.names, self.read, by_topic=True, read_new=read_new)

    def read(self, topic: int | None) -> ResultsProblem:
        """Return the topic at a position; None for a new topic or the only problem."""
        groups, own = self.results.groups, ""
        if self.by_topic:
            groups, own = at_topic(groups, topic), whose(groups, topic)
        calibration = self.calibration or read_calibration(groups, topic=own)
        fits = calibration.fits
        documents = NOTHING
        # The curve describes typical documents, not the fitted ones.
        if "observed_data" in groups and calibration.covariates is None:
            documents = read_documents(groups)
        return ResultsProblem(
            name="" if topic is None else str(self.names[topic]),
            labels=self.labels,
            tree=self.results.tree,
            # Plots and reports use the internal scale of the results.
            calibration=replace(calibration, scores_are="scores"),
            point=self.point,
            documents=documents,
            counts=(fits.negative.weight, fits.positive.weight),
            score_name=documents.name,
            scores_are=calibration.scores_are,
            inference=self.inference,
            groups=groups,
            together=self,
            topic=topic,
        )

    @cached_property
    def _only(self) -> ResultsProblem:
        # Kept, since a problem keeps the tables of its curves.
        return self.read(None)

    @property
    def by_topic(self) -> bool:
        """Return whether the results are of topics."""
        return "topic" in self.results.groups[CONSTANTS].dims

    @cached_property
    def names(self) -> list[Any]:
        """Return the names of the topics."""
        names: list[Any] = names_of(self.results.groups).tolist()
        return names

    @cached_property
    def problems_of_draws(self) -> list[tuple[str, ...]]:
        """Return the problems of each topic's draws."""
        return problems_by_topic(self.results.groups)

    @cached_property
    def efficiency(self) -> NDArray[np.float64]:
        """Return the effective share of each topic's draws of the first part, (topics, classes)."""
        groups = self.results.groups
        efficiency = groups[all_paths(groups)[0].evidence]["efficiency"]
        return np.asarray(efficiency.transpose("topic", "klass").values)

    def topic_parameters(self, level: float) -> dict[Any, pd.DataFrame]:
        """Return the rows of the summary, by topic."""
        if level not in self._parameters:
            table = topic_table(self.results.groups, self.labels, level)
            self._parameters.clear()
            self._parameters[level] = dict(iter(table.groupby(level="topic", sort=False)))
        return self._parameters[level]

    @cached_property
    def _parameters(self) -> dict[float, dict[Any, pd.DataFrame]]:
        return {}


@dataclass(frozen=True)
class ResultsProblem(FittedProblem):
    """The only problem of results, or one topic of them."""

    groups: Groups  # its own groups
    together: ResultsProblems  # all problems of the results
    topic: int | None  # its position; None without documents or without topics

    @property
    def model(self) -> str:
        """Return the names of the parts, or of the one family of densities."""
        return model_name(self.groups)

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the problems of scores, documents and draws, and the effect of the scale floor."""
        scores = self.together.score_problems()
        if not self.together.by_topic:
            shared = self.together.diagnostics
            return (*scores, *(() if shared is None else shared.problems), *self._held_by_floor())
        if self.topic is None:
            return scores
        name, flagged = self.together.names[self.topic], self.together.flagged
        of_documents = (flagged[name],) if name in flagged else ()
        return (*scores, *of_documents, *self.together.problems_of_draws[self.topic])

    @property
    def diagnostics(self) -> dict[str, Any]:
        """Return the numbers of all draws, with a topic's own efficiency."""
        shared = numbers_of(self.together.diagnostics)
        if self.topic is None:
            return shared
        own = self.together.efficiency[self.topic]
        return shared | ({"efficiency": float(np.nanmin(own))} if np.isfinite(own).any() else {})

    @property
    def parts(self) -> pd.DataFrame | None:
        """Return the weights of a combination's parts, and the log scores behind them."""
        return self.groups[COMBINATION].to_dataframe() if COMBINATION in self.groups else None

    def parameters(self, level: float) -> pd.DataFrame:
        """Return maximum likelihood beside the posterior; rows (class, parameter)."""
        if not self.together.by_topic:
            return parameter_table(flat(self.tree), self.labels, level)
        tables = self.together.topic_parameters(level)
        if self.topic is None:
            return next(iter(tables.values())).droplevel("topic")[["population"]]
        return tables[self.together.names[self.topic]].droplevel("topic")

    @property
    def design_effect(self) -> DesignEffect | None:
        """Return the design effect of clusters; None without any."""
        return read_effect(self.groups)

    def describe(self, *, several: bool) -> list[Block]:
        """Return the model in words and formulas."""
        return self.together.describe(several=several)

    @property
    def prior_moved(self) -> float | None:
        """Return the mean of a topic's P(+): a new prior only shifts its log-odds."""
        if not self.together.by_topic:
            return None
        assert self.densities is not None  # noqa: S101
        return float(self.densities.prior.mean())

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


def describe_scores(
    parameters: ScoreParameters, groups: Groups, *, several: bool = False
) -> list[Block]:
    """Return the model of one problem, part by part."""
    effect, population = read_effect(groups), kept_population(groups)
    of_clusters = cluster_blocks(effect)
    if population is not None:
        return of_clusters + _describe_around(population)
    options, data = read_options(parameters), read_documents(groups)
    blocks = [Block("inference", {"method": options.inference}), *of_clusters]
    scale = None if several else data.centre_and_spread
    if options.inference == "mle":
        families = (options.reference,)
        values = {"families": families, "warps": (IDENTITY,), "prior": None, "scale": scale}
        return [*blocks, Block("densities", values)]
    options = combination.compare_populations(LaplaceFits(data), options).options
    for part in combination.with_those_followed(combination.chosen(data, options), options):
        blocks += part.describe(options, scale)
    if options.combined:
        blocks.append(Block("combination", {"lapse": options.lapse, "prior": LAPSE_PRIOR}))
    return blocks


def describe_topics(
    groups: Groups,
    families: Sequence[Family],
    pooling: str,
    prior_knowledge: Mapping[str, Any] | None,
    *,
    several: bool = True,
) -> list[Block]:
    """Return the model of many topics, part by part."""
    reading = Reading.of(at_topic(groups, None))
    scale = reading.centre, reading.spread
    hyperparameters = read_hyperparameters(prior_knowledge, pooling, families)
    blocks = [
        Block("topics", {"pooling": pooling, "families": families}),
        *cluster_blocks(read_effect(groups)),
    ]
    if pooling != "partial":
        prior = resolve(tuple(families), scale, hyperparameters.own)
        return [*blocks, Block("density_priors", {"families": families, "prior": prior})]
    given = hyperparameters.populations
    common = {
        "single": len(families) == 1,
        "centre": reading.centre,
        "spread": reading.spread,
        "rates": hyperpriors_of_rates(given),
    }
    for family in families:
        hyperprior = Hyperprior.of(family.powers[0]).with_values(DENSITY_NAMES, given)
        moments = _moments(DENSITY_NAMES, hyperprior)
        blocks.append(Block("population", common | {"family": family, "hyperpriors": moments}))
    if len(families) == 1:
        return blocks
    moments = _moments(LOG_ODDS_NAMES, HYPERPRIOR.with_values(LOG_ODDS_NAMES, given))
    lapse = {"lapse": _lapse_of(groups), "prior": LAPSE_PRIOR, "belief": BELIEF_IN_POPULATION}
    return [
        *blocks,
        recalibration_block(),
        Block("log_odds_population", {"prior": Prior(), "hyperpriors": moments}),
        Block("combination", lapse),
    ]


def _describe_around(population: Population) -> list[Block]:
    """Return the model of a problem that was fitted as one more topic of a population."""
    families, known = population.of_families, population.parameters["prior_knowledge"]
    return [
        Block("inference", {"method": "exact"}),
        Block("population_of_others", {}),
        *describe_topics(population.results.groups, families, "partial", known),
    ]


def _moments(names: Sequence[str], prior: GaussianHyperprior) -> dict[str, tuple[float, float]]:
    """Return mean and standard deviation of each hyperparameter."""
    return dict(zip(names, zip(prior.mean, prior.scale, strict=True), strict=True))


def _lapse_of(groups: Groups) -> float | None:
    """Return the fixed lapse rate; None if it was learned."""
    drawn = combination.read_lapse(groups)
    if drawn is None:
        return 0.0
    return None if np.any(drawn != drawn[0]) else float(drawn[0])
