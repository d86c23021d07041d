"""The binary problems of a target: one for two classes, else one for each class or label."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedKFold, check_cv

from bayescal.classification.folds import Split, checked_splits
from bayescal.classification.targets import BINARY, Target


def binary_problems(target: Target) -> list[Target]:
    """
    Return the target of each column by itself: its class, or label, against the rest.

    Examples
    --------
    >>> from bayescal.classification.targets import read_target
    >>> [p.y.tolist() for p in binary_problems(read_target(["a", "c", "b"], 3))]
    [[1, 0, 0], [0, 0, 1], [0, 1, 0]]
    """
    if target.kind == BINARY:
        return [target]
    columns = target.positive.T
    return [Target(BINARY, own.astype(np.int64), np.array([0, 1]), own[:, None]) for own in columns]


def splits_of(
    problem: Target, name: Any, cv: Any, features: Any, params: dict[str, Any]
) -> list[Split]:
    """
    Return the folds of a binary problem: training and held-out documents of each.

    A number of folds is stratified, and never more than the rarer class has documents.

    Parameters
    ----------
    problem : Target
        Of two classes.
    name : object
        What messages call the positive class.
    cv : int, splitter or iterable of splits
        How to split.
    features : array-like of n documents
        For the splitter.
    params : dict
        Of the splitter's split, such as groups.

    Raises
    ------
    ValueError
        If the rarer class has a single document, a training part lacks a class, or a document is
        held out twice.
    """
    positive = problem.positive[:, 0]
    rarer = int(min(positive.sum(), positive.size - positive.sum()))
    if rarer < 2:
        raise ValueError(
            f"class {name!r} needs at least two documents on either side, got {rarer}: one to"
            " train on and one to judge the classifiers by. Add documents, or leave it out."
        )
    if isinstance(cv, int | np.integer) and not isinstance(cv, bool) and cv >= 2:
        splitter = StratifiedKFold(min(int(cv), rarer))
    else:
        splitter = check_cv(cv, problem.y, classifier=True)
    splits: Iterable[Split] = splitter.split(features, problem.y, **params)
    return _held_out_once(checked_splits(splits, problem))


def fold_of(splits: list[Split]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the documents that are held out, in order, and the fold of each."""
    rows = np.concatenate([held for _, held in splits])
    fold = np.repeat(np.arange(len(splits)), [held.size for _, held in splits])
    order = np.argsort(rows)
    return rows[order], fold[order]


def _held_out_once(splits: list[Split]) -> list[Split]:
    rows = np.concatenate([held for _, held in splits])
    if np.unique(rows).size != rows.size:
        raise ValueError(
            "cv must hold no document out twice, for its label would count twice: use a splitter"
            " without repetition."
        )
    return splits
