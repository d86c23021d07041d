"""Gaps: documents that a classifier did not score (nan), as a retrieval system beyond its depth.

A gap is one more value of the score: combiners that model each score estimate P(+ | gap), others
get a column that is 1 in gaps, whose weight is an intercept of the classifier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.support.validation import Floats

PSEUDO_COUNT = 0.5  # documents of each class added to those in a gap: Jeffreys' prior


@dataclass(frozen=True)
class Gaps:
    """The columns of scores with gaps, and neutral values to fill them."""

    known: NDArray[np.bool_]  # (columns,): whether fitted documents had gaps
    neutral: Floats  # (columns,): mean score

    @classmethod
    def of(cls, scores: Floats, *, allowed: bool = True) -> Gaps:
        """Return the gaps of documents to learn from, (n, columns)."""
        scored = ~np.isnan(scores)
        total = np.where(scored, scores, 0.0).sum(axis=0)
        known = ~scored.all(axis=0) & np.array(allowed)
        return cls(np.asarray(known), total / np.maximum(scored.sum(axis=0), 1))

    def check(self, scores: Floats, names: Sequence[str | int]) -> None:
        """Raise ValueError for nan in a column where none is known."""
        gap = np.isnan(scores) & ~self.known
        if gap.any():
            document, column = np.argwhere(gap)[0].tolist()
            raise ValueError(
                f"classifier {names[column]!r} must give numbers, got nan for document {document}"
                f" ({gap[:, column].sum()} of {len(gap)}): if it did not score them, set"
                " allow_missing=True and fit to documents some of which lack its score."
            )

    def filled(self, scores: Floats) -> Floats:
        """Return scores with neutral values in gaps, and a column of gaps for each known one."""
        gap = np.isnan(scores)
        return np.hstack([np.where(gap, self.neutral, scores), gap[:, self.known]])
