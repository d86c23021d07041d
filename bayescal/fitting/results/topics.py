"""Results of many topics: the groups of one problem, with the dimension topic.

`at_topic` selects a topic, and returns the groups of one problem, which are read as such. Below
"population" are, by the same paths, the groups of a topic without documents, and hyperparameters.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.families import Family
from bayescal.fitting.engines.combination import GROUP as LEVELS
from bayescal.fitting.engines.combination import EndLevels, Ends
from bayescal.fitting.engines.exact.engine import DensitySides
from bayescal.fitting.engines.monotone.posterior import MonotoneDraws
from bayescal.fitting.engines.pooled.combination import (
    DENSITIES,
    WEIGHT_NAMES,
    TopicCombination,
    TopicLevels,
)
from bayescal.fitting.engines.pooled.drawing import Health
from bayescal.fitting.engines.pooled.engine import TopicPosterior, fit_unpooled
from bayescal.fitting.engines.pooled.population import DENSITY_NAMES, LOG_ODDS_NAMES
from bayescal.fitting.parts import part
from bayescal.fitting.parts.combination import lapse_groups
from bayescal.fitting.parts.log_odds import (
    MONOTONE_PATHS,
    RATE_NAMES,
    RECALIBRATED_PATHS,
    shown_of_topics,
)
from bayescal.fitting.parts.part import Groups, PartPaths, Reading
from bayescal.fitting.posterior import DRAWS, draw_coords, pack, unpack
from bayescal.fitting.results.tree import CLUSTERS, LIKELIHOOD, Results
from bayescal.fitting.scores import KLASS, TopicScores
from bayescal.support.numerics import class_prior
from bayescal.support.score_checks import SAY_WHAT_THEY_ARE, Direction, topic_problems
from bayescal.support.validation import Floats

Shape = tuple[int, int]  # chains, and draws of each


def at_topic(groups: Groups, topic: int | None) -> dict[str, xr.Dataset]:
    """Return the groups of the topic at a position; None for a topic without documents."""
    out = {}
    for path, group in groups.items():
        if path.split("/")[0] == part.POPULATION:
            continue
        if topic is None:
            out[path] = groups.get(part.of_unseen(path), group)
        else:
            known = "topic" in group.dims
            out[path] = group.isel(topic=topic, drop=True) if known else group
    return out


def at_topics(groups: Groups, positions: NDArray[np.intp] | slice) -> dict[str, xr.Dataset]:
    """Return groups with the topics at some positions only."""
    return {
        path: group.isel(topic=positions) if "topic" in group.dims else group
        for path, group in groups.items()
    }


def without_topics(results: Results) -> Results:
    """Return the results of the population alone."""
    groups = at_topics(results.groups, np.empty(0, dtype=np.intp))
    groups.pop(CLUSTERS, None)  # dependence of documents that are gone
    return Results(groups, results.attrs)


def names_of(groups: Groups) -> NDArray[Any]:
    """Return the names of the topics."""
    return np.asarray(groups[part.CONSTANTS].variables["topic"].values)


def whose(groups: Groups, topic: int | None) -> str:
    """Return the end of messages about a topic's draws."""
    if topic is None:
        return " for topics without documents"
    return f" for topic {names_of(groups)[topic].item()!r}"


def append_topics(groups: Groups, added: Groups) -> dict[str, xr.Dataset]:
    """Return the groups that depend on topics, with further topics appended."""
    return {path: append_to(groups[path], group) for path, group in added.items()}


def append_to(old: xr.Dataset, new: xr.Dataset) -> xr.Dataset:
    """Return a group with further topics appended."""
    joined = {}
    # Variables are not aligned, unlike arrays with coordinates.
    for name, variable in old.variables.items():
        if "topic" in variable.dims:
            further = new.variables[name].transpose(*variable.dims)
            # Without topics, their names have no type.
            empty = isinstance(variable, xr.IndexVariable) and not variable.size
            variable = further if empty else xr.Variable.concat([variable, further], "topic")  # type: ignore[no-untyped-call]
        joined[name] = variable
    return xr.Dataset(joined, attrs=old.attrs)


# The documents of topics: their range and direction, and maximum likelihood without pooling.


