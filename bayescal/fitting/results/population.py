"""A population of topics in the results of one problem: kept there, and what was drawn around it.

A problem fitted around a population has the groups of any other one, its parts being those of
`parts.around_population`, and the population's own groups below prior_knowledge: a file of it needs
no other file to be read, or to learn from further documents.
"""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayescal.families import FAMILIES, Family
from bayescal.fitting.curves.class_draws import read_mixture
from bayescal.fitting.parts.combination import ORDER
from bayescal.fitting.parts.densities import shapes
from bayescal.fitting.parts.of_topics import (
    DENSITIES_AROUND,
    DENSITIES_OF_TOPICS,
    MONOTONE_AROUND,
    MONOTONE_OF_TOPICS,
    RECALIBRATED_AROUND,
    RECALIBRATED_OF_TOPICS,
    drawn_densities,
    prefix_of,
)
from bayescal.fitting.parts.part import COMBINATION, DRAWS, LAPSE, Groups, place_of, places
from bayescal.fitting.results.topics import order_of, read_population, read_scale
from bayescal.fitting.results.tree import Results
from bayescal.support.validation import Floats

FOLDER = "prior_knowledge"


def families_in(groups: Groups) -> tuple[Family, ...]:
    """Return the families of densities that results of topics hold, in their order."""
    found = places(groups)
    return tuple(FAMILIES[each.name] for each in found if each.kind == DENSITIES_OF_TOPICS)


def kept_groups(population: Results) -> dict[str, xr.Dataset]:
    """Return a population's results as groups of others, their provenance among them."""
    groups = {f"{FOLDER}/{path}": group for path, group in population.groups.items()}
    return {FOLDER: xr.Dataset(attrs=dict(population.attrs)), **groups}


def read_kept(groups: Groups) -> Results | None:
    """Return the population that a problem was fitted around; None if there was none."""
    if FOLDER not in groups:
        return None
    start = f"{FOLDER}/"
    own = {
        path.removeprefix(start): each for path, each in groups.items() if path.startswith(start)
    }
    return Results(own, groups[FOLDER].attrs)


def groups_of_topic(groups: Groups) -> dict[str, xr.Dataset]:
    """Return the only topic of results as the parts of one problem, with their weights."""
    families = families_in(groups)
    out: dict[str, xr.Dataset] = {}
    for family in families:
        prefix = prefix_of(family, families)
        place = place_of(family.name, DENSITIES_AROUND.name, first=family == families[0])
        out |= {
            **place.note(),
            place.draws[0]: drawn_densities(_only(groups[f"{prefix}posterior"]), family),
            place.constants: xr.Dataset({"centre": read_scale(groups)[0]}),
            place.evidence: _health(_only(groups[f"{prefix}topics"])),
        }
    if COMBINATION not in groups:
        return out
    weights = _only(groups[COMBINATION])[["weight", "elpd", "se"]]
    weights.attrs = {**groups[COMBINATION].attrs, ORDER: order_of(weights["weight"].values)}
    lapses = {LAPSE: groups[LAPSE]} if LAPSE in groups else {}
    # Labels left out are predicted with the mean of what base rates are from.
    base_rate = read_population(groups).rate.mean(axis=1)
    recalibrated = _recalibrated(groups, base_rate)
    return out | recalibrated | _monotone(groups) | {COMBINATION: weights} | lapses


def draw_of_population(population: Groups, draws: int) -> xr.Dataset:
    """Return one chain of draws of a topic that nobody has labelled, evenly chosen."""
    family = families_in(population)[0]
    drawn = drawn_densities(population["population"], family)
    one = drawn.stack(sample=DRAWS, create_index=False).drop_vars(DRAWS)
    kept = np.linspace(0, one.sizes["sample"] - 1, draws).astype(np.intp)
    chain = one.isel(sample=kept).rename(sample="draw").expand_dims(chain=[0])
    chain = chain.assign_coords(draw=np.arange(draws))
    return shapes(read_mixture(chain, read_scale(population)[0]), chain)


def _recalibrated(groups: Groups, base_rate: Floats) -> dict[str, xr.Dataset]:
    """Return the population's curve along the densities' log-odds, and what these are of."""
    old = RECALIBRATED_OF_TOPICS
    place = place_of(old.name, RECALIBRATED_AROUND.name, first=False)
    along = groups[COMBINATION][["base_weight", "reach"]].assign(base=("parameter", base_rate))
    return {
        **place.note(),
        place.draws[0]: groups[old.draws[0]],
        place.constants: groups[old.constants].merge(along),
        place.evidence: groups[old.evidence],
    }


def _monotone(groups: Groups) -> dict[str, xr.Dataset]:
    old = MONOTONE_OF_TOPICS
    place = place_of(old.name, MONOTONE_AROUND.name, first=False)
    own = _only(groups[old.draws[0]])[["intercept", "slope"]]
    return {
        **place.note(),
        place.draws[0]: own.assign(prior=_only(groups["posterior"])["rate"]),
        place.constants: groups[old.constants],
        place.evidence: _health(_only(groups[old.evidence])),
    }


def _only(group: xr.Dataset) -> xr.Dataset:
    """Return a group's values of the only topic."""
    return group.isel(topic=0, drop=True)


def _health(known: xr.Dataset) -> xr.Dataset:
    """Return the diagnostics of a topic's draws and of its population's."""
    names = (
        "efficiency",
        "resolved",
        "proposal_efficiency",
        "proposal_pareto_k",
        "pareto_k",
        "population_efficiency",
    )
    return known[[name for name in names if name in known]]
