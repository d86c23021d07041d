"""Which tasks may learn from which: all together, one left out, or a whole corpus left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from tempfile import TemporaryDirectory

import numpy as np

from bayescal.parallel import spread_over
from bayescal.reproduce.label.inputs import Task
from bayescal.reproduce.label.methods import (
    ALONE,
    SLOW,
    TOGETHER,
    WITHOUT_LABELS,
    Decided,
    Method,
    Setting,
)

# Tasks are left out in so many groups: one by one would grow a tree of all others for each.
GROUPS = 3


def together(tasks: Sequence[Task], random_state: int) -> list[list[int]]:
    """Return no tasks to leave out: every task learns from all, its own labels among them."""
    return []


def tasks_left_out(tasks: Sequence[Task], random_state: int) -> list[list[int]]:
    """Return groups of tasks, dealt at random, so that each has its share of every corpus."""
    rng = np.random.default_rng(random_state)
    order = sorted(rng.permutation(len(tasks)).tolist(), key=lambda k: tasks[k].corpus)
    return [sorted(order[start::GROUPS]) for start in range(GROUPS)]


def corpora_left_out(tasks: Sequence[Task], random_state: int) -> list[list[int]]:
    """Return the tasks of each corpus, which are answered by those of all other corpora."""
    names = dict.fromkeys(task.corpus for task in tasks)
    return [[k for k, task in enumerate(tasks) if task.corpus == name] for name in names]


PROTOCOLS: Mapping[str, Callable[[Sequence[Task], int], list[list[int]]]] = {
    "together": together,
    "tasks-left-out": tasks_left_out,
    "corpora-left-out": corpora_left_out,
}


def decide_all(
    tasks: Sequence[Task],
    protocol: str,
    *,
    slow: bool = False,
    random_state: int = 0,
    jobs: int = 1,
) -> dict[str, list[Decided]]:
    """
    Return what every method decides, by its name, one entry a task.

    Parameters
    ----------
    tasks : sequence of Task
        What base classifiers and indicators say.
    protocol : {"together", "tasks-left-out", "corpora-left-out"}
        Which tasks learn from which. Left out are labels alone: a task's own documents say how
        its inputs are normalised.
    slow : bool
        Whether to take the methods that take long, too; of one task each, so not of those left out.
    random_state : int
        Of groups, folds and draws.
    jobs : int
        Processes.

    Raises
    ------
    ValueError
        If all tasks are left out at once.
    """
    import joblib

    groups = PROTOCOLS[protocol](tasks, random_state)
    if any(len(group) == len(tasks) for group in groups):
        raise ValueError(
            f"{protocol} must leave tasks to learn from, got {len(tasks)} of one corpus: add a"
            " corpus, or topics."
        )
    with TemporaryDirectory() as folder:
        setting = Setting(joblib.Memory(folder, verbose=0), random_state)
        if not groups:
            return _together(tasks, {**ALONE, **(SLOW if slow else {})}, setting, jobs)
        parts = spread_over(jobs, _left_out, [(tasks, group, setting) for group in groups])
    places = [k for group in groups for k in group]
    return {
        name: [
            decided
            for _, decided in sorted(
                zip(places, (each for part in parts for each in part[name]), strict=True),
                key=lambda pair: pair[0],
            )
        ]
        for name in WITHOUT_LABELS
    }


def _together(
    tasks: Sequence[Task], alone: Mapping[str, Method], setting: Setting, jobs: int
) -> dict[str, list[Decided]]:
    arguments = [(method, task, setting) for method in alone.values() for task in tasks]
    of_tasks = spread_over(jobs, _alone, arguments)
    found = {name: of_tasks[k * len(tasks) : (k + 1) * len(tasks)] for k, name in enumerate(alone)}
    return found | {name: method(tasks, tasks, setting) for name, method in TOGETHER.items()}


def _alone(method: Method, task: Task, setting: Setting) -> Decided:
    (found,) = method([task], [task], setting)
    return found


def _left_out(
    tasks: Sequence[Task], group: Sequence[int], setting: Setting
) -> dict[str, list[Decided]]:
    known = [task for k, task in enumerate(tasks) if k not in set(group)]
    asked = [tasks[k] for k in group]
    return {name: TOGETHER[name](known, asked, setting) for name in WITHOUT_LABELS}
