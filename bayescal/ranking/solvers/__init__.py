"""Solvers of the training problem, from a problem and C to coefficients and their certificate.

A solver is an entry of `SOLVERS`. Each stops on the relative duality gap, which bounds how far its
objective is from the best one.
"""

from bayescal.ranking.solvers.block_frank_wolfe import BlockFrankWolfe
from bayescal.ranking.solvers.cutting_plane import CuttingPlane
from bayescal.ranking.solvers.solution import Solution, Solver

SOLVERS: dict[str, type[Solver]] = {"bcfw": BlockFrankWolfe, "cutting-plane": CuttingPlane}

__all__ = ["SOLVERS", "Solution", "Solver"]
