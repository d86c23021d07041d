"""The parts of a combination, read from a tree of results."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayescal.engines.combined import MOST_DRAWS
from bayescal.engines.data import ENGINE_CONSTANTS, ENGINE_DRAWS
from bayescal.results.class_draws import ClassDraws
from bayescal.results.combined_draws import CombinedDraws, combine
from bayescal.results.curves import Curves
from bayescal.results.identity_draws import IdentityDraws
from bayescal.results.monotone_draws import read_monotone
from bayescal.results.recalibrated_draws import DensityLogOdds, RecalibratedDraws
from bayescal.results.tree import read_documents


def read_parts(tree: xr.DataTree, densities: ClassDraws) -> CombinedDraws:
    """Return the combination of densities and the other parts that a tree names."""
    combination = tree["combination"].to_dataset()
    others = (_read_part(name, tree, densities) for name in combination["part"].values[1:].tolist())
    return combine((densities, *others), combination["weight"].values)


def _read_part(name: str, tree: xr.DataTree, densities: ClassDraws) -> Curves:
    if name == "identity":
        return IdentityDraws(densities.prior, np.zeros(densities.size))
    groups = (f"{name}_{each}" for each in (ENGINE_DRAWS, ENGINE_CONSTANTS))
    direct = read_monotone(*(tree[group].to_dataset() for group in groups))
    if name != "recalibrated":
        return direct
    constants = tree["constant_data"]
    # As many draws as the log-odds had that it was fitted to.
    base = DensityLogOdds(
        densities.take(np.arange(min(MOST_DRAWS, densities.size))),
        float(constants["centre"]),
        float(constants["spread"]),
        read_documents(tree).reach,
    )
    return RecalibratedDraws(base, direct)