def document_groups(
    data: TopicScores,
    shaped: TopicScores,
    family: Family,
    scale: tuple[float, float],
    scores_are: str,
    others: tuple[float, ...] = (),
) -> dict[str, xr.Dataset]:
    """Return constants and, of the documents of `shaped`, maximum likelihood of each topic."""
    unpooled = fit_unpooled(shaped.topics(), family.name)
    counts = np.stack([shaped.counts(False), shaped.counts(True)])
    centre, spread = scale
    low, high = data.range()
    directions = [each or Direction(np.nan, np.nan) for each in data.directions()]
    shared = {"centre": centre, "spread": spread}
    anywhere = {"lowest": np.nanmin([*low, *others]), "highest": np.nanmax([*high, *others])}
    known = {
        "lowest": ("topic", np.where(np.isnan(low), anywhere["lowest"], low)),
        "highest": ("topic", np.where(np.isnan(high), anywhere["highest"], high)),
        "auc": ("topic", [each.auc for each in directions]),
        "variance": ("topic", [each.variance for each in directions]),
    }
    attrs, names = {"scores_are": scores_are, "probability_ends": list(data.ends)}, data.names
    nothing = np.full((*unpooled.shape[:2], 1), np.nan), np.zeros((len(KLASS), 1))
    return {
        part.CONSTANTS: xr.Dataset(shared | known, {"topic": names}, attrs),
        LIKELIHOOD: _likelihood(family, unpooled, counts, names),
        part.of_unseen(part.CONSTANTS): xr.Dataset(shared | anywhere, attrs=attrs),
        part.of_unseen(LIKELIHOOD): _likelihood(family, *nothing, [""]).isel(topic=0, drop=True),
    }


def with_base_rates(groups: Groups, known: Floats, unseen: Floats) -> dict[str, xr.Dataset]:
    """Return constants with betas of P(+) of sampled documents, (topics, 2) and (2,)."""
    every, new = part.CONSTANTS, part.of_unseen(part.CONSTANTS)
    return {
        every: groups[every].assign(base_rate=(("topic", "beta"), known)),
        new: groups[new].assign(base_rate=("beta", unseen)),
    }


def _likelihood(
    family: Family, sides: Floats, counts: NDArray[Any], names: Sequence[Any] | NDArray[Any]
) -> xr.Dataset:
    """Return maximum likelihood and the number of documents, (klass, topic)."""
    dims = "klass", "topic"
    parameters = dict(
        zip(family.parameters, family.from_sides(*np.moveaxis(sides, 1, 0)), strict=True)
    )
    prior = [class_prior(float(own[1]), float(own.sum())) for own in counts.T]
    variables = {name: (dims, values) for name, values in parameters.items()}
    attrs = {"family": family.name, "parameters": " ".join(parameters)}
    return xr.Dataset(
        variables | {"total_weight": (dims, counts), "prior": ("topic", prior)},
        {"klass": list(KLASS), "topic": names},
        attrs,
    )


def join_documents(groups: Groups, added: Groups) -> dict[str, xr.Dataset]:
    """Return constants and maximum likelihood with further topics."""
    joined = append_topics(groups, {path: added[path] for path in (part.CONSTANTS, LIKELIHOOD)})
    return {**joined, part.of_unseen(part.CONSTANTS): added[part.of_unseen(part.CONSTANTS)]}


def read_problems(
    groups: Groups, classes: NDArray[Any], *, stated: bool
) -> tuple[tuple[str, ...], dict[Any, str]]:
    """Return the problems of the scores of all topics together, and of single topics."""
    group = groups[part.CONSTANTS]
    pairs = zip(group["auc"].values.tolist(), group["variance"].values.tolist(), strict=True)
    directions = [None if np.isnan(auc) else Direction(auc, variance) for auc, variance in pairs]
    names = names_of(groups).tolist()
    problems, of_topics = topic_problems(names, directions, classes.tolist())
    low, high = Reading.of(at_topic(groups, None)).score_range
    inside = 0.0 <= low < high <= 1.0
    return (*problems, *([SAY_WHAT_THEY_ARE] if inside and not stated else [])), of_topics


# Separate levels at ends of the scores.

OF_POPULATION = ("pareto_k", "population_efficiency")  # diagnostics of hyperparameters
OF_LEVELS = part.of_unseen(f"{LEVELS}/hyperparameters")


def level_groups(levels: TopicLevels, names: NDArray[Any], shape: Shape) -> dict[str, xr.Dataset]:
    """Return draws of levels and P(+), also for an unseen topic, and the hyperparameters."""
    dims = ("of", "parameter", *DRAWS)
    population = levels.population.reshape(*levels.population.shape[:2], *shape)
    return {
        LEVELS: pack(levels.topics, shape, names),
        part.of_unseen(LEVELS): pack(levels.unseen, shape),
        OF_LEVELS: xr.Dataset({"beta": (dims, population)}, draw_coords(shape)),
    }


def read_levels_of_population(groups: Groups) -> tuple[Ends, Floats] | None:
    """Return the ends with levels, and their betas (ends + 1, 2, draws); None without levels."""
    if OF_LEVELS not in groups:
        return None
    population = groups[OF_LEVELS]["beta"].transpose("of", "parameter", *DRAWS).values
    ends = unpack(EndLevels, groups[part.of_unseen(LEVELS)]).ends
    return ends, population.reshape(*population.shape[:2], -1)


# Parts around their populations, and their combination.


