"""The labels of one problem given the columns that its log-odds are linear in."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special
from scipy.linalg import blas

from bayescal.validation import Floats

# Log-odds of draws times documents at a time: 16 MB.
BLOCK = 2_000_000


@dataclass(frozen=True)
class Design:
    """
    log-odds = offset + columns @ (b, w_1 .. w_m, v_1 .. v_J, u_11 .. u_mq).

    Attributes
    ----------
    columns : array of shape (n, d)
        1; the evidence of each classifier, its log-odds less those of the base rate; indicators;
        `interactions` of evidence and moderators.
    offset : float or array of shape (n,)
        Log-odds of the base rate, or of all that is not in the columns.
    positive : array of shape (n,) of bool
        Labels.
    weight : array of shape (n,)
        How many documents each counts for.
    weight_shifts : int
        How many of the columns, the last ones, are interactions.
    """

    columns: Floats
    offset: float | Floats
    positive: NDArray[np.bool_]
    weight: Floats
    weight_shifts: int = 0

    @property
    def size(self) -> int:
        """Return d, the number of coefficients."""
        return int(self.columns.shape[1])

    def take(self, rows: NDArray[np.bool_]) -> Design:
        """Return some of the documents; the offset must be a number."""
        return Design(
            self.columns[rows],
            self.offset,
            self.positive[rows],
            self.weight[rows],
            self.weight_shifts,
        )

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
        root = np.sqrt(self.weight * chance * (1.0 - chance))
        # Half of the matrix, of which the other half is the mirror image: half the time of a fit.
        upper = blas.dsyrk(1.0, (self.columns * root[:, None]).T)
        return np.asarray(np.triu(upper) + np.triu(upper, 1).T)

    def mean_from_mode(self, point: Floats, covariance: Floats) -> Floats:
        """
        Return how far a posterior's mean is from its mode, to the first order beyond Laplace.

        With c_i the third derivative of minus the log likelihood in the log-odds of document i, and
        S the covariance, -S sum_i x_i c_i (x_i' S x_i) / 2.

        Parameters
        ----------
        point : array of shape (d,)
            The mode.
        covariance : array of shape (d, d)
            Of the Gaussian that touches it.
        """
        chance = special.expit(self.offset + self.columns @ point)
        third = self.weight * chance * (1.0 - chance) * (1.0 - 2.0 * chance)
        variance = np.einsum("ij,ij->i", self.columns @ covariance, self.columns)
        return np.asarray(-0.5 * covariance @ (self.columns.T @ (third * variance)))


def interactions(evidence: Floats, moderators: Floats) -> Floats:
    """
    Return columns whose coefficients shift the weight of each classifier by each moderator.

    sum_i sum_j u_ij e_i z_j = sum_i (sum_j u_ij z_j) e_i, so that classifier i has the weight
    w_i + sum_j u_ij z_j at a document whose moderators are z.

    Parameters
    ----------
    evidence : array of shape (n, m)
        Of m classifiers.
    moderators : array of shape (n, q)
        What weights depend on.

    Returns
    -------
    array of shape (n, m q)
        All moderators of the first classifier, then those of the next.

    Examples
    --------
    >>> interactions(np.array([[1.0, 2.0]]), np.array([[10.0, 20.0, 30.0]]))
    array([[10., 20., 30., 20., 40., 60.]])
    """
    n = len(evidence)
    # No moderators leave no size to infer.
    columns: Floats = (evidence[:, :, None] * moderators[:, None, :]).reshape(
        n, evidence.shape[1] * moderators.shape[1]
    )
    return columns
