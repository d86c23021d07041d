"""Monotone log-odds of many topics around their population, in a tree of results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.engines.data import ENGINE_CONSTANTS, ENGINE_DRAWS
from bayescal.engines.monotone.basis import Pieces
from bayescal.engines.monotone.engine import DESCRIPTION
from bayescal.engines.pooled.log_odds import LogOddsOfTopics
from bayescal.engines.pooled.log_odds_population import NAMES
from bayescal.results.monotone_draws import MonotoneDraws
from bayescal.results.topics import DRAWS, MONOTONE_EVIDENCE
from bayescal.validation import Floats

CURVE = ("intercept", "slope")
MONOTONE_DRAWS, MONOTONE_CONSTANTS = f"monotone_{ENGINE_DRAWS}", f"monotone_{ENGINE_CONSTANTS}"


def build(
    found: LogOddsOfTopics, names: NDArray[Any], shape: tuple[int, int]
) -> dict[str, xr.Dataset]:
    """
    Return the engine's draws, its constants, and what it says of them, as groups.

    The draws are of all topics, of one without documents ("new_...") and of the population.

    Parameters
    ----------
    found : LogOddsOfTopics
        The draws.
    names : array of shape (topics,)
        The topics.
    shape : tuple of int
        Chains, and draws of each.
    """
    new_intercept, new_slope = _folded(found.new_values, shape)
    variables = _of_topics(found, shape) | {
        "new_intercept": (DRAWS, new_intercept),
        "new_slope": ((*DRAWS, "segment"), np.moveaxis(new_slope, 0, -1)),
    }
    variables |= {
        name: (DRAWS, values.reshape(shape))
        for name, values in zip(NAMES, found.population.T, strict=True)
    }
    coords = {
        "topic": names,
        "chain": np.arange(shape[0]),
        "draw": np.arange(shape[1]),
        "segment": np.arange(found.pieces.segments),
    }
    constants = {
        "knot": ("knot", found.pieces.knots),
        "reference": found.pieces.reference,
        "centre": found.centre,
        "spread": found.spread,
        "bend": found.bend,
    }
    evidence = {"pareto_k": found.pareto_k, "resolved": int(found.resolved)}
    return {
        MONOTONE_DRAWS: xr.Dataset(variables, coords, {"description": DESCRIPTION}),
        MONOTONE_CONSTANTS: xr.Dataset(constants),
        MONOTONE_EVIDENCE: xr.Dataset(evidence),
    }


def join(old: xr.Dataset, added: LogOddsOfTopics, names: NDArray[Any]) -> xr.Dataset:
    """Return the same with further topics."""
    shape = old.sizes["chain"], old.sizes["draw"]
    new = xr.Dataset(_of_topics(added, shape), {"topic": names})
    joined = xr.concat([old[list(CURVE)], new], "topic")
    return joined.merge(old.drop_dims("topic"))


def read(tree: xr.DataTree) -> LogOddsOfTopics:
    """Return what further topics are drawn around; it holds no topics' draws."""
    constants, evidence = (tree[name] for name in (MONOTONE_CONSTANTS, MONOTONE_EVIDENCE))
    draws = tree[MONOTONE_DRAWS].to_dataset().drop_dims("topic").stack(sample=DRAWS)
    nothing = np.empty((draws.sizes["segment"] + 1, 0, draws.sizes["sample"]))
    new = [draws["new_intercept"].values, *draws["new_slope"].transpose("segment", "sample").values]
    return LogOddsOfTopics(
        pieces=_pieces(constants.dataset.variables),
        centre=float(constants["centre"]),
        spread=float(constants["spread"]),
        bend=float(constants["bend"]),
        population=np.stack([draws[name].values for name in NAMES], axis=-1),
        values=nothing,
        new_values=np.stack(new),
        pareto_k=float(evidence["pareto_k"]),
        resolved=bool(evidence["resolved"]),
    )


def read_curve(tree: xr.DataTree, topic: int | None) -> MonotoneDraws:
    """Return a topic's curve, by its position; of None that of a topic without documents."""
    # Variables, not arrays with coordinates: thousands of topics are read one by one.
    own, constants = (tree[name].dataset.variables for name in (MONOTONE_DRAWS, MONOTONE_CONSTANTS))
    rates = tree["population" if topic is None else "posterior"].dataset.variables["rate"]
    prefix = "new_" if topic is None else ""
    drawn = [rates, *(own[f"{prefix}{name}"] for name in CURVE)]
    rate, intercept, slope = (
        (each if topic is None else each.isel(topic=topic)).values for each in drawn
    )
    return MonotoneDraws(
        pieces=_pieces(constants),
        intercept=intercept.ravel(),
        slope=slope.reshape(-1, slope.shape[-1]),
        prior=rate.ravel(),
        centre=float(constants["centre"]),
        spread=float(constants["spread"]),
        bend=float(constants["bend"]),
    )


def _pieces(variables: Mapping[Any, xr.Variable | xr.DataArray]) -> Pieces:
    return Pieces(variables["knot"].values, float(variables["reference"]))


def _of_topics(found: LogOddsOfTopics, shape: tuple[int, int]) -> dict[str, Any]:
    intercept, slope = _folded(found.values, shape)
    return {
        "intercept": (("topic", *DRAWS), intercept),
        "slope": (("topic", *DRAWS, "segment"), np.moveaxis(slope, 0, -1)),
    }


def _folded(values: Floats, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return intercepts, and slopes with segments first, draws by chain and draw."""
    folded = values.reshape(*values.shape[:-1], *shape)
    return folded[0], folded[1:]
