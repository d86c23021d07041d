"""From a table to binary problems: one a topic, with the rows to fit and the rows to test on."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from bayescal.cli.reading import ScoreTable
from bayescal.validation import Floats

Rows = NDArray[np.intp]

# The column that says which rows were held out at random.
HELD_OUT = "held_out"


@dataclass(frozen=True)
class Problem:
    """
    The rows of one topic, or of a file without topics.

    Attributes
    ----------
    table : ScoreTable
        Where the rows are.
    topic : str or None
        Its name; None in a file without topics.
    fit_rows, test_rows : array of int
        Positions in the table; no row is in both.
    other_rows : array of int
        Rows without a label, which get a probability and no more.
    """

    table: ScoreTable
    topic: str | None
    fit_rows: Rows
    test_rows: Rows
    other_rows: Rows = field(default_factory=lambda: np.array([], dtype=np.intp))

    @property
    def name(self) -> str:
        """Return the topic, or nothing in a file without topics."""
        return self.topic or ""

    @property
    def subject(self) -> str:
        """Return how messages about the problem begin."""
        return "" if self.topic is None else f"topic {self.topic!r}: "

    @property
    def rows(self) -> Rows:
        """Return all rows of the problem, in the table's order."""
        return np.sort(np.concatenate([self.fit_rows, self.test_rows, self.other_rows]))

    def alone(self) -> Problem:
        """Return the same problem in a table of its own rows: what another process needs of it."""
        table, rows = self.table, self.rows
        own = replace(
            table,
            frame=table.frame.iloc[:0, :0],
            score=table.score[rows],
            positive=table.positive[rows],
            test=table.test[rows],
            topic=None if table.topic is None else table.topic[rows],
            weight=None if table.weight is None else table.weight[rows],
        )
        kinds = (self.fit_rows, self.test_rows, self.other_rows)
        return Problem(own, self.topic, *(np.searchsorted(rows, which) for which in kinds))

    @property
    def counts(self) -> tuple[int, int]:
        """Return how many rows to fit are negative, and how many are positive."""
        negatives, positives = self.scores_by_class()
        return negatives.size, positives.size

    def scores_by_class(self) -> tuple[Floats, Floats]:
        """Return the scores to fit of the negatives and of the positives."""
        score, positive = self.table.score[self.fit_rows], self.table.positive[self.fit_rows]
        return score[~positive], score[positive]


def split_by_topic(table: ScoreTable) -> list[Problem]:
    """Return one problem a topic, in the order in which topics first appear."""
    return [
        Problem(table, topic, rows[~table.test[rows]], rows[table.test[rows]])
        for topic, rows in rows_by_topic(table.topic, table.score.size)
    ]


def missing_class(problem: Problem) -> str:
    """Return which class the rows to fit of a problem lack, in words; empty if they have both."""
    table = problem.table
    weight = np.ones(table.score.size) if table.weight is None else table.weight
    kept = problem.fit_rows[weight[problem.fit_rows] > 0.0]
    for label, which in zip(table.classes, (False, True), strict=True):
        if not (table.positive[kept] == which).any():
            return (
                "both classes need rows to fit (not of split 'test', not of weight 0), got none"
                f" with label {label!r}."
            )
    return ""


def hold_out(table: ScoreTable, share: float, seed: int) -> ScoreTable:
    """
    Set random rows apart for testing: the same share of each class of each topic.

    Each class keeps at least one row to fit. The frame gets a column that says which rows.
    """
    rng = np.random.default_rng(seed)
    test = table.test.copy()
    for _, rows in rows_by_topic(table.topic, table.score.size):
        for which in (False, True):
            members = rows[table.positive[rows] == which]
            n = min(round(share * members.size), members.size - 1)
            if n > 0:
                test[rng.choice(members, n, replace=False)] = True
    return replace(table, test=test, frame=table.frame.assign(**{HELD_OUT: test}))


def rows_by_topic(topics: NDArray[np.str_] | None, n: int) -> list[tuple[str | None, Rows]]:
    """Return the topics in the order in which they first appear, and the rows of each."""
    if topics is None:
        return [(None, np.arange(n))]
    names, first, codes = np.unique(topics, return_index=True, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    rows = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    return [(str(names[k]), rows[k]) for k in np.argsort(first)]
