"""The parts of a fit, read from a tree of results."""

from __future__ import annotations

import numpy as np
import xarray as xr

from bayescal.engines.combined import MOST_DRAWS
from bayescal.engines.parts import COMBINATION, PARTS, Part, alone
from bayescal.results.class_draws import ClassDraws
from bayescal.results.combined_draws import CombinedDraws, combine
from bayescal.results.curves import Curves
from bayescal.results.identity_draws import IdentityDraws
from bayescal.results.monotone_draws import read_monotone
from bayescal.results.recalibrated_draws import DensityLogOdds, RecalibratedDraws


def parts_of(tree: xr.DataTree) -> tuple[Part, ...]:
    """Return the parts that a tree with a posterior holds, and where."""
    if COMBINATION in tree:
        return tuple(PARTS[name] for name in tree[COMBINATION].to_dataset()["part"].values.tolist())
    posterior = tree["posterior"]
    if "knot" not in posterior:
        return (alone("densities"),)
    return (alone("logistic" if posterior.sizes["segment"] == 1 else "monotone"),)


def read_parts(tree: xr.DataTree, densities: ClassDraws) -> CombinedDraws:
    """Return the combination of densities and the other parts that a tree names."""
    combination = tree[COMBINATION].to_dataset()
    others = (_read_part(name, tree, densities) for name in combination["part"].values[1:].tolist())
    return combine((densities, *others), combination["weight"].values)


def _read_part(name: str, tree: xr.DataTree, densities: ClassDraws) -> Curves:
    if name == "identity":
        return IdentityDraws(densities.prior, np.zeros(densities.size))
    (group,) = PARTS[name].draws
    direct = read_monotone(tree[group].to_dataset(), name)
    if name != "recalibrated":
        return direct
    constants, score = tree["constant_data"], tree["observed_data"]["score"]
    # As many draws as the log-odds had that it was fitted to.
    base = DensityLogOdds(
        densities.take(np.arange(min(MOST_DRAWS, densities.size))),
        float(constants["centre"]),
        float(constants["spread"]),
        (float(score.min()), float(score.max())),
    )
    return RecalibratedDraws(base, direct)
