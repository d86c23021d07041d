"""Results of many topics: groups with the dimension topic, and each topic's curve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from zlib import crc32

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.families import FAMILIES, Family
from bayescal.fitting.curves.class_draws import SIDES, ClassDraws
from bayescal.fitting.curves.combined_draws import CombinedDraws, combine
from bayescal.fitting.curves.curves import PartCurves, check_finite
from bayescal.fitting.curves.log_odds_draws import MonotoneDraws, RecalibratedDraws
from bayescal.fitting.engines.monotone.density import Pieces
from bayescal.fitting.engines.monotone.engine import DESCRIPTION, constants_of
from bayescal.fitting.engines.pooled.combination import DENSITIES, WEIGHT_NAMES, TopicCombination
from bayescal.fitting.engines.pooled.drawing import Health
from bayescal.fitting.engines.pooled.engine import (
    AddedTopics,
    PopulationDraws,
    TopicPosterior,
    densities_of,
)
from bayescal.fitting.engines.pooled.log_odds import LogOddsOfTopics
from bayescal.fitting.engines.pooled.population import DENSITY_NAMES, LOG_ODDS_NAMES
from bayescal.fitting.parts.combination import lapse_groups, read_lapse, stored
from bayescal.fitting.parts.monotone import read_log_odds
from bayescal.fitting.parts.of_topics import MONOTONE_OF_TOPICS as PART
from bayescal.fitting.parts.of_topics import RATE_NAMES, mixture, prefix_of, shown_of_topics
from bayescal.fitting.parts.of_topics import RECALIBRATED_OF_TOPICS as RECALIBRATION
from bayescal.fitting.parts.part import COMBINATION, DRAWS, Groups
from bayescal.fitting.results.tree import Results
from bayescal.fitting.scores import KLASS, TopicScores
from bayescal.support.score_checks import SAY_WHAT_THEY_ARE, Direction, topic_problems
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd


def build_topics(
    found: TopicPosterior,
    names: NDArray[Any],
    counts: NDArray[Any],
    unpooled: Floats,
    *,
    chains: int,
    scale: tuple[float, float],
) -> dict[str, xr.Dataset]:
    """
    Return the groups of results of one family.

    They are posterior, the draws (chain, draw, klass, topic) of mode and sides in raw score units
    and of the rate, P(+); population, those of its unbounded hyperparameters and of a topic
    without documents; topics, what is known of each; sample_stats, of NUTS.
    """
    size = found.new_rate.size

    def folded(values: Floats) -> Floats:
        return values.reshape(*values.shape[:-1], chains, size // chains)

    posterior = {
        name: (("klass", "topic", *DRAWS), folded(found.sides[:, k]))
        for k, name in enumerate(SIDES)
    } | {"rate": (("topic", *DRAWS), folded(found.rate))}
    population = {
        name: (("klass", *DRAWS), folded(found.new_sides[:, k])) for k, name in enumerate(SIDES)
    } | {"rate": (DRAWS, folded(found.new_rate))}
    population |= {
        name: (DRAWS, folded(values))
        for name, values in zip(RATE_NAMES, found.rate_population, strict=True)
    }
    population |= {
        name: (("klass", *DRAWS), folded(found.population[..., k]))
        for k, name in enumerate(DENSITY_NAMES)
    }
    topics = _of_topics(found, counts, unpooled) | {
        "pareto_k": ("klass", found.pareto_k),
        "population_efficiency": ("klass", found.population_efficiency),
        "centre": scale[0],
        "spread": scale[1],
    }
    coords = {"klass": list(KLASS), "chain": np.arange(chains), "draw": np.arange(size // chains)}
    groups = {
        "posterior": xr.Dataset(posterior, coords | {"topic": names}),
        "population": xr.Dataset(population, coords),
        "topics": xr.Dataset(topics, {"klass": list(KLASS), "topic": names}),
    }
    if found.sample_stats is not None:
        groups["sample_stats"] = found.sample_stats
    return groups


def with_prefix(groups: Groups, prefix: str) -> dict[str, xr.Dataset]:
    """Return one family's groups under the names that they have among others'."""
    return {f"{prefix}{name}": group for name, group in groups.items()}


def join_topics(
    groups: Groups,
    prefix: str,
    added: AddedTopics,
    names: NDArray[Any],
    counts: NDArray[Any],
    unpooled: Floats,
) -> dict[str, xr.Dataset]:
    """
    Return one family's groups that further topics change, under their names among others'.

    They are posterior, the draws of sides and rate, and topics, what is known of each.
    """
    posterior, topics = groups[f"{prefix}posterior"], groups[f"{prefix}topics"]
    shape = tuple(posterior.sizes[dim] for dim in DRAWS)
    new = {
        name: (
            ("klass", "topic", *DRAWS),
            added.sides[:, k].reshape(len(KLASS), names.size, *shape),
        )
        for k, name in enumerate(SIDES)
    } | {"rate": (("topic", *DRAWS), added.rate.reshape(names.size, *shape))}
    joined = {
        "posterior": append_topics(posterior, new, names),
        "topics": append_topics(topics, _of_topics(added, counts, unpooled), names),
    }
    return with_prefix(joined, prefix)


def append_topics(old: xr.Dataset, new: Mapping[str, Any], names: NDArray[Any]) -> xr.Dataset:
    """Return a group with further topics, as far as it knows of topics."""
    further = {"topic": ("topic", names)} | dict(new)
    joined = {}
    # Variables, not arrays with coordinates, which would be aligned one by one.
    for name, variable in old.variables.items():
        if "topic" in variable.dims:
            variable = _join(variable, xr.Variable(*further[str(name)]).transpose(*variable.dims))
        joined[name] = variable
    return xr.Dataset(joined, attrs=old.attrs)


def _join(old: xr.Variable, new: xr.Variable) -> xr.Variable:
    """Return a variable with further topics appended."""
    # The names of no topics have no type.
    if isinstance(old, xr.IndexVariable) and not old.size:
        return new
    return xr.Variable.concat([old, new], "topic")  # type: ignore[no-untyped-call,no-any-return]


def health_variables(health: Health, efficiency: Floats, *dims: str) -> dict[str, Any]:
    """Return the diagnostics of topics' draws, before and after reweighting to populations."""
    values = {
        "efficiency": efficiency,
        "resolved": health.resolved.astype(int),
        "proposal_efficiency": health.efficiency,
        "proposal_pareto_k": health.pareto_k,
    }
    return {name: (dims, value) for name, value in values.items()}


