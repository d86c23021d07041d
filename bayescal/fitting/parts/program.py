"""A model program as a part: fitted by NUTS or by its mode."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.families import FAMILIES
from bayescal.families.draws import IDENTITY
from bayescal.fitting.covariates import Covariates
from bayescal.fitting.curves.program_draws import ProgramClassDraws, ProgramDraws, ProgramLogOdds
from bayescal.fitting.engines.point_estimates import ClassFits
from bayescal.fitting.engines.program import CHAINS, DRAWS, PRIOR, ProgramInference
from bayescal.fitting.engines.program_functions import DENSITY, SHIPPED, ProgramFunctions
from bayescal.fitting.parts.configured import CONFIGURED_PARTS, PROGRAM
from bayescal.fitting.parts.densities import density_block
from bayescal.fitting.parts.part import (
    FOLDER,
    MODE,
    POSTERIOR,
    Block,
    Finding,
    Groups,
    Options,
    Part,
    PartPaths,
    Reading,
    Row,
    Task,
)
from bayescal.fitting.posterior import Posterior, check_finite
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.chains import check_chains
from bayescal.inference.importance import smooth
from bayescal.inference.newton import log_scores
from bayescal.support.numerics import log_sum_exp
from bayescal.support.validation import Floats

PARAMETERS = "answer_parameters"  # attribute of the draws: the variables that tables show
PROBLEMS = "problems"  # attribute of the chains' group
# Largest Pareto k of reliable leave-one-out predictions (Vehtari et al., 2017).
WORST_SHAPE = 0.7


@dataclass(frozen=True)
class ProgramFit:
    """The posterior of a program, or its mode."""

    draws: xr.Dataset  # the group posterior or mode
    chains: xr.Dataset | None  # statistics of the sampler; None for a mode
    functions: ProgramFunctions
    alone: bool  # whether it is the only part
    data: BinaryScores

    @cached_property
    def posterior(self) -> ProgramClassDraws | ProgramLogOdds:
        """The curves of the draws."""
        return curves_of(self.functions, self.draws, None)

    def evidence(self) -> xr.Dataset:
        """Return the statistics of the chains; beside other parts with their problems."""
        assert self.chains is not None  # noqa: S101
        if self.alone:
            return self.chains
        _, k = self._left_out
        problems = check_chains(self.chains, self.draws).problems
        stats = self.chains.assign(pareto_k=("document", k))
        return stats.assign_attrs({PROBLEMS: "; ".join(problems)})

    def leave_one_out(self, index: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Return the log-odds of + of some documents, each given all others."""
        log_odds, _ = self._left_out
        return log_odds[index]

    @cached_property
    def _left_out(self) -> tuple[Floats, Floats]:
        """Return log-odds of documents left out by Pareto-smoothed importance sampling, and k."""
        curves = self.posterior
        log_odds = curves.label_log_odds(self.data)
        weight = 1.0 if self.data.weight is None else self.data.weight
        log_weight, k = smooth(-(weight * curves.seen(self.data, log_odds)).T)
        both = [
            log_sum_exp(log_weight.T + log_scores(log_odds, own), axis=0)
            for own in (np.ones(k.size, dtype=bool), np.zeros(k.size, dtype=bool))
        ]
        return both[0] - both[1], k


