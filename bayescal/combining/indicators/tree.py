"""Indicators of decision trees: the log-odds change when a document takes another branch.

Type 3 of Bennett's dissertation, section 5.1.4.

A document d goes from the root to a leaf; at every node there is a branch b that it does not take,
to node n_b. With delta_b the distance of d, of length 1, to the mean of the training documents at
n_b, of length 1 each, Delta takes branch b with probability proportional to exp(-delta_b), and then
leaf t below it with the share of n_b's training documents that end there. For a tree of one leaf
all is 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.tree import DecisionTreeClassifier

from bayescal.combining.indicators.kind import ModelIndicators, ratio, standard_deviation, unit_rows
from bayescal.support.validation import Floats
from bayescal.text.decision_tree import DecisionTree, leaf_log_odds


@dataclass(frozen=True)
class Branches:
    """Statistics of the training documents at each node of a tree."""

    tree: Any  # The tree
    log_odds: Floats  # (nodes,): ln (n(+) + 1)/(n(-) + 1) of the documents it was grown on
    # (nodes,): the other child of each node's parent; the root's is itself
    sibling: NDArray[np.intp]
    # (features, nodes): the mean of the training documents at the node, of length 1 each
    centroid: Floats
    mean: Floats  # (nodes,): of the log-odds at the leaves that they end at
    mean_of_squares: Floats  # (nodes,)
    reached: NDArray[np.bool_]  # (nodes,): whether any training document comes by


@dataclass(frozen=True)
class Detour:
    """Moments under another branch."""

    # (documents,): of lambda(t) - lambda(d), t the leaf that the document would end at
    mean: Floats
    deviation: Floats  # (documents,)


def learn(model: Any, features: Any, positive: NDArray[np.bool_]) -> Branches:
    """Return statistics of the training documents at the nodes of a fitted tree."""
    tree = model.tree_ if isinstance(model, DecisionTree) else model
    log_odds = leaf_log_odds(tree)
    features = sparse.csr_array(features, dtype=np.float32)
    path = sparse.csr_array(tree.decision_path(_as_matrix(features)), dtype=np.float64)
    at_leaf = log_odds[tree.apply(_as_matrix(features))]
    number = np.asarray(path.sum(axis=0), dtype=np.float64)
    total = (unit_rows(features).T @ path).toarray()
    return Branches(
        tree=tree,
        log_odds=log_odds,
        sibling=siblings(tree.tree_),
        centroid=ratio(total, number[None, :]),
        mean=ratio(np.asarray(path.T @ at_leaf), number),
        mean_of_squares=ratio(np.asarray(path.T @ at_leaf**2), number),
        reached=number > 0.0,
    )


def detour(branches: Branches, features: Any) -> Detour:
    """Return the moments of documents; O(nodes) for each, in one sparse product."""
    features = sparse.csr_array(features, dtype=np.float32)
    path = branches.tree.decision_path(_as_matrix(features)).toarray().astype(bool)
    path[:, 0] = False  # the root is nobody's branch
    untaken = path[:, branches.sibling] & branches.reached
    unit = unit_rows(features)
    squared = (
        np.asarray(unit.multiply(unit).sum(axis=1))[:, None]
        - 2.0 * np.asarray(unit @ branches.centroid)
        + (branches.centroid**2).sum(axis=0)
    )
    away = np.sqrt(np.maximum(squared, 0.0))
    weight = np.where(untaken, np.exp(-away), 0.0)
    moments = weight @ np.stack([branches.mean, branches.mean_of_squares], axis=1)
    mean, mean_of_squares = ratio(moments, weight.sum(axis=1, keepdims=True)).T
    own = branches.log_odds[branches.tree.apply(_as_matrix(features))]
    difference = np.where(untaken.any(axis=1), mean - own, 0.0)
    return Detour(difference, standard_deviation(mean, mean_of_squares))


def siblings(nodes: Any) -> NDArray[np.intp]:
    """Return the other child of each node's parent, and of the root itself."""
    other = np.zeros(nodes.node_count, dtype=np.intp)
    split = nodes.children_left >= 0
    left, right = nodes.children_left[split], nodes.children_right[split]
    other[left], other[right] = right, left
    return other


def _as_matrix(features: Any) -> Any:
    # scikit-learn's trees take sparse input with 32-bit indices.
    return sparse.csr_matrix(features)


TREE = ModelIndicators(
    recognises=lambda model: (
        isinstance(model, DecisionTree)
        or (isinstance(model, DecisionTreeClassifier) and _one_binary_output(model))
    ),
    learn=learn,
    around=detour,
    indicators={
        "DTreeShiftMeanConfDiff": attrgetter("mean"),
        "DTreeShiftStdDevConfDiff": attrgetter("deviation"),
    },
)


def _one_binary_output(model: Any) -> bool:
    return bool(model.n_outputs_ == 1 and len(model.classes_) == 2)
