"""Tables of parameters: maximum likelihood beside the posterior, both in raw score units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.curves.densities import SIDES
from bayescal.engines.data import KLASS
from bayescal.parts import part_of
from bayescal.parts.densities import rows_of_classes
from bayescal.parts.places import DRAWS, MODE, POSTERIOR, Groups, flat, places
from bayescal.results.diagnostics import CHAINS
from bayescal.results.tree import read_fits

if TYPE_CHECKING:
    import pandas as pd

# What stands beside the class prior as its guard: see `bayescal.bayes.class_prior`.
ADD_ONE = "add_one"


def parameter_table(tree: xr.DataTree, classes: NDArray[Any], level: float) -> pd.DataFrame:
    """Return the parameters and the class prior; see `ScoreCalibrator.summary`."""
    import pandas as pd

    groups, labels = flat(tree), (str(classes[0]), str(classes[1]))
    fits = read_fits(groups)
    inferred = next((groups[name] for name in (POSTERIOR, MODE) if name in groups), None)
    found = places(groups)
    if found and inferred is not None:
        rows = list(part_of(found[0].kind).rows(fits, inferred, found[0], labels))
    else:
        rows = list(rows_of_classes(fits, inferred, labels, mixed=False))
    draws = None if inferred is None else inferred["prior"]
    rows.append(((labels[1], "prior"), {"mle": fits.prior, "guard": ADD_ONE}, draws))
    index = pd.MultiIndex.from_tuples([row[0] for row in rows], names=["class", "parameter"])
    sampled = CHAINS in groups
    return pd.DataFrame(
        [mle | _inferred(draws, level, sampled=sampled) for _, mle, draws in rows], index=index
    )


def _inferred(draws: xr.DataArray | None, level: float, *, sampled: bool) -> dict[str, float]:
    if draws is None:
        return {}
    if "chain" not in draws.dims:
        return {"map": float(draws)}
    tails = [0.5 - level / 2.0, 0.5, 0.5 + level / 2.0]
    lower, median, upper = np.quantile(draws.values, tails).tolist()
    rhat, ess = _of_chains(draws) if sampled else (np.nan, float(draws.size))
    return {
        "median": median,
        "lower": lower,
        "upper": upper,
        "rhat": rhat,
        "ess_bulk": ess,
    }


def _of_chains(draws: xr.DataArray) -> tuple[float, float]:
    """Return R-hat, which a single chain has not, and the bulk effective sample size."""
    # A third of a second to import, which independent draws do not need.
    import arviz_stats

    dataset = draws.to_dataset(name="x")
    with np.errstate(divide="ignore", invalid="ignore"):  # a constant chain's R-hat is nan
        rhat = float(arviz_stats.rhat(dataset)["x"]) if draws.sizes["chain"] > 1 else np.nan
        ess = float(arviz_stats.ess(dataset, method="bulk")["x"])
    return rhat, ess


def topic_table(groups: Groups, classes: NDArray[Any], level: float) -> pd.DataFrame:
    """Return estimates unpooled, pooled and of the population; see `TopicCalibrator.summary`."""
    import pandas as pd

    tails = [0.5 - level / 2.0, 0.5 + level / 2.0]
    posterior, topics = groups["posterior"], groups["topics"]
    parts = []
    for name in SIDES:
        draws = posterior[name].transpose(..., *DRAWS)
        # All sizes are named: of a population without topics numpy cannot work them out.
        every = draws.values.reshape(*draws.shape[:-2], draws.shape[-2] * draws.shape[-1])
        lower, upper = np.quantile(every, tails, axis=-1)
        columns = {
            "documents": topics["documents"],
            "unpooled": topics[name],
            "pooled": draws.mean(DRAWS),
            "lower": (draws.dims[:-2], lower),
            "upper": (draws.dims[:-2], upper),
            "population": groups["population"][name].median(DRAWS),
        }
        frame = xr.Dataset(columns).drop_vars(DRAWS, errors="ignore").to_dataframe().reset_index()
        parts.append(frame.assign(parameter=name))
    table = pd.concat(parts)
    table["class"] = table["klass"].map(dict(zip(KLASS, map(str, classes), strict=True)))
    order = ["topic", "class", "parameter"]
    kept = ["documents", "unpooled", "pooled", "lower", "upper", "population"]
    return table.set_index(order)[kept].sort_index(level="topic", sort_remaining=False)
