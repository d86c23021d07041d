"""Solvers of the training problem: block-coordinate Frank-Wolfe (default) and cutting planes.

The dual maximises sum_i l_i - ||sum_i w_i||^2 / 2 over convex combinations of rankings of each
query. A combination is stored as its plane (w_i, l_i) in units of the objective: C/n times the
weighted means of Psi(y*) - Psi(y) and of Delta(y).
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bayescal.ranking.problem import RankingProblem
from bayescal.support.validation import Floats, Integers

# A convex quadratic program on the simplex, by an active-set method.

# Ridge relative to the largest diagonal element. With more cuts than features the matrix is
# singular: a step along a direction without curvature ends when a weight reaches zero.
RIDGE = 1e-11
SMALLEST = 1e-100  # ridge if no direction has curvature
# Largest gain of a weight at an optimum, relative to the range of gradients.
TOLERANCE = 1e-9
MOST_STEPS = 10_000


def solve_on_simplex(matrix: Floats, linear: Floats, start: Floats) -> Floats:
    """Return the a >= 0 of sum 1 that minimises a.K a / 2 - b.a, by an active set."""
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
    """Move to the active set's best weights, in place, and remove weights that reach zero."""
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
    """Return the step of sum 0 to the members' best weights of any sign."""
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


class Solver(ABC):
    """A solver of one problem for successive C, each started from the last solution."""

    def __init__(self, problem: RankingProblem, rng: np.random.Generator) -> None:
        self.problem = problem
        self.rng = rng
        self.slack_at_zero = problem.slack(np.zeros(problem.n_features))

    @abstractmethod
    def solve(self, cost: float, tol: float, max_iter: int) -> Solution:
        """Return coefficients of a relative duality gap of at most `tol`, or the best found."""

    def start(self, cost: float) -> Solution:
        """Return the solution w = 0."""
        at_zero = cost * self.slack_at_zero
        return Solution(np.zeros(self.problem.n_features), at_zero, 0.0, at_zero, 0)


# Planes stored for a query, and cached passes between two exact ones: 20 to 50 of both were fastest
# for problems of 100 and 750 features.
PLANES = 20
CACHED_PASSES = 50
# Cached passes end when their gap is below this share of the last exact pass's gap.
ENOUGH = 0.1
# Passes between computations of the objective, unless the gaps of a pass are small enough.
CERTIFIED_EVERY = 5
CACHE_BYTES = 2**28


class BlockFrankWolfe(Solver):
    """Visit the queries in turn, and move each combination towards its most violated ranking."""

    # Each move is an exact line search on the dual. Cheap passes towards stored planes come between
    # exact passes; memory for planes is limited to 256 MiB.

    def __init__(self, problem: RankingProblem, rng: np.random.Generator) -> None:
        super().__init__(problem, rng)
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
        solution = self.start(cost)
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


# The 1-slack cutting-plane method: the reference solver, good for few features and large C.
#
# A cut (g, b), with slack >= b - w.g, is the mean over queries of their most violated rankings. The
# best w for the cuts so far is sum_k a_k g_k, where a >= 0 of sum C solves a quadratic program.


class CuttingPlane(Solver):
    """Collect cuts, and minimise the objective below all of them, until no new cut changes it."""

    def __init__(self, problem: RankingProblem, rng: np.random.Generator) -> None:
        super().__init__(problem, rng)
        # The cut of the perfect ranking, slack >= 0, has the rest of C as its weight.
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
        # In shares of C, so that rounding does not depend on C.
        self.shares = solve_on_simplex(cost * self.products, self.losses, self.shares)
        return cost * self.shares

    def _cut(self, coef: Floats) -> tuple[Floats, float]:
        """Return means over queries of Psi(y*) - Psi(y) and loss of the most violated rankings."""
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


SOLVERS: dict[str, type[Solver]] = {"bcfw": BlockFrankWolfe, "cutting-plane": CuttingPlane}
