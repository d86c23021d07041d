"""Grids that resolve a density: nodes with negligible mass are never evaluated."""

import heapq
import math
from collections.abc import Callable
from itertools import product
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from bayescal.support.validation import Floats

Node = tuple[int, ...]
Estimate = TypeVar("Estimate")

# Neighbours of nodes below this share of the likeliest node's mass are not evaluated.
SMALLEST_GRID_SHARE = 3e-3
FIRST_STEP, FARTHEST = 1.0, 3.0
# For a Gaussian with this standard deviation in steps the trapezoidal rule errs by 3e-5.
LEAST_RESOLVED = 0.75
MOST_HALVINGS = 8


class GridPoint(NamedTuple, Generic[Estimate]):
    """The log mass at a point, up to a constant, and the value computed there."""

    log_mass: float
    estimate: Estimate


Evaluate = Callable[[Floats, Estimate | None], GridPoint[Estimate]]


def resolve(evaluate: Evaluate[Estimate], dimensions: int) -> list[GridPoint[Estimate]]:
    """Return points on a grid that resolves the density in every dimension."""
    # Explored from the middle, as few nodes of a full grid matter (Rue, Martino and Chopin, JRSS B
    # 2009, section 3.1).
    centre, step = np.zeros(dimensions), np.full(dimensions, FIRST_STEP)
    near: Estimate | None = None
    for halving in range(MOST_HALVINGS + 1):
        known = _explore(evaluate, centre, step, near)
        nodes = np.array(list(known))
        share = np.exp(np.array([point.log_mass for point in known.values()]))
        share /= share.sum()
        deviation = np.sqrt(share @ (nodes - share @ nodes) ** 2)
        coarse = deviation < LEAST_RESOLVED
        if not coarse.any() or halving == MOST_HALVINGS:
            break
        best = max(known, key=lambda node: known[node].log_mass)
        centre, near = centre + step * np.array(best), known[best].estimate
        step = np.where(coarse, 0.5 * step, step)
    return list(known.values())


def _explore(
    evaluate: Evaluate[Estimate], centre: Floats, step: Floats, near: Estimate | None
) -> dict[Node, GridPoint[Estimate]]:
    """Return the nodes with mass, the likeliest expanded first."""
    middle: Node = (0,) * centre.size
    known = {middle: evaluate(centre, near)}
    best = known[middle].log_mass
    waiting = [(-best, middle)]
    while waiting:
        minus, node = heapq.heappop(waiting)
        if -minus < best + math.log(SMALLEST_GRID_SHARE):
            break
        for axis, jump in product(range(len(node)), (-1, 1)):
            neighbour = *node[:axis], node[axis] + jump, *node[axis + 1 :]
            at = centre + step * np.array(neighbour)
            if neighbour in known or np.abs(at).max() > FARTHEST:
                continue
            known[neighbour] = evaluate(at, known[node].estimate)
            best = max(best, known[neighbour].log_mass)
            heapq.heappush(waiting, (-known[neighbour].log_mass, neighbour))
    top = {node: point.log_mass - best for node, point in known.items()}
    return {node: known[node]._replace(log_mass=top[node]) for node in known}
