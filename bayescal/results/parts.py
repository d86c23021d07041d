"""The parts of a fit, read from a tree of results."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayescal.engines.combined import MOST_DRAWS
from bayescal.engines.parts import COMBINATION, PARTS, RECALIBRATED, Part
from bayescal.results.class_draws import ClassDraws
from bayescal.results.combined_draws import CombinedDraws, combine
from bayescal.results.curves import Curves
from bayescal.results.identity_draws import IdentityDraws
from bayescal.results.monotone_draws import MonotoneDraws, read_monotone
from bayescal.results.recalibrated_draws import DensityLogOdds, RecalibratedDraws
from bayescal.results.tree import read_documents


def read_parts(tree: xr.DataTree, densities: ClassDraws) -> CombinedDraws:
    """Return the combination of densities and the other parts that a tree names."""
    combination = tree[COMBINATION].to_dataset()
    others = (_read_part(name, tree, densities) for name in combination["part"].values[1:].tolist())
    return combine((densities, *others), combination["weight"].values)


def read_direct(tree: xr.DataTree, part: Part) -> MonotoneDraws:
    """Return the direct log-odds of a part."""
    draws, constants = (tree[name].to_dataset() for name in (*part.draws, part.constants))
    return read_monotone(draws, constants, part.name)


def _read_part(name: str, tree: xr.DataTree, densities: ClassDraws) -> Curves:
    if name == "identity":
        return IdentityDraws(densities.prior, np.zeros(densities.size))
    direct = read_direct(tree, PARTS[name])
    if name != RECALIBRATED:
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
