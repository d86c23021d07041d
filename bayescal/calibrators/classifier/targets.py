"""Target: checked labels of two classes, several classes or several labels a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import assert_all_finite, column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from bayescal.support.labels import as_labels, check_kept, position_of_positive
from bayescal.support.validation import first_of

# With fewer than three classes left a multiclass problem becomes binary, with one column of scores.
FEWEST_LEARNED = 3
BINARY, MULTICLASS, MULTILABEL = "binary", "multiclass", "multilabel"


@dataclass(frozen=True)
class Target:
    """Labels of a classification problem, and which columns of scores it needs."""

    # {"binary", "multiclass", "multilabel"}: a column of scores for the positive class; one for
    # each class; one for each label
    kind: str
    # (n,): labels as passed to the classifier; for several labels (n, labels), 0 and 1
    y: NDArray[Any]
    # Negative and positive class; or several classes in sorted order; or names of labels
    names: NDArray[Any]
    # (n, columns): for each column of scores, whether the document is positive
    positive: NDArray[np.bool_]
    # Whether the calibrator (of topics or of all classes) also calibrates one-sided columns
    population: bool = False
    # Documents that a column needs on each side: 2 if one must train and one be held out
    fewest: int = 1
    # (columns,): labels that lack documents on one side in a part of a fold; None for none
    apart: NDArray[np.bool_] | None = None

    @property
    def turned(self) -> bool:
        """Return whether the positive class is the first of two in sorted order."""
        return self.kind == BINARY and is_turned(self.names)

    @property
    def columns(self) -> NDArray[Any]:
        """Return the class or label of each column of scores."""
        return self.names[1:] if self.kind == BINARY else self.names

    @property
    def classes(self) -> NDArray[Any] | list[NDArray[Any]]:
        """Return scikit-learn's classes_, sorted: for several labels a list with an array each."""
        if self.kind == MULTILABEL:
            return [np.array([0, 1])] * self.names.size
        return self.names[::-1] if self.turned else self.names

    @property
    def constant(self) -> NDArray[np.bool_]:
        """Return the columns without enough documents on one side: absent classes, rare labels."""
        positives = self.positive.sum(axis=0)
        rarer = np.minimum(positives, len(self.y) - positives)
        one_sided: NDArray[np.bool_] = rarer < self.fewest
        if self.apart is not None:
            one_sided |= self.apart
        filled = self.population and not one_sided.all()
        return np.zeros_like(one_sided) if filled else one_sided

    def of_labels(self, columns: NDArray[np.bool_]) -> Target:
        """Return the target of some of several labels."""
        return Target(
            MULTILABEL, self.y[:, columns], self.names[columns], self.positive[:, columns]
        )

    def of_classes(self, columns: NDArray[np.bool_]) -> Target:
        """Return the target of some of several classes; documents of the others stay in y."""
        return Target(MULTICLASS, self.y, self.names[columns], self.positive[:, columns])


def is_turned(names: NDArray[Any]) -> bool:
    """Return whether the negative and the positive class are not in sorted order."""
    return bool(names[0] != np.unique(names)[0])


def read_target(y: Any, n: int, positive: Any = None, known: Any = None) -> Target:
    """Return the checked labels of n documents; `known` are a fitted classifier's classes."""
    if y is None:
        raise ValueError(
            "y must hold the labels: this classifier requires y to be passed, but the target y is"
            " None."
        )
    names = getattr(y, "columns", None)
    values = as_labels(y.toarray() if hasattr(y, "toarray") else y, "y")
    if values.shape[:1] != (n,):
        got = len(values) if values.ndim else "a single label"
        raise ValueError(f"X and y must have the same length, got {n} and {got}.")
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
    return _of_classes(column_or_1d(values, warn=True), positive, known)


def _of_classes(y: NDArray[Any], positive: Any, known: Any) -> Target:
    classes = np.unique(y)
    if isinstance(known, np.ndarray):
        if unseen := classes[~np.isin(classes, known)].tolist():
            raise ValueError(
                f"y must hold labels that the estimator was fitted on, {known.tolist()}, got"
                f" {', '.join(map(repr, unseen))}: leave those documents out, or fit it anew."
            )
        classes = np.unique(known)
    if classes.size < 2:
        raise ValueError(
            f"y must hold at least two classes, got one class only: {classes.tolist()[0]!r}."
        )
    check_kept(classes, "y")
    if classes.size == 2:
        second = position_of_positive(positive, classes, "y")
        names = classes[[1 - second, second]]
        return Target(BINARY, y, names, (y == names[1])[:, None])
    _refuse_positive(positive, f"{classes.size} classes")
    return Target(MULTICLASS, y, classes, y[:, None] == classes)


def _refuse_positive(positive: Any, asked: str) -> None:
    if positive is not None:
        raise ValueError(
            f"positive names one of two classes, got {positive!r} with {asked}: leave it at None."
        )


def check_held_out(target: Target) -> None:
    """Raise ValueError unless two, or of several three, classes have documents to hold out."""
    few = (target.y[:, None] == target.names).sum(axis=0) < target.fewest
    if few.any() and target.names.size - np.count_nonzero(few) < FEWEST_LEARNED:
        alone = first_of(target.names[few].tolist())
        raise ValueError(
            "y must hold at least two documents of both classes, or of three of several, one to"
            f" train on and one to hold out, got one of {alone}: add documents of such classes,"
            " merge them with others, or leave them out."
        )


def one_sided(target: Target, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Return a mask of the columns that are constant among the rows."""
    some = target.positive[rows]
    return np.asarray(some.all(axis=0) | ~some.any(axis=0))


def check_both_sides(target: Target, rows: NDArray[np.intp], where: str) -> None:
    """Raise ValueError unless the rows have both sides of every column that varies."""
    share = target.positive[rows].mean(axis=0)
    lacking = np.flatnonzero(one_sided(target, rows) & ~target.constant)
    if lacking.size:
        first = int(lacking[0])
        if target.kind == MULTILABEL:
            side = "without" if share[first] else "with"
            what = f"{side} label {target.names.tolist()[first]!r}"
        else:
            absent = target.names[~np.isin(target.names, target.y[rows])]
            what = f"of class {absent.tolist()[0]!r}"
        raise ValueError(
            f"{where} holds no document {what}: use fewer folds, a splitter that stratifies, or"
            " more documents of it."
        )
