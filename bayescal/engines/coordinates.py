"""The coordinates of draws, which every group of them has: made once, for that takes longest."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import xarray as xr

MOST = 64  # shapes of draws that are kept


@lru_cache(maxsize=MOST)
def coordinates(**sizes: int | tuple[str, ...]) -> xr.Coordinates:
    """
    Return coordinates with their indexes.

    To make an index takes longer than all else of a small dataset; datasets have their own copies
    of what is kept here.

    Parameters
    ----------
    **sizes : int or tuple of str
        By dimension how many there are, which are counted from 0, or their names.

    Examples
    --------
    >>> coordinates(chain=2, klass=("negative", "positive")).sizes["klass"]
    2
    """
    values = {
        name: np.arange(size) if isinstance(size, int) else list(size)
        for name, size in sizes.items()
    }
    made = xr.Dataset(coords=values).coords
    return xr.Coordinates(dict(made.variables), made.xindexes)
