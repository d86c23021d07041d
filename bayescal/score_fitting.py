"""From scores of one problem to its tree of results."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import xarray as xr

from bayescal.engines.data import KLASS, BinaryScores
from bayescal.engines.maximum_likelihood import fit_classes
from bayescal.engines.monotone.outlines import Outlines
from bayescal.parallel import workers
from bayescal.parts import part_of
from bayescal.parts.densities import DENSITIES
from bayescal.parts.options import Task
from bayescal.parts.places import MODE, POSTERIOR, flat, places, plain_place
from bayescal.parts.stack import fit_parts, read_curves
from bayescal.prior_knowledge import Population
from bayescal.results.population import draw_of_population, groups_of_topic, kept_groups, read_kept
from bayescal.results.tree import ProblemResults, build_results, read_documents, reading_of
from bayescal.settings import Settings
from bayescal.small_arrays import small_arrays
from bayescal.topic_fitting import extend_results
from bayescal.topic_scores import TopicScores


def fit_results(
    settings: Settings,
    data: BinaryScores,
    attrs: dict[str, str],
    population: Population | None = None,
) -> ProblemResults:
    """
    Return the results of one problem: maximum likelihood, and the posterior if one is wanted.

    Parameters
    ----------
    settings : Settings
        How it is fitted.
    data : BinaryScores
        The documents.
    attrs : dict
        Provenance.
    population : Population, optional
        What the posterior is around, in place of the parts' own priors.

    Raises
    ------
    ValueError
        If the settings do not go with one another or with the data.
    """
    if population is not None:
        return _fit_around(population, settings, data, attrs)
    fits = fit_classes(
        settings.reference, data, candidates=settings.candidates, scale_floor=settings.scale_floor
    )
    return build_results(data, fits, groups=_posterior(settings, data), attrs=attrs)


def draw_prior(settings: Settings, tree: xr.DataTree, draws: int) -> xr.Dataset:
    """
    Return one chain of draws from the prior of a fitted model, of the variables of its posterior.

    Parameters
    ----------
    settings : Settings
        Of the fit; its `rng` draws.
    tree : xarray.DataTree
        The results.
    draws : int
        How many.

    Raises
    ------
    ValueError
        If the model's first part cannot draw from its prior.
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
    with workers(1), small_arrays():
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
    if settings.program is not None:
        raise ValueError(
            f"a program needs inference 'nuts' or 'map', got program={str(settings.program)!r} with"
            " 'exact', which knows the families' own priors only."
        )
    with small_arrays():
        return fit_parts(settings.parts, data, settings.options, settings.rng)