def _of_topics(
    found: TopicPosterior | AddedTopics, counts: NDArray[Any], unpooled: Floats
) -> dict[str, Any]:
    """Return each topic's documents, unpooled fit and diagnostics of its draws."""
    known = {name: unpooled[:, k] for k, name in enumerate(SIDES)} | {"documents": counts}
    dims = "klass", "topic"
    return {name: (dims, values) for name, values in known.items()} | health_variables(
        found.health, found.efficiency, *dims
    )


def read_population(groups: Groups, prefix: str = "") -> PopulationDraws:
    """Return the draws of the population's hyperparameters."""
    variables = groups[prefix + "population"].variables
    of_class = np.stack(
        [variables[name].transpose("klass", *DRAWS).values for name in DENSITY_NAMES], -1
    )
    rate = np.stack([variables[name].transpose(*DRAWS).values.ravel() for name in RATE_NAMES])
    return PopulationDraws(of_class.reshape(len(KLASS), -1, len(DENSITY_NAMES)), rate)


def at_topics(groups: Groups, positions: NDArray[np.intp] | slice) -> dict[str, xr.Dataset]:
    """Return groups with the topics at some positions alone."""
    return {
        path: group.isel(topic=positions) if "topic" in group.dims else group
        for path, group in groups.items()
    }


def read_scale(groups: Groups) -> tuple[float, float]:
    """Return the centre and the spread of all scores fitted."""
    known = groups["topics"].variables
    return float(known["centre"]), float(known["spread"])


