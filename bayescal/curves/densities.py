"""Densities of a dataset: native parameters of one family, or draws that name theirs."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayescal.density_draws import DensityDraws, density_draws
from bayescal.families import FAMILIES, Family
from bayescal.validation import Floats
from bayescal.warps import IDENTITY

# The variables of a mixture's draws: mode, and mean length or sigma of either side.
SIDES = ("theta", "left", "right")


def native_densities(family: Family, draws: xr.Dataset, klass: int) -> DensityDraws:
    """
    Return one class's densities by the parameters of a family.

    Parameters
    ----------
    family : Family
        Whose parameters they are.
    draws : xarray.Dataset
        With the dimensions chain, draw and klass; of one mode with klass alone.
    klass : int
        0 negative, 1 positive.
    """
    family = family.of_class(klass == 1)
    parameters = (_column(draws, name, klass) for name in family.parameters)
    sides = np.stack(family.sides(*parameters))
    size = sides.shape[1]
    which, asinh_scale = np.zeros(size, dtype=np.intp), np.full(size, IDENTITY)
    return density_draws((family,), which, sides, asinh_scale, 0.0)


def mixture_densities(draws: xr.Dataset, klass: int, centre: float) -> DensityDraws:
    """
    Return one class's densities by mode, sides, family and warp of each draw.

    Parameters
    ----------
    draws : xarray.Dataset
        Of a group engine_draws, with the dimensions chain, draw and klass.
    klass : int
        0 negative, 1 positive.
    centre : float
        Of the warps.
    """
    names = draws["family"].attrs["flag_meanings"].split()
    return density_draws(
        tuple(FAMILIES[name].of_class(klass == 1) for name in names),
        _column(draws, "family", klass).astype(np.intp),
        np.stack([_column(draws, name, klass) for name in SIDES]),
        draws["asinh_scale"].values.ravel(),
        centre,
    )


def _column(draws: xr.Dataset, name: str, klass: int) -> Floats:
    # Variables, not arrays with coordinates: every fit pays for this.
    variable = draws.variables[name].transpose("chain", "draw", "klass", missing_dims="ignore")
    return np.asarray(variable.values[..., klass].ravel())
