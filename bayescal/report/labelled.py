"""Labelled scores that a report is given besides calibrators: held out, or those fitted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.fitted.documents import Documents
from bayescal.fitted.problem import FittedProblem
from bayescal.topic_scores import read_cells
from bayescal.validation import check_same_length

SINGLE = "score", "label"
OF_TOPICS = "score", "label", "topic"


def read_labelled(given: Any, problem: FittedProblem, name: str = "test") -> Documents:
    """
    Return the labelled scores of one problem.

    Parameters
    ----------
    given : DataFrame with columns score and label, or (scores, labels)
        What the user passes; both classes need not be there.
    problem : FittedProblem
        Whose scores and labels they are.
    name : str
        What messages call the argument.

    Raises
    ------
    ValueError
        If scores or labels are missing, unknown or of different lengths.
    """
    scores, labels = _columns(given, SINGLE, name)
    values = problem.read(scores)
    positive = read_positive(labels, problem.labels, values.size, name)
    return Documents.of(values, positive, held_out=True)


def read_labelled_topics(
    given: Any, problem: FittedProblem, known: Iterable[Any], name: str = "test"
) -> dict[Any, Documents]:
    """
    Return the labelled scores of each topic; topics without any are left out.

    Parameters
    ----------
    given : DataFrame with columns score, label and topic, or (scores, labels, topics)
        What the user passes.
    problem : FittedProblem
        One of the topics: all have the same labels, and scores of the same kind.
    known : iterable
        The topics fitted.
    name : str
        What messages call the argument.

    Raises
    ------
    ValueError
        As `read_labelled`, and if a topic was not fitted.
    """
    scores, labels, topics = _columns(given, OF_TOPICS, name)
    cells = read_cells(scores, topics)
    positive = read_positive(labels, problem.labels, cells.score.size, name)
    score = problem.read(cells.score)
    names, code = np.unique(cells.topic, return_inverse=True)
    if unknown := sorted(set(names.tolist()) - set(known), key=str):
        raise ValueError(
            f"{name} must hold topics that were fitted, got {', '.join(map(repr, unknown[:5]))}"
            f" ({len(unknown)} unknown): leave their rows out."
        )
    return {
        topic: Documents.of(score[code == k], positive[code == k], held_out=True)
        for k, topic in enumerate(names.tolist())
    }


def read_positive(labels: ArrayLike, classes: NDArray[Any], n: int, name: str) -> NDArray[np.bool_]:
    """
    Return which labels are the positive class; labels may come as text.

    Raises
    ------
    ValueError
        If a label is missing or is none of the two fitted.
    """
    values = np.asarray(labels, dtype=object).ravel()
    check_same_length(f"scores of {name}", n, "its labels", values.size)
    negative, positive = classes.tolist()
    found = np.array([_same(value, positive) for value in values])
    other = ~found & ~np.array([_same(value, negative) for value in values])
    if other.any():
        first = int(np.flatnonzero(other)[0])
        raise ValueError(
            f"labels of {name} must be {negative!r} or {positive!r}, got {values[first]!r} at"
            f" position {first} ({int(other.sum())} of {n}): leave unlabelled documents out."
        )
    return found


def _same(value: Any, label: Any) -> bool:
    return bool(value == label) or (isinstance(value, str) and value == str(label))


def _columns(given: Any, wanted: tuple[str, ...], name: str) -> list[Any]:
    expected = f"{name} must be a DataFrame with columns {', '.join(wanted)}, or a tuple of these"
    if hasattr(given, "columns"):
        if missing := [column for column in wanted if column not in given.columns]:
            raise ValueError(f"{expected}; it lacks {', '.join(missing)}.")
        return [np.asarray(given[column]) for column in wanted]
    if not isinstance(given, tuple) or len(given) != len(wanted):
        raise ValueError(f"{expected}, got {type(given).__name__}.")
    return list(given)
