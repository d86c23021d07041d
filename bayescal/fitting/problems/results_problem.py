"""The problems that results hold, and the text of their models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

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
    Block,
    Groups,
    Reading,
    cluster_blocks,
    flat,
    model_name,
)
from bayescal.fitting.population import kept_population
from bayescal.fitting.problems.problem import FittedProblem, numbers_of
from bayescal.fitting.results.calibration import Calibration
from bayescal.fitting.results.diagnostics import parameter_table
from bayescal.fitting.results.topics import at_topic
from bayescal.fitting.results.tree import read_documents, read_effect
from bayescal.fitting.scores import NOTHING
from bayescal.fitting.settings import ScoreParameters, read_options

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ResultsProblem(FittedProblem):
    """The only problem of a fit, or one of its topics."""

    groups: Groups  # its own groups

    @classmethod
    def of_groups(cls, fitted: Any, groups: Groups, calibration: Calibration, **own: Any) -> Self:
        """Return the problem in groups of a fit."""
        fits, documents = calibration.fits, NOTHING
        # The curve describes typical documents, not the fitted ones.
        if "observed_data" in groups and calibration.covariates is None:
            documents = read_documents(groups)
        return cls(
            labels=fitted.classes,
            # Plots and reports use the internal scale of the results.
            calibration=replace(calibration, scores_are="scores"),
            documents=documents,
            counts=(fits.negative.weight, fits.positive.weight),
            score_name=documents.name,
            scores_are=calibration.scores_are,
            inference=fitted.inference,
            fitted=fitted,
            groups=groups,
            **own,
        )

    @property
    def model(self) -> str:
        """Return the names of the parts, or of the one family of densities."""
        return model_name(self.groups)

    @property
    def parts(self) -> pd.DataFrame | None:
        """Return the weights of a combination's parts, and the log scores behind them."""
        return self.groups[COMBINATION].to_dataframe() if COMBINATION in self.groups else None


@dataclass(frozen=True)
class ScoreProblem(ResultsProblem):
    """The only problem of a fit."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the problems of scores and draws, and the effect of the scale floor."""
        return (*self.fitted.problems, *self._held_by_floor())

    @property
    def diagnostics(self) -> dict[str, Any]:
        """Return the numbers of the draws."""
        return numbers_of(self.fitted.diagnostics_)

    def parameters(self, level: float) -> pd.DataFrame:
        """Return maximum likelihood beside the posterior; rows (class, parameter)."""
        return parameter_table(flat(self.tree), self.labels, level)

    def describe(self, *, several: bool) -> list[Block]:
        """Return the model in words and formulas."""
        return describe_scores(self.fitted.parameters, self.groups, several=several)

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


@dataclass(frozen=True)
class TopicProblem(ResultsProblem):
    """One topic of many, or a topic without documents."""

    topic: int | None  # its position; None without documents

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the problems of all scores, of its documents and of its draws."""
        fitted = self.fitted
        if self.topic is None:
            return tuple(fitted.score_problems_)
        flagged = fitted.flagged.get(fitted.names[self.topic].item())
        own = () if flagged is None else (flagged,)
        return (*fitted.score_problems_, *own, *fitted.problems_of_draws[self.topic])

    @property
    def diagnostics(self) -> dict[str, Any]:
        """Return the numbers of all draws, with the topic's own efficiency."""
        shared = numbers_of(self.fitted.diagnostics_)
        if self.topic is None:
            return shared
        own = self.fitted.efficiency[self.topic]
        return shared | ({"efficiency": float(np.nanmin(own))} if np.isfinite(own).any() else {})

    def parameters(self, level: float) -> pd.DataFrame:
        """Return maximum likelihood beside the posterior; rows (class, parameter)."""
        tables: dict[Any, pd.DataFrame] = self.fitted.topic_parameters(level)
        if self.topic is None:
            return next(iter(tables.values())).droplevel("topic")[["population"]]
        return tables[self.fitted.names[self.topic].item()].droplevel("topic")

    def describe(self, *, several: bool) -> list[Block]:
        """Return the model in words and formulas."""
        fitted, own = self.fitted, self.fitted.parameters
        return describe_topics(fitted.groups, fitted.families, own.pooling, own.prior_knowledge)

    @property
    def prior_moved(self) -> float:
        """Return the mean of a topic's P(+): a new prior only shifts its log-odds."""
        assert self.densities is not None  # noqa: S101
        return float(self.densities.prior.mean())


def describe_scores(parameters: ScoreParameters, groups: Groups, *, several: bool) -> list[Block]:
    """Return the model of one problem, part by part."""
    effect, population = read_effect(groups), kept_population(groups)
    of_clusters = cluster_blocks(effect)
    if population is not None:
        families, known = population.of_families, population.parameters["prior_knowledge"]
        blocks = [Block("inference", {"method": "exact"}), Block("population_of_others", {})]
        others = describe_topics(population.results.groups, families, "partial", known)
        return [*of_clusters, *blocks, *others]
    options, data = read_options(parameters), read_documents(groups)
    blocks = [Block("inference", {"method": options.inference}), *of_clusters]
    scale = None if several else data.centre_and_spread
    if options.inference == "mle":
        families = (options.reference,)
        values = {"families": families, "warps": (IDENTITY,), "prior": None, "scale": scale}
        return [*blocks, Block("densities", values)]
    options, _ = combination.compare_populations(LaplaceFits(data), options)
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
        hyperprior = Hyperprior.of(family.power).with_values(DENSITY_NAMES, given)
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


def _moments(names: Sequence[str], prior: GaussianHyperprior) -> dict[str, tuple[float, float]]:
    """Return mean and standard deviation of each hyperparameter."""
    return dict(zip(names, zip(prior.mean, prior.scale, strict=True), strict=True))


def _lapse_of(groups: Groups) -> float | None:
    """Return the fixed lapse rate; None if it was learned."""
    drawn = combination.read_lapse(groups)
    if drawn is None:
        return 0.0
    return None if np.any(drawn != drawn[0]) else float(drawn[0])
