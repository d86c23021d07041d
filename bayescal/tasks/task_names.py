"""Which task each document is of."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.validation import Integers, check_same_length


def read_task_names(task: ArrayLike, n: int) -> tuple[NDArray[np.generic], Integers]:
    """
    Return the names of all tasks in sorted order, and the number of each document's task.

    Parameters
    ----------
    task : array-like of shape (n,)
        Names: text or whole numbers.
    n : int
        How many documents there are.

    Raises
    ------
    ValueError
        If there is not one name per document, one is missing (nan, None), or names are of types
        that have no order.

    Examples
    --------
    >>> names, code = read_task_names(["corn", "acq", "corn"], 3)
    >>> names.tolist(), code.tolist()
    (['acq', 'corn'], [1, 0, 1])
    """
    import pandas as pd

    # As they came: numpy makes text of a missing name among text.
    given = np.asarray(task, dtype=object)
    values = np.asarray(task)
    if values.ndim != 1:
        raise ValueError(
            f"task must have shape (n,), one name a document, got shape {values.shape}."
        )
    check_same_length("task", values.size, "X", n)
    nameless = np.flatnonzero(pd.isna(given))
    if nameless.size:
        raise ValueError(
            f"task must name the task of every document, got {given[nameless[0]]} for document"
            f" {nameless[0]}."
        )
    try:
        names, code = np.unique(values, return_inverse=True)
    except TypeError:
        kinds = ", ".join(sorted({type(each).__name__ for each in given}))
        raise ValueError(f"task names must be all text or all numbers, got {kinds}.") from None
    return names, code.astype(np.intp)


def check_both_classes(
    names: NDArray[np.generic], task: Integers, positive: NDArray[np.bool_]
) -> None:
    """
    Raise ValueError unless every task has documents of both classes.

    Examples
    --------
    >>> check_both_classes(np.array(["a", "b"]), np.array([0, 0, 1]), np.array([True, False, True]))
    Traceback (most recent call last):
    ...
    ValueError: every task must have documents of both classes, got one class only in 'b': ...
    """
    counts = np.bincount(task, minlength=names.size)
    positives = np.bincount(task[positive], minlength=names.size)
    wrong = np.flatnonzero((positives == 0) | (positives == counts))
    if wrong.size:
        shown = ", ".join(repr(name) for name in names[wrong[:4]].tolist())
        more = ", ..." if wrong.size > 4 else ""
        raise ValueError(
            "every task must have documents of both classes, got one class only in"
            f" {shown}{more}: leave such tasks out of fit, and give their documents without labels"
            " to add_tasks."
        )
