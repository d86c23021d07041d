"""The 1-slack cutting-plane method: the reference solver, good for few features and large C.

One cut is the mean over queries of their most violated rankings, (g, b) with slack >= b - w.g. The
best w of the cuts so far is sum_k a_k g_k, where a >= 0 of sum C solves a small quadratic program.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayescal.ranking.problem import RankingProblem
from bayescal.ranking.solvers.simplex_program import solve_on_simplex
from bayescal.ranking.solvers.solution import Solution, Solver
from bayescal.validation import Floats


class CuttingPlane(Solver):
    """
    Collect cuts, and minimise the objective below all of them, until no new cut changes it.

    References
    ----------
    T. Joachims, T. Finley and C. Yu, *Cutting-plane training of structural SVMs*, Machine Learning
    77, 2009, algorithm 3.
    """

    def __init__(self, problem: RankingProblem, rng: np.random.Generator) -> None:
        super().__init__(problem, rng)
        # The perfect ranking of all queries: slack >= 0. Its weight takes what others leave of C.
        self.directions = np.zeros((1, problem.n_features))
        self.losses = np.zeros(1)
        self.products = np.zeros((1, 1))
        self.shares = np.ones(1)

    def solve(self, cost: float, tol: float, max_iter: int) -> Solution:
        """Return coefficients of a relative duality gap of at most `tol`, or the best found."""
        found = self.start(cost)
        for n_iter in range(1, max_iter + 1):
            weights = self._best_weights(cost)
            coef = weights @ self.directions
            dual = max(found.dual, float(weights @ self.losses - coef @ coef / 2.0))
            direction, loss = self._cut(coef)
            objective = float(coef @ coef / 2.0 + cost * (loss - direction @ coef))
            found = replace(found, dual=dual, n_iter=n_iter)
            if objective < found.objective:
                found = replace(found, coef=coef, objective=objective)
            if found.relative_gap <= tol:
                return found
            self._add(direction, loss)
        return found

    def _best_weights(self, cost: float) -> Floats:
        # In shares of C, whose size the program's rounding should not depend on.
        self.shares = solve_on_simplex(cost * self.products, self.losses, self.shares)
        return cost * self.shares

    def _cut(self, coef: Floats) -> tuple[Floats, float]:
        """Return the mean over queries of the most violated rankings' Psi(y*) - Psi(y) and loss."""
        n = self.problem.n_queries
        direction, total = np.zeros(coef.size), 0.0
        for query in range(n):
            plane, loss = self.problem.most_violated(query, coef)
            direction += plane
            total += loss
        return direction / n, total / n

    def _add(self, direction: Floats, loss: float) -> None:
        self.directions = np.vstack([self.directions, direction])
        self.losses = np.append(self.losses, loss)
        self.products = np.pad(self.products, ((0, 1), (0, 1)))
        self.products[-1] = self.products[:, -1] = self.directions @ direction
        self.shares = np.append(self.shares, 0.0)
