"""The parts that a curve may be made of: the one list of where a tree of results keeps each.

Whoever writes or reads the draws of a part, or what is known of how well they were made, finds the
names of the groups here. Where an engine draws in coordinates of its own, of warped or standardised
scores, there are two groups of draws: its own, and for people one in raw score units.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import xarray as xr

from bayescal.families import Family

COMBINATION = "combination"  # the group of the parts' weights, which names them
ENGINE_DRAWS, ENGINE_CONSTANTS = "engine_draws", "engine_constants"
RECALIBRATED = "recalibrated"  # the part whose log-odds are those of other parts


@dataclass(frozen=True)
class Part:
    """
    A part of a combination, or all of a model that has one part.

    Attributes
    ----------
    name : str
        As the combination's tables say it.
    draws : tuple of str
        The groups that hold its draws as the engine made them, which curves are read from; none
        for a part without any.
    constants : str
        The group of the constants that turn them into raw score units; empty if they are in them.
    raw : str
        The group of the same draws in raw score units, for people; empty for draws that are in
        them and for those of many topics, which would take twice the memory.
    evidence : str
        The group that says how well the draws were made; empty for a part without any.
    engine : {"exact", "importance", "population", "none"}
        What made them: class densities of one problem; log-odds fitted to labels directly; all
        topics around a population; or nothing.
    """

    name: str
    draws: tuple[str, ...]
    constants: str
    raw: str
    evidence: str
    engine: str


class Found(Protocol):
    """Draws, and how well they were made, as an engine returns them."""

    def dataset(self, chains: int, draws: int) -> xr.Dataset:
        """Return the draws, with the dimensions chain and draw."""
        ...

    def constants(self) -> xr.Dataset:
        """Return what the draws need to be in raw score units."""
        ...

    def evidence(self) -> xr.Dataset:
        """Return how well they were made."""
        ...


def _part(name: str, prefix: str, raw: str, engine: str) -> Part:
    draws, constants = f"{prefix}{ENGINE_DRAWS}", f"{prefix}{ENGINE_CONSTANTS}"
    return Part(name, (draws,), constants, raw, f"{prefix}evidence", engine)


def _direct(name: str) -> Part:
    return _part(name, f"{name}_", name, "importance")


# Of one problem, the densities first: others may follow them.
PARTS = {
    part.name: part
    for part in (
        _part("densities", "", "posterior", "exact"),
        _direct("monotone"),
        _direct("logistic"),
        _direct(RECALIBRATED),
        Part("identity", (), "", "", "", "none"),
    )
}
# Densities of one family on raw scores: the engine draws what people read.
PLAIN = replace(PARTS["densities"], draws=("posterior",), constants="", raw="")
MONOTONE_OF_TOPICS = replace(PARTS["monotone"], raw="", engine="population")


def alone(name: str) -> Part:
    """Return a part as a tree keeps it whose model has no other."""
    return replace(PARTS["densities"], name=name, engine=PARTS[name].engine)


def stored(part: Part, found: Found, chains: int, draws: int) -> dict[str, xr.Dataset]:
    """Return what an engine found under the names of the groups that keep it."""
    (group,) = part.draws
    dataset, evidence = found.dataset(chains, draws), found.evidence()
    if not part.constants:
        return {group: dataset, part.evidence: evidence}
    return {
        group: dataset.assign_attrs(part=part.name),
        part.constants: found.constants(),
        part.evidence: evidence,
    }


def parts_of(tree: Mapping[str, Any]) -> tuple[Part, ...]:
    """
    Return the parts of one problem that a tree with a posterior holds, and where.

    Parameters
    ----------
    tree : DataTree, or mapping of str to Dataset
        Of the groups, as engines make them or with those in raw score units.
    """
    (group,) = PARTS["densities"].draws
    first = alone(tree[group].attrs["part"]) if group in tree else PLAIN
    if COMBINATION not in tree:
        return (first,)
    others = tree[COMBINATION]["part"].values[1:].tolist()
    return (first, *(PARTS[name] for name in others))


def parts_of_topics(families: Sequence[Family]) -> tuple[Part, ...]:
    """
    Return the parts of many topics' curves.

    Parameters
    ----------
    families : sequence of Family
        Of the densities; with more than one they are combined with further parts.
    """
    densities = tuple(_of_topics(each.name, prefix_of(each, families)) for each in families)
    if len(families) == 1:
        return densities
    return (*densities, PARTS[RECALIBRATED], MONOTONE_OF_TOPICS)


def prefix_of(family: Family, families: Sequence[Family]) -> str:
    """Return what the names of a family's groups start with: of the first of several, nothing."""
    return "" if family == families[0] else f"{family.name}_"


def _of_topics(family: str, prefix: str) -> Part:
    draws = (f"{prefix}posterior", f"{prefix}population")
    return Part(family, draws, "", "", f"{prefix}topics", "population")
