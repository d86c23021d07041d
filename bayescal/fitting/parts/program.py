"""A model program as a part: fitted by NUTS or by its mode, and its draws as curves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.distributions.programs import NEW_GROUP, blamed_on_program
from bayescal.families import FAMILIES
from bayescal.families.draws import IDENTITY
from bayescal.fitting.covariates import Covariates
from bayescal.fitting.engines.point_estimates import ClassFits
from bayescal.fitting.engines.program import (
    CHAINS,
    DRAWS,
    PRIOR,
    ProgramInference,
    log_likelihood,
    simulate_scores,
)
from bayescal.fitting.engines.program_functions import DENSITY, SHIPPED, ProgramFunctions
from bayescal.fitting.parts.configured import CONFIGURED_PARTS, PROGRAM
from bayescal.fitting.parts.densities import density_block, mle_of
from bayescal.fitting.parts.part import (
    DESCRIBED,
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
    described,
)
from bayescal.fitting.posterior import ClassDraws, Posterior, check_finite
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.chains import check_chains
from bayescal.inference.importance import smooth
from bayescal.inference.newton import log_scores
from bayescal.support.numerics import log_odds, log_sum_exp
from bayescal.support.validation import Floats

PARAMETERS = "answer_parameters"  # attribute of the draws: the variables that tables show
# Attributes of a variable: offset and factor to score units; or the standardised scores it is of.
IN_SCORE_UNITS, OF = "in_score_units", "of"
PROBLEMS = "problems"  # attribute of the chains' group


@dataclass(frozen=True)
class ProgramFit:
    """The posterior of a program, or its mode."""

    draws: xr.Dataset  # the group posterior or mode
    chains: xr.Dataset | None  # statistics of the sampler; None for a mode
    functions: ProgramFunctions
    alone: bool  # whether it is the only part
    data: BinaryScores

    @cached_property
    def posterior(self) -> ProgramCurves:
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

    def leave_one_out(
        self, index: NDArray[np.intp], rng: np.random.Generator
    ) -> tuple[Floats, Floats]:
        """Return the log-odds of + of some documents, each given all others, and Pareto k."""
        log_odds, k = self._left_out
        return log_odds[index], k[index]

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
        groups, functions = self.run.posterior(self.inference, task.data, task.rng)
        draws = groups[MODE if self.inference == "map" else POSTERIOR]
        return ProgramFit(draws, groups.get(CHAINS), functions, not options.combined, task.data)

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
        shown = " ".join(name for name in functions.shown if name in fit.draws)
        groups = {
            **paths.note(),
            paths.draws[0]: _with_units(fit.draws, functions).assign_attrs({PARAMETERS: shown}),
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
                offset, factor = of_class.attrs.get(IN_SCORE_UNITS, (0.0, 1.0))
                shown = f"{name}{{}}{of_class.attrs.get(OF, '')}"
                for at, each in _elements(of_class):
                    yield (label, shown.format(at)), mle, offset + factor * each
        for name in names:
            if name not in by_class:
                for at, each in _elements(posterior[name]):
                    yield ("log-odds", f"{name}{at}"), {"mle": np.nan, "guard": ""}, each

    def findings(self, name: str, evidence: xr.Dataset) -> Iterator[Finding]:
        """Yield problems of the chains."""
        if problems := evidence.attrs.get(PROBLEMS):
            yield Finding("the chains of {whose} are not to be trusted", problems, name)

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
        assert isinstance(curves, ProgramCurves)  # noqa: S101
        drawn = self.run.prior(task.data, posterior, task.options.draws, task.rng)
        return drawn, curves_of(curves.functions, drawn, task.data.covariates)


def _with_units(draws: xr.Dataset, functions: ProgramFunctions) -> xr.Dataset:
    """Return draws with units, and parameters of standardised scores with how to read them."""
    record = functions.record
    program, (centre, spread) = record.program(), record.units
    of_family = record.kind == SHIPPED and record.name in FAMILIES
    draws = described(draws.copy(), DESCRIBED if of_family else [PRIOR])
    if not program.standardised or record.units == (0.0, 1.0):
        return draws
    in_score_units = program.score_units or {}
    for name in functions.parameters:
        if name in draws and name in in_score_units:
            a, b = in_score_units[name]
            draws[name].attrs[IN_SCORE_UNITS] = [a * centre, spread**b]
        elif name in draws and name != PRIOR:
            draws[name].attrs[OF] = f" of (s - {centre:.6g})/{spread:.6g}"
    return draws


def program_path(paths: PartPaths) -> str:
    """Return the path of the group that keeps a part's program."""
    return f"{FOLDER}/{paths.name}/{PROGRAM}"