def read_curve(groups: Groups, family: Family, topic: int | None, prefix: str = "") -> ClassDraws:
    """
    Return a topic's curve by densities, by its position; of None that of one without documents.

    The names of groups start with `prefix`.
    """
    # Variables, not arrays with coordinates: thousands of topics are read one by one.
    group = "population" if topic is None else "posterior"
    variables = groups[prefix + group].variables

    def draws(name: str, *dims: str) -> Floats:
        variable = variables[name]
        if topic is not None:
            variable = variable.isel(topic=topic)
        values: Floats = variable.transpose(*dims, *DRAWS).values
        return values

    sides, rate = np.stack([draws(name, "klass") for name in SIDES], axis=1), draws("rate")
    check_finite(whose(groups, family.name, topic), sides, rate)
    return curve_of(sides, rate.ravel(), family, read_scale(groups)[0])


def whose(groups: Groups, part: str, topic: int | None) -> str:
    """Return in words what draws are of: a part, for a topic by its position, or for none."""
    if topic is None:
        return f"the part {part!r} for topics without documents"
    name = groups["topics"].variables["topic"][topic]
    return f"the part {part!r} for topic {name.values.item()!r}"


def curve_of(sides: Floats, rate: Floats, family: Family, centre: float) -> ClassDraws:
    """Return the curve of draws of mode and sides, of shape (2, 3, ...), and of the rate."""
    return ClassDraws(*densities_of(sides.reshape(2, 3, -1), family, centre), rate)


# What is kept of every topic's documents in results, which do not hold their scores.
#
# The smallest and the largest score, and whether positives lie above negatives.

GROUP = "documents"
REACH = "reach"  # of topics that are no longer in the tree


def build_documents(data: TopicScores, scores_are: str) -> dict[str, xr.Dataset]:
    """Return the group, by topic: score range, and AUC with its variance; nan where unknown."""
    attrs = {"scores_are": scores_are, "probability_ends": list(data.ends)}
    return {GROUP: xr.Dataset(_documents_of_topics(data), {"topic": data.names}, attrs)}


def join_documents(groups: Groups, data: TopicScores) -> dict[str, xr.Dataset]:
    """Return the group with further topics."""
    return {GROUP: append_topics(groups[GROUP], _documents_of_topics(data), data.names)}


def _documents_of_topics(data: TopicScores) -> dict[str, Any]:
    nowhere = Direction(np.nan, np.nan)
    directions = [nowhere if each is None else each for each in data.directions()]
    low, high = data.range()
    return {
        "lowest": ("topic", low),
        "highest": ("topic", high),
        "auc": ("topic", [each.auc for each in directions]),
        "variance": ("topic", [each.variance for each in directions]),
    }


def read_scores_are(groups: Groups) -> str:
    """Return the kind of users' scores; results hold the log-odds of probabilities."""
    return str(groups[GROUP].attrs["scores_are"])


def read_topic_ends(groups: Groups) -> tuple[float, float]:
    """Return what probabilities of 0 and 1 are read as, of all topics."""
    low, high = groups[GROUP].attrs["probability_ends"]
    return float(low), float(high)


def read_problems(
    groups: Groups, classes: NDArray[Any], *, given: bool
) -> tuple[tuple[str, ...], dict[Any, str]]:
    """Return the problems of the scores of all topics, and of single ones."""
    group = groups[GROUP]
    names = group["topic"].values.tolist()
    pairs = zip(group["auc"].values.tolist(), group["variance"].values.tolist(), strict=True)
    directions = [None if np.isnan(auc) else Direction(auc, variance) for auc, variance in pairs]
    problems, of_topics = topic_problems(names, directions, classes.tolist())
    low, high = read_range(groups, None)
    inside = 0.0 <= low < high <= 1.0
    return (*problems, *([SAY_WHAT_THEY_ARE] if inside and not given else [])), of_topics


def read_range(groups: Groups, topic: int | None) -> tuple[float, float]:
    """Return a topic's smallest and largest score, by its position; of None those of all."""
    variables = groups[GROUP].variables
    low, high = variables["lowest"].values, variables["highest"].values
    if topic is not None and low[topic] <= high[topic]:
        return float(low[topic]), float(high[topic])
    others = groups[GROUP].attrs.get(REACH, [])
    return float(np.nanmin([*low, *others])), float(np.nanmax([*high, *others]))


