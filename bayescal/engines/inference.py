"""Run the engine that an estimator asks for: always maximum likelihood, then the posterior's."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bayescal import programs
from bayescal.engines.data import KLASS, BinaryScores
from bayescal.engines.maximum_likelihood import ClassFits, fit_classes
from bayescal.families import Family, GuardOption


@dataclass(frozen=True)
class Settings:
    """What an estimator's parameters say about inference; see `ScoreCalibrator`."""

    family: Family
    inference: str
    program: str | Path | None
    hyperparameters: Mapping[str, float] | None
    candidates: str
    guard: GuardOption
    draws: int
    chains: int
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
        posterior and evidence for "exact", posterior and sample_stats for "nuts", mode for "map",
        nothing for "mle".
    """

    fits: ClassFits
    groups: dict[str, xr.Dataset]


def run(settings: Settings, data: BinaryScores) -> Inference:
    """Return the maximum-likelihood fits of the data, and the posterior if one is wanted."""
    fits = fit_classes(settings.family, data, candidates=settings.candidates, guard=settings.guard)
    if settings.inference == "mle":
        return Inference(fits, {})
    if settings.inference == "exact":
        return Inference(fits, _exact(settings, data))
    # PyMC takes seconds to import: only where it is used.
    from bayescal.engines.program_model import build_model

    program = programs.load(settings.program or settings.family.name)
    model = build_model(program, data, settings.hyperparameters)
    engine = {"map": _mode, "nuts": _draws}[settings.inference]
    return Inference(fits, engine(settings, model))


def _exact(settings: Settings, data: BinaryScores) -> dict[str, xr.Dataset]:
    from bayescal.engines.exact.engine import draw_posterior

    if settings.program is not None:
        raise ValueError(
            f"a program needs inference 'nuts' or 'map', got program={str(settings.program)!r} with"
            " 'exact', which knows the families' own priors only."
        )
    return draw_posterior(
        settings.family,
        data,
        settings.rng,
        draws=settings.draws,
        chains=settings.chains,
        hyperparameters=settings.hyperparameters,
    )


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
