"""The combination of class densities and log-odds fits as one curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.bayes import log_odds_of_mixture
from bayescal.curves.class_draws import ClassDraws
from bayescal.curves.curves import PartCurves
from bayescal.validation import Floats

SEED = 0


@dataclass(frozen=True)
class CombinedDraws:
    """
    Draws from several parts, as many of each as its weight asks for.

    Attributes
    ----------
    parts : tuple of Curves
        Each with all draws.
    weight : array of shape (parts,)
        Their weights, which sum to one.
    which : integer array of shape (draws,)
        The part that each draw of the combination is of.
    """

    parts: tuple[PartCurves, ...]
    weight: Floats
    which: NDArray[np.intp]

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return int(self.which.size)

    @property
    def prior(self) -> Floats:
        """Return the draws of P(+) by the first part."""
        return self.parts[0].prior

    @property
    def densities(self) -> ClassDraws | None:
        """Return the part that has class densities; None if none has."""
        return next((part.densities for part in self.parts if part.densities is not None), None)

    def take(self, index: NDArray[np.intp]) -> CombinedDraws:
        """Return the draws at some positions."""
        parts = tuple(part.take(index) for part in self.parts)
        return CombinedDraws(parts, self.weight, self.which[index])

    def with_prior(self, prior: Floats) -> CombinedDraws:
        """Return the same parts for a class prior of shape (draws,)."""
        parts = tuple(part.with_prior(prior) for part in self.parts)
        return CombinedDraws(parts, self.weight, self.which)

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds of each draw by the part it is of, shape (draws, scores)."""
        out = np.empty((self.size, scores.size))
        for k, part in enumerate(self.parts):
            rows = np.flatnonzero(self.which == k)
            out[rows] = part.take(rows).log_odds(scores)
        return out

    def predictive(self, scores: Floats) -> Floats:
        """Return the log-odds of the weighted mean of the parts' P(+ | s, data)."""
        curve = np.stack([part.predictive(scores) for part in self.parts])
        return log_odds_of_mixture(curve, self.weight)


# The curve of a model: that of its one part, or of several.
ModelCurves = PartCurves | CombinedDraws


def combine(parts: tuple[PartCurves, ...], weight: Floats) -> CombinedDraws:
    """Return the combination of parts by their weights."""
    size = parts[0].size
    # Whole numbers of draws, so that the bands do not depend on chance: then shuffled.
    ends = np.round(np.cumsum(weight) * size).astype(np.intp)
    which = np.searchsorted(ends, np.arange(size), side="right")
    which = np.random.default_rng(SEED).permutation(np.minimum(which, weight.size - 1))
    return CombinedDraws(parts, weight, which)
