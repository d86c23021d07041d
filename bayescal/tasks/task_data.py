"""Labelled documents of many tasks, and the folds that they are dealt to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats, Integers

# In place of a task's number for tasks that were not fitted: the last row of any table of tasks.
POPULATION = -1


@dataclass(frozen=True)
class TaskData:
    """
    Labelled documents of many tasks.

    Attributes
    ----------
    columns : array of shape (n, columns)
        Normalised within each task.
    positive : array of shape (n,) of bool
        Labels.
    task : array of shape (n,) of int
        0, 1, ... for the task of each document.
    tasks : int
        How many there are.
    """

    columns: Floats
    positive: NDArray[np.bool_]
    task: Integers
    tasks: int

    def take(self, rows: NDArray[np.bool_]) -> TaskData:
        """Return some of the documents; the tasks keep their numbers."""
        return TaskData(self.columns[rows], self.positive[rows], self.task[rows], self.tasks)


def check_folds(cv: Any) -> None:
    """
    Raise ValueError unless a number of folds is a whole number from 2 on.

    Examples
    --------
    >>> check_folds(1)
    Traceback (most recent call last):
    ...
    ValueError: cv must be a whole number of folds, at least 2, got 1.
    """
    if isinstance(cv, bool) or not isinstance(cv, int | np.integer) or cv < 2:
        raise ValueError(f"cv must be a whole number of folds, at least 2, got {cv!r}.")


def deal_folds(
    task: Integers, positive: NDArray[np.bool_], folds: int, rng: np.random.Generator
) -> Integers:
    """
    Return a fold for each document, so that every task and class is spread over all of them.

    Examples
    --------
    >>> task, positive = np.repeat([0, 1], 4), np.tile([True, True, False, False], 2)
    >>> fold = deal_folds(task, positive, 2, np.random.default_rng(0))
    >>> np.bincount(fold[positive & (task == 0)]).tolist()
    [1, 1]
    """
    order = np.lexsort((rng.random(task.size), positive, task))
    fold = np.empty(task.size, dtype=np.intp)
    fold[order] = np.arange(task.size) % folds
    return fold