def curves_of(
    functions: ProgramFunctions, draws: xr.Dataset, covariates: Covariates | None
) -> ProgramCurves:
    """Return the curves of a posterior, or of a mode, for typical covariates."""
    values = _values(draws)
    prior = values[PRIOR].astype(np.float64)
    typical = None if covariates is None else covariates.typical()
    of_classes = functions.record.program().log_density is not None
    kind = ProgramClassDraws if of_classes else ProgramLogOdds
    dims = {str(n): tuple(map(str, each.dims[2:])) for n, each in draws.data_vars.items()}
    return kind(functions, values, prior, np.zeros(prior.size), typical, dims)


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
    return mle_of(fit, name, fit.parameters[name])


READER = ProgramPart()


# Simulated scores behind the empirical distribution function.
REPLICATES = 2000


@dataclass(frozen=True)
class ProgramCurves(Posterior):
    """Posterior draws of a program's variables, with the documents' covariates."""

    drawn: ClassVar = ("values", "prior", "shift")

    functions: ProgramFunctions
    values: Mapping[str, NDArray[Any]]  # by variable, draws along the first axis
    prior: Floats  # (draws,): P(+) of the documents fitted
    shift: Floats  # (draws,): change of log-odds by a new prior
    covariates: Covariates | None = None  # of the documents, or of one typical document
    dims: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # by variable, without draws

    def of(self, covariates: Covariates) -> Self:
        """Return the same draws for documents with other columns."""
        values = dict(self.values)
        for column in self.open_to:
            own = self._with_dim(column)
            axes = {name: 1 + dims.index(column) for name, dims in own.items()}
            fitted = min(values[name].shape[axis] for name, axis in axes.items())
            drawn = [self._new_group(column, each) for each in covariates.levels[column][fitted:]]
            for name, axis in axes.items() if drawn else ():
                new = np.stack([each[name] for each in drawn], axis)
                values[name] = np.concatenate([values[name], new], axis)
        return replace(self, covariates=covariates, values=values)

    @property
    def open_to(self) -> list[str]:
        """Return the columns of groups whose new levels the program can draw."""
        levels = () if self.covariates is None else self.covariates.levels
        grouped = [name for name in levels if self._with_dim(name)]
        if not grouped or self.size == 1 or self.functions.record.program().new_group is None:
            return []
        return grouped

    def _with_dim(self, column: str) -> dict[str, tuple[str, ...]]:
        """Return the variables that have a value for each level of a column."""
        return {name: dims for name, dims in self.dims.items() if column in dims}

    def _new_group(self, column: str, level: str) -> dict[str, Floats]:
        """Return the variables of a group that was not fitted; the same for the same name."""
        program = self.functions.record.program()
        assert program.new_group is not None  # noqa: S101
        rng = np.random.default_rng(list(f"{column}={level}".encode()))
        known = {**self.functions.constants, **self.values}
        if strange := [name for name in program.group_parameters() if name not in known]:
            raise ValueError(
                f"{program.label}: {NEW_GROUP} takes {', '.join(strange)}, which is no variable of"
                f" its model and no hyperparameter; those are {', '.join(sorted(known))}."
            )
        given = {name: known[name] for name in program.group_parameters()}
        with blamed_on_program(program.file, "cannot draw a new group"):
            drawn = dict(program.new_group(rng, **given))
        for name, dims in self._with_dim(column).items():
            shape = self.values[name].shape
            axis = 1 + dims.index(column)
            expected = shape[:axis] + shape[axis + 1 :]
            got = np.shape(drawn[name]) if name in drawn else "nothing"
            if got != expected:
                raise ValueError(
                    f"{program.label}: {NEW_GROUP} must return {name!r} of shape {expected}, a"
                    f" value for each draw, got {got}."
                )
        return drawn

    def columns(self, scores: Floats) -> Mapping[str, NDArray[Any]] | None:
        """Return the columns of documents with these scores; by default of typical ones."""
        return None if self.covariates is None else self.covariates.rows(scores.size).columns

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds of the documents fitted; (draws, documents)."""
        return (self if data.covariates is None else self.of(data.covariates)).log_odds(data.score)

    def seen(self, data: BinaryScores, log_score: Floats) -> Floats:
        """Return the log likelihood of each document by the program's model."""
        return log_likelihood(self.functions.record, data, self.values)


