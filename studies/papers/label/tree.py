"""LABEL-D as published: a weight m of all tasks' estimate at the leaves, which is not learned."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_memory

from bayescal.combining.tasks import tree
from bayescal.combining.tasks.metaclassifier import TaskData, TaskModel
from bayescal.support.validation import Floats, Integers
from bayescal.text.word_models import DecisionTree

REPOP, GENERAL = 0.0, math.inf


def of_all_tasks(counts: tree.LeafCounts) -> Floats:
    """Return p_l = (n_+ + 1)/(n + 2) of all tasks' documents at each leaf (equation 6.10)."""
    return np.asarray((counts.positive.sum(axis=0) + 1.0) / (counts.total.sum(axis=0) + 2.0))


def m_estimate(counts: tree.LeafCounts, m: float) -> Floats:
    """Return P(positive | leaf) = (In + m p) / (m + In + Out) of each task (equation 8.1)."""
    general = of_all_tasks(counts)
    if np.isinf(m):
        return np.broadcast_to(general, counts.total.shape).copy()
    seen = m + counts.total
    of_task = counts.positive.sum(axis=1) / counts.total.sum(axis=1)
    empty = np.broadcast_to(of_task[:, None], seen.shape)
    return np.asarray(
        np.where(
            seen > 0.0, (counts.positive + m * general) / np.where(seen > 0.0, seen, 1.0), empty
        )
    )


@dataclass(frozen=True)
class FixedTreeModel(TaskModel):
    """A tree with log-odds of each task at each leaf, without a posterior.

    Attributes
    ----------
    leaves : Leaves
        Of the tree.
    table : array of shape (tasks + 1, leaves)
        Log-odds; the last row is for added tasks.
    """

    leaves: tree.Leaves
    table: Floats

    def log_odds(self, columns: Floats, task: Integers) -> Floats:
        """Return the log-odds of documents' leaves in their tasks."""
        return np.asarray(self.table[task, self.leaves.of_documents(columns)])

    def sample(self, columns: Floats, task: Integers) -> Floats:
        """Raise ValueError."""
        raise ValueError("a fixed weight has no posterior.")

    def population(self, names: list[str], level: float) -> Any:
        """Raise ValueError."""
        raise ValueError("a fixed weight has no population.")


@dataclass(frozen=True)
class KeptTree(tree.Tree):
    """A tree that is grown once, with a weight m in documents, or with pooled leaves.

    Attributes
    ----------
    classifier : classifier
        A decision tree; clones are fitted.
    m : float or None
        Of equation 8.1: 0 is "repop", infinity "general", None learns it.
    memory : joblib.Memory or None
        Keeps grown trees.
    """

    classifier: Any = field(default_factory=DecisionTree)
    m: float | None = None
    memory: Any = None

    def fit(self, data: TaskData, rng: np.random.Generator) -> TaskModel:
        """Return the tree of all documents, its leaves specialised to each task."""
        if self.m is None:
            return super().fit(data, rng)
        leaves, counts = self.leaves_and_counts(data, rng)
        table = np.vstack([m_estimate(counts, self.m), of_all_tasks(counts)])
        return FixedTreeModel(leaves, tree.log_odds_of(table))

    def grow(self, classifier: Any, data: TaskData) -> Any:
        """Return the classifier fitted to all documents, or the one kept."""
        return check_memory(self.memory).cache(_grow)(classifier, data.columns, data.positive)


def _grow(classifier: Any, columns: Floats, positive: NDArray[np.bool_]) -> Any:
    return classifier.fit(columns, positive.astype(np.int64))
