"""Trees of earlier versions as trees of this one."""

from __future__ import annotations

import xarray as xr

from bayescal.engines.data import ENGINE_CONSTANTS, ENGINE_DRAWS
from bayescal.results.raw_groups import raw_groups
from bayescal.results.tree import read_documents

SCHEMA_VERSION = 3
# Version 0.1.0 wrote it: the engines' draws, with their constants among them, were the group
# posterior and groups named like parts.
MIXED = 2
PARTS = ("monotone", "logistic", "recalibrated")


def upgrade(tree: xr.DataTree) -> xr.DataTree:
    """Return a tree of the schema MIXED as one of this version."""
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    for part in PARTS:
        if part in groups:
            groups |= _split(groups.pop(part), f"{part}_")
    posterior = groups.get("posterior")
    if posterior is not None and ("family" in posterior or "knot" in posterior):
        groups |= _split(groups.pop("posterior"), "")
    if "family" in groups.get(ENGINE_DRAWS, ()):
        groups[ENGINE_CONSTANTS] = groups["constant_data"][["centre"]].drop_attrs()
    # A tree of topics holds no documents, and asks for none.
    reach = read_documents(tree).reach if "observed_data" in tree else (0.0, 0.0)
    out = xr.DataTree.from_dict({**raw_groups(groups, reach), **groups})
    out.attrs.update(tree.attrs)
    return out


def _split(mixed: xr.Dataset, prefix: str) -> dict[str, xr.Dataset]:
    """Return an engine's draws, its constants, and what it says of both, each as a group."""
    constants = [name for name, each in mixed.items() if "chain" not in each.dims]
    evidence = [name for name in constants if name in ("pareto_k", "resolved")]
    draws = mixed.drop_vars([*constants, "knot"], errors="ignore")
    groups = {ENGINE_DRAWS: draws}
    if "knot" in mixed:
        groups[ENGINE_CONSTANTS] = mixed.drop_vars([*draws.variables, *evidence])
    if evidence:
        groups["evidence"] = mixed[evidence].reset_coords(drop=True)
    return {f"{prefix}{name}": group for name, group in groups.items()}
