"""Densities of a posterior dataset: native parameters of one family, or draws that name theirs."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayescal.density_draws import DensityDraws, density_draws
from bayescal.families import FAMILIES, Family
from bayescal.validation import Floats
from bayescal.warps import IDENTITY

# The variables of a mixture's draws: mode, and mean length or sigma of either side.
SIDES = ("theta", "left", "right")


def read_densities(
    family: Family, posterior: xr.Dataset, klass: int, centre: float
) -> DensityDraws:
    """
    Return one class's densities from a dataset with the dimension sample.

    Parameters
    ----------
    family : Family
        Whose parameters the dataset holds, unless each draw names its own.
    posterior : xarray.Dataset
        Of the group posterior or mode, chains and draws stacked.
    klass : int
        0 negative, 1 positive.
    centre : float
        Of the warps.
    """

    def column(name: str) -> Floats:
        return np.asarray(posterior[name].transpose("sample", "klass").values[:, klass])

    positive = klass == 1
    if "family" not in posterior:
        family = family.of_class(positive)
        sides = np.stack(family.sides(*(column(name) for name in family.parameters)))
        size = sides.shape[1]
        which, bend = np.zeros(size, dtype=np.intp), np.full(size, IDENTITY)
        return density_draws((family,), which, sides, bend, centre)
    names = posterior["family"].attrs["flag_meanings"].split()
    return density_draws(
        tuple(FAMILIES[name].of_class(positive) for name in names),
        column("family").astype(np.intp),
        np.stack([column(name) for name in SIDES]),
        posterior["bend"].values,
        centre,
    )
