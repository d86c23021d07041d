"""Inference by a program for PyMC: draws by NUTS, the mode of its posterior, draws of its prior."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from bayescal.distributions import programs
from bayescal.distributions.programs import Program, blamed_on_program
from bayescal.families import Family
from bayescal.fitting.scores import KLASS, BinaryScores
from bayescal.support.validation import Floats, warn_user

if TYPE_CHECKING:
    from bayescal.fitting.engines.maximum_a_posteriori import Mode


@dataclass(frozen=True)
class ProgramInference:
    """A program with its hyperparameters and the options of its sampler."""

    program: str | Path  # its name or path
    family: Family  # whose parameters it is to have
    hyperparameters: Mapping[str, float]  # keyword arguments of the program
    draws: int  # draws of each chain, and chains
    chains: int
    sampler_options: Mapping[str, Any] | None  # further arguments of pm.sample
    progressbar: bool  # whether PyMC shows its progress

    # PyMC takes seconds to import: only where it is used.

    def posterior(
        self, inference: str, data: BinaryScores, rng: np.random.Generator
    ) -> dict[str, xr.Dataset]:
        """Return the groups posterior and sample_stats by "nuts", or mode by "map"."""
        model = self._model(data)
        if inference == "map":
            from bayescal.fitting.engines.maximum_a_posteriori import ParameterSpace, find_mode

            return _mode_group(find_mode(ParameterSpace(model), rng))
        return draw_posterior(
            model,
            rng,
            draws=self.draws,
            chains=self.chains,
            progressbar=self.progressbar,
            options=self.sampler_options,
        )

    def prior(
        self, data: BinaryScores, posterior: xr.Dataset, draws: int, rng: np.random.Generator
    ) -> xr.Dataset:
        """Return one chain of draws from the program's prior, of the posterior's variables."""
        return draw_prior(self._model(data), posterior, draws, rng)

    def _model(self, data: BinaryScores) -> Any:
        model = build_model(programs.load(self.program), data, self.hyperparameters)
        _check_model(model, self.family)
        return model


def _check_model(model: Any, family: Family) -> None:
    """Refuse a program that posterior curves cannot be read from, before sampling it."""
    wanted = (*family.parameters, "prior")
    if missing := [name for name in wanted if name not in model.named_vars]:
        raise ValueError(
            f"the program's posterior must hold {', '.join(wanted)} for family"
            f" {family.name!r}; it holds no {', '.join(missing)}. (Of programs for"
            " labels given scores there is parts='monotone' or 'logistic' with"
            " inference='exact'.)"
        )


def _mode_group(mode: Mode) -> dict[str, xr.Dataset]:
    if not mode.converged:
        warn_user(
            "the search for the posterior mode reached its limit of steps; use inference='nuts'"
            " or rescale the program's parameters."
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


# One core: a process a chain costs more than small data take, and forking under threads
# (notebooks, joblib) is unsafe. Users with large data pass cores=.
DRAWS = ("chain", "draw")
OPTIONS: dict[str, Any] = {"tune": 1000, "cores": 1, "target_accept": 0.9}


def draw_posterior(
    model: Any,
    rng: np.random.Generator,
    *,
    draws: int,
    chains: int,
    progressbar: bool = False,
    options: Mapping[str, Any] | None = None,
) -> dict[str, xr.Dataset]:
    """Draw from the posterior of a model with pm.sample."""
    import pymc as pm

    arguments = OPTIONS | dict(options or {})
    with model, _quiet("pymc"):
        result = pm.sample(
            draws=draws,
            chains=chains,
            random_seed=int(rng.integers(2**31)),
            progressbar=progressbar,
            compute_convergence_checks=False,  # ours warn with what to do: results/diagnostics.py
            **arguments,
        )
    return sample_groups(result, ("posterior", "sample_stats"))


def draw_prior(
    model: Any, posterior: xr.Dataset, draws: int, rng: np.random.Generator
) -> xr.Dataset:
    """Return draws from a model's prior, one chain, of the variables of its posterior."""
    import pymc as pm

    names = [str(name) for name in posterior.data_vars]
    values = pm.draw([model[name] for name in names], draws, random_seed=int(rng.integers(2**31)))
    variables = {
        # pm.draw gives one draw no axis.
        name: (posterior[name].dims, np.reshape(value, (1, draws, *posterior[name].shape[2:])))
        for name, value in zip(names, values, strict=True)
    }
    coords = {name: each for name, each in posterior.coords.items() if name not in DRAWS}
    return xr.Dataset(variables, coords | {"chain": [0], "draw": np.arange(draws)})


def sample_groups(result: Any, groups: tuple[str, ...]) -> dict[str, xr.Dataset]:
    """Return groups of pm.sample's result: InferenceData of PyMC 5, DataTree of PyMC 6."""
    if isinstance(result, xr.DataTree):
        return {name: result[name].to_dataset() for name in groups}
    return {name: getattr(result, name) for name in groups}


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def build_model(
    program: Program, data: BinaryScores, hyperparameters: Mapping[str, float] | None = None
) -> Any:
    """Return the program's pymc.Model for the data."""
    if data.weight is not None and not data.weight.all():
        keep = data.weight > 0.0
        data = BinaryScores(
            data.score[keep], data.positive[keep], data.weight[keep], units=data.units
        )
    arguments = resolve_hyperparameters(program, data, hyperparameters)
    with blamed_on_program(program.path):
        model = program.model(data.score, data.positive.astype(np.int64), **arguments)
    _check_observed(program, model)
    if data.weight is not None and not np.all(data.weight == 1.0):
        _raise_likelihood(model, data.weight)
    return model


def resolve_hyperparameters(
    program: Program, data: BinaryScores, hyperparameters: Mapping[str, float] | None
) -> dict[str, float]:
    """Return the keyword arguments for the program's `model`: defaults, data, the user's."""
    arguments = program.hyperparameters()
    values = dict(hyperparameters or {})
    unknown = sorted(set(values) - set(arguments))
    if unknown:
        raise ValueError(
            f"hyperparameters of program {program.name!r} are {', '.join(arguments) or 'none'};"
            f" got {', '.join(map(repr, unknown))}."
        )
    from_data = zip(("centre", "spread"), data.centre_and_spread, strict=True)
    return arguments | {name: value for name, value in from_data if name in arguments} | values


def _check_observed(program: Program, model: Any) -> None:
    import pymc as pm

    if not isinstance(model, pm.Model):
        raise ValueError(
            f"model(score, label) of program {program.path} must return a pymc.Model,"
            f" got {type(model).__name__}."
        )
    observed = {variable.name for variable in model.observed_RVs}
    if not {"score", "label"} <= observed:
        raise ValueError(
            f"program {program.path} must observe variables named 'score' and 'label',"
            f" it observes {', '.join(sorted(observed)) or 'none'}."
        )


def _raise_likelihood(model: Any, weight: Floats) -> None:
    import pymc as pm

    observed = [model["label"], model["score"]]
    with model:
        terms = model.logp(vars=observed, sum=False)
        pm.Potential("weight", sum(((weight - 1.0) * term).sum() for term in terms))