class ProgramPart(Part):
    """A PyMC model program."""

    name = PROGRAM

    def __init__(self, run: ProgramInference | None = None, inference: str = "nuts") -> None:
        self._run, self.inference = run, inference
        if run is not None:
            name = run.record.name
            self.name = f"{name} {PROGRAM}" if name in CONFIGURED_PARTS else name
            self.models_scores = run.record.program().log_density is not None

    @property
    def run(self) -> ProgramInference:
        """Return the program to fit; a part that only reads results has none."""
        assert self._run is not None  # noqa: S101
        return self._run

    def joins(self, data: BinaryScores, options: Options) -> bool:
        """Return True: the user named it."""
        return True

    def fit(self, task: Task) -> ProgramFit:
        """Return its posterior."""
        options = task.options
        found = self.run.posterior(self.inference, task.data, task.rng)
        draws = found.groups[MODE if self.inference == "map" else POSTERIOR]
        return ProgramFit(
            draws, found.groups.get(CHAINS), found.functions, not options.combined, task.data
        )

    def paths(self, fit: Any, *, first: bool) -> PartPaths:
        """Return its paths in a tree: the group posterior if it is the first part."""
        folder, mode = f"{FOLDER}/{self.name}", self.inference == "map"
        of_chains = CHAINS if fit.alone else f"{folder}/{CHAINS}"
        own = MODE if mode else POSTERIOR
        return PartPaths(
            name=self.name,
            kind=PROGRAM,
            draws=(own if first else f"{folder}/draws",),
            evidence="" if mode else of_chains,
        )

    def store(self, fit: Any, *, first: bool, shape: tuple[int, int]) -> dict[str, xr.Dataset]:
        """Return the draws as the sampler made them, its statistics, and the program."""
        paths, functions = self.paths(fit, first=first), fit.functions
        shown = " ".join(name for name in functions.parameters if name in fit.draws)
        groups = {
            **paths.note(),
            paths.draws[0]: fit.draws.assign_attrs({PARAMETERS: shown}),
            program_path(paths): functions.dataset(),
        }
        return groups | ({paths.evidence: fit.evidence()} if paths.evidence else {})

    def read(self, groups: Groups, paths: PartPaths, reading: Reading) -> Posterior:
        """Return its curves."""
        functions = ProgramFunctions.of(groups[program_path(paths)])
        draws = groups[paths.draws[0]]
        for name in functions.parameters:
            if name in draws:
                check_finite(reading.whose(paths.name), draws[name].values)
        return curves_of(functions, draws, Covariates.of(groups))

    def raw(self, curves: Posterior, draws: xr.Dataset, reading: Reading) -> xr.Dataset:
        """Return the draws, which are in raw units already."""
        return draws

    def rows(
        self, fits: ClassFits, posterior: xr.Dataset, paths: PartPaths, labels: tuple[str, str]
    ) -> Iterator[Row]:
        """Yield the variables of its curve, by class if they have the dimension klass."""
        names = posterior.attrs.get(PARAMETERS, "").split()
        names = [name for name in names if name != PRIOR]
        by_class = [n for n in names if "klass" in posterior[n].dims]
        own = fits if fits.family.name == paths.name else None
        for k, label in enumerate(labels):
            for name in by_class:
                of_class = posterior[name].isel(klass=k)
                mle = _maximum_likelihood(own, bool(k), name)
                for at, each in _elements(of_class):
                    yield (label, f"{name}{at}"), mle, each
        for name in names:
            if name not in by_class:
                for at, each in _elements(posterior[name]):
                    yield ("log-odds", f"{name}{at}"), {"mle": np.nan, "guard": ""}, each

    def findings(self, name: str, evidence: xr.Dataset) -> Iterator[Finding]:
        """Yield problems of the chains, and of leave-one-out predictions."""
        if problems := evidence.attrs.get(PROBLEMS):
            yield Finding("the chains of {whose} are not to be trusted", problems, name)
        if "pareto_k" in evidence:
            k = evidence["pareto_k"].values
            if bad := int((k > WORST_SHAPE).sum()):
                yield Finding(
                    f"{{whose}} predicts {bad} of {k.size} documents without themselves by a few"
                    f" draws (Pareto k up to {k.max():.2f}, good below {WORST_SHAPE})",
                    "look at these documents, or raise draws: its weight is uncertain",
                    name,
                )

    def describe(self, options: Options, scale: tuple[float, float] | None) -> list[Block]:
        """Return the formula of a family's program, else its summary and hyperparameters."""
        record = self.run.record
        given = dict(self.run.hyperparameters)
        if record.kind == SHIPPED and record.name in FAMILIES:
            return [density_block((FAMILIES[record.name],), (IDENTITY,), scale, given)]
        shown = ", ".join(f"{name} = {value}" for name, value in given.items())
        text = f"{record.program().summary} {shown}".strip()
        if record.kind != DENSITY:
            text = f"The model program {record.path or record.name}: {text}"
        return [Block("plain", {"title": self.name, "text": text})]

    def prior(
        self, task: Task, curves: Posterior, posterior: xr.Dataset
    ) -> tuple[xr.Dataset, Posterior]:
        """Return one chain of draws from the program's prior, of the posterior's variables."""
        assert isinstance(curves, ProgramClassDraws | ProgramLogOdds)  # noqa: S101
        drawn = self.run.prior(task.data, posterior, task.options.draws, task.rng)
        return drawn, curves_of(curves.draws.functions, drawn, task.data.covariates)


def program_path(paths: PartPaths) -> str:
    """Return the path of the group that keeps a part's program."""
    return f"{FOLDER}/{paths.name}/{PROGRAM}"


def curves_of(
    functions: ProgramFunctions, draws: xr.Dataset, covariates: Covariates | None
) -> ProgramClassDraws | ProgramLogOdds:
    """Return the curves of a posterior, or of a mode, for typical covariates."""
    values = _values(draws)
    prior = values[PRIOR].astype(np.float64)
    own = ProgramDraws(functions, values, None if covariates is None else covariates.typical())
    if functions.record.program().log_density is not None:
        return ProgramClassDraws.of_draws(own, prior)
    return ProgramLogOdds(own, prior, np.zeros(prior.size))


def _values(draws: xr.Dataset) -> Mapping[str, NDArray[Any]]:
    """Return each variable with all draws along the first axis; a mode is one draw."""
    out = {}
    for name, each in draws.data_vars.items():
        if DRAWS[0] in each.dims:
            values = each.transpose(*DRAWS, ...).values
            out[str(name)] = values.reshape(-1, *values.shape[2:])
        else:
            out[str(name)] = each.values[None]
    return out


def _elements(values: xr.DataArray) -> Iterator[tuple[str, xr.DataArray]]:
    """Yield the elements of a variable with their positions; a scalar has no position."""
    dims = [str(dim) for dim in values.dims if dim not in DRAWS]
    if not dims:
        yield "", values
        return
    stacked = values.stack(element=dims)
    for k, at in enumerate(stacked["element"].values):
        yield f"[{', '.join(map(str, at))}]", stacked.isel(element=k, drop=True)


def _maximum_likelihood(fits: ClassFits | None, positive: bool, name: str) -> dict[str, Any]:
    fit = None if fits is None else (fits.positive if positive else fits.negative)
    if fit is None or name not in fit.parameters:
        return {"mle": np.nan, "guard": ""}
    guard = fit.scale_floor.name if name in fit.scale_floor.acted else ""
    return {"mle": fit.parameters[name], "guard": guard}


READER = ProgramPart()
