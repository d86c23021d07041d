"""Labels: which of two classes is the positive one, and to which class each document belongs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.validation import Floats


def encode_labels(
    labels: ArrayLike, weight: Floats | None = None, name: str = "y", positive: Any = None
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """
    Return the negative and the positive class, and which labels are the positive one.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Two distinct values: numbers, strings or booleans.
    weight : array of shape (n,) or None
        Both classes need a document of positive weight.
    name : str
        What the error messages call the argument.
    positive : label, optional
        The positive class; by default the second in sorted order.

    Raises
    ------
    ValueError
        If there are not exactly two classes, or values that cannot be told apart (nan, None) or
        that no file keeps (dates), or if `positive` is neither of the two.

    Examples
    --------
    >>> classes, positive = encode_labels(["spam", "ham"])
    >>> classes.tolist(), positive.tolist()
    (['ham', 'spam'], [True, False])
    >>> classes, positive = encode_labels(["spam", "ham"], positive="ham")
    >>> classes.tolist(), positive.tolist()
    (['spam', 'ham'], [False, True])
    """
    values = _as_column(labels, name)
    try:
        classes, codes = np.unique(values, return_inverse=True)
    except TypeError as err:
        raise ValueError(
            f"{name} must hold labels of one type, got {set(map(type, values))}."
        ) from err
    _check_two(classes, name)
    check_kept(classes, name)
    second = _place_of(positive, classes, name)
    is_positive: NDArray[np.bool_] = codes == second
    classes = classes[[1 - second, second]]
    for which, label in zip((~is_positive, is_positive), classes.tolist(), strict=True):
        if weight is not None and not weight[which].any():
            raise ValueError(
                f"sample_weight must leave both classes some weight, class {label!r} has none."
            )
    return classes, is_positive


def check_kept(classes: NDArray[Any], name: str) -> None:
    """
    Raise ValueError unless files can keep the classes, which dates and bytes are not.

    Examples
    --------
    >>> check_kept(np.array([b"ham", b"spam"]), "y")
    Traceback (most recent call last):
      ...
    ValueError: y must hold text, numbers or booleans, got bytes: give them as text.
    """
    for label in classes.tolist():
        if not isinstance(label, str | int | float):
            raise ValueError(
                f"{name} must hold text, numbers or booleans, got {type(label).__name__}: give them"
                " as text."
            )


def match_labels(labels: ArrayLike, classes: NDArray[Any], name: str = "y") -> NDArray[np.bool_]:
    """
    Return which labels are the positive one of two known classes; either may be missing.

    Parameters
    ----------
    labels : array-like of shape (n,)
        Each one of `classes`.
    classes : array of shape (2,)
        The second is the positive class.
    name : str
        What the error messages call the argument.

    Raises
    ------
    ValueError
        If a label is nan or no class.

    Examples
    --------
    >>> match_labels(["spam", "spam"], np.array(["ham", "spam"])).tolist()
    [True, True]
    """
    positive: NDArray[np.bool_] = of_each_class(_as_column(labels, name), classes, name)[1]
    return positive


def of_each_class(
    labels: NDArray[Any], classes: NDArray[Any], name: str = "y", advice: str = ""
) -> NDArray[np.bool_]:
    """
    Return which labels are of which known class, shape (classes, n); any class may be missing.

    Parameters
    ----------
    labels : array of shape (n,)
        Each one of `classes`.
    classes : array of shape (classes,)
        Two or more.
    name : str
        What the error message calls the argument.
    advice : str
        What to do about a label that is no class, for the end of the message.

    Raises
    ------
    ValueError
        If a label is no class.

    Examples
    --------
    >>> of_each_class(np.array(["b", "c", "b"]), np.array(["a", "b", "c"])).astype(int)
    array([[0, 0, 0],
           [1, 0, 1],
           [0, 1, 0]])
    """
    found: NDArray[np.bool_] = labels == classes[:, None]
    strange = ~found.any(axis=0)
    if strange.any():
        expected = ", ".join(map(repr, classes.tolist()))
        first = labels[strange].tolist()[0]
        raise ValueError(f"{name} must hold {expected} only, got {first!r}{advice}.")
    return found


def _as_column(labels: ArrayLike, name: str) -> NDArray[Any]:
    values = np.asarray(labels)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"{name} must have shape (n,), one label a document, got {values.shape}.")
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(f"{name} must not hold nan or infinity: leave unlabelled documents out.")
    return values


def _place_of(positive: Any, classes: NDArray[Any], name: str) -> int:
    """Return which of two sorted classes is the positive one."""
    if positive is None:
        return 1
    places = [k for k, label in enumerate(classes.tolist()) if label == positive]
    if not places:
        expected = " or ".join(map(repr, classes.tolist()))
        raise ValueError(f"positive must be a label of {name}, {expected}, got {positive!r}.")
    return places[0]


def _check_two(classes: NDArray[Any], name: str) -> None:
    if classes.size == 1:
        raise ValueError(
            f"{name} must hold both classes: a calibrator can't be fit when only one class is"
            f" present, got only {classes.tolist()[0]!r}."
        )
    if classes.size == 0:
        raise ValueError(f"{name} must hold at least one label of each class, got none.")
    if classes.size > 2:
        shown = ", ".join(repr(value) for value in classes[:4].tolist())
        shown += ", ..." if classes.size > 4 else ""
        kind = "continuous values" if classes.dtype.kind == "f" and classes.size > 10 else "classes"
        alike = {str(label).strip().casefold() for label in classes.tolist()}
        hint = " Some differ in capitals or blanks only: spell them alike." * (len(alike) == 2)
        raise ValueError(
            f"Only binary classification is supported: {name} must hold two classes, got"
            f" {classes.size} {kind} ({shown}).{hint} Leave out documents of other classes, and"
            " those without a label."
        )
