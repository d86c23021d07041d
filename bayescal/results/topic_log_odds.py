"""Monotone log-odds of many topics around their population, in a tree of results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.curves.curves import check_finite
from bayescal.curves.monotone_draws import MonotoneDraws
from bayescal.engines.monotone.basis import Pieces
from bayescal.engines.monotone.engine import DESCRIPTION, constants_of
from bayescal.engines.pooled.drawing import Health
from bayescal.engines.pooled.log_odds import LogOddsOfTopics
from bayescal.engines.pooled.log_odds_population import NAMES
from bayescal.parts.of_topics import MONOTONE_OF_TOPICS as PART
from bayescal.parts.places import DRAWS, Groups
from bayescal.results.topics import append_topics, health_variables, whose
from bayescal.validation import Floats

CURVE = ("intercept", "slope")
(DRAWN,) = PART.draws  # the group


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


def join(groups: Groups, added: LogOddsOfTopics, names: NDArray[Any]) -> dict[str, xr.Dataset]:
    """Return the groups of draws and of evidence with further topics."""
    draws, evidence = groups[DRAWN], groups[PART.evidence]
    shape = draws.sizes["chain"], draws.sizes["draw"]
    return {
        DRAWN: append_topics(draws, _of_topics(added, shape), names),
        PART.evidence: append_topics(evidence, _evidence_of_topics(added), names),
    }


def read(groups: Groups) -> LogOddsOfTopics:
    """Return what further topics are drawn around; it holds no topics' draws."""
    constants, evidence, drawn = (
        groups[name].variables for name in (PART.constants, PART.evidence, DRAWN)
    )
    population = [drawn[name].values.ravel() for name in NAMES]
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
        population_efficiency=float(evidence.get("population_efficiency", np.nan)),
        efficiency=np.empty(0),
        health=Health.without_proposals((0,)),
    )


def read_curve(groups: Groups, topic: int | None) -> MonotoneDraws:
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


def _of_topics(found: LogOddsOfTopics, shape: tuple[int, int]) -> dict[str, Any]:
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
