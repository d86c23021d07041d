"""The topics of a TopicCalibrator, each as a problem of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.families import Family
from bayescal.fitting import formulas
from bayescal.fitting.engines.exact.mixture import resolve
from bayescal.fitting.engines.pooled.combination import BELIEF_IN_POPULATION
from bayescal.fitting.engines.pooled.hyperparameters import TopicHyperparameters
from bayescal.fitting.formulas import (
    PIECES,
    RULE,
    Block,
    bayes_rule,
    combination,
    density,
    formula,
    in_text,
    in_words,
    letter,
    log_odds_population,
    population,
    priors,
    title,
)
from bayescal.fitting.parts.combination import read_lapse
from bayescal.fitting.parts.monotone import MONOTONE
from bayescal.fitting.parts.part import COMBINATION, Groups, places
from bayescal.fitting.parts.recalibrated import recalibration_block
from bayescal.fitting.problems.problem import Documents, FittedProblem, Problems, numbers_of
from bayescal.fitting.results.diagnostics import Diagnostics, problems_by_topic, topic_table
from bayescal.fitting.results.topic_curves import topic_calibration
from bayescal.fitting.results.topics import combination_table, read_scale
from bayescal.fitting.results.tree import Results

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.fitting.formulas import Block


@dataclass(frozen=True)
class Topics:
    """
    All topics of results that `topic_fitting.fit_topic_results` returned.

    What is read of all of them at once is kept for the next topic.
    """

    # What was found
    results: Results
    # (2,): the negative and the positive class
    labels: NDArray[Any]
    # Of the densities
    families: tuple[Family, ...]
    # {"partial", "none", "complete"}: how topics were fitted
    pooling: str
    # Those that are not the default
    hyperparameters: TopicHyperparameters
    # The point estimate, see `ScoreCalibrator`
    point: str
    # {"exact", "nuts"}: how they were fitted
    inference: str
    # Of the draws of all topics
    found: Diagnostics
    # What is wrong with the scores of all topics
    score_problems: tuple[str, ...]
    # By topic, what is wrong with its documents
    flagged: dict[Any, str]

    def problems(self, *, with_new: bool) -> Problems:
        """Return the topics as problems, by name; the population may answer for new ones."""
        read_new = partial(self.read, None) if with_new else None
        return Problems(self.names, self.read, by_topic=True, read_new=read_new)

    def read(self, position: int | None) -> TopicProblem:
        """Return the topic at a position; for None one without documents, as of the population."""
        calibration = topic_calibration(self.results.groups, self.families[0], position)
        fits = calibration.fits
        return TopicProblem(
            name="" if position is None else str(self.names[position]),
            labels=self.labels,
            tree=self.results.tree,
            # Plots and reports ask on the internal scale.
            calibration=replace(calibration, scores_are="scores"),
            point=self.point,
            documents=Documents.unknown(),
            counts=(fits.negative.weight, fits.positive.weight),
            score_name="score",
            scores_are=calibration.scores_are,
            inference=self.inference,
            topics=self,
            position=position,
        )

    @cached_property
    def names(self) -> list[Any]:
        """Return the names of the topics."""
        names: list[Any] = self.results.groups["topics"]["topic"].values.tolist()
        return names

    @cached_property
    def problems_of_draws(self) -> list[tuple[str, ...]]:
        """Return the problems of each topic's draws."""
        return problems_by_topic(self.results.groups)

    @cached_property
    def efficiency(self) -> NDArray[np.float64]:
        """Return the effective share of each topic's draws, (topics, classes)."""
        efficiency = self.results.groups["topics"]["efficiency"]
        return np.asarray(efficiency.transpose("topic", "klass").values)

    def parameters(self, level: float) -> dict[Any, pd.DataFrame]:
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
class TopicProblem(FittedProblem):
    """One topic."""

    # All of them
    topics: Topics
    # Where it is among them; None for a topic without documents, as of the population
    position: int | None

    @property
    def model(self) -> str:
        """Return the names of the parts."""
        return ", ".join(place.name for place in places(self.topics.results.groups))

    @property
    def problems(self) -> tuple[str, ...]:
        """Return the problems of all topics' scores, of its documents and of its draws."""
        if self.position is None:
            return self.topics.score_problems
        name = self.topics.names[self.position]
        of_documents = (self.topics.flagged[name],) if name in self.topics.flagged else ()
        of_draws = self.topics.problems_of_draws[self.position]
        return (*self.topics.score_problems, *of_documents, *of_draws)

    @property
    def diagnostics(self) -> dict[str, Any]:
        """Return the numbers of all topics' draws, the efficiency being its own."""
        shared = numbers_of(self.topics.found)
        if self.position is None:
            return shared
        own = self.topics.efficiency[self.position]
        return shared | ({"efficiency": float(np.nanmin(own))} if np.isfinite(own).any() else {})

    @property
    def parts(self) -> pd.DataFrame | None:
        """Return the weights of a combination's parts, and the log scores behind them."""
        groups = self.topics.results.groups
        return combination_table(groups, self.position) if COMBINATION in groups else None

    def parameters(self, level: float) -> pd.DataFrame:
        """Return estimates unpooled, pooled and of the population; rows (class, parameter)."""
        tables = self.topics.parameters(level)
        if self.position is None:
            return next(iter(tables.values())).droplevel("topic")[["population"]]
        return tables[self.topics.names[self.position]].droplevel("topic")

    def describe(self, *, several: bool) -> list[Block]:
        """Return the model of all topics in words and formulas."""
        topics = self.topics
        return describe_results(
            topics.results.groups, topics.families, topics.pooling, topics.hyperparameters
        )

    @property
    def prior_moved(self) -> float | None:
        """Return the mean of the topic's P(+): another prior only moves its log-odds."""
        assert self.densities is not None  # noqa: S101
        return float(self.densities.prior.mean())


