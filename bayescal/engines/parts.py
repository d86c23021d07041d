"""The parts that a curve may be made of: the one list of where a tree of results keeps each.

Whoever writes or reads the draws of a part, or what is known of how well they were made, finds the
names of the groups here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import xarray as xr

from bayescal.families import Family

COMBINATION = "combination"  # the group of the parts' weights, which names them


@dataclass(frozen=True)
class Part:
    """
    A part of a combination, or all of a model that has one part.

    Attributes
    ----------
    name : str
        As the combination's tables say it.
    draws : tuple of str
        The groups that hold its draws; none for a part without any.
    evidence : str
        The group that says how well the draws were made; empty for a part without any.
    engine : {"exact", "importance", "population", "none"}
        What made them: class densities of one problem; log-odds fitted to labels directly; all
        topics around a population; or nothing.
    """

    name: str
    draws: tuple[str, ...]
    evidence: str
    engine: str


class Found(Protocol):
    """Draws, and how well they were made, as an engine returns them."""

    def dataset(self, chains: int, draws: int) -> xr.Dataset:
        """Return the draws, with the dimensions chain and draw."""
        ...

    def evidence(self) -> xr.Dataset:
        """Return how well they were made."""
        ...


def _direct(name: str) -> Part:
    return Part(name, (name,), f"{name}_evidence", "importance")


# Of one problem, the densities first: others may follow them.
PARTS = {
    part.name: part
    for part in (
        Part("densities", ("posterior",), "evidence", "exact"),
        _direct("monotone"),
        _direct("logistic"),
        _direct("recalibrated"),
        Part("identity", (), "", "none"),
    )
}


def alone(name: str) -> Part:
    """Return a part as a tree keeps it whose model has no other."""
    whole = PARTS["densities"]
    return replace(PARTS[name], draws=whole.draws, evidence=whole.evidence)


def stored(part: Part, found: Found, chains: int, draws: int) -> dict[str, xr.Dataset]:
    """Return what an engine found under the names of the groups that keep it."""
    (group,) = part.draws
    return {group: found.dataset(chains, draws), part.evidence: found.evidence()}


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
    monotone = Part("monotone", ("monotone",), "monotone", "population")
    return (*densities, PARTS["recalibrated"], monotone)


def prefix_of(family: Family, families: Sequence[Family]) -> str:
    """Return what the names of a family's groups start with: of the first of several, nothing."""
    return "" if family == families[0] else f"{family.name}_"


def _of_topics(family: str, prefix: str) -> Part:
    draws = (f"{prefix}posterior", f"{prefix}population")
    return Part(family, draws, f"{prefix}topics", "population")
