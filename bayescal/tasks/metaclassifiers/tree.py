"""A decision tree of all tasks' documents, whose leaves are specialised to each task.

It is the dissertation's LABEL-D (section 8.3.2). What differs is how far a task's own documents at
a leaf count against those of all others: a number m of documents (`m_estimate`), or what the tasks
themselves say of it (`leaf_population`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_memory

from bayescal.tasks.leaf_counts import LeafCounts, m_estimate
from bayescal.tasks.leaf_population import LeafPopulation, fit_population
from bayescal.tasks.metaclassifiers.classifier import seeded_clone
from bayescal.tasks.metaclassifiers.metaclassifier import Metaclassifier, TaskModel
from bayescal.tasks.task_data import TaskData
from bayescal.validation import Floats, Integers

if TYPE_CHECKING:
    import pandas as pd

DRAWS = 1000


@dataclass(frozen=True)
class Leaves:
    """
    The leaves of a fitted tree.

    Attributes
    ----------
    tree : scikit-learn tree
        It has `apply`, from documents to nodes.
    nodes : array of shape (leaves,)
        Those nodes that are leaves of training documents, in order.
    """

    tree: Any
    nodes: Integers

    @classmethod
    def of(cls, fitted: Any, columns: Floats) -> tuple[Leaves, Integers]:
        """Return the leaves of a fitted classifier, and those of the documents it was fitted to."""
        tree = tree_of(fitted)
        nodes, leaf = np.unique(tree.apply(columns), return_inverse=True)
        return cls(tree, nodes), leaf

    def of_documents(self, columns: Floats) -> Integers:
        """Return the leaf of each document: 0, 1, ..."""
        return np.asarray(np.searchsorted(self.nodes, self.tree.apply(columns)), dtype=np.intp)


@dataclass(frozen=True)
class TreeModel(TaskModel):
    """
    A tree with log-odds of each task at each leaf.

    Attributes
    ----------
    leaves : Leaves
        Of the tree.
    table : array of shape (tasks + 1, leaves)
        Log-odds; the last row is of tasks that were not fitted.
    """

    leaves: Leaves
    table: Floats = field(repr=False)

    def log_odds(self, columns: Floats, task: Integers) -> Floats:
        """Return the log-odds of documents' leaves in their tasks."""
        return np.asarray(self.table[task, self.leaves.of_documents(columns)])


@dataclass(frozen=True)
class PooledTreeModel(TreeModel):
    """
    A tree whose leaves have populations of tasks.

    Attributes
    ----------
    counts : LeafCounts
        Documents at the leaves; the last row, of tasks that were not fitted, holds none.
    populations : sequence of LeafPopulation
        One a leaf.
    seed : int
        Of the draws.
    """

    counts: LeafCounts = field(repr=False)
    populations: Sequence[LeafPopulation] = field(repr=False)
    seed: int

    def sample(self, columns: Floats, task: Integers) -> Floats:
        """Return log-odds of posterior draws, the same ones for all documents of a task's leaf."""
        shape = self.counts.total.shape
        cells = np.ravel_multi_index(
            (task % shape[0], self.leaves.of_documents(columns)), shape
        ).astype(np.intp)
        distinct, place = np.unique(cells, return_inverse=True)
        draws = [self._sample_cell(*np.unravel_index(cell, shape)) for cell in distinct]
        return np.asarray(np.stack(draws, axis=1)[:, place])

    def population(self, names: list[str], level: float) -> pd.DataFrame:
        """Return a row for each leaf: its documents, and medians and intervals of p and m."""
        import pandas as pd

        levels = np.array([0.5, 0.5 - level / 2.0, 0.5 + level / 2.0])
        rows = []
        for k, each in enumerate(self.populations):
            p, m = each.quantiles(levels)
            total = self.counts.total[:, k]
            rows.append(
                {
                    "tasks": int((total > 0.0).sum()),
                    "documents": int(total.sum()),
                    "positives": int(self.counts.positive[:, k].sum()),
                }
                | dict(zip(("p", "p_lower", "p_upper"), p.tolist(), strict=True))
                | dict(zip(("m", "m_lower", "m_upper"), m.tolist(), strict=True))
            )
        return pd.DataFrame(rows, index=pd.Index(self.leaves.nodes, name="leaf"))

    def _sample_cell(self, task: int, leaf: int) -> Floats:
        rng = np.random.default_rng([self.seed, task, leaf])
        positive, total = self.counts.positive[task, leaf], self.counts.total[task, leaf]
        return self.populations[leaf].sample(float(positive), float(total), DRAWS, rng)


@dataclass(frozen=True)
class Tree(Metaclassifier):
    """
    One tree for all tasks.

    Attributes
    ----------
    classifier : classifier
        A decision tree; clones are fitted.
    m : float or None
        How many documents all tasks' estimate at a leaf is worth; None to learn it.
    memory : str, joblib.Memory or None
        Keeps grown trees.
    """

    classifier: Any
    m: float | None
    memory: Any = None

    def fit(self, data: TaskData, rng: np.random.Generator) -> TaskModel:
        """Return the tree of all documents, its leaves specialised to each task."""
        grow = check_memory(self.memory).cache(_grow)
        fitted = grow(seeded_clone(self.classifier, rng), data.columns, data.positive)
        leaves, leaf = Leaves.of(fitted, data.columns)
        shape = (data.tasks, leaves.nodes.size)
        counts = LeafCounts.of(leaf, data.task, data.positive, shape)
        if self.m is None:
            return _pooled(leaves, counts, int(rng.integers(2**31)))
        table = np.vstack([m_estimate(counts, self.m), counts.of_all_tasks])
        return TreeModel(leaves, _log_odds(table))


def tree_of(fitted: Any) -> Any:
    """
    Return what tells a document's node: scikit-learn's tree, by itself or within `DecisionTree`.

    Examples
    --------
    >>> from bayescal.text import DecisionTree
    >>> tree_of(DecisionTree().fit([[0], [1]], [0, 1])).apply([[0], [1]])
    array([1, 2])
    """
    return fitted if hasattr(fitted, "apply") else fitted.tree_


def _grow(classifier: Any, columns: Floats, positive: NDArray[np.bool_]) -> Any:
    return classifier.fit(columns, positive.astype(np.int64))


def _pooled(leaves: Leaves, counts: LeafCounts, seed: int) -> PooledTreeModel:
    # The last row, of tasks that were not fitted, holds no documents.
    none = np.zeros((1, leaves.nodes.size))
    rows = LeafCounts(np.vstack([counts.positive, none]), np.vstack([counts.total, none]))
    columns = list(zip(rows.positive.T, rows.total.T, strict=True))
    populations = [fit_population(*column) for column in columns]
    table = [each.mean(*column) for each, column in zip(populations, columns, strict=True)]
    return PooledTreeModel(leaves, _log_odds(np.stack(table, axis=1)), rows, populations, seed)


def _log_odds(probabilities: Floats) -> Floats:
    """Return log-odds, infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities) - np.log1p(-probabilities))