# The model of many topics in words and formulas, with the priors and their values in use.

POOLED = {
    "partial": "Topics have densities of their own, whose parameters are draws from a population"
    " that all topics inform: topics with few documents borrow from the others.",
    "none": "Every topic is fitted by itself.",
    "complete": "All topics share their class densities.",
}
LETTERS = (
    f"Of each topic t the peak is {letter('theta')}, the width v, and the base rate P. Over topics,"
    f" peaks have the mean {letter('mu')} and the standard deviation {letter('tau')}; widths have"
    " the typical size m and are the more alike the larger a is; base rates have the mean r and are"
    " the more alike the larger c is."
)
SHARES = (
    f" The share of the left side in the width is w; its mean over topics is {letter('omega')}, and"
    f" topics are the more alike the larger {letter('kappa')} is."
)
OF_LOG_ODDS = (
    f" Over topics, a has the mean {letter('mu')} and the standard deviation {letter('tau')}, and"
    f" {letter('eta')} the mean {letter('nu')} and the standard deviation {letter('psi')}."
)


def describe_results(
    groups: Groups, families: Sequence[Family], pooling: str, given: TopicHyperparameters
) -> list[Block]:
    """Return the model of results of topics, part by part; arguments as of `describe`."""
    drawn = read_lapse(groups)
    fixed = 0.0 if drawn is None else float(drawn[0])
    learnt = drawn is not None and bool(np.any(drawn != fixed))
    return describe(families, pooling, read_scale(groups), given, None if learnt else fixed)


def describe(
    families: Sequence[Family],
    pooling: str,
    scale: tuple[float, float],
    given: TopicHyperparameters,
    lapse: float | None,
) -> list[Block]:
    """Return the model, part by part."""
    densities = [formula(bayes_rule()), *(formula(density(each)) for each in families)]
    blocks = [
        Block("Topics", POOLED[pooling]),
        Block("Class densities", _densities_in_words(families), tuple(densities)),
    ]
    if pooling != "partial":
        where = "m and S are the robust centre and spread of the scores"
        return [*blocks, priors(families, resolve(tuple(families), scale, given.own), where)]
    centre, spread = map(in_text, scale)
    text = (
        f"With scores standardised by m = {centre} and S = {spread}, of each class and"
        " topic t; the six hyperparameters of a class have Gaussian priors."
    )
    for family in families:
        lines = population(family.powers[0], symmetric=family.symmetric, given=given.populations)
        head = f"Population, {title(family)}" if len(families) > 1 else "Population"
        letters = LETTERS if family.symmetric else LETTERS + SHARES
        blocks.append(Block(head, f"{text} {letters}", tuple(map(formula, lines))))
    if len(families) == 1:
        return blocks
    return [*blocks, *_others(given), *formulas.lapse_blocks(lapse)]


def _densities_in_words(families: Sequence[Family]) -> str:
    shapes = " ".join(f"{title(each)}: {in_words(each)}" for each in families)
    return f"Of each topic by itself. {RULE} {shapes}"


def _others(given: TopicHyperparameters) -> list[Block]:
    """Return the parts of topics' combination beside its densities."""
    text = (
        "The parts are weighed by stacking: the weights maximise the log score of their mixture for"
        " labels left out, of all topics; each topic's weights are around these, which count as"
        f" {BELIEF_IN_POPULATION:g} documents. The recalibrated log-odds are one curve for all"
        " topics; monotone log-odds are each topic's own, around a population."
    )
    pieces = (
        f"{MONOTONE.text} Here x is the score, warped and standardised, and knots and"
        f" x\N{SUBSCRIPT ZERO} are those of all topics. {PIECES}{OF_LOG_ODDS}"
    )
    lines = log_odds_population(given.populations)
    return [
        recalibration_block(),
        Block("Population, log-odds", pieces, tuple(map(formula, lines))),
        Block("Combination", text, tuple(map(formula, combination()))),
    ]
