"""Which populations of other problems the labels favour: what parts there are depends on it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import xarray as xr

from bayescal.engines.data import BinaryScores
from bayescal.engines.monotone.engine import CLOSE, vague_log_evidence
from bayescal.engines.monotone.population import log_evidence_around
from bayescal.parts.monotone import MONOTONE
from bayescal.parts.options import Options
from bayescal.validation import Floats

GROUP = "populations"
# Documents of the rarer class from which on labels decide: log-loss is the same (docs/prior.md).
ENOUGH = 50.0
VAGUE = "vague"  # none of the populations: the prior that knows the units of the scores alone


@dataclass(frozen=True)
class Favoured:
    """
    What the labels say of populations.

    Attributes
    ----------
    options : Options
        With the populations that are likely alone; with none if scores are like those of none.
    names : tuple of str
        Of all that were compared, "vague" the last; empty if there were none.
    log_evidence : array of shape (populations + 1,)
        Natural log of p(labels | scores, population), by Laplace's approximation.
    """

    options: Options
    names: tuple[str, ...] = ()
    log_evidence: Floats = field(default_factory=lambda: np.empty(0))

    @property
    def groups(self) -> dict[str, xr.Dataset]:
        """Return the group of a tree that keeps the comparison; none without one."""
        if not self.names:
            return {}
        found = xr.Dataset({"log_evidence": ("population", self.log_evidence)})
        return {GROUP: found.assign_coords(population=list(self.names))}


def favoured(data: BinaryScores, options: Options) -> Favoured:
    """
    Compare what is known of such scores with the prior that knows nothing but their units.

    The two are equally probable before the labels, populations as probable as one another. So a
    population of K has to have log K more evidence: scores in other units, whose curve few labels
    of one kind of classifier leave possible, are then taken for what they are. With fifty documents
    of the rarer class labels say what is to be known, and nothing is compared.

    Parameters
    ----------
    data : BinaryScores
        The documents.
    options : Options
        Asked for.
    """
    known = options.populations_for(data)
    if not known or min(data.total(True), data.total(False)) >= ENOUGH:
        return Favoured(replace(options, populations=()))
    vague = vague_log_evidence(data, MONOTONE.asinh_scales(options))
    around = log_evidence_around(data, known)
    least = max(around.max() - CLOSE, vague + math.log(len(known)))
    likely = tuple(each for each, log in zip(known, around, strict=True) if log >= least)
    names = (*(each.name for each in known), VAGUE)
    return Favoured(replace(options, populations=likely), names, np.append(around, vague))
