"""Parts of many topics around a population: where a tree keeps them, and what may be wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import xarray as xr

from bayescal.engines.monotone.importance import WORST_EFFICIENCY
from bayescal.engines.pooled.hyperposterior import GOOD_K
from bayescal.engines.pooled.population import NAMES
from bayescal.families import Family
from bayescal.parts.findings import Finding, any_of
from bayescal.parts.monotone import MONOTONE, read_log_odds
from bayescal.parts.part import at_scores
from bayescal.parts.places import FOLDER, Groups, Place, place_of
from bayescal.parts.recalibrated import RECALIBRATED, SHOWN_LOG_ODDS

RATE_NAMES = ("rate_alpha", "rate_beta")
# Unpooled topics have a population that is none: their hyperparameters may be all the same.
HYPERPARAMETERS = (*NAMES, *RATE_NAMES)
GROUPS = ("posterior", "population", "topics")
UNKNOWN = xr.Variable((), 1.0)  # an effective share that nobody kept
OTHERS = "look for extreme outliers among the scores, or compare with another family or pooling"


class PopulationKind:
    """Draws of topics that were reweighted to a population."""

    importance_weighted = True
    constant_draws = HYPERPARAMETERS

    def findings(self, name: str, evidence: xr.Dataset) -> Iterator[Finding]:
        """Yield what is wrong with the population's posterior, and with single topics' draws."""
        # Variables, not arrays with coordinates: whoever adds a topic waits for this.
        found = evidence.variables
        k = float(found["pareto_k"].values.max())
        # Earlier versions did not keep the shares; nan of a topic is one that they added.
        share = float(found.get("population_efficiency", UNKNOWN).values.min())
        if not (k <= GOOD_K and share >= WORST_EFFICIENCY):
            what = (
                f"the population's posterior of {{whose}} was not resolved (Pareto k {k:.2f}, good"
            )
            yield Finding(f"{what} below {GOOD_K}; efficiency {share:.3f})", OTHERS, name)
        unresolved = any_of(found["resolved"] == 0)
        if unresolved.any():
            topics = unresolved if unresolved.ndim else None
            yield Finding("the posterior of {whose} was not resolved", OTHERS, name, topics)
        uneven = any_of(found.get("efficiency", UNKNOWN) < WORST_EFFICIENCY)
        if uneven.any():
            what = "too few draws of {whose} agree with the population (effective share below"
            yield Finding(f"{what} {WORST_EFFICIENCY})", OTHERS, name, uneven)


DENSITIES_OF_TOPICS, LOG_ODDS_OF_TOPICS = "densities of topics", "log-odds of topics"
TOPIC_KINDS = {name: PopulationKind() for name in (DENSITIES_OF_TOPICS, LOG_ODDS_OF_TOPICS)}
# Monotone log-odds in raw score units would take twice the memory, of thousands of topics.
MONOTONE_OF_TOPICS = replace(place_of(MONOTONE.name, LOG_ODDS_OF_TOPICS, first=False), raw="")
RECALIBRATED_OF_TOPICS = place_of(RECALIBRATED.name, RECALIBRATED.name, first=False)


def prefix_of(family: Family, families: Sequence[Family]) -> str:
    """Return what the paths of a family's groups start with: of the first of several, nothing."""
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
