"""The topics of a TopicCalibrator, each as a problem of its own."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.engines.pooled.hyperparameters import TopicHyperparameters
from bayescal.families import Family
from bayescal.fitted.documents import Documents
from bayescal.fitted.problem import FittedProblem, Problems, numbers_of
from bayescal.parts.places import COMBINATION, places
from bayescal.results.diagnostics import Diagnostics, problems_by_topic
from bayescal.results.groups import Results
from bayescal.results.summaries import topic_table
from bayescal.results.topic_calibration import topic_calibration
from bayescal.results.topic_parts import combination_table

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.formulas.block import Block


@dataclass(frozen=True)
class Topics:
    """
    All topics of results that `topic_fitting.fit_topic_results` returned.

    What is read of all of them at once is kept for the next topic.

    Attributes
    ----------
    results : Results
        What was found.
    labels : array of shape (2,)
        The negative and the positive class.
    families : tuple of Family
        Of the densities.
    pooling : {"partial", "none", "complete"}
        How topics were fitted.
    hyperparameters : TopicHyperparameters
        Those that are not the default.
    point : str
        The point estimate, see `ScoreCalibrator`.
    inference : {"exact", "nuts"}
        How they were fitted.
    found : Diagnostics
        Of the draws of all topics.
    score_problems : tuple of str
        What is wrong with the scores of all topics.
    flagged : dict
        By topic, what is wrong with its documents.
    """

    results: Results
    labels: NDArray[Any]
    families: tuple[Family, ...]
    pooling: str
    hyperparameters: TopicHyperparameters
    point: str
    inference: str
    found: Diagnostics
    score_problems: tuple[str, ...]
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
        """Return what is wrong with the draws of each topic."""
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
    """
    One topic.

    Attributes
    ----------
    topics : Topics
        All of them.
    position : int or None
        Where it is among them; None for a topic without documents, as of the population.
    """

    topics: Topics
    position: int | None

    @property
    def model(self) -> str:
        """Return the names of the parts."""
        return ", ".join(place.name for place in places(self.topics.results.groups))

    @property
    def problems(self) -> tuple[str, ...]:
        """Return what is wrong with all topics' scores, its documents and its draws."""
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
        from bayescal.fitted.topic_model import describe_results

        topics = self.topics
        return describe_results(
            topics.results.groups, topics.families, topics.pooling, topics.hyperparameters
        )

    @property
    def prior_moved(self) -> float | None:
        """Return the mean of the topic's P(+): another prior only moves its log-odds."""
        assert self.densities is not None  # noqa: S101
        return float(self.densities.prior.mean())
