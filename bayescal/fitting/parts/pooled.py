"""Parts of topics that share a population: their storage in results and their reading."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np
import xarray as xr

from bayescal.families import Family
from bayescal.fitting.curves.part_draws import CombinedDraws, PopulationRecalibratedDraws, combine
from bayescal.fitting.engines.exact.engine import DensitySides
from bayescal.fitting.engines.exact.left_out import MOST_DRAWS
from bayescal.fitting.engines.monotone.posterior import MonotoneDraws
from bayescal.fitting.engines.pooled.hyperparameters import GOOD_K
from bayescal.fitting.engines.pooled.population import DENSITY_NAMES
from bayescal.fitting.parts import log_odds
from bayescal.fitting.parts.densities import DensitiesPart, shapes
from bayescal.fitting.parts.log_odds import LogOddsPart, RecalibratedPart
from bayescal.fitting.parts.part import (
    FOLDER,
    POSTERIOR,
    Finding,
    Groups,
    PartPaths,
    Reading,
    Task,
    any_of,
    at_scores,
    of_unseen,
    paths_of,
    shape_of,
)
from bayescal.fitting.posterior import ClassDraws, Posterior, unpack
from bayescal.inference.importance import WORST_EFFICIENCY
from bayescal.support.validation import Floats

RATE_NAMES = ("rate_alpha", "rate_beta")
# Without pooling, draws of the population's hyperparameters may all be equal.
HYPERPARAMETERS = (*DENSITY_NAMES, *RATE_NAMES)
OTHERS = "look for extreme outliers among the scores, or compare with another family or pooling"
# The advice for a single problem around a history.
UNLIKE = "the history may be of other problems than this: compare with prior_knowledge='vague'"


class Pooled:
    """A part whose draws were reweighted to a population; it is not fitted on its own."""

    name: str
    importance_weighted = True
    constant_draws: tuple[str, ...] = HYPERPARAMETERS

    def fit(self, task: Task) -> NoReturn:
        """Raise ValueError: a single problem has no population."""
        raise ValueError(
            f"{self.name} need a population: give it as prior_knowledge of a ScoreCalibrator."
        )

    def findings(self, name: str, evidence: xr.Dataset) -> Iterator[Finding]:
        """Yield problems of the population's posterior and of each topic's draws."""
        # Variables are faster than arrays with coordinates.
        numbers = evidence.variables
        advice = OTHERS if "topic" in evidence.dims else UNLIKE
        k = float(numbers["pareto_k"].values.max())
        share = float(numbers["population_efficiency"].values.min())
        if not (k <= GOOD_K and share >= WORST_EFFICIENCY):
            what = (
                f"the population's posterior of {{whose}} was not resolved (Pareto k {k:.2f}, good"
            )
            yield Finding(f"{what} below {GOOD_K}; efficiency {share:.3f})", advice, name)
        unresolved = any_of(numbers["resolved"] == 0)
        if unresolved.any():
            topics = unresolved if unresolved.ndim else None
            yield Finding("the posterior of {whose} was not resolved", advice, name, topics)
        uneven = any_of(numbers["efficiency"] < WORST_EFFICIENCY)
        if uneven.any():
            what = "too few draws of {whose} agree with the population (effective share below"
            yield Finding(f"{what} {WORST_EFFICIENCY})", advice, name, uneven)


class PooledDensities(Pooled, DensitiesPart):
    """Densities of both classes, of one family, with a population as their prior."""

    name = "pooled densities"

    def raw(self, curves: Posterior, draws: xr.Dataset, reading: Reading) -> xr.Dataset:
        """Return mode and widths of every draw."""
        assert isinstance(curves, DensitySides)  # noqa: S101
        return shapes(curves, shape_of(draws))


class PooledMonotone(Pooled, LogOddsPart):
    """Monotone log-odds with a population as their prior."""

    name = "pooled monotone"


class PooledRecalibrated(RecalibratedPart):
    """The population's one curve along the log-odds of the densities' mixture."""

    name = "pooled recalibrated"

    def read(
        self, groups: Groups, paths: PartPaths, reading: Reading
    ) -> PopulationRecalibratedDraws:
        """Return the draws, along the log-odds of the densities' mixture."""
        draws = groups[paths.draws[0]]
        alpha, beta = draws["base"].values.tolist()
        densities = [_densities(reading.before[name]) for name in draws["density"].values]
        base = mixture(densities, draws["base_weight"].values)
        # The topic's own P(+) replaces that of all topics, to whose labels the curve was fitted.
        own = self.unpacked(draws, reading.whose(paths.name))
        along = replace(own, prior=densities[0].prior)
        return PopulationRecalibratedDraws(base, along, (alpha, beta))


def mixture(densities: Sequence[ClassDraws], base_weight: Floats) -> CombinedDraws:
    """Return the mixture of families whose log-odds are the input of a population's curve."""
    # The number of draws with which the curve was fitted.
    kept = np.arange(min(MOST_DRAWS, densities[0].size))
    return combine(tuple(each.take(kept) for each in densities), base_weight)


def _densities(curves: Posterior) -> ClassDraws:
    assert curves.densities is not None  # noqa: S101
    return curves.densities


# Kinds in results only: users cannot name them, since a single problem has no population.
POOLED = {part.name: part for part in (PooledDensities(), PooledMonotone(), PooledRecalibrated())}


def hyperparameters_path(part: str) -> str:
    """Return the path of the hyperparameters of a part's population."""
    return of_unseen(f"{FOLDER}/{part}/hyperparameters")


def densities_paths(family: Family, families: Sequence[Family]) -> PartPaths:
    """Return the paths of the densities of one of several families."""
    folder = f"{FOLDER}/{family.name}"
    draws = POSTERIOR if family == families[0] else f"{folder}/{POSTERIOR}"
    return PartPaths(
        name=family.name,
        kind=PooledDensities.name,
        draws=(draws, of_unseen(draws), hyperparameters_path(family.name)),
        evidence=f"{folder}/evidence",
    )


def _monotone_paths() -> PartPaths:
    paths = paths_of(log_odds.MONOTONE.name, "pooled monotone", first=False)
    (draws,) = paths.draws
    # Without log-odds in raw score units, which would double the memory of thousands of topics.
    own = draws, of_unseen(draws), hyperparameters_path(paths.name)
    return replace(paths, draws=own, raw="")


MONOTONE_PATHS = _monotone_paths()
RECALIBRATED_PATHS = paths_of(log_odds.RECALIBRATED.name, "pooled recalibrated", first=False)


def shown_of_topics(groups: Groups) -> dict[str, xr.Dataset]:
    """Return the group of the recalibrated curve at some log-odds of the densities."""
    draws = groups[RECALIBRATED_PATHS.draws[0]]
    along = unpack(MonotoneDraws, draws)
    shown = at_scores(along, shape_of(draws), log_odds.SHOWN_LOG_ODDS, "density_log_odds")
    return {RECALIBRATED_PATHS.raw: shown}
