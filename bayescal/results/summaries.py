"""Tables of parameters: maximum likelihood beside the posterior."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.engines.data import KLASS
from bayescal.families import Family, Fit
from bayescal.results.densities import SIDES
from bayescal.results.parts import parts_of
from bayescal.results.topics import DRAWS
from bayescal.results.tree import read_fits

if TYPE_CHECKING:
    import pandas as pd

# What stands beside the class prior as its guard: see `bayescal.bayes.class_prior`.
ADD_ONE = "add_one"


def parameter_table(tree: xr.DataTree, classes: NDArray[Any], level: float) -> pd.DataFrame:
    """Return the parameters and the class prior; see `ScoreCalibrator.summary`."""
    import pandas as pd

    fits = read_fits(tree)
    if "posterior" in tree and parts_of(tree)[0].engine == "importance":
        return _direct_table(tree["posterior"].to_dataset(), level)
    mixed = "posterior" in tree and "family" in tree["posterior"]
    rows = {}
    both = ((False, fits.negative), (True, fits.positive))
    for klass, label, (positive, fit) in zip(KLASS, classes, both, strict=True):
        for name, row in _fitted_rows(fits.family.of_class(positive), fit, mixed=mixed).items():
            rows[str(label), name] = row | _inferred(tree, name, {"klass": klass}, level)
    rows[str(classes[1]), "prior"] = {"mle": fits.prior, "guard": ADD_ONE} | _inferred(
        tree, "prior", {}, level
    )
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_tuples(rows, names=["class", "parameter"])
    return table


def _direct_table(posterior: xr.Dataset, level: float) -> pd.DataFrame:
    """Return intercept and slopes of direct log-odds, which maximum likelihood has no values of."""
    import pandas as pd

    slopes = {f"slope_{k + 1}": posterior["slope"][..., k] for k in posterior["segment"].values}
    named = {"intercept": posterior["intercept"], **slopes, "prior": posterior["prior"]}
    rows = {name: _posterior_row(draws, level) for name, draws in named.items()}
    table = pd.DataFrame.from_dict(rows, orient="index")
    table.index = pd.MultiIndex.from_product([["log-odds"], rows], names=["class", "parameter"])
    return table


def _fitted_rows(family: Family, fit: Fit, *, mixed: bool) -> dict[str, dict[str, Any]]:
    """Return mle and guard by parameter; for a mixture by the sides that its draws have."""
    rows = [(name, name, value) for name, value in fit.parameters.items()]
    if mixed:
        own = [family.parameters[k] for k in family.by_side]
        sides = family.sides(*map(np.asarray, fit.parameters.values()))
        rows = list(zip(own, SIDES, map(float, sides), strict=True))
    return {
        name: {"mle": value, "guard": fit.guard.name if own in fit.guard.acted else ""}
        for own, name, value in rows
    }


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
    with np.errstate(divide="ignore", invalid="ignore"):  # a constant chain's R-hat is nan
        rhat = float(arviz_stats.rhat(dataset)["x"]) if draws.sizes["chain"] > 1 else np.nan
        ess = float(arviz_stats.ess(dataset, method="bulk")["x"])
    return {
        "mean": float(draws.mean()),
        "sd": float(draws.std(ddof=1)),
        "lower": float(lower),
        "upper": float(upper),
        "rhat": rhat,
        "ess_bulk": ess,
    }


def topic_table(tree: xr.DataTree, classes: NDArray[Any], level: float) -> pd.DataFrame:
    """Return estimates apart, pooled and of the population; see `TopicCalibrator.summary`."""
    import pandas as pd

    tails = [0.5 - level / 2.0, 0.5 + level / 2.0]
    posterior, topics = tree["posterior"].to_dataset(), tree["topics"].to_dataset()
    parts = []
    for name in SIDES:
        draws = posterior[name].stack(sample=DRAWS)
        lower, upper = np.quantile(draws.values, tails, axis=draws.get_axis_num("sample"))
        columns = {
            "documents": topics["documents"],
            "apart": topics[name],
            "pooled": draws.mean("sample"),
            "lower": (draws.dims[:-1], lower),
            "upper": (draws.dims[:-1], upper),
            "population": tree["population"][name].median(DRAWS),
        }
        frame = xr.Dataset(columns).drop_vars(DRAWS, errors="ignore").to_dataframe().reset_index()
        parts.append(frame.assign(parameter=name))
    table = pd.concat(parts)
    table["class"] = table["klass"].map(dict(zip(KLASS, map(str, classes), strict=True)))
    order = ["topic", "class", "parameter"]
    kept = ["documents", "apart", "pooled", "lower", "upper", "population"]
    return table.set_index(order)[kept].sort_index(level="topic", sort_remaining=False)
