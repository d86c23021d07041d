"""Tables of parameters: maximum likelihood beside the posterior, both in raw score units."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.density_draws import density_draws
from bayescal.density_shapes import raw_shapes
from bayescal.engines.data import KLASS
from bayescal.engines.maximum_likelihood import ClassFits
from bayescal.engines.parts import parts_of
from bayescal.families import Family, Fit
from bayescal.results.densities import SIDES
from bayescal.results.raw_groups import SHAPES
from bayescal.results.topics import DRAWS
from bayescal.results.tree import read_fits
from bayescal.warps import IDENTITY

if TYPE_CHECKING:
    import pandas as pd

# What stands beside the class prior as its guard: see `bayescal.bayes.class_prior`.
ADD_ONE = "add_one"

# Class and parameter, what maximum likelihood says, and the draws or the mode.
Row = tuple[tuple[str, str], dict[str, Any], xr.DataArray | None]


def parameter_table(tree: xr.DataTree, classes: NDArray[Any], level: float) -> pd.DataFrame:
    """Return the parameters and the class prior; see `ScoreCalibrator.summary`."""
    import pandas as pd

    fits = read_fits(tree)
    inferred = next(
        (tree[name].to_dataset() for name in ("posterior", "mode") if name in tree), None
    )
    first = parts_of(tree)[0]
    if first.engine == "importance":
        rows = list(_rows_of_log_odds(fits, tree["posterior"].to_dataset()))
    else:
        rows = list(_rows_of_classes(fits, inferred, classes, mixed=bool(first.constants)))
    draws = None if inferred is None else inferred["prior"]
    rows.append(((str(classes[1]), "prior"), {"mle": fits.prior, "guard": ADD_ONE}, draws))
    index = pd.MultiIndex.from_tuples([row[0] for row in rows], names=["class", "parameter"])
    return pd.DataFrame([mle | _inferred(draws, level) for _, mle, draws in rows], index=index)


def _rows_of_log_odds(fits: ClassFits, posterior: xr.Dataset) -> Iterator[Row]:
    """Yield the log-odds at raw scores, of direct fits and of the densities that fit best."""
    scores = posterior["score"].values
    for k, (score, mle) in enumerate(zip(scores, fits.log_odds(scores), strict=True)):
        name = ("log-odds", f"at {score:.6g}")
        yield name, {"mle": float(mle), "guard": ""}, posterior["log_odds"].isel(score=k)


def _rows_of_classes(
    fits: ClassFits, inferred: xr.Dataset | None, classes: NDArray[Any], *, mixed: bool
) -> Iterator[Row]:
    both = ((False, fits.negative), (True, fits.positive))
    for klass, label, (positive, fit) in zip(KLASS, classes, both, strict=True):
        family = fits.family.of_class(positive)
        for name, mle in (_shape_of_fit(family, fit) if mixed else _parameters_of(fit)).items():
            draws = None if inferred is None else inferred[name].sel(klass=klass)
            yield (str(label), name), mle, draws


def _parameters_of(fit: Fit) -> dict[str, dict[str, Any]]:
    return {name: _mle(fit, name, value) for name, value in fit.parameters.items()}


def _shape_of_fit(family: Family, fit: Fit) -> dict[str, dict[str, Any]]:
    """Return mode and widths of a fit, which draws of other families and warps have too."""
    sides = np.stack(family.sides(*map(np.atleast_1d, fit.parameters.values())))
    one = density_draws((family,), np.zeros(1, np.intp), sides, np.array([IDENTITY]), 0.0)
    own = (family.parameters[k] for k in family.by_side)
    found = zip(own, SHAPES, raw_shapes(one)[:, 0].tolist(), strict=True)
    return {name: _mle(fit, parameter, value) for parameter, name, value in found}


def _mle(fit: Fit, parameter: str, value: float) -> dict[str, Any]:
    return {"mle": value, "guard": fit.guard.name if parameter in fit.guard.acted else ""}


def _inferred(draws: xr.DataArray | None, level: float) -> dict[str, float]:
    if draws is None:
        return {}
    if "chain" not in draws.dims:
        return {"map": float(draws)}
    import arviz_stats

    tails = [0.5 - level / 2.0, 0.5, 0.5 + level / 2.0]
    lower, median, upper = np.quantile(draws.values, tails).tolist()
    dataset = draws.to_dataset(name="x")
    with np.errstate(divide="ignore", invalid="ignore"):  # a constant chain's R-hat is nan
        rhat = float(arviz_stats.rhat(dataset)["x"]) if draws.sizes["chain"] > 1 else np.nan
        ess = float(arviz_stats.ess(dataset, method="bulk")["x"])
    return {
        "median": median,
        "lower": lower,
        "upper": upper,
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
