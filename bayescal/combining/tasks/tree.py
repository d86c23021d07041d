"""A decision tree of all tasks' documents, whose leaves are specialised to each task.

It is the dissertation's LABEL-D (section 8.3.2). How many documents the estimate of all tasks is
worth at a leaf against the task's own is learned: tasks have a beta-binomial population at each
leaf (`fit_population`); see "One combiner for many tasks" in docs/mathematics.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.combining.nested import seeded_clone
from bayescal.combining.tasks import metaclassifier as learning
from bayescal.inference.newton import climb_within
from bayescal.support.intervals import tails
from bayescal.support.validation import Floats, Integers

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class LeafCounts:
    """Documents at the leaves."""

    positive: Floats  # (tasks, leaves)
    total: Floats  # (tasks, leaves)

    @classmethod
    def of(
        cls, leaf: Integers, task: Integers, positive: NDArray[np.bool_], shape: tuple[int, int]
    ) -> LeafCounts:
        """Return the counts of documents, shape (tasks, leaves)."""
        cell = np.ravel_multi_index((task, leaf), shape)
        size = shape[0] * shape[1]
        total = np.bincount(cell, minlength=size).reshape(shape).astype(np.float64)
        own = np.bincount(cell[positive], minlength=size).reshape(shape).astype(np.float64)
        return cls(own, total)


LOG_M, LOG_M_SD = math.log(100.0), 3.0
REACH_OF_LOG_M = 12.0  # beyond e^-12 and e^12 times its prior median m is as good as 0 or infinity
NODES_OF_M = 25
STEP = 0.5  # in standard deviations of logit p given m
NODES_OF_P = STEP * np.arange(-16, 17)
LOWEST = -16.0  # nodes below e^-16 = 1e-7 of the largest density are left out
ENOUGH = NODES_OF_M // 2  # the axis of log m is shortened until so many nodes matter
MOST_AXES = 8
SMALLEST_STEP = 1e-3  # tolerance in logit p, in standard deviations
FARTHEST_LOGIT = 30.0
SMALLEST_CURVATURE = 1e-12


@dataclass(frozen=True)
class LeafPopulation:
    """The posterior of p and m on a grid."""

    p: Floats  # (nodes,)
    m: Floats  # (nodes,)
    share: Floats  # (nodes,): posterior probabilities

    def mean(self, positive: Floats, total: Floats) -> Floats:
        """Return the posterior mean of theta of tasks with these counts; E[p] without documents."""
        estimates = (positive[:, None] + self.m * self.p) / (total[:, None] + self.m)
        return np.asarray(estimates @ self.share)

    def sample(self, positive: float, total: float, draws: int, rng: np.random.Generator) -> Floats:
        """Return log-odds of draws of theta of a task with these counts, shape (draws,)."""
        node = rng.choice(self.share.size, draws, p=self.share)
        a = self.m[node] * self.p[node] + positive
        b = self.m[node] * (1.0 - self.p[node]) + total - positive
        return _log_gamma(a, rng) - _log_gamma(b, rng)

    def quantiles(self, levels: Floats) -> tuple[Floats, Floats]:
        """Return quantiles of p and of m."""
        return _quantiles(self.p, self.share, levels), _quantiles(self.m, self.share, levels)


def log_evidence(positive: Floats, total: Floats, p: Floats, m: Floats) -> Floats:
    """Return sum_i ln B(In_i + m p, Out_i + m (1 - p)) - ln B(m p, m (1 - p)), the log evidence."""
    a, b = m * p, m * (1.0 - p)
    out = np.zeros(np.broadcast(p, m).shape)
    # Tasks with the same count share its term.
    for counts, shape, sign in ((positive, a, 1.0), (total - positive, b, 1.0), (total, m, -1.0)):
        values, times = np.unique(counts[counts > 0.0], return_counts=True)
        for value, often in zip(values.tolist(), times.tolist(), strict=True):
            out += sign * often * (special.gammaln(value + shape) - special.gammaln(shape))
    return out


def fit_population(positive: Floats, total: Floats) -> LeafPopulation:
    """Return the posterior of p and m at a leaf."""
    low, high = LOG_M - REACH_OF_LOG_M, LOG_M + REACH_OF_LOG_M
    for _ in range(MOST_AXES):
        log_m = np.linspace(low, high, NODES_OF_M)
        logit_p, log_density = _conditional_grids(positive, total, np.exp(log_m))
        log_density += (-0.5 * ((log_m - LOG_M) / LOG_M_SD) ** 2)[:, None]
        marginal = special.logsumexp(log_density, axis=1)
        kept = np.flatnonzero(marginal > marginal.max() + LOWEST)
        if kept.size >= ENOUGH:
            break
        # One more node on either side: the density may rise between two nodes.
        low, high = log_m[max(kept[0] - 1, 0)], log_m[min(kept[-1] + 1, NODES_OF_M - 1)]
    matter = log_density > log_density.max() + LOWEST
    m = np.broadcast_to(np.exp(log_m)[:, None], matter.shape)
    share = special.softmax(log_density[matter])
    return LeafPopulation(special.expit(logit_p[matter]), m[matter], share)


def _conditional_grids(positive: Floats, total: Floats, m: Floats) -> tuple[Floats, Floats]:
    """Return for each m a grid of logit p, and the log density times the distance of nodes."""
    mode, sd = _mode_of_logit(positive, total, m)
    logit_p = mode[:, None] + sd[:, None] * NODES_OF_P
    log_density = log_evidence(positive, total, special.expit(logit_p), m[:, None])
    # Uniform in p has the density p (1 - p) in logit p.
    log_density += special.log_expit(logit_p) + special.log_expit(-logit_p)
    return logit_p, log_density + np.log(STEP * sd)[:, None]


def _mode_of_logit(positive: Floats, total: Floats, m: Floats) -> tuple[Floats, Floats]:
    """Return mode and standard deviation of logit p, given each m: its log density is concave."""
    far = np.full(m.shape, FARTHEST_LOGIT)
    return climb_within(
        np.full(m.shape, special.logit((positive.sum() + 1.0) / (total.sum() + 2.0))),
        -far,
        far,
        lambda at: _derivatives(positive, total, at, m),
        flattest=SMALLEST_CURVATURE,
        tolerance=SMALLEST_STEP,
    )


def _derivatives(
    positive: Floats, total: Floats, logit_p: Floats, m: Floats
) -> tuple[Floats, Floats]:
    """Return the slope of the log density in logit p, and minus its second derivative."""
    p, q = special.expit(logit_p), special.expit(-logit_p)
    a, b, v = m * p, m * q, p * q
    first, second = np.zeros(m.shape), np.zeros(m.shape)
    for counts, shape, sign in ((positive, a, 1.0), (total - positive, b, -1.0)):
        values, times = np.unique(counts[counts > 0.0], return_counts=True)
        for value, often in zip(values.tolist(), times.tolist(), strict=True):
            first += sign * often * (special.digamma(value + shape) - special.digamma(shape))
            second += often * (special.polygamma(1, value + shape) - special.polygamma(1, shape))
    slope = m * v * first + q - p
    return slope, 2.0 * v - (m * v) ** 2 * second - m * v * (q - p) * first


def _quantiles(values: Floats, share: Floats, levels: Floats) -> Floats:
    order = np.argsort(values)
    below = np.cumsum(share[order]) - 0.5 * share[order]
    return np.asarray(np.interp(levels, below, values[order]))


def _log_gamma(shape: Floats, rng: np.random.Generator) -> Floats:
    # G(a) = G(a + 1) U^(1/a) in distribution; G(a) itself underflows at small a.
    uniform = rng.uniform(size=shape.shape)
    return np.asarray(np.log(rng.gamma(shape + 1.0)) + np.log1p(-uniform) / shape)


DRAWS = 1000


@dataclass(frozen=True)
class Leaves:
    """The leaves of a fitted tree."""

    tree: Any  # `apply` maps documents to nodes
    nodes: Integers  # (leaves,): sorted leaves of training documents

    @classmethod
    def of(cls, fitted: Any, columns: Floats) -> tuple[Leaves, Integers]:
        """Return the leaves of a fitted classifier, and the leaf of each fitted document."""
        # A `DecisionTree` wraps scikit-learn's tree, whose `apply` gives nodes.
        tree = fitted if hasattr(fitted, "apply") else fitted.tree_
        nodes, leaf = np.unique(tree.apply(columns), return_inverse=True)
        return cls(tree, nodes), leaf

    def of_documents(self, columns: Floats) -> Integers:
        """Return the leaf of each document: 0, 1, ..."""
        return np.asarray(np.searchsorted(self.nodes, self.tree.apply(columns)), dtype=np.intp)


@dataclass(frozen=True)
class TreeModel(learning.TaskModel):
    """A tree whose leaves have populations of tasks."""

    leaves: Leaves
    table: Floats = field(repr=False)  # (tasks + 1, leaves): log-odds; the last row for added tasks

    counts: LeafCounts = field(repr=False)  # the last row, for added tasks, holds no documents
    populations: Sequence[LeafPopulation] = field(repr=False)  # one a leaf
    seed: int

    def log_odds(self, columns: Floats, task: Integers) -> Floats:
        """Return the log-odds of documents' leaves in their tasks."""
        return np.asarray(self.table[task, self.leaves.of_documents(columns)])

    def sample(self, columns: Floats, task: Integers) -> Floats:
        """Return log-odds of posterior draws, the same for all documents of a task's leaf."""
        shape = self.counts.total.shape
        cells = np.ravel_multi_index(
            (task % shape[0], self.leaves.of_documents(columns)), shape
        ).astype(np.intp)
        distinct, cell = np.unique(cells, return_inverse=True)
        draws = [self._sample_cell(*np.unravel_index(cell, shape)) for cell in distinct]
        return np.asarray(np.stack(draws, axis=1)[:, cell])

    def population(self, names: list[str], level: float) -> pd.DataFrame:
        """Return a row for each leaf: its documents, and medians and intervals of p and m."""
        import pandas as pd

        levels = np.array([0.5, *tails(level)])
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
class Tree(learning.Metaclassifier):
    """One tree for all tasks."""

    classifier: Any  # a decision tree; clones are fitted

    def fit(self, data: learning.TaskData, rng: np.random.Generator) -> learning.TaskModel:
        """Return the tree of all documents, its leaves specialised to each task."""
        leaves, counts = self.leaves_and_counts(data, rng)
        return _pooled(leaves, counts, int(rng.integers(2**31)))

    def leaves_and_counts(
        self, data: learning.TaskData, rng: np.random.Generator
    ) -> tuple[Leaves, LeafCounts]:
        """Grow the tree; return its leaves, and the documents of each task at them."""
        classifier = seeded_clone(self.classifier, lambda: int(rng.integers(2**31)))
        leaves, leaf = Leaves.of(self.grow(classifier, data), data.columns)
        shape = (data.tasks, leaves.nodes.size)
        return leaves, LeafCounts.of(leaf, data.task, data.positive, shape)

    def grow(self, classifier: Any, data: learning.TaskData) -> Any:
        """Return the classifier fitted to all documents."""
        return classifier.fit(data.columns, data.positive.astype(np.int64))


def _pooled(leaves: Leaves, counts: LeafCounts, seed: int) -> TreeModel:
    none = np.zeros((1, leaves.nodes.size))
    rows = LeafCounts(np.vstack([counts.positive, none]), np.vstack([counts.total, none]))
    columns = list(zip(rows.positive.T, rows.total.T, strict=True))
    populations = [fit_population(*column) for column in columns]
    table = [each.mean(*column) for each, column in zip(populations, columns, strict=True)]
    return TreeModel(leaves, log_odds_of(np.stack(table, axis=1)), rows, populations, seed)


def log_odds_of(probabilities: Floats) -> Floats:
    """Return log-odds, infinite at 0 and 1."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(probabilities) - np.log1p(-probabilities))
