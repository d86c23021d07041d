"""Target: checked labels of two classes, several classes or several labels a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from bayescal.support.validation import check_kept, encode_labels

BINARY, MULTICLASS, MULTILABEL = "binary", "multiclass", "multilabel"


@dataclass(frozen=True)
class Target:
    """Labels of a classification problem, and the columns of scores that they ask for."""

    # {"binary", "multiclass", "multilabel"}: a column of scores for the second class; one for
    # each class; one for each label
    kind: str
    # (n,): the labels as the classifier gets them; of several labels an array of 0 and 1
    y: NDArray[Any]
    # (2,): of two classes the negative and the positive one; of several those in sorted
    # order; or the names of the columns of y
    names: NDArray[Any]
    # (n, columns): for each column of scores, whether the document is a positive one
    positive: NDArray[np.bool_]

    @property
    def turned(self) -> bool:
        """Return whether classifiers score for the other of two classes, the second as sorted."""
        return self.kind == BINARY and bool(self.names[0] != np.unique(self.names)[0])

    @property
    def columns(self) -> NDArray[Any]:
        """Return the name of what each column of scores is for."""
        return self.names[1:] if self.kind == BINARY else self.names

    @property
    def classes(self) -> NDArray[Any] | list[NDArray[Any]]:
        """Return scikit-learn's classes_: for several labels a list with an array each."""
        if self.kind == MULTILABEL:
            return [np.array([0, 1])] * self.names.size
        return self.names


def read_target(y: Any, n: int, positive: Any = None) -> Target:
    """Return the checked labels of n documents."""
    if y is None:
        raise ValueError(
            "y must hold the labels: this classifier requires y to be passed, but the target y is"
            " None."
        )
    names = getattr(y, "columns", None)
    values = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    if values.shape[:1] != (n,):
        raise ValueError(f"X and y must have the same length, got {n} and y {values.shape}.")
    if n == 0:
        raise ValueError("X and y must hold at least one document of each class, got none.")
    assert_all_finite(values, input_name="y")
    check_classification_targets(values)
    kind = type_of_target(values, input_name="y")
    if kind == "multiclass-multioutput":
        raise ValueError(
            f"y of shape {values.shape} must hold 0 and 1, one column a label: several outputs of"
            " several classes each are not supported, calibrate them one by one."
        )
    if kind == "multilabel-indicator":
        _refuse_positive(positive, "several labels per document")
        columns = np.arange(values.shape[1]) if names is None else np.asarray(list(names))
        return Target(MULTILABEL, values.astype(np.int64), columns, values != 0)
    return _of_classes(column_or_1d(values, warn=True), positive)


def _of_classes(y: NDArray[Any], positive: Any) -> Target:
    classes, code = np.unique(y, return_inverse=True)
    if classes.size < 2:
        raise ValueError(
            f"y must hold at least two classes, got one class only: {classes.tolist()[0]!r}."
        )
    if classes.size == 2:
        classes, is_positive = encode_labels(y, positive=positive)
        return Target(BINARY, y, classes, is_positive[:, None])
    check_kept(classes, "y")
    _refuse_positive(positive, f"{classes.size} classes")
    return Target(MULTICLASS, y, classes, code[:, None] == np.arange(classes.size))


def _refuse_positive(positive: Any, asked: str) -> None:
    if positive is not None:
        raise ValueError(
            f"positive names one of two classes, got {positive!r} with {asked}, each of which is"
            " calibrated against the rest: leave it at None."
        )


def check_both_sides(target: Target, rows: NDArray[np.intp], where: str) -> None:
    """Raise ValueError unless every column has positives and negatives among some documents."""
    lacking = _lacking(target, rows)
    if lacking is not None:
        raise ValueError(
            f"{where} holds no document {lacking}: use fewer folds, a splitter that stratifies, or"
            " more documents of it."
        )


def _lacking(target: Target, rows: NDArray[np.intp]) -> str | None:
    """Return the class or label that the rows lack, for a message; None if all are present."""
    if target.kind != MULTILABEL:
        absent = target.names[~np.isin(target.names, target.y[rows])]
        return f"of class {absent.tolist()[0]!r}" if absent.size else None
    share = target.positive[rows].mean(axis=0)
    for name, positive in zip(target.names.tolist(), share, strict=True):
        if positive in {0.0, 1.0}:
            return f"{'without' if positive else 'with'} label {name!r}"
    return None
