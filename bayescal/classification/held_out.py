"""Scores of held-out documents with their labels, as reports take them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayescal.classification.targets import BINARY, read_target
from bayescal.labels import match_labels
from bayescal.validation import Floats


def with_labels(scores: Floats, y: Any, kind: str, classes: NDArray[Any]) -> Any:
    """
    Return scores and labels: of two classes a pair, else a DataFrame with a topic for each class.

    Parameters
    ----------
    scores : array of shape (n, columns)
        Of each class or label; of the positive one of two.
    y : array-like
        Classes, or 0 and 1 for each label.
    kind : {"binary", "multiclass", "multilabel"}
        Of the target that was fitted.
    classes : array
        The two classes fitted, or what the columns are for.

    Raises
    ------
    ValueError
        If y is not of the classes fitted.
    """
    import pandas as pd

    if kind == BINARY:
        match_labels(y, classes)
        return scores[:, 0], y
    target = read_target(y, len(y))
    if target.kind != kind or target.names.tolist() != classes.tolist():
        raise ValueError(f"y must be of the classes fitted, {classes.tolist()}.")
    return pd.concat(
        [
            pd.DataFrame({"score": score, "label": mine.astype(np.int64), "topic": name})
            for name, score, mine in zip(
                map(str, classes.tolist()), scores.T, target.positive.T, strict=True
            )
        ]
    )
