"""Where a report evaluates curves, and what share of the documents stands at each place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayescal.curves.curves import Curves
from bayescal.fitted.documents import Documents
from bayescal.fitted.problem import FittedProblem
from bayescal.validation import Floats

# What is cut off of each class's scores where it has many: a far document would leave the rest of
# the picture empty.
CUT = 0.002
MARGIN = 0.03
# Cells on which documents are spread out; the widest that a cell near a far document makes the
# spread, in units of the common one.
CELLS = 512
WIDEST = 8.0


@dataclass(frozen=True)
class Size:
    """
    How much of a topic goes into the file.

    Attributes
    ----------
    nodes : int
        Scores at which curves are evaluated; at most one more for each repeated quantile less.
    draws : int
        Posterior draws for what is computed in the page.
    """

    nodes: int
    draws: int

    @classmethod
    def of(cls, topics: int) -> Size:
        """Return the size that keeps 100 topics below 3 MB."""
        if topics <= 4:
            return cls(129, 400)
        return cls(57, 192) if topics <= 100 else cls(49, 128)


def thinned(draws: Curves, most: int) -> Curves:
    """Return at most so many draws, at even places of their order."""
    index = np.linspace(0, draws.size - 1, min(most, draws.size))
    return draws.take(np.unique(np.rint(index).astype(np.intp)))


def nodes_of(problem: FittedProblem, n: int) -> Floats:
    """
    Return scores in ascending order: half evenly spaced, half where documents are.

    The latter are quantiles of the scores, each class weighing one half.
    """
    low, high = _range(problem)
    even = np.linspace(low, high, n - n // 2)
    fitted = problem.documents
    if not fitted.known:
        return np.linspace(low, high, n)
    parts = [fitted.score[fitted.positive == klass] for klass in (False, True)]
    levels = (np.arange(n // 4) + 0.5) / (n // 4)
    placed = [np.quantile(part, levels) for part in parts if part.size]
    inside = np.clip(np.concatenate([*placed, even]), low, high)
    # Nodes closer than that are one to the eye, and their difference is lost in 6 digits.
    step = (high - low) / (16.0 * n)
    return np.unique(low + step * np.rint((inside - low) / step))


def shares(problem: FittedProblem, nodes: Floats) -> Floats:
    """
    Return the share of documents at each node; they sum to one.

    A document between two nodes counts at both, the more the closer, so that means over documents
    are those of straight lines between nodes. Without documents: the model's own density.

    Raises
    ------
    ValueError
        If there are neither documents nor densities.
    """
    if problem.documents.known:
        return split_between(problem.documents, nodes)
    if problem.densities is None:
        raise ValueError(
            "a report needs the documents fitted, or class densities in place of them: give fitted,"
            " a DataFrame of the scores and labels."
        )
    negative, positive = (np.exp(each) for each in problem.densities.log_densities(nodes))
    prior = problem.densities.prior[:, None]
    density = (prior * positive + (1.0 - prior) * negative).mean(axis=0)
    mass = density * np.gradient(nodes)
    out: Floats = mass / mass.sum()
    return out


def smooth_shares(problem: FittedProblem, nodes: Floats) -> Floats:
    """
    Return the share of documents at each node, as of many documents like those fitted.

    The documents of each class are spread out by a Gaussian kernel, wider where they are sparse, so
    that a curve over thresholds has no step at each document. Where the documents are not known it
    is the model's own density, which is smooth as it is.

    References
    ----------
    I. S. Abramson, On bandwidth variation in kernel estimates: a square root law, Annals of
    Statistics 1982.
    """
    documents = problem.documents
    if not documents.known:
        return shares(problem, nodes)
    density = np.zeros(nodes.size)
    for positive in (False, True):
        score, weight = documents.of_class(positive)
        if weight.sum() > 0.0:
            alike = Documents.of(score, np.full(score.size, positive), weight)
            density += weight.sum() * _spread_out(alike, nodes)
    mass = density * np.gradient(nodes)
    out: Floats = mass / mass.sum()
    return out


def _spread_out(documents: Documents, nodes: Floats) -> Floats:
    """Return the density of documents at nodes, by a kernel that is wide where they are sparse."""
    cells = np.linspace(nodes[0], nodes[-1], CELLS)
    share = split_between(documents, cells)
    middle = share @ cells
    deviation = np.sqrt(share @ (cells - middle) ** 2)
    ends = np.interp([0.25, 0.75], np.cumsum(share), cells)
    # Silverman's rule; documents that are all alike still take up some room.
    least = (nodes[-1] - nodes[0]) / nodes.size
    narrower = min(float(deviation), float(np.ptp(ends)) / 1.34)
    width = max(0.9 * narrower * documents.score.size**-0.2, least)
    pilot = _kernel(cells, cells, np.full(CELLS, width)) @ share
    held = share > 0.0
    typical = np.exp(share[held] @ np.log(pilot[held]))
    # Beyond the farthest document the pilot is next to nothing, in whatever units scores are.
    wider = np.maximum(np.sqrt(typical / np.maximum(pilot, typical / WIDEST**2)), 1.0)
    density: Floats = _kernel(nodes, cells, width * wider) @ share
    return density


def _kernel(at: Floats, centre: Floats, width: Floats) -> Floats:
    """Return Gaussian densities at places, (places, centres)."""
    z = (at[:, None] - centre) / width
    density: Floats = np.exp(-0.5 * z**2) / (width * np.sqrt(2.0 * np.pi))
    return density


def split_between(documents: Documents, nodes: Floats) -> Floats:
    """Return the share of documents at each node; see `shares`."""
    inside = np.clip(documents.score, nodes[0], nodes[-1])
    right = np.clip(np.searchsorted(nodes, inside, side="right"), 1, nodes.size - 1)
    share = (inside - nodes[right - 1]) / (nodes[right] - nodes[right - 1])
    mass = np.bincount(right, documents.weight * share, nodes.size)
    mass += np.bincount(right - 1, documents.weight * (1.0 - share), nodes.size)
    out: Floats = mass / mass.sum()
    return out


def _range(problem: FittedProblem) -> tuple[float, float]:
    low, high = problem.calibration.score_range
    if problem.documents.known:
        fitted = problem.documents
        parts = [fitted.score[fitted.positive == klass] for klass in (False, True)]
        ends = np.array([np.quantile(part, [CUT, 1.0 - CUT]) for part in parts if part.size])
        low, high = ends[:, 0].min(), ends[:, 1].max()
    room = MARGIN * (high - low) or problem.scale[1]
    return float(low - room), float(high + room)
