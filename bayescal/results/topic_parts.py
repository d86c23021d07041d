"""The combination of many topics in a tree of results, and each topic's curve of several parts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.curves.class_draws import ClassDraws
from bayescal.curves.combined_draws import CombinedDraws, combine
from bayescal.curves.curves import PartCurves
from bayescal.curves.monotone_draws import MonotoneDraws
from bayescal.curves.recalibrated_draws import DensityLogOdds, RecalibratedDraws
from bayescal.engines.pooled.combined import TopicCombination
from bayescal.engines.pooled.log_odds import LogOddsOfTopics
from bayescal.engines.pooled.weights import DENSITIES, NAMES
from bayescal.families import FAMILIES
from bayescal.parts.around_population import mixture_log_odds
from bayescal.parts.lapses import lapse_groups, read_lapse
from bayescal.parts.monotone import read_log_odds
from bayescal.parts.of_topics import RECALIBRATED_OF_TOPICS as RECALIBRATION
from bayescal.parts.of_topics import prefix_of, shown_of_topics
from bayescal.parts.places import COMBINATION, Groups
from bayescal.parts.stack import BEYOND, HELD, ORDER, reach_of, stored
from bayescal.results import topic_log_odds
from bayescal.results.topic_documents import read_range
from bayescal.results.topics import append_topics, read_curve, read_scale
from bayescal.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

BY_WEIGHT = "by weight"  # whose draws of parts are in an order of each topic's own


def combination_groups(
    found: TopicCombination,
    names: NDArray[Any],
    reach: tuple[float, float],
    shape: tuple[int, int],
) -> dict[str, xr.Dataset]:
    """
    Return the groups of a combination beside those of its densities.

    combination, the weights (part; topic, part) and why; recalibrated, the curve of all topics
    along the densities' log-odds; monotone_engine_draws, the monotone log-odds of each topic
    around a population (topic, chain, draw, segment), in the engine's coordinates alone, for there
    may be thousands of topics; and the constants and the evidence of both.

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
        {"topic": names, "part": list(NAMES), "density": list(DENSITIES)},
        {ORDER: BY_WEIGHT, BEYOND: HELD},
    )
    recalibration = stored(RECALIBRATION, found.recalibration, *shape)
    return {
        COMBINATION: combination,
        **lapse_groups(found.lapse, shape),
        **recalibration,
        **shown_of_topics(recalibration),
        **topic_log_odds.build(found.direct, names, shape),
    }


def read_topic(groups: Groups, topic: int | None) -> CombinedDraws:
    """Return a topic's curve, by its position; of None that of a topic without documents."""
    combination = groups[COMBINATION]
    densities = _densities(groups, topic)
    # The curve is one for all topics, but what it says of a topic is for the topic's own P(+).
    along = replace(read_recalibration(groups), prior=densities[0].prior)
    recalibrated = RecalibratedDraws(_base(groups, densities, combination), along)
    direct = topic_log_odds.read_curve(groups, topic)
    weight = combination["population_weight"] if topic is None else combination["weight"][topic]
    parts: tuple[PartCurves, ...] = (*densities, recalibrated, direct)
    order = order_of(combination, weight.values)
    reach = reach_of(combination, read_range(groups, topic))
    return combine(parts, weight.values, read_lapse(groups), order, reach)


def order_of(combination: xr.Dataset, weight: Floats) -> int:
    """
    Return a number by which topics of other weights have their draws of parts in another order.

    Else all topics' k-th draws would be of the same part, which they are in files of earlier
    versions: those say nothing of an order and go on to predict the same. A topic has the same
    draws whichever others there are, and as a problem of its own.
    """
    if combination.attrs.get(ORDER) != BY_WEIGHT:
        return 0
    # Weights of one fit differ in their ninth digit from processor to processor: steps are far
    # wider, and no simple fraction lies on the border of two.
    return crc32(np.rint(1234.5678 * weight).astype("<i8").tobytes())


def combination_table(groups: Groups, topic: int | None = None) -> pd.DataFrame:
    """
    Return weight, log score and its standard error of each part.

    The weight is a topic's, by its position, or that of topics without labels of their own; log
    scores are of all topics.
    """
    combination = groups[COMBINATION]
    weight = combination["population_weight"]
    if topic is not None:
        weight = combination["weight"].isel(topic=topic, drop=True)
    table = combination[["elpd", "se"]].assign(weight=weight)
    return table[["weight", "elpd", "se"]].to_dataframe()


def read_recalibration(groups: Groups) -> MonotoneDraws:
    """Return the curve of all topics along the densities' log-odds."""
    return read_log_odds(groups, RECALIBRATION)


def weights_of_population(groups: Groups) -> tuple[Floats, Floats]:
    """Return the weights of the densities that are recalibrated, and those of the parts."""
    combination = groups[COMBINATION]
    return combination["base_weight"].values, combination["population_weight"].values


def _densities(groups: Groups, topic: int | None) -> tuple[ClassDraws, ...]:
    families = [FAMILIES[name] for name in DENSITIES]
    return tuple(
        read_curve(groups, family, topic, prefix_of(family, families)) for family in families
    )


def _base(
    groups: Groups, densities: tuple[ClassDraws, ...], combination: xr.Dataset
) -> DensityLogOdds:
    low, high = combination["reach"].values.tolist()
    weight = combination["base_weight"].values
    return mixture_log_odds(densities, weight, read_scale(groups), (low, high))


def joined_groups(
    groups: Groups, direct: LogOddsOfTopics, weights: Floats, names: NDArray[Any]
) -> dict[str, xr.Dataset]:
    """Return the groups of the combination with further topics, of weights (topics, parts)."""
    own = {"weight": (("topic", "part"), weights)}
    return {
        COMBINATION: append_topics(groups[COMBINATION], own, names),
        **topic_log_odds.join(groups, direct, names),
    }