def of_population(results: Results) -> Results:
    """Return results without topics: what is known of the next one, with how far scores went."""
    groups = at_topics(results.groups, np.empty(0, dtype=np.intp))
    reach = list(read_range(results.groups, None))
    groups[GROUP] = groups[GROUP].assign_attrs({REACH: reach})
    return Results(groups, results.attrs)


# Monotone log-odds of many topics around their population, in a tree of results.

CURVE = ("intercept", "slope")
(DRAWN,) = PART.draws  # the group


def build_log_odds(
    found: LogOddsOfTopics, names: NDArray[Any], shape: tuple[int, int]
) -> dict[str, xr.Dataset]:
    """
    Return the engine's draws, its constants, and what it says of them, as groups.

    The draws are of all topics, of one without documents ("new_...") and of the population.
    """
    new_intercept, new_slope = _folded(found.new_values, shape)
    variables = _log_odds_of_topics(found, shape) | {
        "new_intercept": (DRAWS, new_intercept),
        "new_slope": ((*DRAWS, "segment"), np.moveaxis(new_slope, 0, -1)),
    }
    variables |= {
        name: (DRAWS, values.reshape(shape))
        for name, values in zip(LOG_ODDS_NAMES, found.population.T, strict=True)
    }
    coords = {
        "topic": names,
        "chain": np.arange(shape[0]),
        "draw": np.arange(shape[1]),
        "segment": np.arange(found.pieces.segments),
    }
    evidence = _evidence_of_topics(found) | {
        "pareto_k": found.pareto_k,
        "population_efficiency": found.population_efficiency,
    }
    return {
        **PART.note(),
        DRAWN: xr.Dataset(variables, coords, {"description": DESCRIPTION}),
        PART.constants: constants_of(
            found.pieces, centre=found.centre, spread=found.spread, asinh_scale=found.asinh_scale
        ),
        PART.evidence: xr.Dataset(evidence, {"topic": names}),
    }


def join_log_odds(
    groups: Groups, added: LogOddsOfTopics, names: NDArray[Any]
) -> dict[str, xr.Dataset]:
    """Return the groups of draws and of evidence with further topics."""
    draws, evidence = groups[DRAWN], groups[PART.evidence]
    shape = draws.sizes["chain"], draws.sizes["draw"]
    return {
        DRAWN: append_topics(draws, _log_odds_of_topics(added, shape), names),
        PART.evidence: append_topics(evidence, _evidence_of_topics(added), names),
    }


def read(groups: Groups) -> LogOddsOfTopics:
    """Return the population for further topics, without the draws of fitted topics."""
    constants, evidence, drawn = (
        groups[name].variables for name in (PART.constants, PART.evidence, DRAWN)
    )
    population = [drawn[name].values.ravel() for name in LOG_ODDS_NAMES]
    slope = drawn["new_slope"].transpose("segment", *DRAWS).values
    new = [drawn["new_intercept"].values.ravel(), *slope.reshape(len(slope), -1)]
    return LogOddsOfTopics(
        pieces=_pieces(constants),
        centre=float(constants["centre"]),
        spread=float(constants["spread"]),
        asinh_scale=float(constants["asinh_scale"]),
        population=np.stack(population, axis=-1),
        values=np.empty((len(new), 0, len(population[0]))),
        new_values=np.stack(new),
        pareto_k=float(evidence["pareto_k"]),
        population_efficiency=float(evidence["population_efficiency"]),
        efficiency=np.empty(0),
        health=Health.without_proposals((0,)),
    )


