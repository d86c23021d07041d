"""Tables of parameters: maximum likelihood beside the posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.engines.data import KLASS
from bayescal.families import Family
from bayescal.results.tree import read_fits

if TYPE_CHECKING:
    import pandas as pd


def parameter_table(
    tree: xr.DataTree, family: Family, classes: NDArray[Any], level: float
) -> pd.DataFrame:
    """Return the family's parameters and the class prior; see `ScoreCalibrator.summary`."""
    import pandas as pd

    fits = read_fits(tree)
    rows = {}
    for klass, label, fit in zip(KLASS, classes, (fits.negative, fits.positive), strict=True):
        for name in family.parameters:
            guarded = fit.guard.name if name in fit.guard.acted else ""
            row = {"mle": fit.parameters[name], "guard": guarded}
            rows[str(label), name] = row | _inferred(tree, name, {"klass": klass}, level)
    rows[str(classes[1]), "prior"] = {"mle": fits.prior, "guard": ""} | _inferred(
        tree, "prior", {}, level
    )
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(rows, names=["class", "parameter"])
    return table


def _inferred(
    tree: xr.DataTree, name: str, where: dict[str, str], level: float
) -> dict[str, float]:
    if "posterior" in tree:
        return _posterior_row(tree["posterior"].to_dataset()[name].sel(where), level)
    if "mode" in tree:
        return {"map": float(tree["mode"][name].sel(where))}
    return {}


def _posterior_row(draws: xr.DataArray, level: float) -> dict[str, float]:
    import arviz_stats

    lower, upper = np.quantile(draws.values, [0.5 - level / 2.0, 0.5 + level / 2.0])
    dataset = draws.to_dataset(name="x")
    return {
        "mean": float(draws.mean()),
        "sd": float(draws.std(ddof=1)),
        "lower": float(lower),
        "upper": float(upper),
        "rhat": float(arviz_stats.rhat(dataset)["x"]) if draws.sizes["chain"] > 1 else np.nan,
        "ess_bulk": float(arviz_stats.ess(dataset, method="bulk")["x"]),
    }
