"""Whether scores are like those of other problems: how much the labels say for what was learnt."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np
import xarray as xr
from scipy import special

from bayescal.engines.monotone.engine import vague_log_evidence
from bayescal.engines.monotone.outlines import Outlines
from bayescal.engines.monotone.population import LogOddsPopulation, log_evidence_around
from bayescal.log_sum import log_sum_exp
from bayescal.parts.monotone import MONOTONE
from bayescal.parts.options import Options
from bayescal.validation import Floats

GROUP = "populations"
# Documents of the rarer class from which on labels decide: log-loss is the same (docs/prior.md).
ENOUGH = 50.0
# Prior odds that scores are like those of no population. With smaller odds more is lost on
# simulated scores, which are no classifier's (docs/defaults.md).
LIKE_NONE = 9.0
# A part that is less probable would change nothing, and cost its time.
NEGLIGIBLE = 0.02
VAGUE = "vague"  # none of the populations: the prior that knows the units of the scores alone


@dataclass(frozen=True)
class Favoured:
    """
    What the labels say of populations.

    Attributes
    ----------
    options : Options
        With the likeliest population alone, and how probable it is that scores are like those of
        one of them; with no population if that is next to impossible.
    names : tuple of str
        Of all that were compared, "vague" the last; empty if there were none.
    log_evidence : array of shape (populations + 1,)
        Natural log of p(labels | scores, population), by Laplace's approximation.
    probability : float
        That the scores are like those of a population, given the labels.
    """

    options: Options
    names: tuple[str, ...] = ()
    log_evidence: Floats = field(default_factory=lambda: np.empty(0))
    probability: float = 0.0

    @property
    def groups(self) -> dict[str, xr.Dataset]:
        """Return the group of a tree that keeps the comparison; none without one."""
        if not self.names:
            return {}
        found = xr.Dataset(
            {"log_evidence": ("population", self.log_evidence), "probability": self.probability}
        )
        return {GROUP: found.assign_coords(population=list(self.names))}


def favoured(outlines: Outlines, options: Options) -> Favoured:
    r"""
    Compare what is known of such scores with the prior that knows nothing but their units.

    Before the labels it is r = 9 times as probable that scores are like those of none of the K
    populations as that they are like those of one, and populations are as probable as one another.
    Given the labels, the probability that they are like those of one is

    .. math:: \frac{\sum_k p_k / K}{\sum_k p_k / K + r\, p_{\text{vague}}},

    p_k being that of the labels given the scores. With fifty documents of the rarer class labels
    say what is to be known, and nothing is compared.

    Parameters
    ----------
    outlines : Outlines
        Of the documents.
    options : Options
        Asked for.
    """
    data = outlines.data
    known = options.populations_for(data)
    if not known or min(data.total(True), data.total(False)) >= ENOUGH:
        return Favoured(without_populations(options))
    vague = vague_log_evidence(outlines, MONOTONE.asinh_scales(options, data))
    around = log_evidence_around(outlines, known)
    log_odds = log_sum_exp(around.copy(), axis=0) - math.log(len(known) * LIKE_NONE) - vague
    probability = float(special.expit(log_odds))
    names = (*(each.name for each in known), VAGUE)
    return Favoured(
        _with_likeliest(options, known[int(around.argmax())], probability),
        names,
        np.append(around, vague),
        probability,
    )


def _with_likeliest(options: Options, population: LogOddsPopulation, probability: float) -> Options:
    if probability < NEGLIGIBLE:
        return without_populations(options)
    return replace(options, populations=(population,), like_populations=probability)


def without_populations(options: Options) -> Options:
    """Return the same, of scores of which nothing is known."""
    return replace(options, populations=(), like_populations=0.0)
