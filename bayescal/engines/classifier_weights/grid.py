"""A grid that resolves a density of a few numbers, with the nodes alone that carry its mass.

Nodes are found from the middle outwards: a full grid has many in several dimensions, of which few
matter (Rue, Martino and Chopin, Approximate Bayesian inference for latent Gaussian models, JRSS B
2009, section 3.1). Where the density is narrower than the steps, these are halved.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import numpy as np

from bayescal.validation import Floats

Node = tuple[int, ...]
Found = TypeVar("Found")

# Neighbours of nodes that are less likely than that, of the likeliest, are not asked for.
SMALLEST_SHARE = 3e-3
FIRST_STEP, FARTHEST = 1.0, 3.0
# The trapezoidal rule errs by 3e-5 where a Gaussian's standard deviation is that many steps.
LEAST_RESOLVED = 0.75
MOST_HALVINGS = 8


class Place(NamedTuple, Generic[Found]):
    """The log mass at a place, up to a constant, and what was found there."""

    log_mass: float
    found: Found


Evaluate = Callable[[Floats, Found | None], Place[Found]]


def resolve(evaluate: Evaluate[Found], dimensions: int) -> list[Place[Found]]:
    """
    Return places on a grid that resolves the density in every dimension.

    Parameters
    ----------
    evaluate : callable
        From a place, in prior standard deviations from the middle, and what was found nearby (None
        for the first place) to what is there.
    dimensions : int
        Of the density.

    Examples
    --------
    >>> narrow = lambda at, _: Place(-50.0 * (at[0] - 0.3) ** 2, at[0])
    >>> places = resolve(narrow, 1)
    >>> share = np.exp([place.log_mass for place in places])
    >>> round(float(np.average([place.found for place in places], weights=share)), 3)
    0.3
    """
    centre, step = np.zeros(dimensions), np.full(dimensions, FIRST_STEP)
    near: Found | None = None
    for halving in range(MOST_HALVINGS + 1):
        known = _explore(evaluate, centre, step, near)
        nodes = np.array(list(known))
        share = np.exp(np.array([place.log_mass for place in known.values()]))
        share /= share.sum()
        deviation = np.sqrt(share @ (nodes - share @ nodes) ** 2)
        coarse = deviation < LEAST_RESOLVED
        if not coarse.any() or halving == MOST_HALVINGS:
            break
        best = max(known, key=lambda node: known[node].log_mass)
        centre, near = centre + step * np.array(best), known[best].found
        step = np.where(coarse, 0.5 * step, step)
    return list(known.values())


def _explore(
    evaluate: Evaluate[Found], centre: Floats, step: Floats, near: Found | None
) -> dict[Node, Place[Found]]:
    """
    Return the nodes that matter.

    The likeliest node known so far is asked for its neighbours, over and over, until it is next to
    nothing beside the likeliest of all: uphill first, then around the top.
    """
    middle: Node = (0,) * centre.size
    known = {middle: evaluate(centre, near)}
    best = known[middle].log_mass
    waiting = [(-best, middle)]
    while waiting:
        minus, node = heapq.heappop(waiting)
        if -minus < best + math.log(SMALLEST_SHARE):
            break
        for neighbour in _neighbours(node):
            at = centre + step * np.array(neighbour)
            if neighbour in known or np.abs(at).max() > FARTHEST:
                continue
            known[neighbour] = evaluate(at, known[node].found)
            best = max(best, known[neighbour].log_mass)
            heapq.heappush(waiting, (-known[neighbour].log_mass, neighbour))
    top = {node: place.log_mass - best for node, place in known.items()}
    return {node: known[node]._replace(log_mass=top[node]) for node in known}


def _neighbours(node: Node) -> list[Node]:
    """Return the nodes one step away in one dimension."""
    return [
        (*node[:axis], at + step, *node[axis + 1 :])
        for axis, at in enumerate(node)
        for step in (-1, 1)
    ]
