"""From scores of one problem to its tree of results."""

from __future__ import annotations

from dataclasses import replace

import xarray as xr

from bayescal.engines.data import BinaryScores
from bayescal.engines.maximum_likelihood import fit_classes
from bayescal.parts import part_of
from bayescal.parts.densities import DENSITIES
from bayescal.parts.options import Task
from bayescal.parts.places import MODE, POSTERIOR, flat, places, plain_place
from bayescal.parts.stack import fit_parts, read_curves
from bayescal.results.tree import Results, build_results, read_documents, reading_of
from bayescal.settings import Settings
from bayescal.small_arrays import small_arrays


def fit_results(settings: Settings, data: BinaryScores, attrs: dict[str, str]) -> Results:
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

    Raises
    ------
    ValueError
        If the settings do not go with one another or with the data.
    """
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
    data, posterior = read_documents(groups), groups[POSTERIOR]
    if settings.inference != "exact":
        return settings.by_program.prior(data, posterior, draws, settings.rng)
    first = places(groups)[0]
    curves = read_curves(groups, [first], reading_of(groups))
    options = replace(settings.options, draws=draws, chains=1)
    task = Task(data, options, settings.rng, {})
    return part_of(first.kind).prior(task, curves[first.name], posterior)


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
