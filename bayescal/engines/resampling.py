"""Draws of equal weight from weighted ones."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats


def systematic(weight: Floats, size: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return positions in proportion to weights, by systematic resampling, in random order."""
    cumulative = np.cumsum(weight)
    targets = (rng.random() + np.arange(size)) / size * cumulative[-1]
    picked = np.minimum(np.searchsorted(cumulative, targets), weight.size - 1)
    return rng.permutation(picked)
