"""A population of topics in the results of one problem that was fitted around it.

Such a problem is one more topic: its groups are those of the topic, and the population's own groups
are kept below prior_knowledge. A file of it can be read, and learn from further documents, without
any other file.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from bayescal.families import FAMILIES, Family
from bayescal.fitting.curves.class_draws import read_mixture
from bayescal.fitting.parts.densities import shapes
from bayescal.fitting.parts.part import (
    CONSTANTS,
    DRAWS,
    POSTERIOR,
    Groups,
    Reading,
    place_of,
    places,
)
from bayescal.fitting.parts.pooled import PooledDensities, of_unseen
from bayescal.fitting.results.topics import at_topic
from bayescal.fitting.results.tree import LIKELIHOOD, Results

FOLDER = "prior_knowledge"


def families_in(groups: Groups) -> tuple[Family, ...]:
    """Return the families of densities that results of topics hold, in their order."""
    kind = PooledDensities.name
    return tuple(FAMILIES[each.name] for each in places(groups) if each.kind == kind)


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
    """Return the only topic of results as one problem, whose draws people read in raw units."""
    out = at_topic(groups, 0)
    # The problem states these itself.
    del out[CONSTANTS], out[LIKELIHOOD]
    for k, place in enumerate(places(groups)):
        own = replace(place_of(place.name, place.kind, first=k == 0), constants=place.constants)
        out[own.draws[0]] = out.pop(place.draws[0])
        out |= own.note()
    return out


def draw_of_population(population: Groups, draws: int) -> xr.Dataset:
    """Return one chain of draws of a topic without documents, evenly chosen."""
    drawn = population[of_unseen(POSTERIOR)].transpose(*DRAWS, ...)
    one = drawn.stack(sample=DRAWS, create_index=False).drop_vars(DRAWS)
    kept = np.linspace(0, one.sizes["sample"] - 1, draws).astype(np.intp)
    chain = one.isel(sample=kept).rename(sample="draw").expand_dims(chain=[0])
    chain = chain.assign_coords(draw=np.arange(draws))
    centre = Reading.of(at_topic(population, None)).centre
    return shapes(read_mixture(chain, centre), chain)
