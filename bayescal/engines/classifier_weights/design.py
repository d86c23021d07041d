"""The labels of one problem given the columns that its log-odds are linear in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.validation import Floats

# Log-odds of draws times documents at a time: 16 MB.
BLOCK = 2_000_000


@dataclass(frozen=True)
class Design:
    """
    log-odds = offset + columns @ (b, w_1 .. w_m, v_1 .. v_J).

    Attributes
    ----------
    columns : array of shape (n, d)
        1; the evidence of each classifier, its log-odds less those of the base rate; indicators.
    offset : float or array of shape (n,)
        Log-odds of the base rate, or of all that is not in the columns.
    positive : array of shape (n,) of bool
        Labels.
    weight : array of shape (n,)
        How many documents each counts for.
    """

    columns: Floats
    offset: float | Floats
    positive: NDArray[np.bool_]
    weight: Floats

    @property
    def size(self) -> int:
        """Return d, the number of coefficients."""
        return int(self.columns.shape[1])

    def take(self, rows: NDArray[np.bool_]) -> Design:
        """Return some of the documents; the offset must be a number."""
        return Design(self.columns[rows], self.offset, self.positive[rows], self.weight[rows])

    def log_likelihood(self, points: Floats) -> Floats:
        """Return log p(labels | coefficients) at points of shape (draws, d)."""
        sign = np.where(self.positive, -1.0, 1.0)
        step = max(1, BLOCK // len(sign))
        out = np.empty(len(points))
        for start in range(0, len(points), step):
            against = points[start : start + step] @ self.columns.T
            against += self.offset
            against *= sign
            # softplus in place: log(1 + e^x) = max(x, 0) + log(1 + e^-|x|).
            rest = np.log1p(np.exp(-np.abs(against)))
            np.maximum(against, 0.0, out=against)
            against += rest
            out[start : start + step] = -(against @ self.weight)
        return out

    def gradient(self, point: Floats) -> Floats:
        """Return the gradient of the log likelihood at one point."""
        chance = special.expit(self.offset + self.columns @ point)
        return np.asarray(self.columns.T @ (self.weight * (self.positive - chance)))

    def information(self, point: Floats) -> Floats:
        """Return minus the second derivative of the log likelihood, shape (d, d)."""
        chance = special.expit(self.offset + self.columns @ point)
        own = self.weight * chance * (1.0 - chance)
        return np.asarray((self.columns.T * own) @ self.columns)
