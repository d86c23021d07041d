"""What the leaves of one tree hold of each task, and the leaf estimates of equation 8.1."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats, Integers


@dataclass(frozen=True)
class LeafCounts:
    """
    Documents at the leaves.

    Attributes
    ----------
    positive, total : array of shape (tasks, leaves)
        Positive documents of each task at each leaf, and all of them.
    """

    positive: Floats
    total: Floats

    @classmethod
    def of(
        cls, leaf: Integers, task: Integers, positive: NDArray[np.bool_], shape: tuple[int, int]
    ) -> LeafCounts:
        """Return those of documents; shape is (tasks, leaves)."""
        cell = np.ravel_multi_index((task, leaf), shape)
        size = shape[0] * shape[1]
        total = np.bincount(cell, minlength=size).reshape(shape).astype(np.float64)
        own = np.bincount(cell[positive], minlength=size).reshape(shape).astype(np.float64)
        return cls(own, total)

    @property
    def of_all_tasks(self) -> Floats:
        """Return p_l = (n_+ + 1)/(n + 2) of all tasks' documents at each leaf (equation 6.10)."""
        return np.asarray((self.positive.sum(axis=0) + 1.0) / (self.total.sum(axis=0) + 2.0))

    @property
    def of_all_leaves(self) -> Floats:
        """Return each task's share of positive documents."""
        return np.asarray(self.positive.sum(axis=1) / self.total.sum(axis=1))


def m_estimate(counts: LeafCounts, m: float) -> Floats:
    """
    Return P(positive | leaf) of each task, shrunk towards all tasks' (equation 8.1).

        P_il = (In_il + m p_l) / (m + In_il + Out_il)

    m is how many documents the other tasks are worth. With m = 0 a leaf that holds no document of
    the task has the task's share of positives; with m infinite all tasks have p_l.

    Parameters
    ----------
    counts : LeafCounts
        Documents of each task at each leaf.
    m : float
        At least 0; may be infinite.

    Returns
    -------
    array of shape (tasks, leaves)

    Examples
    --------
    >>> counts = LeafCounts(np.array([[2.0, 0.0]]), np.array([[2.0, 2.0]]))
    >>> m_estimate(counts, 0.0).tolist(), m_estimate(counts, np.inf).tolist()
    ([[1.0, 0.0]], [[0.75, 0.25]])
    """
    general = counts.of_all_tasks
    if np.isinf(m):
        return np.broadcast_to(general, counts.total.shape).copy()
    seen = m + counts.total
    empty = np.broadcast_to(counts.of_all_leaves[:, None], seen.shape)
    return np.asarray(
        np.where(
            seen > 0.0, (counts.positive + m * general) / np.where(seen > 0.0, seen, 1.0), empty
        )
    )
