"""Tasks that a combiner knows, and inputs on one scale within each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.combining.standardiser import WithinRange
from bayescal.tasks.task_data import POPULATION
from bayescal.tasks.task_names import read_task_names
from bayescal.validation import Floats, Integers


@dataclass(frozen=True)
class KnownTasks:
    """
    Tasks with the scale of their inputs.

    Attributes
    ----------
    names : list
        Of the tasks: first those fitted, then those added without labels.
    scales : list of WithinRange
        Of the inputs of each task.
    fitted : int
        How many were fitted.
    """

    names: list[Any]
    scales: list[WithinRange]
    fitted: int

    @classmethod
    def of(cls, columns: Floats, names: NDArray[np.generic], task: Integers) -> KnownTasks:
        """Return tasks to fit, from their documents and the number of each one's task."""
        return cls(names.tolist(), scales_of(columns, task, names.size), names.size)

    def with_added(self, columns: Floats, task: ArrayLike) -> KnownTasks:
        """
        Return these tasks and others, from documents without labels.

        Raises
        ------
        ValueError
            If a task is there already, or has a single document.
        """
        names, code = read_task_names(task, len(columns))
        if known := sorted(set(names.tolist()) & set(self.names)):
            raise ValueError(f"tasks {', '.join(map(repr, known))} are there already.")
        single = names[np.bincount(code) < 2]
        if single.size:
            raise ValueError(
                "every task must have several documents, for the mean and the spread of its inputs,"
                f" got a single one of {single.tolist()[0]!r}."
            )
        added = scales_of(columns, code, names.size)
        return KnownTasks([*self.names, *names.tolist()], [*self.scales, *added], self.fitted)

    def read(self, columns: Floats, task: ArrayLike) -> tuple[Floats, Integers]:
        """
        Return documents' inputs normalised within their tasks, and the numbers of the tasks.

        The number is `POPULATION` for tasks that were added.

        Raises
        ------
        ValueError
            If a task is not there.
        """
        names, code = read_task_names(task, len(columns))
        places = {name: k for k, name in enumerate(self.names)}
        if unknown := [name for name in names.tolist() if name not in places]:
            raise ValueError(
                f"task {unknown[0]!r} is not there: give its documents, which need no labels, to"
                " add_tasks first."
            )
        place = np.array([places[name] for name in names.tolist()], dtype=np.intp)[code]
        number = np.where(place < self.fitted, place, POPULATION)
        return normalised(columns, place, self.scales), number


def scales_of(columns: Floats, task: Integers, tasks: int) -> list[WithinRange]:
    """Return the scale of every task."""
    return [WithinRange.of(columns[rows]) for rows in _rows_by_task(task, tasks)]


def normalised(columns: Floats, task: Integers, scales: Sequence[WithinRange]) -> Floats:
    """
    Return columns less their mean, over their standard deviation, both within the task.

    Tasks whose classifiers were trained on few documents have scores on another scale than those
    with many; what is left after normalising can be compared (dissertation, section 8.2.2).

    Parameters
    ----------
    columns : array of shape (n, columns)
        Inputs.
    task : array of shape (n,) of int
        Whose scale each document has.
    scales : sequence of WithinRange
        Of each task.

    Examples
    --------
    >>> columns, task = np.array([[1.0], [3.0], [10.0], [30.0]]), np.array([0, 0, 1, 1])
    >>> normalised(columns, task, scales_of(columns, task, 2)).ravel().tolist()
    [-1.0, 1.0, -1.0, 1.0]
    """
    out = np.empty(columns.shape)
    for scale, rows in zip(scales, _rows_by_task(task, len(scales)), strict=True):
        out[rows] = scale.apply(columns[rows])
    return out


def _rows_by_task(task: Integers, tasks: int) -> list[Integers]:
    order = np.argsort(task, kind="stable")
    ends = np.cumsum(np.bincount(task, minlength=tasks))[:-1]
    return np.split(order, ends)
