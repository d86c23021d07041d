"""Documents whose labels are known: those that were fitted, or others that were held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats


@dataclass(frozen=True)
class Documents:
    """
    Scores of one problem with what they turned out to be.

    Attributes
    ----------
    score : array of shape (n,)
        On the scale that the calibration works on: of probabilities the log-odds.
    positive : array of shape (n,) of bool
        Whether each document is positive.
    weight : array of shape (n,)
        How many documents each stands for.
    held_out : bool
        Whether they are others than those fitted.
    """

    score: Floats
    positive: NDArray[np.bool_]
    weight: Floats
    held_out: bool = False

    @classmethod
    def of(
        cls,
        score: Floats,
        positive: NDArray[np.bool_],
        weight: Floats | None = None,
        *,
        held_out: bool = False,
    ) -> Documents:
        """Return the documents, with weights of 1 where there are none."""
        return cls(score, positive, np.ones(score.size) if weight is None else weight, held_out)

    @classmethod
    def unknown(cls) -> Documents:
        """Return no documents: of a fit that does not keep them."""
        return cls.of(np.empty(0), np.empty(0, dtype=bool))

    @property
    def known(self) -> bool:
        """Return whether there are any."""
        return bool(self.score.size)

    def of_class(self, positive: bool) -> tuple[Floats, Floats]:
        """Return the scores and weights of one class."""
        mask = self.positive == positive
        return self.score[mask], self.weight[mask]

    def count(self, positive: bool) -> float:
        """Return the weight of one class."""
        return float(self.weight[self.positive == positive].sum())
