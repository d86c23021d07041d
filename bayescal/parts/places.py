"""Where a tree of results keeps each part: groups below parts/<name>, which names its kind.

A tree is read as a flat mapping from the paths of its groups to their datasets.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import xarray as xr

Groups = Mapping[str, xr.Dataset]

DRAWS = ("chain", "draw")  # dimensions of every group of draws
FOLDER = "parts"
POSTERIOR = "posterior"  # the draws of the first part that people read, where ArviZ looks for them
MODE = "mode"  # the same of one posterior mode, without draws
COMBINATION = "combination"  # the parts' weights
LAPSE = "lapse"  # draws of the share of documents whose label has nothing to do with their score


@dataclass(frozen=True)
class Place:
    """
    Where a part is kept.

    Attributes
    ----------
    name : str
        Of the part, as tables say it.
    kind : str
        What reads it: a key of `bayescal.parts.PARTS`, or of those of many topics.
    draws : tuple of str
        The groups that hold its draws as the engine made them, which curves are read from; none
        for a part without any.
    constants : str
        The group of the constants that turn them into raw score units; empty if they are in them.
    raw : str
        The group of the same draws in raw score units, for people; empty for draws that are in
        them and for those of many topics, which would take twice the memory.
    evidence : str
        The group that says how well the draws were made; it may be absent.
    """

    name: str
    kind: str
    draws: tuple[str, ...]
    constants: str = ""
    raw: str = ""
    evidence: str = ""

    @property
    def folder(self) -> str:
        """Return the group that names the part's kind and where the rest of it is."""
        return f"{FOLDER}/{self.name}"

    def note(self) -> dict[str, xr.Dataset]:
        """Return that group."""
        attrs = {
            "kind": self.kind,
            "draws": ",".join(self.draws),
            "constants": self.constants,
            "raw": self.raw,
            "evidence": self.evidence,
        }
        return {self.folder: xr.Dataset(attrs=attrs)}


def place_of(name: str, kind: str, *, first: bool) -> Place:
    """Return the place of a part whose engine draws in coordinates of its own."""
    folder = f"{FOLDER}/{name}"
    return Place(
        name=name,
        kind=kind,
        draws=(f"{folder}/engine_draws",),
        constants=f"{folder}/engine_constants",
        raw=POSTERIOR if first else f"{folder}/draws",
        evidence=f"{folder}/evidence",
    )


def plain_place(name: str, kind: str, group: str = POSTERIOR) -> Place:
    """Return the place of the first part where its engine draws, or finds, what people read."""
    return Place(name, kind, (group,), evidence=f"{FOLDER}/{name}/evidence")


def places(groups: Groups) -> list[Place]:
    """Return where the parts are of which a tree holds draws, in their order."""
    found = {}
    for path, group in groups.items():
        folder, _, name = path.partition("/")
        if folder == FOLDER and name and "/" not in name:
            note = dict(group.attrs)
            draws = tuple(path for path in note.pop("draws").split(",") if path)
            found[name] = Place(name=name, draws=draws, **note)
    if COMBINATION not in groups:
        return list(found.values())
    return [found[name] for name in groups[COMBINATION]["part"].values.tolist()]


def model_name(groups: Groups) -> str:
    """Return the parts of a model by their names; of one family on raw scores its name."""
    found = places(groups)
    if any(place.constants for place in found) or len(found) > 1:
        return ", ".join(place.name for place in found)
    return str(groups["maximum_likelihood"].attrs["family"])


def flat(tree: xr.DataTree) -> dict[str, xr.Dataset]:
    """Return the groups of a tree by their paths."""
    return {
        node.path.lstrip("/"): node.to_dataset(inherit=False)
        for node in tree.descendants
        if node.has_data or node.attrs
    }
