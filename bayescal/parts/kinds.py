"""Whatever a tree of results holds: parts of one problem and of many topics, by their kinds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from bayescal.parts import part_of
from bayescal.parts.findings import Finding, of_draws
from bayescal.parts.of_topics import TOPIC_KINDS, PopulationKind
from bayescal.parts.part import Part
from bayescal.parts.places import Groups, Place, places
from bayescal.validation import Floats


def kind_of(place: Place) -> Part | PopulationKind:
    """Return what knows how to check the draws of a place; see `part_of`."""
    return TOPIC_KINDS.get(place.kind) or part_of(place.kind)


def worst(groups: Groups, name: str, pick: Callable[[Floats], float]) -> float | None:
    """
    Return the worst known value of a number that says how well draws were made; None without any.

    Of Pareto shapes those count that belong to importance weighted draws, where there are such.

    Parameters
    ----------
    groups : mapping of str to Dataset
        Of a tree.
    name : {"efficiency", "pareto_k"}
        Which number.
    pick : callable
        From all values to the worst.
    """
    found = places(groups)
    if name == "pareto_k":
        found = [place for place in found if kind_of(place).importance_weighted] or found
    evidence = [groups[place.evidence] for place in found if place.evidence in groups]
    values = [each[name].values.ravel() for each in evidence if name in each]
    known = np.concatenate([*values, np.empty(0)])
    known = known[known > -np.inf]
    return float(pick(known)) if known.size else None


def findings(groups: Groups) -> list[Finding]:
    """Return all that is wrong with the draws of all parts; groups that are absent say nothing."""
    out: list[Finding] = []
    for place in places(groups):
        kind = kind_of(place)
        for path in place.draws:
            out += of_draws(place.name, groups[path], kind.constant_draws)
        if place.evidence in groups:
            out += kind.findings(place.name, groups[place.evidence])
    return out
