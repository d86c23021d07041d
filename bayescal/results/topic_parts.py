"""The combination of many topics in a tree of results, and each topic's curve of several parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.engines.combined import MOST_DRAWS
from bayescal.engines.pooled.combined import OwnLogOdds, TopicCombination
from bayescal.engines.pooled.weights import DENSITIES, PARTS, without_own
from bayescal.families import FAMILIES
from bayescal.results.class_draws import ClassDraws
from bayescal.results.combined_draws import CombinedDraws, combine
from bayescal.results.curves import Curves
from bayescal.results.monotone_draws import MonotoneDraws, read_monotone
from bayescal.results.recalibrated_draws import DensityLogOdds, RecalibratedDraws
from bayescal.results.topics import read_curve, read_scale
from bayescal.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

COMBINATION, RECALIBRATED, MONOTONE = "combination", "recalibrated", "monotone"
KNOTS = "knots"


def combination_groups(
    found: TopicCombination,
    names: NDArray[Any],
    reach: tuple[float, float],
    shape: tuple[int, int],
) -> dict[str, xr.Dataset]:
    """
    Return the groups of a combination beside those of its densities.

    combination, the weights (part; topic, part) and why; recalibrated, the curve of all topics;
    monotone, each topic's own (topic, chain, draw, segment), nan where there is none.

    Parameters
    ----------
    found : TopicCombination
        The parts.
    names : array of shape (topics,)
        The topics.
    reach : tuple of float
        The smallest and the largest score fitted.
    shape : tuple of int
        Chains, and draws of each.
    """
    weights = found.weights
    combination = xr.Dataset(
        {
            "weight": (("topic", "part"), weights.own),
            "population_weight": ("part", weights.population),
            "elpd": ("part", weights.elpd),
            "se": ("part", weights.se),
            "base_weight": ("density", found.base_weight),
            "reach": ("end", np.array(reach)),
        },
        {"topic": names, "part": list(PARTS), "density": list(DENSITIES)},
    )
    return {
        COMBINATION: combination,
        RECALIBRATED: found.recalibration.dataset(*shape),
        MONOTONE: own_dataset(found.own, names, shape),
    }


def own_dataset(
    own: Sequence[OwnLogOdds | None], names: NDArray[Any], shape: tuple[int, int]
) -> xr.Dataset:
    """Return topics' own log-odds; fewer segments than the most end with nan."""
    # A variable of two dimensions may not have the name of one.
    datasets = [None if each is None else _renamed(each.direct.dataset(*shape)) for each in own]
    there = [dataset for dataset in datasets if dataset is not None]
    if not there:
        return xr.Dataset(coords={"topic": names})
    sizes = {dim: max(each.sizes[dim] for each in there) for dim in there[0].sizes}
    variables = {}
    for name, first in there[0].data_vars.items():
        values = np.full((names.size, *(sizes[dim] for dim in first.dims)), np.nan)
        for t, dataset in enumerate(datasets):
            if dataset is not None:
                part = dataset[name].values
                where: tuple[int | slice, ...] = (t, *map(slice, part.shape))
                values[where] = part
        variables[name] = (("topic", *first.dims), values)
    return xr.Dataset(variables, {"topic": names})


def read_topic(tree: xr.DataTree, topic: int | None) -> CombinedDraws:
    """Return a topic's curve, by its position; of None that of a topic without documents."""
    combination = tree[COMBINATION].to_dataset()
    densities = _densities(tree, topic)
    recalibrated = RecalibratedDraws(_base(tree, densities, combination), read_recalibration(tree))
    parts: tuple[Curves, ...] = (*densities, recalibrated)
    own = None if topic is None else _own(tree, topic)
    if own is not None and topic is not None:
        return combine((*parts, own), combination["weight"].values[topic])
    return combine(parts, without_own(combination["population_weight"].values)[:-1])


def combination_table(tree: xr.DataTree, topic: int | None = None) -> pd.DataFrame:
    """
    Return weight, log score and its standard error of each part.

    The weight is a topic's, by its position, or that of topics without labels of their own; log
    scores are of all topics.
    """
    combination = tree[COMBINATION].to_dataset()
    weight = combination["population_weight"]
    if topic is not None:
        weight = combination["weight"].isel(topic=topic, drop=True)
    table = combination[["elpd", "se"]].assign(weight=weight)
    return table[["weight", "elpd", "se"]].to_dataframe()


def read_recalibration(tree: xr.DataTree) -> MonotoneDraws:
    """Return the curve of all topics along the densities' log-odds."""
    return read_monotone(tree[RECALIBRATED].to_dataset())


def weights_of_population(tree: xr.DataTree) -> tuple[Floats, Floats]:
    """Return the weights of the densities that are recalibrated, and those of the parts."""
    combination = tree[COMBINATION].to_dataset()
    return combination["base_weight"].values, combination["population_weight"].values


def _densities(tree: xr.DataTree, topic: int | None) -> tuple[ClassDraws, ...]:
    first, *others = DENSITIES
    return (
        read_curve(tree, FAMILIES[first], topic),
        *(read_curve(tree, FAMILIES[name], topic, f"{name}_") for name in others),
    )


def _base(
    tree: xr.DataTree, densities: tuple[ClassDraws, ...], combination: xr.Dataset
) -> DensityLogOdds:
    # As many draws as the log-odds had that it was fitted to.
    kept = np.arange(min(MOST_DRAWS, densities[0].size))
    thinned = tuple(each.take(kept) for each in densities)
    low, high = combination["reach"].values.tolist()
    mixture = combine(thinned, combination["base_weight"].values)
    return DensityLogOdds(mixture, *read_scale(tree), (low, high))


def _own(tree: xr.DataTree, topic: int) -> MonotoneDraws | None:
    own = tree[MONOTONE].to_dataset().isel(topic=topic)
    if KNOTS not in own or not np.isfinite(own["reference"]):
        return None
    knots = own[KNOTS].values
    knots = knots[np.isfinite(knots)]
    # One piece more than knots between them.
    own = own.drop_vars(KNOTS).isel(segment=slice(knots.size + 1))
    return read_monotone(own.assign_coords(knot=knots))


def _renamed(dataset: xr.Dataset) -> xr.Dataset:
    knots = dataset["knot"].values
    return dataset.drop_vars("knot").assign({KNOTS: ("knot", knots)})


def joined_groups(
    tree: xr.DataTree,
    own: Sequence[OwnLogOdds | None],
    weights: Floats,
    names: NDArray[Any],
    shape: tuple[int, int],
) -> dict[str, xr.Dataset]:
    """Return the groups of the combination with further topics, of weights (topics, parts)."""
    combination = tree[COMBINATION].to_dataset()
    added = xr.Dataset({"weight": (("topic", "part"), weights)}, {"topic": names})
    weight = xr.concat([combination[["weight"]], added], "topic")
    return {
        COMBINATION: combination.drop_dims("topic").merge(weight),
        MONOTONE: _join_own(tree[MONOTONE].to_dataset(), own_dataset(own, names, shape)),
    }


def _join_own(old: xr.Dataset, new: xr.Dataset) -> xr.Dataset:
    """Return the own log-odds of both; fewer segments than the most end with nan."""
    if not (old.data_vars and new.data_vars):
        # One of them has topics without log-odds of their own only.
        return xr.concat([old, new], "topic", data_vars="all")
    most = max(old.sizes["segment"], new.sizes["segment"])
    padded = []
    for dataset in (old, new):
        short = most - dataset.sizes["segment"]
        padded.append(dataset.pad(segment=(0, short), knot=(0, short)) if short else dataset)
    return xr.concat(padded, "topic")
