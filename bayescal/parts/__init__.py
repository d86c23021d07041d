"""What a model is made of: each part in one file, which knows how it is fitted, kept and told."""

from bayescal.parts.around_population import AROUND_POPULATION
from bayescal.parts.densities import DENSITIES
from bayescal.parts.identity import IDENTITY
from bayescal.parts.learned import LEARNED
from bayescal.parts.monotone import LOGISTIC, MONOTONE
from bayescal.parts.part import Part
from bayescal.parts.recalibrated import RECALIBRATED

# By name, in the order in which they are fitted and shown: a part may follow those before it.
PARTS: dict[str, Part] = {
    part.name: part for part in (DENSITIES, MONOTONE, LOGISTIC, RECALIBRATED, IDENTITY, LEARNED)
}


def part_of(kind: str) -> Part:
    """
    Return the part of a kind that results name.

    Raises
    ------
    ValueError
        If there is none: the results are of a part that is not registered here.
    """
    if kind in AROUND_POPULATION:
        return AROUND_POPULATION[kind]
    if kind not in PARTS:
        raise ValueError(
            f"the results hold a part of kind {kind!r}, which is not among {', '.join(PARTS)}:"
            " import the module that registers it first."
        )
    return PARTS[kind]
