"""The digits of draws that are kept of a model of several parts, see `quantisation`."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import xarray as xr

from bayescal.parts.places import DRAWS, POSTERIOR
from bayescal.quantisation import quantise
from bayescal.validation import Floats


def with_kept_digits(groups: Mapping[str, xr.Dataset]) -> dict[str, xr.Dataset]:
    """
    Return groups whose draws are at their places; all else as it is.

    Draws that people read stay as they are: variables there may be functions of one another.
    """
    return {
        path: _rounded(group) if {*DRAWS} <= {*group.dims} and path != POSTERIOR else group
        for path, group in groups.items()
    }


def columns_of(draws: xr.Variable) -> Floats | None:
    """Return the draws of each number of a variable, (numbers, draws); None if it has none."""
    if draws.dims[: len(DRAWS)] != DRAWS or draws.dtype != np.float64:
        return None
    values: Floats = draws.values
    return values.reshape(values.shape[0] * values.shape[1], -1).T


def _rounded(group: xr.Dataset) -> xr.Dataset:
    out = group.copy()
    for variable in out.variables.values():
        columns = columns_of(variable)
        # Warps may be none at all, an infinite scale; nan is for those to name who read draws.
        if columns is not None and np.isfinite(columns).all():
            moved = np.stack([quantise(column).values for column in columns], axis=1)
            variable.data = moved.reshape(variable.shape)
    return out
