"""A linear change of the log-odds of given probabilities: its likelihood, mode and evidence."""

from __future__ import annotations

import math

import numpy as np
from scipy import special

from bayescal.metrics.inputs import Outcomes
from bayescal.validation import Floats, as_scores_of

STEPS, GOOD_DECREMENT, SHORTEST = 100, 1e-12, 1e-10
# Many documents leave a posterior so nearly normal that a few nodes a dimension are exact.
NODES, NODES_OF_MANY, MANY = 32, 8, 20_000


class LinearChange:
    """
    The likelihood of (intercept, slope) on the log-odds of given probabilities.

    Parameters
    ----------
    outcomes : Outcomes
        Probabilities of 0 and 1 stand for 1e-15 and 1 - 1e-15.
    """

    def __init__(self, outcomes: Outcomes) -> None:
        self.sign = np.where(outcomes.truth, 1.0, -1.0)
        self.log_odds = as_scores_of(outcomes.p, "probabilities")
        self.weight = outcomes.counts
        self.total = float(self.weight.sum())

    def log_likelihood(self, theta: Floats) -> Floats:
        """Return the log likelihood of theta (2, points); shape (points,)."""
        return np.array(
            [
                self.weight @ special.log_expit(self.sign * (a + b * self.log_odds))
                for a, b in theta.T
            ]
        )

    def information(self, theta: Floats) -> Floats:
        """Return the information of all documents at theta; shape (2, 2)."""
        p = special.expit(theta[0] + theta[1] * self.log_odds)
        w = self.weight * p * (1.0 - p)
        wl = w * self.log_odds
        cross = wl.sum()
        return np.array([[w.sum(), cross], [cross, wl @ self.log_odds]])

    def unit_information(self) -> Floats:
        """Return what a document is worth on average if the probabilities are right; (2, 2)."""
        unit = self.information(np.array([0.0, 1.0])) / self.total
        # Equal probabilities do not inform a direction: there the prior is worth a little instead.
        unit += np.eye(2) * 1e-6 * max(float(np.trace(unit)), 1e-12)
        return unit

    def maximise(self, precision: Floats) -> Floats:
        """Return the mode of likelihood times a normal prior around (0, 1), by Newton's method."""
        null = np.array([0.0, 1.0])
        theta = null.copy()

        def value(at: Floats) -> float:
            away = at - null
            return float(self.log_likelihood(at[:, None])[0] - 0.5 * away @ precision @ away)

        now = value(theta)
        for _ in range(STEPS):
            p = special.expit(-self.sign * (theta[0] + theta[1] * self.log_odds))
            pull = self.weight * self.sign * p
            gradient = np.array([pull.sum(), pull @ self.log_odds]) - precision @ (theta - null)
            # Equal probabilities leave the slope undetermined: the shortest step.
            step = np.linalg.pinv(self.information(theta) + precision, hermitian=True) @ gradient
            if gradient @ step < GOOD_DECREMENT * self.total:
                break
            length = 1.0
            while length > SHORTEST and value(theta + length * step) < now:
                length *= 0.5
            theta = theta + length * step
            now = value(theta)
        return theta

    def log_evidence(self) -> float:
        """Return the log evidence under the unit-information prior, by Gauss-Hermite quadrature."""
        null, unit = np.array([0.0, 1.0]), self.unit_information()
        mode = self.maximise(unit)
        root = np.linalg.cholesky(np.linalg.inv(self.information(mode) + unit))
        x, w = np.polynomial.hermite_e.hermegauss(NODES_OF_MANY if self.sign.size > MANY else NODES)
        z = np.stack(np.meshgrid(x, x, indexing="ij")).reshape(2, -1)
        log_w = np.log(np.outer(w, w).ravel()) + 0.5 * (z**2).sum(axis=0)
        theta = mode[:, None] + root @ z
        away = theta - null[:, None]
        log_prior = 0.5 * np.linalg.slogdet(unit)[1] - math.log(2.0 * math.pi)
        log_prior -= 0.5 * np.einsum("ik,ij,jk->k", away, unit, away)
        terms = log_w + log_prior + self.log_likelihood(theta)
        return float(special.logsumexp(terms) + np.linalg.slogdet(root)[1])
