"""Where infinite scores stand: log-odds of probabilities of 0 and 1, which no sum can hold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayescal.validation import Floats


@dataclass(frozen=True)
class Ends:
    """
    Finite numbers in place of minus and plus infinity, for each column of scores.

    A probability of 0 stands for half of the smallest one above 0 among the scores that a combiner
    learns from, and alike at 1. Finite scores stay as they are.

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
        finite = np.isfinite(scores)
        # Of probabilities that are all 0 or 1 nothing says how far apart those are.
        some = finite.any(axis=0)
        lowest = np.where(some, np.where(finite, scores, np.inf).min(axis=0), 0.0)
        highest = np.where(some, np.where(finite, scores, -np.inf).max(axis=0), 0.0)
        return cls(lowest - np.log(2.0), highest + np.log(2.0))

    def finite(self, scores: Floats) -> Floats:
        """Return scores of which none is infinite; nan stays."""
        low = np.where(np.isneginf(scores), self.low, scores)
        return np.asarray(np.where(np.isposinf(low), self.high, low))
