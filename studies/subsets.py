"""Halves of a topic, for the studies that leave the test split alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def random_half(label: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.bool_]:
    """
    Return a mask of half of either class.

    Examples
    --------
    >>> int(random_half(np.repeat([1, 0], [10, 40]), np.random.default_rng(0)).sum())
    25
    """
    mask = np.zeros(label.size, dtype=bool)
    for value in (0, 1):
        where = np.flatnonzero(label == value)
        mask[rng.choice(where, where.size // 2, replace=False)] = True
    return mask
