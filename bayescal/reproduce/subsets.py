"""Random subsets of a topic with few positives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def few_positives(
    label: NDArray[np.int64], n_positive: int, rng: np.random.Generator
) -> NDArray[np.bool_]:
    """
    Return a mask of n_positive positives, and of negatives in proportion.

    At most half of either class, so that others are left to test on.

    Examples
    --------
    >>> label = np.repeat([1, 0], [10, 40])
    >>> mask = few_positives(label, 3, np.random.default_rng(0))
    >>> int(mask[label == 1].sum()), int(mask[label == 0].sum())
    (3, 12)
    """
    mask = np.zeros(label.size, dtype=bool)
    in_proportion = round(n_positive * (label == 0).sum() / label.sum())
    for value, size in ((1, n_positive), (0, in_proportion)):
        where = np.flatnonzero(label == value)
        mask[rng.choice(where, min(size, where.size // 2), replace=False)] = True
    return mask
