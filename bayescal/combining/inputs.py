"""What a combiner sees of documents: the base classifiers' scores, and reliability indicators."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats


@dataclass(frozen=True)
class Inputs:
    """
    What a combiner sees of n documents.

    Attributes
    ----------
    scores : array of shape (n, classifiers)
        Raw scores, finite, larger for likelier positives.
    indicators : array of shape (n, indicators)
        Facts about the documents and the classifiers' behaviour near them; there may be none.
    """

    scores: Floats
    indicators: Floats

    @property
    def matrix(self) -> Floats:
        """Return scores and indicators side by side, the scores first."""
        return np.concatenate([self.scores, self.indicators], axis=1)

    def take(self, rows: NDArray[np.intp]) -> Inputs:
        """Return what is seen of some of the documents."""
        return Inputs(self.scores[rows], self.indicators[rows])


@dataclass(frozen=True)
class Labelled:
    """
    Documents of one binary problem for a combiner to learn from.

    Attributes
    ----------
    inputs : Inputs
        By classifiers and indicators that were fitted without the document.
    positive : array of shape (n,) of bool
        Their labels.
    weight : array of shape (n,) or None
        Their weights; None for 1 each.
    fold : array of shape (n,) of int
        In which fold each document was held out.
    """

    inputs: Inputs
    positive: NDArray[np.bool_]
    weight: Floats | None
    fold: NDArray[np.intp]

    def take(self, rows: NDArray[np.intp]) -> Labelled:
        """Return some of the documents."""
        weight = None if self.weight is None else self.weight[rows]
        return Labelled(self.inputs.take(rows), self.positive[rows], weight, self.fold[rows])

    def splits(self) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Return, for each fold, the documents of the others and its own."""
        folds = np.unique(self.fold)
        return [(np.flatnonzero(self.fold != k), np.flatnonzero(self.fold == k)) for k in folds]