def read_log_odds_curve(groups: Groups, topic: int | None) -> MonotoneDraws:
    """Return a topic's curve, by its position; of None that of a topic without documents."""
    # Variables, not arrays with coordinates: thousands of topics are read one by one.
    own, constants = (groups[name].variables for name in (DRAWN, PART.constants))
    rates = groups["population" if topic is None else "posterior"].variables["rate"]
    prefix = "new_" if topic is None else ""
    drawn = [rates, *(own[f"{prefix}{name}"] for name in CURVE)]
    rate, intercept, slope = (
        (each if topic is None else each.isel(topic=topic)).values for each in drawn
    )
    check_finite(whose(groups, PART.name, topic), rate, intercept, slope)
    return MonotoneDraws(
        pieces=_pieces(constants),
        intercept=intercept.ravel(),
        slope=slope.reshape(-1, slope.shape[-1]),
        prior=rate.ravel(),
        centre=float(constants["centre"]),
        spread=float(constants["spread"]),
        asinh_scale=float(constants["asinh_scale"]),
    )


def _pieces(variables: Mapping[Any, xr.Variable | xr.DataArray]) -> Pieces:
    return Pieces(variables["knot"].values, float(variables["reference"]))


def _log_odds_of_topics(found: LogOddsOfTopics, shape: tuple[int, int]) -> dict[str, Any]:
    intercept, slope = _folded(found.values, shape)
    return {
        "intercept": (("topic", *DRAWS), intercept),
        "slope": (("topic", *DRAWS, "segment"), np.moveaxis(slope, 0, -1)),
    }


def _evidence_of_topics(found: LogOddsOfTopics) -> dict[str, Any]:
    return health_variables(found.health, found.efficiency, "topic")


def _folded(values: Floats, shape: tuple[int, int]) -> tuple[Floats, Floats]:
    """Return intercepts, and slopes with segments first, draws by chain and draw."""
    folded = values.reshape(*values.shape[:-1], *shape)
    return folded[0], folded[1:]


# The combination of many topics in a tree of results, and each topic's curve of several parts.


def combination_groups(
    found: TopicCombination, names: NDArray[Any], reach: tuple[float, float], shape: tuple[int, int]
) -> dict[str, xr.Dataset]:
    """
    Return the groups of a combination beside those of its densities.

    combination, the weights (part; topic, part) and why; recalibrated, the curve of all topics
    along the densities' log-odds; monotone_engine_draws, the monotone log-odds of each topic
    around a population (topic, chain, draw, segment), in the engine's coordinates alone, for there
    may be thousands of topics; and the constants and the evidence of both.
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
        {"topic": names, "part": list(WEIGHT_NAMES), "density": list(DENSITIES)},
    )
    recalibration = stored(RECALIBRATION, found.recalibration, *shape)
    return {
        COMBINATION: combination,
        **lapse_groups(found.lapse, shape),
        **recalibration,
        **shown_of_topics(recalibration),
        **build_log_odds(found.direct, names, shape),
    }


def read_topic(groups: Groups, topic: int | None) -> CombinedDraws:
    """Return a topic's curve, by its position; of None that of a topic without documents."""
    combination = groups[COMBINATION]
    densities = _densities(groups, topic)
    # The curve is one for all topics, but what it says of a topic is for the topic's own P(+).
    along = replace(read_recalibration(groups), prior=densities[0].prior)
    recalibrated = RecalibratedDraws(mixture(densities, combination["base_weight"].values), along)
    direct = read_log_odds_curve(groups, topic)
    weight = combination["population_weight"] if topic is None else combination["weight"][topic]
    parts: tuple[PartCurves, ...] = (*densities, recalibrated, direct)
    order, reach = order_of(weight.values), read_range(groups, topic)
    return combine(parts, weight.values, read_lapse(groups), order, reach)


def order_of(weight: Floats) -> int:
    """
    Return the seed of the order of a topic's draws of parts, which its weights decide.

    With one order the k-th draws of all topics would belong to the same part. A topic has the same
    draws independently of the other topics, and as a problem of its own.
    """
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


def joined_groups(
    groups: Groups, direct: LogOddsOfTopics, weights: Floats, names: NDArray[Any]
) -> dict[str, xr.Dataset]:
    """Return the groups of the combination with further topics, of weights (topics, parts)."""
    own = {"weight": (("topic", "part"), weights)}
    return {
        COMBINATION: append_topics(groups[COMBINATION], own, names),
        **join_log_odds(groups, direct, names),
    }
