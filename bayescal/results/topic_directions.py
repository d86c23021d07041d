"""Whether the positives of every topic lie above its negatives, kept in the tree of results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.score_checks import Direction, topic_problems

GROUP = "directions"


def directions_dataset(
    names: NDArray[Any], directions: Sequence[Direction | None]
) -> dict[str, xr.Dataset]:
    """Return the group of each topic's AUC and its variance; nan where a class is missing."""
    nowhere = Direction(np.nan, np.nan)
    known = [nowhere if each is None else each for each in directions]
    variables = {
        "auc": ("topic", [each.auc for each in known]),
        "variance": ("topic", [each.variance for each in known]),
    }
    return {GROUP: xr.Dataset(variables, {"topic": names})}


def joined_directions(
    tree: xr.DataTree, names: NDArray[Any], directions: Sequence[Direction | None]
) -> dict[str, xr.Dataset]:
    """Return the group with further topics."""
    new = directions_dataset(names, directions)[GROUP]
    return {GROUP: xr.concat([tree[GROUP].to_dataset(), new], "topic")}


def read_topic_problems(
    tree: xr.DataTree, classes: NDArray[Any]
) -> tuple[tuple[str, ...], dict[Any, str]]:
    """Return what is wrong with the scores of all topics, and of single ones."""
    group = tree[GROUP].to_dataset()
    names = group["topic"].values.tolist()
    pairs = zip(group["auc"].values.tolist(), group["variance"].values.tolist(), strict=True)
    directions = [None if np.isnan(auc) else Direction(auc, variance) for auc, variance in pairs]
    return topic_problems(names, directions, classes.tolist())
