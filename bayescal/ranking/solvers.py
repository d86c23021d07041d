"""The solver of the training problem: block-coordinate Frank-Wolfe.

The dual maximises sum_i l_i - ||sum_i w_i||^2 / 2 over convex combinations of rankings of each
query. A combination is stored as its plane (w_i, l_i) in units of the objective: C/n times the
weighted means of Psi(y*) - Psi(y) and of Delta(y).
"""

from dataclasses import dataclass, replace

import numpy as np

from bayescal.ranking.problem import RankingProblem
from bayescal.support.validation import Floats

ROUNDING = 1e-13  # relative rounding error of the objective


@dataclass(frozen=True)
class Solution:
    """Coefficients with bounds on their objective."""

    coef: Floats  # (n_features,): w of the smallest objective found
    objective: float  # ||w||^2 / 2 + C times the mean slack
    dual: float  # the best lower bound found of the objective of any w
    at_zero: float  # the objective of w = 0
    n_iter: int  # passes over all queries

    @property
    def relative_gap(self) -> float:
        """The duality gap over the largest possible gain on w = 0, as objectives differ little."""
        gap = self.objective - self.dual
        # If no w gains more, both differences are rounding errors.
        return gap / (self.at_zero - self.dual) if gap > ROUNDING * self.at_zero else 0.0


# Planes stored for a query, and cached passes between two exact ones: 20 to 50 of both were fastest
# for problems of 100 and 750 features.
PLANES = 20
CACHED_PASSES = 50
# Cached passes end when their gap is below this share of the last exact pass's gap.
ENOUGH = 0.1
# Passes between computations of the objective, unless the gaps of a pass are small enough.
CERTIFIED_EVERY = 5
CACHE_BYTES = 2**28


class BlockFrankWolfe:
    """Visit the queries in turn, and move each combination towards its most violated ranking."""

    # It solves one problem for successive C, each started from the last solution.
    # Each move is an exact line search on the dual. Cheap passes towards stored planes come between
    # exact passes; memory for planes is limited to 256 MiB.

    def __init__(self, problem: RankingProblem, rng: np.random.Generator) -> None:
        self.problem = problem
        self.rng = rng
        self.slack_at_zero = problem.slack(np.zeros(problem.n_features))
        n, d = problem.n_queries, problem.n_features
        planes = max(1, min(PLANES, CACHE_BYTES // (8 * n * d)))
        # Stored for C = n; scaled by C / n for another C.
        self.combined = np.zeros((n, d))
        self.combined_loss = np.zeros(n)
        # The perfect ranking, whose plane is 0.
        self.planes = np.zeros((n, planes, d))
        self.losses = np.zeros((n, planes))
        self.last_used = np.zeros((n, planes), dtype=np.intp)

    def solve(self, cost: float, tol: float, max_iter: int) -> Solution:
        """Return coefficients of a relative duality gap of at most `tol`, or the best found."""
        self.scale = cost / self.problem.n_queries
        self._shrink_to_the_best()
        at_zero = cost * self.slack_at_zero
        solution = Solution(np.zeros(self.problem.n_features), at_zero, 0.0, at_zero, 0)
        for n_iter in range(1, max_iter + 1):
            gap = self._pass()
            dual = float(self.scale * self.combined_loss.sum() - self.coef @ self.coef / 2.0)
            dual = max(solution.dual, dual)
            solution = replace(solution, dual=dual, n_iter=n_iter)
            # The gaps met during a pass, each at the coefficients of its moment, estimate the gap.
            if gap <= tol * (solution.at_zero - dual) or n_iter % CERTIFIED_EVERY == 0:
                solution = self._certified(solution, cost)
            if solution.relative_gap <= tol:
                return solution
            self._cached_passes(ENOUGH * gap)
        return self._certified(solution, cost)

    def _shrink_to_the_best(self) -> None:
        """Scale the combinations for the last C by the best factor, at most 1."""
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
        # A full step if the gain exceeds the curvature.
        step = 1.0 if gap >= curvature else gap / curvature
        direction *= step
        self.combined[query] += direction
        self.combined_loss[query] += step * rise
        self.coef += self.scale * direction
        return gap

    def _certified(self, solution: Solution, cost: float) -> Solution:
        """Return the solution, with the current coefficients if they are better."""
        objective = self.problem.objective(self.coef, cost)
        if objective < solution.objective:
            return replace(solution, coef=self.coef.copy(), objective=objective)
        return solution
