"""Where infinite scores stand: log-odds of probabilities of 0 and 1, which no sum can hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayescal.classification.raw_scores import infinite_as
from bayescal.validation import Floats


@dataclass(frozen=True)
class Ends:
    """
    Finite numbers in place of minus and plus infinity, for each column of scores.

    They are those of the scores that a combiner learns from. Finite scores stay as they are.

    Attributes
    ----------
    low, high : array of shape (columns,)
        What infinite scores are replaced by.

    Examples
    --------
    >>> scores = np.array([[-np.inf, 1.0], [2.0, 3.0]])
    >>> Ends.of(scores).finite(scores).round(2)
    array([[1.31, 1.  ],
           [2.  , 3.  ]])
    """

    low: Floats
    high: Floats

    @classmethod
    def of(cls, scores: Floats) -> Ends:
        """Return those of scores to learn from, shape (n, columns)."""
        return cls(*infinite_as(scores))

    def finite(self, scores: Floats) -> Floats:
        """Return scores of which none is infinite; nan stays."""
        low = np.where(np.isneginf(scores), self.low, scores)
        return np.asarray(np.where(np.isposinf(low), self.high, low))
