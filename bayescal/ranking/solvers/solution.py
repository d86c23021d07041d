"""What solvers have in common: their answer, and when it is good enough."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from bayescal.ranking.problem import RankingProblem
from bayescal.validation import Floats


@dataclass(frozen=True)
class Solution:
    """
    Coefficients and the certificate of how good they are.

    Attributes
    ----------
    coef : array of shape (n_features,)
        w of the smallest objective found.
    objective : float
        ||w||^2 / 2 + C times the mean slack.
    dual : float
        The best lower bound found of the objective of any w.
    at_zero : float
        The objective of w = 0.
    n_iter : int
        Passes over all queries.
    """

    coef: Floats
    objective: float
    dual: float
    at_zero: float
    n_iter: int

    @property
    def relative_gap(self) -> float:
        """
        The duality gap as a share of what any w can gain on w = 0.

        The objective of a hard problem moves within a percent of that of w = 0, of which a gap
        relative to the objective itself would say next to nothing.
        """
        gap = self.objective - self.dual
        # No w gains anything where the bound has reached the objective of w = 0.
        return gap / (self.at_zero - self.dual) if gap > 0.0 else 0.0


class Solver(ABC):
    """
    A solver of one problem, for one C after another: each starts from what the last one found.

    Parameters
    ----------
    problem : RankingProblem
        The queries and the loss.
    rng : numpy.random.Generator
        For solvers that visit queries in random order.
    """

    def __init__(self, problem: RankingProblem, rng: np.random.Generator) -> None:
        self.problem = problem
        self.rng = rng
        nothing = np.zeros(problem.n_features)
        self.slack_at_zero = problem.slack(nothing)

    @abstractmethod
    def solve(self, cost: float, tol: float, max_iter: int) -> Solution:
        """
        Return coefficients of a relative duality gap of at most `tol`, or the best found.

        Parameters
        ----------
        cost : float
            C, the weight of the mean slack.
        tol : float
            The relative duality gap wanted.
        max_iter : int
            The most passes over all queries.
        """

    def start(self, cost: float) -> Solution:
        """Return w = 0, which any solver starts from."""
        at_zero = cost * self.slack_at_zero
        return Solution(np.zeros(self.problem.n_features), at_zero, 0.0, at_zero, 0)
