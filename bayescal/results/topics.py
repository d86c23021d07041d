"""Results of many topics: groups with the dimension topic, and each topic's curve."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.curves.class_draws import ClassDraws
from bayescal.curves.curves import check_finite
from bayescal.curves.densities import SIDES
from bayescal.engines.data import KLASS
from bayescal.engines.pooled.added import AddedTopics, Population
from bayescal.engines.pooled.drawing import Health
from bayescal.engines.pooled.engine import TopicPosterior, densities_of
from bayescal.engines.pooled.population import NAMES
from bayescal.families import Family
from bayescal.parts.of_topics import RATE_NAMES
from bayescal.parts.places import DRAWS, Groups
from bayescal.results.room import append
from bayescal.validation import Floats


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

    Parameters
    ----------
    found : TopicPosterior
        The draws.
    names : array of shape (topics,)
        The topics.
    counts : array of shape (2, topics)
        Negative and positive documents: their number, or the sum of their weights.
    unpooled : array of shape (2, 3, topics)
        Maximum likelihood of each topic by itself: mode and sides; nan where there are none.
    chains : int
        Into how many the draws are divided.
    scale : tuple of float
        Centre and spread of all scores.
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
        name: (("klass", *DRAWS), folded(found.population[..., k])) for k, name in enumerate(NAMES)
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
    """
    Return a group with further topics, as far as it knows of topics.

    Parameters
    ----------
    old : Dataset
        The group.
    new : mapping of str to (dimensions, values)
        Of the further topics; what the group does not have of others is left out.
    names : array of shape (topics,)
        The further topics.
    """
    further = {"topic": ("topic", names)} | dict(new)
    joined = {}
    # Variables, not arrays with coordinates, which would be aligned one by one.
    for name, variable in old.variables.items():
        if "topic" in variable.dims:
            variable = _join(variable, xr.Variable(*further[str(name)]).transpose(*variable.dims))
        joined[name] = variable
    return xr.Dataset(joined, attrs=old.attrs)


def _join(old: xr.Variable, new: xr.Variable) -> xr.Variable:
    """Return a variable of further topics too, of numbers without a copy of those there are."""
    if isinstance(old, xr.IndexVariable):
        # Without topics nothing says of which type names are.
        if not old.size:
            return new
        return xr.Variable.concat([old, new], "topic")  # type: ignore[no-untyped-call,no-any-return]
    joined = append(old.values, new.values, old.dims.index("topic"))
    return xr.Variable(old.dims, joined, old.attrs)


def health_variables(health: Health, efficiency: Floats, *dims: str) -> dict[str, Any]:
    """Return how well topics were drawn, and what reweighting to populations leaves of it."""
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
    """Return what is known of each topic: its documents, its own fit, and how it was drawn."""
    known = {name: unpooled[:, k] for k, name in enumerate(SIDES)} | {"documents": counts}
    dims = "klass", "topic"
    return {name: (dims, values) for name, values in known.items()} | health_variables(
        found.health, found.efficiency, *dims
    )


def read_population(groups: Groups, prefix: str = "") -> Population:
    """Return the draws of the population's hyperparameters."""
    variables = groups[prefix + "population"].variables
    of_class = np.stack([variables[name].transpose("klass", *DRAWS).values for name in NAMES], -1)
    rate = np.stack([variables[name].transpose(*DRAWS).values.ravel() for name in RATE_NAMES])
    return Population(of_class.reshape(len(KLASS), -1, len(NAMES)), rate)


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

    Raises
    ------
    ValueError
        If its draws are not finite.
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
