"""Run the engine that an estimator asks for: always maximum likelihood, then the posterior's."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescal import programs
from bayescal.engines.data import KLASS, BinaryScores
from bayescal.engines.maximum_likelihood import ClassFits, fit_classes
from bayescal.engines.parts import COMBINATION, PARTS, alone, stored
from bayescal.families import Family, GuardOption
from bayescal.threads import one_thread

if TYPE_CHECKING:
    from bayescal.engines.exact.engine import Densities
    from bayescal.engines.monotone.engine import Direct


@dataclass(frozen=True)
class DirectFit:
    """
    Direct log-odds, of the scores or of the densities' log-odds.

    Attributes
    ----------
    name : str
        Of the part.
    segments : int or None
        How many pieces at most; None for a number by the size of the data.
    bends : tuple of float
        Warps to choose from.
    hyperparameters : mapping or None
        Of the prior.
    recalibrates : bool
        Whether the densities' log-odds take the place of the scores.
    """

    name: str
    segments: int | None
    bends: tuple[float, ...]
    hyperparameters: Mapping[str, float] | None
    recalibrates: bool = False


@dataclass(frozen=True)
class Settings:
    """
    What an estimator's parameters say about inference; see `ScoreCalibrator`.

    Of the families, `reference` is the one that maximum likelihood fits and programs are named
    after; bends are those of the warps to average over, in spreads. With families and
    direct fits all are combined, or the part `alone` is used.
    """

    families: tuple[Family, ...]
    reference: Family
    inference: str
    program: str | Path | None
    hyperparameters: Mapping[str, float] | None
    candidates: str
    guard: GuardOption
    bends: tuple[float, ...]
    averaging: str
    monotone: bool
    draws: int
    chains: int
    direct: tuple[DirectFit, ...]
    alone: str | None
    sampler_options: Mapping[str, Any] | None
    rng: np.random.Generator
    progressbar: bool


@dataclass(frozen=True)
class Inference:
    """
    What the engines found.

    Attributes
    ----------
    fits : ClassFits
        Maximum likelihood.
    groups : dict of str to xarray.Dataset
        posterior, or engine_draws and engine_constants, and evidence for "exact", posterior and
        sample_stats for "nuts", mode for "map", nothing for "mle".
    """

    fits: ClassFits
    groups: dict[str, xr.Dataset]


def run(settings: Settings, data: BinaryScores) -> Inference:
    """Return the maximum-likelihood fits of the data, and the posterior if one is wanted."""
    fits = fit_classes(
        settings.reference, data, candidates=settings.candidates, guard=settings.guard
    )
    if settings.inference == "mle":
        return Inference(fits, {})
    if settings.inference == "exact":
        with one_thread():
            return Inference(fits, _exact(settings, data))
    model = build_program(settings, data)
    engine = {"map": _mode, "nuts": _draws}[settings.inference]
    return Inference(fits, engine(settings, model))


def _exact(settings: Settings, data: BinaryScores) -> dict[str, xr.Dataset]:
    if settings.program is not None:
        raise ValueError(
            f"a program needs inference 'nuts' or 'map', got program={str(settings.program)!r} with"
            " 'exact', which knows the families' own priors only."
        )
    shape = settings.chains, settings.draws
    if not settings.families:
        fit = settings.direct[0]
        return stored(alone(fit.name), _direct(settings, fit, data), *shape)
    densities = _densities(settings, data)
    groups = densities.groups(*shape)
    return groups | _combined(settings, data, densities) if settings.direct else groups


def build_program(settings: Settings, data: BinaryScores) -> Any:
    """
    Return the model of the settings' program for the data.

    Raises
    ------
    ValueError
        If posterior curves could not be read from it.
    """
    # PyMC takes seconds to import: only where it is used.
    from bayescal.engines.program_model import build_model

    program = programs.load(settings.program or settings.reference.name)
    model = build_model(program, data, settings.hyperparameters)
    _check_model(model, settings)
    return model


def _check_model(model: Any, settings: Settings) -> None:
    """Refuse a program that posterior curves cannot be read from, before sampling it."""
    wanted = (*settings.reference.parameters, "prior")
    if missing := [name for name in wanted if name not in model.named_vars]:
        raise ValueError(
            f"the program's posterior must hold {', '.join(wanted)} for family"
            f" {settings.reference.name!r}; it holds no {', '.join(missing)}. (Of programs for"
            " labels given scores there is family='monotone' or 'logistic' with"
            " inference='exact'.)"
        )


def _densities(settings: Settings, data: BinaryScores) -> Densities:
    from bayescal.engines.exact.engine import fit_densities

    return fit_densities(
        settings.families,
        data,
        settings.rng,
        draws=settings.draws * settings.chains,
        hyperparameters=settings.hyperparameters,
        bends=settings.bends,
        averaging=settings.averaging,
        monotone=settings.monotone,
    )


def _direct(settings: Settings, fit: DirectFit, data: BinaryScores) -> Direct:
    from bayescal.engines.monotone.engine import fit_direct

    return fit_direct(
        data,
        settings.rng,
        draws=settings.draws * settings.chains,
        bends=fit.bends,
        hyperparameters=fit.hyperparameters,
        n_segments=fit.segments,
    )


def _combined(
    settings: Settings, data: BinaryScores, densities: Densities
) -> dict[str, xr.Dataset]:
    from bayescal.engines import combined

    documents = combined.pick_documents(data, settings.rng)
    # Of documents left out: in those that it was fitted to a density puts too much trust.
    of_densities = combined.leave_one_out_of_densities(
        densities.of_class(0), densities.of_class(1), data
    )
    log_odds = {"densities": of_densities[documents.index]}
    groups: dict[str, xr.Dataset] = {}
    for fit in settings.direct:
        scores = replace(data, score=of_densities) if fit.recalibrates else data
        direct = _direct(settings, fit, scores)
        log_odds[fit.name] = direct.leave_one_out(documents.index, settings.rng)
        groups |= stored(PARTS[fit.name], direct, settings.chains, settings.draws)
    if data.scores_are != "scores":
        log_odds["identity"] = data.score[documents.index]
    groups[COMBINATION] = combined.combination_dataset(log_odds, data, documents, settings.alone)
    return groups


def _mode(settings: Settings, model: Any) -> dict[str, xr.Dataset]:
    from bayescal.engines.maximum_a_posteriori import ParameterSpace, find_mode

    mode = find_mode(ParameterSpace(model), settings.rng)
    if not mode.converged:
        warnings.warn(
            "the search for the posterior mode reached its limit of steps; use inference='nuts'"
            " or rescale the program's parameters.",
            stacklevel=4,
        )
    variables = {
        name: xr.DataArray(value, dims=("klass",) if np.shape(value) == (len(KLASS),) else None)
        for name, value in mode.values.items()
    }
    attrs = {
        "log_density": mode.log_density,
        "agreeing_starts": mode.agreeing_starts,
        "starts": mode.starts,
        "converged": int(mode.converged),
    }
    return {"mode": xr.Dataset(variables, {"klass": list(KLASS)}, attrs)}


def _draws(settings: Settings, model: Any) -> dict[str, xr.Dataset]:
    from bayescal.engines.nuts import draw_posterior

    return draw_posterior(
        model,
        settings.rng,
        draws=settings.draws,
        chains=settings.chains,
        progressbar=settings.progressbar,
        options=settings.sampler_options,
    )