def part_groups(
    paths: PartPaths, posterior: TopicPosterior[Any], names: NDArray[Any], shape: Shape
) -> dict[str, xr.Dataset]:
    """Return the groups of a part: draws of topics and of an unseen one, and hyperparameters."""
    of_classes = _of_classes(posterior)
    points = zip(hyperparameter_names(paths), np.moveaxis(posterior.population, -1, 0), strict=True)
    variables = {
        name: ((*of_classes, *DRAWS), values.reshape(*values.shape[:-1], *shape))
        for name, values in points
    }
    if posterior.rates is not None:
        variables |= {
            name: (DRAWS, values.reshape(shape))
            for name, values in zip(RATE_NAMES, posterior.rates, strict=True)
        }
    coords = {name: list(KLASS) for name in of_classes} | draw_coords(shape)
    own = {name: (of_classes, getattr(posterior, name)) for name in OF_POPULATION}
    groups = added_groups(paths, posterior, names, shape)
    groups |= paths.note() | {
        paths.draws[1]: pack(posterior.unseen, shape),
        paths.draws[2]: xr.Dataset(variables, coords),
        paths.evidence: groups[paths.evidence].assign(own),
    }
    stats = posterior.sample_stats
    return groups if stats is None else groups | {"sample_stats": stats}


def added_groups(
    paths: PartPaths, posterior: TopicPosterior[Any], names: NDArray[Any], shape: Shape
) -> dict[str, xr.Dataset]:
    """Return a part's groups that depend on topics: their draws and diagnostics."""
    values = {
        "efficiency": posterior.efficiency,
        "resolved": posterior.health.resolved.astype(int),
        "proposal_efficiency": posterior.health.efficiency,
        "proposal_pareto_k": posterior.health.pareto_k,
    }
    dims = (*_of_classes(posterior), "topic")
    coords = {name: list(KLASS) for name in dims[:-1]} | {"topic": names}
    evidence = xr.Dataset({name: (dims, value) for name, value in values.items()}, coords)
    return {paths.draws[0]: pack(posterior.topics, shape, names), paths.evidence: evidence}


def _of_classes(posterior: TopicPosterior[Any]) -> tuple[str, ...]:
    return ("klass",) * (posterior.efficiency.ndim - 1)


def hyperparameter_names(paths: PartPaths) -> tuple[str, ...]:
    """Return the names of the hyperparameters of a part's population."""
    return LOG_ODDS_NAMES if paths == MONOTONE_PATHS else DENSITY_NAMES


def read_population(groups: Groups, paths: PartPaths) -> TopicPosterior[Any]:
    """Return a part's population for further topics, without the fitted ones."""
    own, evidence = groups[paths.draws[2]], groups[paths.evidence].variables
    of_classes = ("klass",) * ("klass" in own.dims)
    variables = (own.variables[name] for name in hyperparameter_names(paths))
    points = np.stack([v.transpose(*of_classes, *DRAWS).values for v in variables], axis=-1)
    rates = None
    if RATE_NAMES[0] in own:
        rates = np.stack([own.variables[name].values.ravel() for name in RATE_NAMES])
    kind = MonotoneDraws if paths == MONOTONE_PATHS else DensitySides
    unseen = unpack(kind, groups[paths.draws[1]])
    return TopicPosterior(
        topics=unseen,
        unseen=unseen,
        population=points.reshape(*points.shape[:-3], -1, points.shape[-1]),
        pareto_k=evidence["pareto_k"].values,
        population_efficiency=evidence["population_efficiency"].values,
        efficiency=np.empty(0),
        health=Health.without_proposals((0,)),
        rates=rates,
    )


def combination_groups(
    combination: TopicCombination, base: tuple[float, float], names: NDArray[Any], shape: Shape
) -> dict[str, xr.Dataset]:
    """Return the groups of a combination other than its densities."""
    along = {"base_weight": ("density", combination.base_weight), "base": ("parameter", list(base))}
    curve, paths = combination.recalibration, RECALIBRATED_PATHS
    draws = pack(curve.posterior, shape).assign_coords(along | {"density": list(DENSITIES)})
    recalibrated = paths.note() | {paths.draws[0]: draws, paths.evidence: curve.evidence()}
    return {
        part.COMBINATION: _named(pack(combination.weights, shape, names)),
        part.of_unseen(part.COMBINATION): _named(pack(combination.population, shape)),
        **lapse_groups(combination.lapse, shape),
        **recalibrated,
        **shown_of_topics(recalibrated),
        **part_groups(MONOTONE_PATHS, combination.direct, names, shape),
    }


def _named(weights: xr.Dataset) -> xr.Dataset:
    return weights.assign_coords(part=list(WEIGHT_NAMES))


def read_recalibration(groups: Groups) -> MonotoneDraws:
    """Return the curve of all topics along the densities' log-odds."""
    return unpack(MonotoneDraws, groups[RECALIBRATED_PATHS.draws[0]])


def weights_of_population(groups: Groups) -> tuple[Floats, Floats]:
    """Return the weights of the recalibrated densities, and the weights of the parts."""
    base: Floats = groups[RECALIBRATED_PATHS.draws[0]]["base_weight"].values
    parts: Floats = groups[part.of_unseen(part.COMBINATION)]["weight"].values
    return base, parts
