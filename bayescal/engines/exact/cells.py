"""Cells of the mode: where its marginal density lies, cut until log-linear pieces follow it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats

# Regions this far (natural log) below the peak hold nothing that a draw could show.
DEPTH = 40.0
LARGEST_SHARE = 0.02
LARGEST_BEND = 0.02
NEGLIGIBLE = 1e-7
ROUNDS = 60
MOST_CELLS = 20_000
MOST_KINKS = 400
FIRST_CELLS = 64


@dataclass(frozen=True)
class Cells:
    """
    Neighbouring cells with the log density at their ends and middles.

    Attributes
    ----------
    edge : array of shape (k + 1,)
        Their ends.
    log_edge, log_middle : array of shape (k + 1,), (k,)
        Log density there.
    good : bool
        Whether every cell that matters is as fine as asked for.
    """

    edge: Floats
    log_edge: Floats
    log_middle: Floats
    good: bool = False

    def nodes(self) -> tuple[Floats, Floats]:
        """Return ends and middles in order, and the log density there."""
        node = np.empty(2 * self.edge.size - 1)
        log_node = np.empty_like(node)
        node[::2], node[1::2] = self.edge, _middle(self.edge)
        log_node[::2], log_node[1::2] = self.log_edge, self.log_middle
        return node, log_node

    @property
    def log_mass(self) -> Floats:
        """Return the log of Simpson's integral over each cell."""
        top = max(float(self.log_edge.max()), float(self.log_middle.max()))
        ends, middle = np.exp(self.log_edge - top), np.exp(self.log_middle - top)
        simpson = (ends[:-1] + 4.0 * middle + ends[1:]) * np.diff(self.edge) / 6.0
        with np.errstate(divide="ignore"):
            return np.log(simpson) + top


def cover(log_density: Callable[[Floats], Floats], nodes: Floats, kinks: Floats) -> Cells:
    """
    Return cells over the bulk of a density.

    Parameters
    ----------
    log_density : callable
        Of an array of points.
    nodes : array
        First edges, from far below the bulk to far above it.
    kinks : array
        Where the derivative jumps; those in the bulk become edges unless there are too many to
        matter.
    """
    edge = np.unique(nodes)
    edge, log_edge, log_middle = _trim(edge, *_at_ends_and_middles(log_density, edge))
    inside = kinks[(kinks > edge[0]) & (kinks < edge[-1])]
    few = inside[: 0 if inside.size > MOST_KINKS else None]
    edge = np.unique(np.concatenate([edge, few, _quantiles(Cells(edge, log_edge, log_middle))]))
    log_edge, log_middle = _at_ends_and_middles(log_density, edge)
    good = False
    for _ in range(ROUNDS):
        cells = Cells(edge, log_edge, log_middle, good=True)
        coarse = np.flatnonzero(_too_coarse(cells))
        if coarse.size == 0:
            good = True
            break
        if edge.size + coarse.size > MOST_CELLS:
            break
        edge, log_edge, log_middle = _split(log_density, cells, coarse)
    return Cells(edge, log_edge, log_middle, good)


def _quantiles(cells: Cells) -> Floats:
    """Return where cells that hold equal shares would end, as far as these can tell."""
    log_mass = cells.log_mass
    share = np.cumsum(np.exp(log_mass - log_mass.max()))
    level = np.linspace(0.0, share[-1], FIRST_CELLS + 1)[1:-1]
    return np.interp(level, np.r_[0.0, share], cells.edge)


def _middle(edge: Floats) -> Floats:
    return 0.5 * (edge[:-1] + edge[1:])


def _at_ends_and_middles(
    log_density: Callable[[Floats], Floats], edge: Floats
) -> tuple[Floats, Floats]:
    at_ends, at_middles = np.split(log_density(np.r_[edge, _middle(edge)]), [edge.size])
    return at_ends, at_middles


def _trim(edge: Floats, log_edge: Floats, log_middle: Floats) -> tuple[Floats, Floats, Floats]:
    top = max(log_edge.max(), log_middle.max())
    high = np.maximum(np.maximum(log_edge[:-1], log_edge[1:]), log_middle) > top - DEPTH
    first, last = np.flatnonzero(high)[[0, -1]]
    # One cell more on either side: the density may still rise into it.
    first, last = max(first - 1, 0), min(last + 1, high.size - 1)
    return edge[first : last + 2], log_edge[first : last + 2], log_middle[first : last + 1]


def _too_coarse(cells: Cells) -> NDArray[np.bool_]:
    log_mass = cells.log_mass
    share = np.exp(log_mass - np.logaddexp.reduce(log_mass))
    # How far the middle is off the straight line between the ends, in log density.
    bend = np.abs(cells.log_middle - 0.5 * (cells.log_edge[:-1] + cells.log_edge[1:]))
    matters = share > NEGLIGIBLE
    coarse = matters & ((share > LARGEST_SHARE) | (bend * share > LARGEST_BEND * LARGEST_SHARE))
    coarse |= matters & (bend > 5.0 * LARGEST_BEND)
    divisible = np.diff(cells.edge) > 1e-13 * (1.0 + np.abs(cells.edge[1:]))
    still_coarse: NDArray[np.bool_] = coarse & divisible
    return still_coarse


def _split(
    log_density: Callable[[Floats], Floats], cells: Cells, coarse: NDArray[np.intp]
) -> tuple[Floats, Floats, Floats]:
    middle = _middle(cells.edge)[coarse]
    edge = np.insert(cells.edge, coarse + 1, middle)
    log_edge = np.insert(cells.log_edge, coarse + 1, cells.log_middle[coarse])
    quarters = np.concatenate(
        [
            0.5 * (cells.edge[coarse] + middle),
            0.5 * (middle + cells.edge[coarse + 1]),
        ]
    )
    log_left, log_right = np.split(log_density(quarters), 2)
    log_middle = cells.log_middle.copy()
    log_middle[coarse] = log_left
    return edge, log_edge, np.insert(log_middle, coarse + 1, log_right)
