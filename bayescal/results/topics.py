"""Results of many topics: a tree with the dimension topic, and each topic's curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.engines.data import KLASS
from bayescal.engines.pooled.engine import Population, TopicPosterior, densities_of
from bayescal.engines.pooled.hyperposterior import GOOD_K
from bayescal.engines.pooled.population import NAMES
from bayescal.families import Family
from bayescal.results.class_draws import ClassDraws
from bayescal.validation import Floats

if TYPE_CHECKING:
    import pandas as pd

SIDES = ("theta", "left", "right")
DRAWS = ("chain", "draw")
RATE_NAMES = ("rate_alpha", "rate_beta")
HYPERPARAMETERS = (*NAMES, *RATE_NAMES)
GROUPS = ("posterior", "population", "topics")
MONOTONE_EVIDENCE = "monotone_evidence"


def build_topics(
    found: TopicPosterior,
    names: NDArray[Any],
    counts: NDArray[np.intp],
    apart: Floats,
    *,
    chains: int,
    scale: tuple[float, float],
) -> xr.DataTree:
    """
    Return the tree of results of one family.

    Groups: posterior, the draws (chain, draw, klass, topic) of mode and sides in raw score units
    and of the rate, P(+); population, those of its unbounded hyperparameters and of a topic
    without documents; topics, what is known of each; sample_stats, of NUTS.

    Parameters
    ----------
    found : TopicPosterior
        The draws.
    names : array of shape (topics,)
        The topics.
    counts : integer array of shape (2, topics)
        Negative and positive documents.
    apart : array of shape (2, 3, topics)
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
    topics = {name: (("klass", "topic"), apart[:, k]) for k, name in enumerate(SIDES)} | {
        "documents": (("klass", "topic"), counts),
        "efficiency": (("klass", "topic"), found.efficiency),
        "pareto_k": ("klass", found.pareto_k),
        "resolved": int(found.resolved),
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
    return xr.DataTree.from_dict(groups)


def prefix_of(family: Family, families: tuple[Family, ...]) -> str:
    """Return what the names of a family's groups start with: of the first of several, nothing."""
    return "" if family == families[0] else f"{family.name}_"


def population_pareto_k(tree: xr.DataTree, families: tuple[Family, ...]) -> float:
    """Return the largest Pareto k of populations' importance weights, over families and classes."""
    return max(float(topics["pareto_k"].max()) for topics in _known(tree, families))


def population_problem(tree: xr.DataTree, families: tuple[Family, ...]) -> str | None:
    """Return what is wrong with the population of any family and what to do; None if nothing is."""
    worst = population_pareto_k(tree, families)
    if worst <= GOOD_K and all(int(topics["resolved"]) for topics in _known(tree, families)):
        return None
    why = f"Pareto k {worst:.2f}, good below {GOOD_K}"
    if worst <= GOOD_K:
        why = "some topics' draws are too uneven to stand for them"
    return (
        f"the population's posterior was not resolved ({why}): compare with pooling='none', or"
        " leave out topics whose scores are unlike the others'"
    )


def _known(tree: xr.DataTree, families: tuple[Family, ...]) -> list[xr.Dataset]:
    names = [f"{prefix_of(family, families)}topics" for family in families]
    # A combination's log-odds have a population of their own.
    names += [MONOTONE_EVIDENCE] if MONOTONE_EVIDENCE in tree else []
    return [tree[name].to_dataset() for name in names]


def with_prefix(tree: xr.DataTree, prefix: str) -> dict[str, xr.Dataset]:
    """Return the groups of one family's tree under the names that they have among others'."""
    return {f"{prefix}{name}": node.to_dataset() for name, node in tree.children.items()}


def take_family(tree: xr.DataTree, prefix: str) -> xr.DataTree:
    """Return the groups of one family as a tree of its own."""
    groups = {name: tree[f"{prefix}{name}"].to_dataset() for name in GROUPS}
    return xr.DataTree.from_dict(groups)


def join_topics(
    tree: xr.DataTree,
    added: tuple[Floats, Floats],
    names: NDArray[Any],
    counts: NDArray[np.intp],
    apart: Floats,
) -> xr.DataTree:
    """Return a tree with further topics: draws of sides and rate, and what is known of them."""
    sides, rate = added
    posterior, topics = tree["posterior"].to_dataset(), tree["topics"].to_dataset()
    shape = tuple(posterior.sizes[dim] for dim in DRAWS)
    new = {
        name: (
            ("klass", "topic", *DRAWS),
            sides[:, k].reshape(*sides.shape[:1], names.size, *shape),
        )
        for k, name in enumerate(SIDES)
    } | {"rate": (("topic", *DRAWS), rate.reshape(names.size, *shape))}
    known = {name: (("klass", "topic"), apart[:, k]) for k, name in enumerate(SIDES)} | {
        "documents": (("klass", "topic"), counts),
        "efficiency": (("klass", "topic"), np.full(counts.shape, np.nan)),
    }
    shared = topics.drop_dims("topic")
    joined = {
        "posterior": xr.concat([posterior, xr.Dataset(new, {"topic": names})], "topic"),
        "population": tree["population"].to_dataset(),
        "topics": xr.concat(
            [topics[list(known)], xr.Dataset(known, {"topic": names})], "topic"
        ).merge(shared),
    }
    return xr.DataTree.from_dict(joined)


def read_population(tree: xr.DataTree, prefix: str = "") -> Population:
    """Return the draws of the population's hyperparameters."""
    group = tree[prefix + "population"].to_dataset().stack(sample=DRAWS)
    return Population(
        np.stack([group[name].transpose("klass", "sample").values for name in NAMES], axis=-1),
        np.stack([group[name].values for name in RATE_NAMES]),
    )


def take_topics(tree: xr.DataTree, positions: NDArray[np.intp]) -> xr.DataTree:
    """Return a tree with the topics at some positions alone."""
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    return xr.DataTree.from_dict(
        {
            name: group.isel(topic=positions) if "topic" in group.dims else group
            for name, group in groups.items()
        }
    )


def read_scale(tree: xr.DataTree) -> tuple[float, float]:
    """Return the centre and the spread of all scores fitted."""
    return float(tree["topics"]["centre"]), float(tree["topics"]["spread"])


def read_curve(
    tree: xr.DataTree, family: Family, topic: int | None, prefix: str = ""
) -> ClassDraws:
    """
    Return a topic's curve by densities, by its position; of None that of one without documents.

    The names of groups start with `prefix`.
    """
    # Variables, not arrays with coordinates: thousands of topics are read one by one.
    group = "population" if topic is None else "posterior"
    variables = tree[prefix + group].dataset.variables

    def draws(name: str, *dims: str) -> Floats:
        variable = variables[name]
        if topic is not None:
            variable = variable.isel(topic=topic)
        values: Floats = variable.transpose(*dims, *DRAWS).values
        return values

    sides = np.stack([draws(name, "klass") for name in SIDES], axis=1)
    return curve_of(sides, draws("rate").ravel(), family, read_scale(tree)[0])


def curve_of(sides: Floats, rate: Floats, family: Family, centre: float) -> ClassDraws:
    """Return the curve of draws of mode and sides, of shape (2, 3, ...), and of the rate."""
    return ClassDraws(*densities_of(sides.reshape(2, 3, -1), family, centre), rate)


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
