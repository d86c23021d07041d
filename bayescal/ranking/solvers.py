"""Block-coordinate Frank-Wolfe on the dual, with planes that are kept: the default solver.

The dual of the training problem is the largest, over convex combinations of rankings of each query,
of sum_i l_i - ||sum_i w_i||^2 / 2. A query's combination is kept as its plane (w_i, l_i) in units
of the objective: C/n times the mean of Psi(y*) - Psi(y) and of Delta(y) under its weights.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayescal.ranking.problem import RankingProblem
from bayescal.support.validation import Floats, Integers

# A convex quadratic program on the simplex, by an active-set method.

# Relative to the largest diagonal element. With more cuts than features the matrix is singular:
# a direction without curvature becomes a very long step, which ends where a weight reaches zero.
RIDGE = 1e-11
SMALLEST = 1e-100  # where all directions are without curvature
# Relative to the range of gradients: no weight of an optimum gains more.
TOLERANCE = 1e-9
MOST_STEPS = 10_000


def solve_on_simplex(matrix: Floats, linear: Floats, start: Floats) -> Floats:
    """
    Return the a >= 0 of sum 1 that minimises a.K a / 2 - b.a.

    A set of positive weights is solved exactly under the sum constraint; a step towards its
    solution ends at the first weight that would fall below zero, which leaves the set. When all
    stay, the coordinate of the smallest gradient joins it, until none is smaller.
    """
    weights = start.copy()
    active = weights > 0.0
    value = np.inf
    for _ in range(MOST_STEPS):
        _settle(weights, active, matrix, linear)
        gradient = matrix @ weights - linear
        before, value = value, float(weights @ (gradient - linear))  # twice the objective
        entering = int(gradient.argmin())
        gain = float(gradient @ weights - gradient[entering])
        # Every step gains, unless the gain is below rounding.
        if value >= before or active[entering] or gain <= TOLERANCE * np.ptp(gradient):
            break
        active[entering] = True
    return weights


def _settle(weights: Floats, active: NDArray[np.bool_], matrix: Floats, linear: Floats) -> None:
    """Move to the best weights of the active set, in place, taking out those that reach zero."""
    while True:
        members = np.flatnonzero(active)
        current = weights[members]
        direction = _direction(members, int(current.argmax()), matrix, weights @ matrix - linear)
        falling = direction < 0.0
        limits = np.full(members.size, np.inf)
        limits[falling] = current[falling] / -direction[falling]
        first = int(limits.argmin())
        step = min(1.0, float(limits[first]))
        weights[members] = np.maximum(current + step * direction, 0.0)
        if limits[first] > 1.0:
            break
        weights[members[first]] = 0.0
        active[members[first]] = False
    weights /= weights.sum()


def _direction(members: Integers, anchor: int, matrix: Floats, gradient: Floats) -> Floats:
    """
    Return the step of sum 0 to the best weights, of any sign, that are 0 outside the members.

    The anchor's weight is what the others leave, which makes a problem without a constraint. Any
    member would do; rounding errors matter least to the largest.
    """
    others = np.delete(members, anchor)
    reference = members[anchor]
    to_reference = matrix[others, reference]
    reduced = matrix[np.ix_(others, others)] - to_reference - to_reference[:, None]
    reduced += matrix[reference, reference]
    if others.size:
        diagonal = np.abs(np.diagonal(reduced))
        reduced[np.diag_indices(others.size)] += RIDGE * diagonal.max() + SMALLEST
    step = -np.linalg.solve(reduced, gradient[others] - gradient[reference])
    return np.insert(step, anchor, -step.sum())


ROUNDING = 1e-13


@dataclass(frozen=True)
class Solution:
    """Coefficients and the certificate of how good they are."""

    coef: Floats  # (n_features,): w of the smallest objective found
    objective: float  # ||w||^2 / 2 + C times the mean slack
    dual: float  # the best lower bound found of the objective of any w
    at_zero: float  # the objective of w = 0
    n_iter: int  # passes over all queries

    @property
    def relative_gap(self) -> float:
        """
        The duality gap as a share of what any w can gain on w = 0.

        The objective of a hard problem moves within a percent of that of w = 0, of which a gap
        relative to the objective itself would be uninformative.
        """
        gap = self.objective - self.dual
        # Where no w gains anything to speak of, both differences are of rounding errors.
        return gap / (self.at_zero - self.dual) if gap > ROUNDING * self.at_zero else 0.0


class Solver(ABC):
    """
    A solver of one problem, for one C after another: each starts from what the last one found.
    """

    def __init__(self, problem: RankingProblem, rng: np.random.Generator) -> None:
        self.problem = problem
        self.rng = rng
        nothing = np.zeros(problem.n_features)
        self.slack_at_zero = problem.slack(nothing)

    @abstractmethod
    def solve(self, cost: float, tol: float, max_iter: int) -> Solution:
        """Return coefficients of a relative duality gap of at most `tol`, or the best found."""

    def start(self, cost: float) -> Solution:
        """Return w = 0, which any solver starts from."""
        at_zero = cost * self.slack_at_zero
        return Solution(np.zeros(self.problem.n_features), at_zero, 0.0, at_zero, 0)


# Most planes of a query that are kept, and most visits to these between two passes: with both at
# 20 to 50 problems of 100 and 750 features took the least time.
PLANES = 20
CACHED_PASSES = 50
# A cached pass that gains less than this share of what the last exact pass could have gained is
# followed by an exact one, which costs more and gains more.
ENOUGH = 0.1
# The objective is computed after so many passes, or when the gaps met in a pass are small enough.
CERTIFIED_EVERY = 5
CACHE_BYTES = 2**28


class BlockFrankWolfe(Solver):
    """
    Visit one query after the other, and move its combination towards its most violated ranking.

    Each move goes as far as the dual gains (an exact line search). Between passes over the
    rankings themselves, queries are moved towards rankings found before, which are cheap.

    Memory is (queries) x (features) x (kept planes + 1) numbers. Fewer planes are kept where they
    would take more than 256 MiB, which makes the solver slower and changes nothing else.
    """

    def __init__(self, problem: RankingProblem, rng: np.random.Generator) -> None:
        super().__init__(problem, rng)
        n, d = problem.n_queries, problem.n_features
        planes = max(1, min(PLANES, CACHE_BYTES // (8 * n * d)))
        # Stored for C = n; scaled by C / n for another C.
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
        solution = self.start(cost)
        for n_iter in range(1, max_iter + 1):
            gap = self._pass()
            dual = max(solution.dual, self._dual())
            solution = replace(solution, dual=dual, n_iter=n_iter)
            # The gaps met during a pass, each at the coefficients of its moment, estimate the gap.
            if gap <= tol * (solution.at_zero - dual) or n_iter % CERTIFIED_EVERY == 0:
                solution = self._certified(solution, cost)
            if solution.relative_gap <= tol:
                return solution
            self._cached_passes(ENOUGH * gap)
        return self._certified(solution, cost)

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
        # A full step where the gain exceeds the curvature, above all without curvature.
        step = 1.0 if gap >= curvature else gap / curvature
        direction *= step
        self.combined[query] += direction
        self.combined_loss[query] += step * rise
        self.coef += self.scale * direction
        return gap

    def _dual(self) -> float:
        return float(self.scale * self.combined_loss.sum() - self.coef @ self.coef / 2.0)

    def _certified(self, solution: Solution, cost: float) -> Solution:
        """Return the solution with the present coefficients, where they are better."""
        objective = self.problem.objective(self.coef, cost)
        if objective < solution.objective:
            return replace(solution, coef=self.coef.copy(), objective=objective)
        return solution


# The 1-slack cutting-plane method: the reference solver, good for few features and large C.
#
# One cut is the mean over queries of their most violated rankings, (g, b) with slack >= b - w.g.
# The best w of the cuts so far is sum_k a_k g_k, where a >= 0 of sum C solves a small quadratic
# program.


class CuttingPlane(Solver):
    """Collect cuts, and minimise the objective below all of them, until no new cut changes it."""

    def __init__(self, problem: RankingProblem, rng: np.random.Generator) -> None:
        super().__init__(problem, rng)
        # The perfect ranking of all queries: slack >= 0. Its weight takes what others leave of C.
        self.directions = np.zeros((1, problem.n_features))
        self.losses = np.zeros(1)
        self.products = np.zeros((1, 1))
        self.shares = np.ones(1)

    def solve(self, cost: float, tol: float, max_iter: int) -> Solution:
        """Return coefficients of a relative duality gap of at most `tol`, or the best found."""
        solution = self.start(cost)
        for n_iter in range(1, max_iter + 1):
            weights = self._best_weights(cost)
            coef = weights @ self.directions
            dual = max(solution.dual, float(weights @ self.losses - coef @ coef / 2.0))
            direction, loss = self._cut(coef)
            objective = float(coef @ coef / 2.0 + cost * (loss - direction @ coef))
            solution = replace(solution, dual=dual, n_iter=n_iter)
            if objective < solution.objective:
                solution = replace(solution, coef=coef, objective=objective)
            if solution.relative_gap <= tol:
                return solution
            self._add(direction, loss)
        return solution

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


# Each stops on the relative duality gap, which bounds how far its objective is from the best one.
SOLVERS: dict[str, type[Solver]] = {"bcfw": BlockFrankWolfe, "cutting-plane": CuttingPlane}
