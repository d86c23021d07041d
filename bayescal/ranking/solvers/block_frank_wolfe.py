"""Block-coordinate Frank-Wolfe on the dual, with planes that are kept: the default solver.

The dual of the training problem is the largest, over convex combinations of rankings of each query,
of sum_i l_i - ||sum_i w_i||^2 / 2. A query's combination is kept as its plane (w_i, l_i) in units
of the objective: C/n times the mean of Psi(y*) - Psi(y) and of Delta(y) under its weights.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from bayescal.ranking.problem import RankingProblem
from bayescal.ranking.solvers.solution import Solution, Solver
from bayescal.validation import Floats

# Most planes of a query that are kept, and most visits to these between two passes: with both at
# 20 to 50 problems of 100 and 750 features took the least time.
PLANES = 20
CACHED_PASSES = 50
# A cached pass that gains less than this share of what the last exact pass could have gained is
# followed by an exact one, which costs more and gains more.
ENOUGH = 0.1
# The objective is computed after so many passes, or when the gap met on the way says it is time.
CERTIFIED_EVERY = 5
CACHE_BYTES = 2**28


class BlockFrankWolfe(Solver):
    """
    Visit one query after the other, and move its combination towards its most violated ranking.

    Each move goes as far as the dual gains (an exact line search). Between passes over the
    rankings themselves, queries are moved towards rankings found before, which are cheap.

    Memory is (queries) x (features) x (kept planes + 1) numbers. Fewer planes are kept where they
    would take more than 256 MiB, which makes the solver slower and changes nothing else.

    References
    ----------
    Lacoste-Julien, Jaggi, Schmidt and Pletscher, *Block-coordinate Frank-Wolfe optimization for
    structural SVMs*, ICML 2013; Shah, Kolmogorov and Lampert, *A multi-plane block-coordinate
    Frank-Wolfe algorithm*, CVPR 2015.
    """

    def __init__(self, problem: RankingProblem, rng: np.random.Generator) -> None:
        super().__init__(problem, rng)
        n, d = problem.n_queries, problem.n_features
        planes = max(1, min(PLANES, CACHE_BYTES // (8 * n * d)))
        # Stored for C = n; those of another C are C / n times as large.
        self.combined = np.zeros((n, d))
        self.combined_loss = np.zeros(n)
        # All start as the perfect ranking, whose plane is 0.
        self.planes = np.zeros((n, planes, d))
        self.losses = np.zeros((n, planes))
        self.last_used = np.zeros((n, planes), dtype=np.intp)

    def solve(self, cost: float, tol: float, max_iter: int) -> Solution:
        """Return coefficients of a relative duality gap of at most `tol`, or the best found."""
        self.scale = cost / self.problem.n_queries
        self._shrink_to_the_best()
        found = self.start(cost)
        for n_iter in range(1, max_iter + 1):
            gap = self._pass()
            dual = max(found.dual, self._dual())
            found = replace(found, dual=dual, n_iter=n_iter)
            # The gaps met during a pass, each at the coefficients of its moment, estimate the gap.
            if gap <= tol * (found.at_zero - dual) or n_iter % CERTIFIED_EVERY == 0:
                found = self._certified(found, cost)
            if found.relative_gap <= tol:
                return found
            self._cached_passes(ENOUGH * gap)
        return self._certified(found, cost)

    def _shrink_to_the_best(self) -> None:
        """Start from the best multiple, at most 1, of the combinations found for the last C."""
        coef, loss = self.scale * self.combined.sum(axis=0), self.scale * self.combined_loss.sum()
        square = float(coef @ coef)
        share = min(1.0, loss / square) if square > 0.0 else 0.0
        self.combined *= share
        self.combined_loss *= share
        self.coef = share * coef

    def _pass(self) -> float:
        """Visit all queries with their most violated rankings; return the sum of their gaps."""
        gap = 0.0
        self.last_used -= 1
        for query in self.rng.permutation(self.problem.n_queries):
            slot = self.last_used[query].argmin()
            plane, loss = self.problem.most_violated(query, self.coef)
            self.planes[query, slot], self.losses[query, slot] = plane, loss
            gap += self._move(query, slot)
        return gap

    def _cached_passes(self, enough: float) -> None:
        if self.last_used.shape[1] == 1:
            return
        for _ in range(CACHED_PASSES):
            gap = 0.0
            for query in self.rng.permutation(self.problem.n_queries):
                violation = self.losses[query] - self.planes[query] @ self.coef
                gap += self._move(query, int(violation.argmax()))
            if gap < enough:
                return

    def _move(self, query: int, slot: int) -> float:
        """Move a query's combination towards a plane as far as the dual gains; return its gap."""
        self.last_used[query, slot] = 0
        direction: Floats = self.planes[query, slot] - self.combined[query]
        rise = float(self.losses[query, slot] - self.combined_loss[query])
        gap = self.scale * (rise - float(direction @ self.coef))
        curvature = self.scale**2 * float(direction @ direction)
        if gap <= 0.0:
            return 0.0
        # All the way where the gain allows it, above all where there is no curvature.
        step = 1.0 if gap >= curvature else gap / curvature
        direction *= step
        self.combined[query] += direction
        self.combined_loss[query] += step * rise
        self.coef += self.scale * direction
        return gap

    def _dual(self) -> float:
        return float(self.scale * self.combined_loss.sum() - self.coef @ self.coef / 2.0)

    def _certified(self, found: Solution, cost: float) -> Solution:
        """Return the solution with the present coefficients, where they are better."""
        objective = self.problem.objective(self.coef, cost)
        if objective < found.objective:
            return replace(found, coef=self.coef.copy(), objective=objective)
        return found
