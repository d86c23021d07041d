"""Trees of earlier versions as trees of this one."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import xarray as xr

from bayescal.curves.densities import SIDES
from bayescal.engines.pooled.weights import DENSITIES as DENSITIES_OF_COMBINATION
from bayescal.families import FAMILIES
from bayescal.parts import PARTS
from bayescal.parts.densities import DENSITIES
from bayescal.parts.monotone import LOGISTIC, MONOTONE
from bayescal.parts.of_topics import (
    GROUPS,
    MONOTONE_OF_TOPICS,
    RECALIBRATED_OF_TOPICS,
    densities_place,
    shown_of_topics,
)
from bayescal.parts.places import COMBINATION, FOLDER, MODE, POSTERIOR, Place, place_of, plain_place
from bayescal.parts.stack import COMBINED, raw_groups
from bayescal.results import topic_documents
from bayescal.results.provenance import ESTIMATOR
from bayescal.results.tree import reading_of

Datasets = dict[str, xr.Dataset]

SCHEMA_VERSION = 3
# Version 0.1.0 wrote it: the engines' draws, with their constants among them, were in the groups
# posterior and those named like parts; what is known of them in groups named after these.
MIXED = 2
# A density has all but vanished so many sides from its mode.
SIDES_SHOWN = 4.0
EVIDENCE = ("pareto_k", "resolved")  # it was among them too, of topics
PARAMETERS = "bayescal_parameters"
# Variables that it called otherwise.
RENAMED = {
    "bend": "asinh_scale",
    "guard_floor": "scale_floor",
    "guard_name": "scale_floor_rule",
    "guard_acted": "scale_floor_acted",
}


def upgrade(tree: xr.DataTree) -> xr.DataTree:
    """Return a tree of the schema MIXED as one of this version."""
    groups = {name: _renamed_variables(node.to_dataset()) for name, node in tree.children.items()}
    parameters = json.loads(tree.attrs[PARAMETERS])
    if "topics" in groups:
        groups = _with_parts_of_topics(groups, parameters["family"])
    else:
        groups = _with_parts(groups)
        groups |= raw_groups(groups, reading_of(groups))
    out = xr.DataTree.from_dict(groups)
    made_by = "TopicCalibrator" if "topics" in groups else "ScoreCalibrator"
    attrs = {ESTIMATOR: made_by, PARAMETERS: json.dumps(_renamed(parameters))}
    out.attrs.update(tree.attrs | attrs)
    return out


def _renamed_variables(group: xr.Dataset) -> xr.Dataset:
    return group.rename({old: new for old, new in RENAMED.items() if old in group.variables})


def _renamed(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return parameters of which `family` named parts too, and `guard` was the scale floor."""
    if "guard" in parameters:
        parameters = parameters | {"scale_floor": parameters.pop("guard")}
    if parameters["family"] not in (COMBINED, *PARTS):
        return parameters
    return parameters | {"family": "auto", "parts": parameters["family"]}


def _with_parts(groups: Datasets) -> Datasets:
    """Return the groups of one problem, those of each part in its folder."""
    for place in _places(groups):
        groups |= place.note()
        if place.constants:
            groups |= _split(groups.pop(POSTERIOR if place.raw == POSTERIOR else place.name), place)
        if place.kind == DENSITIES.name and place.constants:
            groups[place.constants] = groups["constant_data"][["centre"]].drop_attrs()
        first = POSTERIOR in (place.raw, *place.draws)
        if (old := "evidence" if first else f"{place.name}_evidence") in groups:
            groups[place.evidence] = groups.pop(old)
    return groups


def _places(groups: Datasets) -> list[Place]:
    """Return where parts are now, by what was in the draws."""
    posterior = groups.get(POSTERIOR)
    if posterior is None:
        found = MODE in groups
        return [plain_place(DENSITIES.name, DENSITIES.name, MODE)] if found else []
    if "family" in posterior:
        first = place_of(DENSITIES.name, DENSITIES.name, first=True)
    elif "knot" in posterior:
        name = (LOGISTIC if posterior.sizes["segment"] == 1 else MONOTONE).name
        first = place_of(name, name, first=True)
    else:
        first = plain_place(DENSITIES.name, DENSITIES.name)
    others = groups[COMBINATION]["part"].values[1:].tolist() if COMBINATION in groups else []
    return [
        first,
        *(
            place_of(name, name, first=False) if name in groups else Place(name, name, ())
            for name in others
        ),
    ]


def _with_parts_of_topics(groups: Datasets, family: str) -> Datasets:
    """Return the groups of many topics, those of each part in its folder."""
    groups[topic_documents.GROUP] = _documents_of(groups[POSTERIOR])
    if COMBINATION not in groups:
        name = family if family in FAMILIES else DENSITIES_OF_COMBINATION[0]
        return groups | densities_place(FAMILIES[name], [FAMILIES[name]]).note()
    families = [FAMILIES[name] for name in DENSITIES_OF_COMBINATION]
    for each in families:
        groups |= densities_place(each, families).note()
    for each in families[1:]:
        for group in GROUPS:
            groups[f"{FOLDER}/{each.name}/{group}"] = groups.pop(f"{each.name}_{group}")
    for place in (RECALIBRATED_OF_TOPICS, MONOTONE_OF_TOPICS):
        groups |= place.note() | _split(groups.pop(place.name), place)
        if (old := f"{place.name}_evidence") in groups:
            groups[place.evidence] = groups.pop(old)
    return groups | shown_of_topics(groups)


def _documents_of(drawn: xr.Dataset) -> xr.Dataset:
    """Return what is known of topics whose scores were not kept: as far as their densities go."""
    theta, left, right = (drawn[name].median(("chain", "draw")) for name in SIDES)
    known = {
        "lowest": (theta - SIDES_SHOWN * left).min("klass"),
        "highest": (theta + SIDES_SHOWN * right).max("klass"),
    }
    unknown = xr.full_like(known["lowest"], np.nan)
    return xr.Dataset(known | {"auc": unknown, "variance": unknown}, attrs={"scores_are": "scores"})


def _split(mixed: xr.Dataset, place: Place) -> Datasets:
    """Return an engine's draws, its constants, and what it says of both, each as a group."""
    (group,) = place.draws
    fixed = [name for name, each in mixed.items() if "chain" not in each.dims]
    said = [name for name in fixed if name in EVIDENCE]
    draws = mixed.drop_vars([*fixed, "knot"], errors="ignore")
    groups = {group: draws, place.constants: mixed.drop_vars([*draws.variables, *said])}
    if said:
        groups[place.evidence] = mixed[said].reset_coords(drop=True)
    return groups
