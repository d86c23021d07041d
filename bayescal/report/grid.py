"""Where a report evaluates curves, and what share of the documents stands at each place."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayescal.fitted.documents import Documents
from bayescal.fitted.problem import FittedProblem
from bayescal.validation import Floats

# What is cut off of each class's scores where it has many: a far document would leave the rest of
# the picture empty.
CUT = 0.002
MARGIN = 0.03


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
