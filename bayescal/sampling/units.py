"""Sampling units (documents, or groups of them), their labels, and thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.support import validation
from bayescal.support.validation import Floats


@dataclass(frozen=True)
class SamplingUnits:
    """The units that are drawn and counted: documents, or groups of documents."""

    scores: Floats  # (units,): of a group the highest
    labels: Floats  # (units,): 1, 0 or nan; of a group 1 if one of its documents is positive
    of_document: NDArray[np.intp]  # (documents,): the unit of each document

    @classmethod
    def of(cls, scores: Floats, labels: Floats, groups: ArrayLike | None) -> SamplingUnits:
        """Return the units of a collection."""
        if groups is None:
            return cls(scores, labels, np.arange(scores.size))
        found, code = validation.read_groups(groups, "groups", "group", scores.size, "scores")
        highest = np.full(found.size, -np.inf)
        np.maximum.at(highest, code, scores)
        label = np.full(found.size, np.nan)
        np.fmax.at(label, code, labels)
        return cls(highest, label, code)

    def mask(self, documents: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return the mask of the units of some documents."""
        out = np.zeros(self.scores.size, dtype=bool)
        out[self.of_document[documents]] = True
        return out


def as_threshold(threshold: float | None, *, needed: bool) -> float | None:
    """Return a finite threshold, or None if none is needed."""
    if threshold is None:
        if needed:
            raise ValueError("threshold must be the score from which on documents are taken.")
        return None
    if not isinstance(threshold, int | float | np.number) or not np.isfinite(threshold):
        raise ValueError(f"threshold must be a finite number, got {threshold!r}.")
    return float(threshold)


def as_partial_labels(labels: ArrayLike | None, documents: int) -> Floats:
    """Return labels of a collection: 1, 0, or nan where missing."""
    if labels is None:
        return np.full(documents, np.nan)
    given = validation.as_array(labels, "labels")
    blank = validation.missing(given)
    values = validation.as_reals(np.where(blank, np.nan, given) if blank.any() else given, "labels")
    if values.shape != (documents,):
        raise ValueError(
            f"labels must have shape ({documents},), one a document and nan where there is none,"
            f" got {values.shape}: two reviewers of a document have to agree on one label."
        )
    wrong = ~(np.isnan(values) | (values == 0.0) | (values == 1.0))
    if wrong.any():
        raise ValueError(
            f"labels must be 1, 0, or nan where there is none, got {values[wrong][0]:g}."
        )
    return values
