"""Parts of many topics around a population: where a tree keeps them, and what may be wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np
import xarray as xr

from bayescal.families import Family
from bayescal.families.warps import IDENTITY
from bayescal.fitting.curves.class_draws import SIDES, ClassDraws
from bayescal.fitting.curves.combined_draws import CombinedDraws, combine
from bayescal.fitting.curves.curves import PartCurves
from bayescal.fitting.curves.log_odds_draws import PopulationRecalibratedDraws
from bayescal.fitting.engines.exact.engine import MOST_DRAWS
from bayescal.fitting.engines.importance import WORST_EFFICIENCY
from bayescal.fitting.engines.pooled.hyperposterior import GOOD_K
from bayescal.fitting.engines.pooled.population import DENSITY_NAMES
from bayescal.fitting.parts.densities import DensitiesPart
from bayescal.fitting.parts.monotone import MONOTONE, LogOddsPart, read_log_odds
from bayescal.fitting.parts.part import (
    DRAWS,
    FOLDER,
    Finding,
    Groups,
    Place,
    Reading,
    Task,
    any_of,
    at_scores,
    place_of,
)
from bayescal.fitting.parts.recalibrated import RECALIBRATED, SHOWN_LOG_ODDS, RecalibratedPart
from bayescal.support.validation import Floats

RATE_NAMES = ("rate_alpha", "rate_beta")
# Unpooled topics have a population that is none: their hyperparameters may be all the same.
HYPERPARAMETERS = (*DENSITY_NAMES, *RATE_NAMES)
GROUPS = ("posterior", "population", "topics")
OTHERS = "look for extreme outliers among the scores, or compare with another family or pooling"


class PopulationKind:
    """Draws of topics that were reweighted to a population."""

    importance_weighted = True
    constant_draws = HYPERPARAMETERS

    def findings(self, name: str, evidence: xr.Dataset) -> Iterator[Finding]:
        """Yield what is wrong with the population's posterior, and with single topics' draws."""
        # Variables, not arrays with coordinates, which take longer for every topic added.
        found = evidence.variables
        k = float(found["pareto_k"].values.max())
        share = float(found["population_efficiency"].values.min())
        if not (k <= GOOD_K and share >= WORST_EFFICIENCY):
            what = (
                f"the population's posterior of {{whose}} was not resolved (Pareto k {k:.2f}, good"
            )
            yield Finding(f"{what} below {GOOD_K}; efficiency {share:.3f})", OTHERS, name)
        unresolved = any_of(found["resolved"] == 0)
        if unresolved.any():
            topics = unresolved if unresolved.ndim else None
            yield Finding("the posterior of {whose} was not resolved", OTHERS, name, topics)
        uneven = any_of(found["efficiency"] < WORST_EFFICIENCY)
        if uneven.any():
            what = "too few draws of {whose} agree with the population (effective share below"
            yield Finding(f"{what} {WORST_EFFICIENCY})", OTHERS, name, uneven)


DENSITIES_OF_TOPICS, LOG_ODDS_OF_TOPICS = "densities of topics", "log-odds of topics"
TOPIC_KINDS = {name: PopulationKind() for name in (DENSITIES_OF_TOPICS, LOG_ODDS_OF_TOPICS)}
# Monotone log-odds in raw score units would take twice the memory, of thousands of topics.
MONOTONE_OF_TOPICS = replace(place_of(MONOTONE.name, LOG_ODDS_OF_TOPICS, first=False), raw="")
RECALIBRATED_OF_TOPICS = place_of(RECALIBRATED.name, RECALIBRATED.name, first=False)


def prefix_of(family: Family, families: Sequence[Family]) -> str:
    """Return the prefix of the paths of a family's groups; empty for the first family."""
    return "" if family == families[0] else f"{FOLDER}/{family.name}/"


def densities_place(family: Family, families: Sequence[Family]) -> Place:
    """Return where the densities of one of several families are."""
    posterior, population, topics = (prefix_of(family, families) + name for name in GROUPS)
    return Place(family.name, DENSITIES_OF_TOPICS, (posterior, population), evidence=topics)


def shown_of_topics(groups: Groups) -> dict[str, xr.Dataset]:
    """Return the group of the recalibrated curve in log-odds of the densities, for people."""
    (draws,) = RECALIBRATED_OF_TOPICS.draws
    along = read_log_odds(groups, RECALIBRATED_OF_TOPICS)
    shown = at_scores(along, groups[draws], SHOWN_LOG_ODDS, "density_log_odds")
    return {RECALIBRATED_OF_TOPICS.raw: shown}


