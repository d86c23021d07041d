"""Trees of earlier versions as trees of this one."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayescal.engines.parts import (
    COMBINATION,
    MONOTONE_OF_TOPICS,
    PARTS,
    RECALIBRATED,
    Part,
    alone,
)
from bayescal.results import topic_documents
from bayescal.results.densities import SIDES
from bayescal.results.raw_groups import raw_groups
from bayescal.results.tree import read_documents

SCHEMA_VERSION = 3
# Version 0.1.0 wrote it: the engines' draws, with their constants among them, were in the groups
# posterior and those named like parts.
MIXED = 2
# A density has all but vanished so many sides from its mode.
SIDES_SHOWN = 4.0
EVIDENCE = ("pareto_k", "resolved")  # it was among them too, of topics


def upgrade(tree: xr.DataTree) -> xr.DataTree:
    """Return a tree of the schema MIXED as one of this version."""
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    parts = _parts_of_topics(groups) if "topics" in groups else _parts(groups)
    for part in parts:
        groups |= _split(groups.pop(part.raw or part.name), part)
    if PARTS["densities"] in parts:
        groups[PARTS["densities"].constants] = groups["constant_data"][["centre"]].drop_attrs()
    if "topics" in groups:
        groups[topic_documents.GROUP] = _documents_of(groups["posterior"])
    # A tree of topics holds no documents, and asks for none.
    reach = read_documents(tree).reach if "observed_data" in tree else (0.0, 0.0)
    out = xr.DataTree.from_dict({**raw_groups(groups, parts, reach), **groups})
    out.attrs.update(tree.attrs)
    return out


def _parts(groups: dict[str, xr.Dataset]) -> list[Part]:
    """Return the parts whose draws were in the engine's coordinates."""
    posterior = groups.get("posterior", xr.Dataset())
    first = []
    if "family" in posterior:
        first = [PARTS["densities"]]
    elif "knot" in posterior:
        first = [alone("logistic" if posterior.sizes["segment"] == 1 else "monotone")]
    others = groups[COMBINATION]["part"].values[1:].tolist() if COMBINATION in groups else []
    return [*first, *(PARTS[name] for name in others if PARTS[name].draws)]


def _parts_of_topics(groups: dict[str, xr.Dataset]) -> list[Part]:
    return [PARTS[RECALIBRATED], MONOTONE_OF_TOPICS] if COMBINATION in groups else []


def _documents_of(drawn: xr.Dataset) -> xr.Dataset:
    """Return what is known of topics whose scores were not kept: as far as their densities go."""
    theta, left, right = (drawn[name].median(("chain", "draw")) for name in SIDES)
    known = {
        "lowest": (theta - SIDES_SHOWN * left).min("klass"),
        "highest": (theta + SIDES_SHOWN * right).max("klass"),
    }
    unknown = xr.full_like(known["lowest"], np.nan)
    return xr.Dataset(known | {"auc": unknown, "variance": unknown})


def _split(mixed: xr.Dataset, part: Part) -> dict[str, xr.Dataset]:
    """Return an engine's draws, its constants, and what it says of both, each as a group."""
    (group,) = part.draws
    fixed = [name for name, each in mixed.items() if "chain" not in each.dims]
    said = [name for name in fixed if name in EVIDENCE]
    draws = mixed.drop_vars([*fixed, "knot"], errors="ignore")
    groups = {
        group: draws.assign_attrs(part=part.name),
        part.constants: mixed.drop_vars([*draws.variables, *said]),
    }
    if said:
        groups[part.evidence] = mixed[said].reset_coords(drop=True)
    return groups
