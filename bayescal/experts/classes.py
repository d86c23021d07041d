"""Which classes there are, and which one each label is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.labels import of_each_class
from bayescal.validation import Integers, check_same_length


def read_classes(classes: ArrayLike) -> NDArray[Any]:
    """
    Return the classes in sorted order.

    Raises
    ------
    ValueError
        If there are fewer than two, or values that cannot be told apart.
    """
    try:
        found = np.unique(np.asarray(classes))
    except TypeError as err:
        raise ValueError(f"labels must be of one type: {err}.") from err
    if found.dtype.kind == "f" and np.isnan(found).any():
        raise ValueError("labels must not be nan: leave unlabelled documents out.")
    if found.size < 2:
        raise ValueError(
            f"there must be at least two classes, got {found.tolist()}: name those to come by"
            " classes=."
        )
    return found


def known_classes(before: NDArray[Any] | None, named: ArrayLike | None) -> NDArray[Any]:
    """
    Return the classes: those of the first call, which later ones may repeat.

    Parameters
    ----------
    before : array of shape (classes,) or None
        Those of the first call, if this is a later one.
    named : array-like or None
        Those named now.

    Raises
    ------
    ValueError
        If a first call names none, or a later one others.

    Examples
    --------
    >>> known_classes(np.array([0, 1]), [1, 0])
    array([0, 1])
    """
    if named is None:
        if before is None:
            raise ValueError("classes must name all classes at the first call of partial_fit.")
        return before
    found = read_classes(named)
    if before is not None and not np.array_equal(found, before):
        raise ValueError(
            f"classes must stay {before.tolist()}, got {found.tolist()}: fit anew for others."
        )
    return found


def read_labels(y: ArrayLike, classes: NDArray[Any], n: int) -> Integers:
    """
    Return the place of each label among the classes.

    Raises
    ------
    ValueError
        If the length is another one, or a label is none of the classes.
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise ValueError(f"y must have shape (n,), one label a document, got {labels.shape}.")
    check_same_length("P", n, "y", labels.size)
    advice = ": name all classes by classes= at the first call"
    places: Integers = of_each_class(labels, classes, advice=advice).argmax(axis=0)
    return places
