"""The combination of class densities and direct log-odds as one curve."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.bayes import log_odds_of_mixture
from bayescal.results.class_draws import ClassDraws
from bayescal.results.curves import Curves
from bayescal.validation import Floats

SEED = 0


@dataclass(frozen=True)
class CombinedDraws:
    """
    Draws from several parts, as many of each as its weight asks for.

    Attributes
    ----------
    parts : tuple of Curves
        Each with all draws; the first are the class densities.
    weight : array of shape (parts,)
        Their weights, which sum to one.
    which : integer array of shape (draws,)
        The part that each draw of the combination is of.
    """

    parts: tuple[Curves, ...]
    weight: Floats
    which: NDArray[np.intp]

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return int(self.which.size)

    @property
    def densities(self) -> ClassDraws:
        """Return the part that has class densities."""
        first = self.parts[0]
        assert isinstance(first, ClassDraws)  # noqa: S101
        return first

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


def combine(parts: tuple[Curves, ...], weight: Floats) -> CombinedDraws:
    """Return the combination of parts, the densities first, by their weights."""
    size = parts[0].size
    # Whole numbers of draws, so that the bands do not depend on chance: then shuffled.
    ends = np.round(np.cumsum(weight) * size).astype(np.intp)
    which = np.searchsorted(ends, np.arange(size), side="right")
    which = np.random.default_rng(SEED).permutation(np.minimum(which, weight.size - 1))
    return CombinedDraws(parts, weight, which)
