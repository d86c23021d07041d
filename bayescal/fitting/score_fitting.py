"""From scores of one problem to its tree of results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike, NDArray

from bayescal.fitting.engines.atoms import GROUP, find_levels
from bayescal.fitting.engines.maximum_likelihood import fit_classes
from bayescal.fitting.engines.monotone.engine import Outlines
from bayescal.fitting.parts.combination import fit_parts, part_of, read_curves
from bayescal.fitting.parts.densities import DENSITIES
from bayescal.fitting.parts.part import MODE, POSTERIOR, Groups, Task, flat, places, plain_place
from bayescal.fitting.population import Population
from bayescal.fitting.results.population import (
    draw_of_population,
    groups_of_topic,
    kept_groups,
    read_kept,
)
from bayescal.fitting.results.tree import ProblemResults, build_results, read_documents, reading_of
from bayescal.fitting.scores import KLASS, BinaryScores, TopicScores, together
from bayescal.fitting.settings import Settings
from bayescal.fitting.topic_fitting import extend_results
from bayescal.metrics.scores import losses
from bayescal.support.parallel import one_blas_thread, workers
from bayescal.support.validation import (
    Floats,
    as_scores_of,
    as_weights,
    check_same_length,
    match_labels,
)

if TYPE_CHECKING:
    import pandas as pd


def fit_results(
    settings: Settings,
    data: BinaryScores,
    attrs: dict[str, str],
    population: Population | None = None,
) -> ProblemResults:
    """Return the results of one problem: maximum likelihood, and the posterior if one is wanted."""
    if population is not None:
        return _fit_around(population, settings, data, attrs)
    fits = fit_classes(
        settings.reference, data, candidates=settings.candidates, scale_floor=settings.scale_floor
    )
    return build_results(data, fits, groups=_posterior(settings, data), attrs=attrs)


def draw_prior(settings: Settings, tree: xr.DataTree, draws: int) -> xr.Dataset:
    """
    Return one chain of draws from the prior of a fitted model, of the variables of its posterior.
    """
    groups = flat(tree)
    population = read_kept(groups)
    if population is not None:
        return draw_of_population(population.groups, draws)
    data, posterior = read_documents(groups), groups[POSTERIOR]
    if settings.inference != "exact":
        return settings.by_program.prior(data, posterior, draws, settings.rng)
    first = places(groups)[0]
    curves = read_curves(groups, [first], reading_of(groups))
    options = replace(settings.options, draws=draws, chains=1)
    task = Task(Outlines(data), options, settings.rng, {})
    return part_of(first.kind).prior(task, curves[first.name], posterior)


def _fit_around(
    population: Population, settings: Settings, data: BinaryScores, attrs: dict[str, str]
) -> ProblemResults:
    """Return the results of one more topic of a population, whose own draws stay as they are."""
    families, units = population.of_families, population.units
    data = replace(data, units=(units["centre"], units["spread"]))
    fits = fit_classes(
        families[0], data, candidates=settings.candidates, scale_floor=settings.scale_floor
    )
    # The one topic is done here: to send it to another process would take longer.
    with workers(1), one_blas_thread():
        extended = extend_results(population.results, _as_topic(data), families, settings.rng)
    groups = groups_of_topic(extended.groups) | kept_groups(population.results)
    return build_results(data, fits, groups=groups, attrs=attrs)


def _as_topic(data: BinaryScores) -> TopicScores:
    """Return the documents of one problem that count, as those of a topic without a name."""
    one = TopicScores(
        names=np.array([""]),
        code=np.zeros(data.score.size, dtype=np.intp),
        score=data.score,
        positive=data.positive,
        classes=np.array(KLASS),
        weight=data.weight,
    )
    return one if data.weight is None else one.take(data.weight > 0.0)


def _posterior(settings: Settings, data: BinaryScores) -> dict[str, xr.Dataset]:
    if settings.inference == "mle":
        return {}
    if settings.inference != "exact":
        groups = settings.by_program.posterior(settings.inference, data, settings.rng)
        group = MODE if settings.inference == "map" else POSTERIOR
        return plain_place(DENSITIES.name, DENSITIES.name, group).note() | groups
    options = settings.options
    with one_blas_thread():
        # Draws of a combination alone are free to step up, or down, at an end.
        levels = find_levels(data) if options.combined and not options.monotone else None
        if levels is None:
            return fit_parts(settings.parts, data, options, settings.rng)
        groups = fit_parts(settings.parts, levels.rest, options, settings.rng)
        drawn = levels.dataset(data, options.chains, options.draws, settings.rng)
        return groups | {GROUP: drawn}


# More documents for a fitted calibrator, and how well they were predicted before they joined.

PREQUENTIAL = "prequential"  # the group of how well documents were predicted before they joined
COLUMNS = ("documents", "log_loss", "brier", "forgetting")
# Documents that weigh less than that have a negligible likelihood: a stream that forgets may let
# them go, so that it does not grow without end.
LEAST_WEIGHT = 1e-12
# A batch as small as that is not worth a table of the curve, which its update makes void.
MOST_DIRECT = 256


def read_new(
    scores: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    *,
    scores_are: str,
    ends: tuple[float, float],
    classes: NDArray[Any],
) -> BinaryScores:
    """Return new documents of a calibrator that knows its classes; one of these may be missing."""
    if y is None:
        raise ValueError("labels must hold the label of every score, got None.")
    values = as_scores_of(scores, scores_are, ends=ends)
    check_same_length("scores", values.size, "labels", len(np.asarray(y)))
    weight = as_weights(sample_weight, values.size)
    return BinaryScores(values, match_labels(y, classes, "labels"), weight, scores_are)


def joined(old: BinaryScores, new: BinaryScores, forgetting: float) -> BinaryScores:
    """Return the documents of today's posterior, in yesterday's units."""
    assert old.weight is not None  # noqa: S101
    kept = old if forgetting == 1.0 else _faded(old, old.weight * forgetting)
    weight = np.ones(new.score.size) if new.weight is None else new.weight
    both = together([kept, replace(new, weight=weight)])
    assert both.weight is not None  # noqa: S101
    # Weights of 1 are none, so that updates and one fit to all documents are the same to the bit.
    own = None if np.all(both.weight == 1.0) else both.weight
    return replace(
        both,
        weight=own,
        scores_are=old.scores_are,
        name=old.name,
        units=old.centre_and_spread,
        ends=old.ends,
    )


def _faded(old: BinaryScores, weight: Floats) -> BinaryScores:
    """Return documents with other weights, without those that have next to none."""
    kept = weight >= LEAST_WEIGHT
    for own in (old.positive, ~old.positive):
        if not kept[own].any():
            # A class of which nothing is left would have no density.
            kept |= own & (weight == weight[own].max())
    return replace(
        old,
        score=old.score[kept],
        positive=old.positive[kept],
        weight=np.maximum(weight[kept], LEAST_WEIGHT),
    )


def with_row(
    groups: Groups, log_odds: Floats, new: BinaryScores, forgetting: float
) -> dict[str, xr.Dataset]:
    """Return the group of how new documents were predicted, those of earlier updates before it."""
    total = losses(log_odds, new.positive, new.weight)
    row = (total.n, total.log_loss / total.n, total.squared_error / total.n, forgetting)
    before = groups.get(PREQUENTIAL)
    table = {
        name: ("update", np.append([] if before is None else before[name].values, float(value)))
        for name, value in zip(COLUMNS, row, strict=True)
    }
    return {PREQUENTIAL: xr.Dataset(table, attrs={"log_loss_unit": "bits"})}


def prequential_table(groups: Groups) -> pd.DataFrame:
    """Return that group as a table, a row for each update, none of a first fit."""
    import pandas as pd

    found = groups.get(PREQUENTIAL)
    none = np.empty(0)
    values = {name: none if found is None else found[name].values for name in COLUMNS}
    updates = values[COLUMNS[0]].size
    return pd.DataFrame(values, index=pd.RangeIndex(1, updates + 1, name="update"))
