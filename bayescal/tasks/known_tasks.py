"""Tasks that a combiner knows, and inputs on one scale within each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.combining.standardiser import Standardiser
from bayescal.tasks.task_data import POPULATION
from bayescal.tasks.task_names import read_task_names
from bayescal.validation import Floats, Integers


@dataclass(frozen=True)
class KnownTasks:
    """
    Tasks with the mean and the spread of their inputs.

    Attributes
    ----------
    names : list
        Of the tasks: first those fitted, then those added without labels.
    standardisers : list of Standardiser
        One a task.
    fitted : int
        How many were fitted.
    """

    names: list[Any]
    standardisers: list[Standardiser]
    fitted: int

    @classmethod
    def of(cls, columns: Floats, names: NDArray[np.generic], task: Integers) -> KnownTasks:
        """Return tasks to fit, from their documents and the number of each one's task."""
        return cls(names.tolist(), standardisers_of(columns, task, names.size), names.size)

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
        added = standardisers_of(columns, code, names.size)
        return KnownTasks(
            [*self.names, *names.tolist()], [*self.standardisers, *added], self.fitted
        )

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
        return normalised(columns, place, self.standardisers), number


def standardisers_of(columns: Floats, task: Integers, tasks: int) -> list[Standardiser]:
    """Return mean and standard deviation of every column within each task."""
    return [Standardiser.of(rows) for rows in _by_task(columns, task, tasks)]


def normalised(columns: Floats, task: Integers, standardisers: Sequence[Standardiser]) -> Floats:
    """
    Return columns less their mean, over their standard deviation, both within the task.

    Tasks whose classifiers were trained on few documents have scores on another scale than those
    with many; what is left after normalising can be compared (dissertation, section 8.2.2).

    Parameters
    ----------
    columns : array of shape (n, columns)
        Inputs.
    task : array of shape (n,) of int
        Whose standardiser each document goes through.
    standardisers : sequence of Standardiser
        Of each task.

    Examples
    --------
    >>> columns, task = np.array([[1.0], [3.0], [10.0], [30.0]]), np.array([0, 0, 1, 1])
    >>> normalised(columns, task, standardisers_of(columns, task, 2)).ravel().tolist()
    [-1.0, 1.0, -1.0, 1.0]
    """
    mean = np.stack([each.mean for each in standardisers])
    scale = np.stack([each.scale for each in standardisers])
    return np.asarray((columns - mean[task]) / scale[task])


def _by_task(columns: Floats, task: Integers, tasks: int) -> list[Floats]:
    order = np.argsort(task, kind="stable")
    ends = np.cumsum(np.bincount(task, minlength=tasks))[:-1]
    return np.split(columns[order], ends)
