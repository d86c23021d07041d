"""Which classes there are, and which one each label is."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.validation import Integers, check_same_length


def read_classes(classes: ArrayLike) -> NDArray[Any]:
    """
    Return the classes in sorted order.

    Raises
    ------
    ValueError
        If there are fewer than two.
    """
    found = np.unique(np.asarray(classes))
    if found.size < 2:
        raise ValueError(
            f"there must be at least two classes, got {found.tolist()}: name those to come by"
            " classes=."
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
    places = np.argmax(labels[:, None] == classes, axis=1)
    strange = np.flatnonzero(classes[places] != labels)
    if strange.size:
        expected = ", ".join(map(repr, classes.tolist()))
        raise ValueError(
            f"y must hold {expected} only, got {labels[strange[0]].item()!r}: name all classes by"
            " classes= at the first call."
        )
    return np.asarray(places, dtype=np.intp)