@dataclass(frozen=True)
class ProgramLogOdds(ProgramCurves):
    """Draws of log-odds by a program of labels given scores."""

    def log_odds(self, scores: Floats) -> Floats:
        """Return the log-odds at raw scores, shape (draws, scores)."""
        curves = self.functions.log_odds(scores, self.values, self.columns(scores))
        curves += self.shift[:, None]
        return curves


@dataclass(frozen=True)
class ProgramDensity:
    """Draws of one class's density by a program, with the interface of `DensityDraws`."""

    draws: ProgramCurves
    klass: int

    @property
    def size(self) -> int:
        """Return the number of draws."""
        return self.draws.size

    def logpdf(self, scores: Floats) -> Floats:
        """Return log p(score | class), shape (draws, scores)."""
        drawn = self.draws
        return drawn.functions.log_density(self.klass, scores, drawn.values, drawn.columns(scores))

    def log_density_warped(self, scores: Floats) -> Floats:
        """Return `logpdf`: a program has no warp."""
        return self.logpdf(scores)

    def sample(self, size: int, rng: np.random.Generator) -> Floats:
        """Return scores of the class by every draw, shape (draws, size)."""
        drawn, record = self.draws, self.draws.functions.record
        covariates = None if drawn.covariates is None else drawn.covariates.rows(size)
        data = BinaryScores(
            np.full(size, record.units[0]),
            np.full(size, bool(self.klass)),
            units=record.units,
            covariates=covariates,
        )
        return simulate_scores(record, self.klass, size, drawn.values, data, rng)

    def cdf(self, scores: Floats) -> Floats:
        """Return the share of many replicates up to each score, shape (draws, scores)."""
        replicates = np.sort(self.sample(REPLICATES, np.random.default_rng(0)), axis=1)
        counts = [np.searchsorted(each, scores, side="right") for each in replicates]
        return np.stack(counts) / REPLICATES


@dataclass(frozen=True)
class ProgramClassDraws(ProgramCurves, ClassDraws):
    """Draws of both classes' densities by a program; scores impossible for both give the prior."""

    def of_class(self, klass: int) -> ProgramDensity:
        """Return the draws of one class's density, 0 negative or 1 positive."""
        return ProgramDensity(self, klass)

    def log_odds(self, scores: Floats) -> Floats:
        """Return the calibrated log-odds, shape (draws, scores)."""
        negative, positive = self.log_densities(scores)
        return log_odds(self.prior[:, None], *_comparable(positive, negative))

    def predictive(self, scores: Floats) -> Floats:
        """Return the log-odds of P(+ | s, data) by posterior predictive densities; (scores,)."""
        negative, positive = (log_sum_exp(each, axis=0) for each in self.log_densities(scores))
        return log_odds(float(self.prior.mean()), *_comparable(positive, negative))


def _comparable(positive: Floats, negative: Floats) -> tuple[Floats, Floats]:
    """Return log densities, with 0 for both where both densities are 0."""
    impossible = np.isneginf(negative) & np.isneginf(positive)
    return np.where(impossible, 0.0, positive), np.where(impossible, 0.0, negative)


@dataclass(frozen=True)
class DocumentCurves(Posterior):
    """Curves of documents with covariates, as functions of a document's position."""

    drawn: ClassVar = ("curves",)

    curves: Posterior
    score: Floats  # (n,): of the documents
    covariates: Covariates

    @property
    def prior(self) -> Floats:
        """Return the draws of P(+)."""
        return self.curves.prior

    @property
    def densities(self) -> ClassDraws | None:
        """Return the draws of class densities of typical documents."""
        return self.curves.densities

    def with_prior(self, prior: Floats) -> DocumentCurves:
        """Return the same draws for a class prior of shape (draws,)."""
        return replace(self, curves=self.curves.with_prior(prior))

    def log_odds(self, scores: Floats) -> Floats:
        """Return log-odds of documents at some positions, shape (draws, documents)."""
        own, rows = self._at(scores)
        return own.log_odds(self.score[rows])

    def predictive(self, scores: Floats) -> Floats:
        """Return the log-odds of P(+ | s, data), shape (documents,)."""
        own, rows = self._at(scores)
        return own.predictive(self.score[rows])

    def _at(self, scores: Floats) -> tuple[Posterior, NDArray[np.intp]]:
        rows = scores.astype(np.intp)
        curves: Any = self.curves
        return curves.of(self.covariates.take(rows)), rows