# Parts of one problem that was fitted as one more topic of a population, that of a history.
#
# Each is that of many topics (`of_topics`) for one of them, kept and read as a part of one problem.

_OF_TOPICS = PopulationKind()
UNLIKE = "the history may be of other problems than this: compare with prior_knowledge='vague'"


class DensitiesAround(DensitiesPart):
    """Densities of both classes, of one family, around those of a population."""

    name = "densities around a population"
    importance_weighted = True

    def fit(self, task: Task) -> NoReturn:
        """Raise ValueError: there is no population in a task."""
        raise ValueError(NOT_ALONE.format(self.name))

    def findings(self, name: str, evidence: xr.Dataset) -> Iterator[Finding]:
        """Yield what is wrong with the population's posterior and with the draws."""
        return _findings(name, evidence)


class MonotoneAround(LogOddsPart):
    """Log-odds that rise in straight pieces, around those of a population."""

    def fit(self, task: Task) -> NoReturn:
        """Raise ValueError: there is no population in a task."""
        raise ValueError(NOT_ALONE.format(self.name))

    def findings(self, name: str, evidence: xr.Dataset) -> Iterator[Finding]:
        """Yield what is wrong with the population's posterior and with the draws."""
        return _findings(name, evidence)


class RecalibratedAround(RecalibratedPart):
    """The population's own curve along the log-odds of the densities."""

    def fit(self, task: Task) -> NoReturn:
        """Raise ValueError: there is no population in a task."""
        raise ValueError(NOT_ALONE.format(self.name))

    def read(self, groups: Groups, place: Place, reading: Reading) -> PopulationRecalibratedDraws:
        """Return its draws, along the log-odds of the densities' mixture."""
        constants = groups[place.constants]
        alpha, beta = constants["base"].values.tolist()
        densities = [_densities(reading.before[name]) for name in constants["density"].values]
        base = mixture(densities, constants["base_weight"].values)
        # What the curve says of a problem is for the problem's own P(+), not for the history's.
        along = replace(read_log_odds(groups, place), prior=densities[0].prior)
        return PopulationRecalibratedDraws(base, along, (alpha, beta))


NOT_ALONE = "{0} are fitted by a population: give it as prior_knowledge of a ScoreCalibrator."
DENSITIES_AROUND = DensitiesAround()
MONOTONE_AROUND = MonotoneAround(
    "log-odds around a population", MONOTONE.title, (MonotoneAround.__doc__ or "")
)
RECALIBRATED_AROUND = RecalibratedAround(
    "recalibrated by a population", RECALIBRATED.title, (RecalibratedAround.__doc__ or "")
)
# By what files say, beside `PARTS`: these cannot be asked for by name, for they need a population.
AROUND_POPULATION = {
    part.name: part for part in (DENSITIES_AROUND, RECALIBRATED_AROUND, MONOTONE_AROUND)
}


def drawn_densities(group: xr.Dataset, family: Family) -> xr.Dataset:
    """Return draws of mode, sides and rate as a group engine_draws of one family has them."""
    dims = (*DRAWS, "klass")
    drawn = group[[*SIDES]].transpose(*dims).drop_vars("topic", errors="ignore")
    shape = tuple(drawn.sizes[name] for name in dims)
    return drawn.assign(
        prior=group["rate"].drop_vars("topic", errors="ignore").transpose(*DRAWS),
        family=(dims, np.zeros(shape, np.int8), {"flag_meanings": family.name}),
        asinh_scale=(DRAWS, np.full(shape[:2], IDENTITY)),
    )


def mixture(densities: Sequence[ClassDraws], base_weight: Floats) -> CombinedDraws:
    """Return the mixture of several families along whose log-odds a population's curve runs."""
    # As many draws as the log-odds had that the curve was fitted to.
    kept = np.arange(min(MOST_DRAWS, densities[0].size))
    return combine(tuple(each.take(kept) for each in densities), base_weight)


def _findings(name: str, evidence: xr.Dataset) -> Iterator[Finding]:
    """Yield what is wrong with a topic's draws, with the advice of one who chose the history."""
    return (replace(each, advice=UNLIKE) for each in _OF_TOPICS.findings(name, evidence))


def _densities(curves: PartCurves) -> ClassDraws:
    densities: ClassDraws | None = curves.densities
    assert densities is not None  # noqa: S101
    return densities
