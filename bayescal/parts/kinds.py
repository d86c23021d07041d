"""Whatever a tree of results holds: parts of one problem and of many topics, by their kinds."""

from __future__ import annotations

from bayescal.parts import part_of
from bayescal.parts.findings import Finding, of_draws
from bayescal.parts.of_topics import TOPIC_KINDS, PopulationKind
from bayescal.parts.part import Part
from bayescal.parts.places import Groups, Place, places


def kind_of(place: Place) -> Part | PopulationKind:
    """Return what knows how to check the draws of a place; see `part_of`."""
    return TOPIC_KINDS.get(place.kind) or part_of(place.kind)


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
