"""Inference by a program for PyMC: draws by NUTS, the mode of its posterior, draws of its prior."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.distributions import programs
from bayescal.distributions.programs import (
    COORDS,
    COVARIATES,
    ModelProgram,
    blamed_on_program,
    deadline,
)
from bayescal.fitting.engines.program_functions import (
    FILE,
    SHIPPED,
    Draws,
    ProgramFunctions,
    ProgramRecord,
    compile_over_draws,
    compiled,
    symbolic,
    symbolic_columns,
)
from bayescal.fitting.scores import BinaryScores
from bayescal.inference.chains import INDEPENDENT
from bayescal.support.validation import Floats, warn_user

if TYPE_CHECKING:
    from bayescal.fitting.engines.point_estimates import Mode

# PyMC takes seconds to import: import it in functions.

POSTERIOR, MODE, CHAINS = "posterior", "mode", "sample_stats"
PRIOR = "prior"  # P(+): a variable of a program with log_density, else added by the package
# Names with another meaning in results.
RESERVED = ("chain", "draw", "document", "weight")
# Largest number of seconds until the first draw.
COMPILE_LIMIT = 600
CHECKED = 100  # documents for trying out a program before the fit


def record_of(program: str | Path) -> ProgramRecord:
    """Return the record of a program by its name or path; this runs its file."""
    loaded = programs.load(program)
    if loaded.path is not None and loaded.path.parent == programs.folder():
        return ProgramRecord(SHIPPED, loaded.name)
    return ProgramRecord(FILE, loaded.name, str(loaded.path), loaded.source)


@dataclass(frozen=True)
class ProgramInference:
    """A program with its hyperparameters and the options of its sampler."""

    record: ProgramRecord
    hyperparameters: Mapping[str, Any]  # keyword arguments of the program
    draws: int  # draws of each chain
    chains: int
    sampler_options: Mapping[str, Any] | None = None  # further arguments of pm.sample
    progressbar: bool = False  # whether PyMC shows its progress

    def posterior(
        self, inference: str, data: BinaryScores, rng: np.random.Generator
    ) -> tuple[Mapping[str, xr.Dataset], ProgramFunctions]:
        """Return groups, of draws by "nuts" or the mode by "map", and the program's functions."""
        program = self.record.program()
        _ = program.answer  # raises an error that shows the contract
        with _deadline(program) as started:
            model, record = self._model(program, data)
            functions = try_out(program, record, model, data)
            if inference == "map":
                from bayescal.fitting.engines.point_estimates import ParameterSpace, find_mode

                with blamed_on_program(program.file, "has no posterior mode"):
                    groups = _mode_group(find_mode(ParameterSpace(model), rng), model)
            else:
                with blamed_on_program(program.file, "cannot be sampled"):
                    groups = draw_posterior(
                        model,
                        rng,
                        draws=self.draws,
                        chains=self.chains,
                        progressbar=self.progressbar,
                        options=self.sampler_options,
                        started=started,
                    )
        if program.log_odds is not None:
            groups = _with_base_rate(groups, data, rng)
        return groups, functions

    def maximum_likelihood(self, data: BinaryScores, rng: np.random.Generator) -> Mode:
        """Return the mode of the program's posterior under flat priors."""
        from bayescal.fitting.engines.point_estimates import ParameterSpace, find_mode

        program = self.record.program()
        with _deadline(program):
            model, _ = self._model(program, data)
            with blamed_on_program(program.file, "has no mode under flat priors"):
                return find_mode(ParameterSpace(model, flat=True), rng)

    def prior(
        self, data: BinaryScores, posterior: xr.Dataset, draws: int, rng: np.random.Generator
    ) -> xr.Dataset:
        """Return one chain of draws from the program's prior, of the posterior's variables."""
        model, _ = self._model(self.record.program(), data)
        return draw_prior(model, posterior, draws, rng)

    def _model(self, program: ModelProgram, data: BinaryScores) -> tuple[Any, ProgramRecord]:
        """Return the model, and the record with its arguments."""
        units = data.centre_and_spread if program.standardised else (0.0, 1.0)
        arguments = resolve_hyperparameters(program, data, self.hyperparameters)
        record = replace(self.record, arguments=arguments, units=units)
        model = build_model(program, data, self.hyperparameters)
        check_model(program, model, arguments)
        return model, record


def _deadline(program: ModelProgram) -> AbstractContextManager[Callable[[], None]]:
    """Return a context that must end, or start to draw, within COMPILE_LIMIT."""
    return deadline(
        COMPILE_LIMIT,
        f"{program.label} has no draw after {COMPILE_LIMIT} s: its model does not end, or compiles"
        " too slowly. Look for a loop over documents: write it with arrays.",
    )


def check_model(program: ModelProgram, model: Any, arguments: Mapping[str, Any]) -> None:
    """Raise ValueError for a model without a readable curve, before sampling."""
    observed = {variable.name for variable in model.observed_RVs}
    wanted = {"label"} if program.log_odds is not None else {"label", "score"}
    answer = program.answer
    if missing := wanted - observed:
        raise ValueError(
            f"{program.label} must observe variables named {', '.join(sorted(wanted))}; it observes"
            f" no {', '.join(sorted(missing))}, but {', '.join(sorted(observed)) or 'nothing'}."
        )
    if not model.free_RVs:
        raise ValueError(
            f"{program.label} has no free variable, so that nothing would be fitted: give its"
            " parameters priors, such as pm.Normal('intercept', 0, 5)."
        )
    reserved = (*RESERVED, PRIOR) if program.log_odds is not None else RESERVED
    if shadowed := [name for name in reserved if name in model.named_vars]:
        raise ValueError(
            f"{program.label} has variables named {', '.join(shadowed)}, which results keep for"
            " something else: rename them."
        )
    named = {*model.named_vars, *arguments} - observed
    for name in program.answer_parameters():
        if name not in named:
            near = get_close_matches(name, named, n=1)
            raise ValueError(
                f"{program.label}: {answer.__name__} takes {name!r}, which is no variable of its"
                f" model and no hyperparameter; those are {', '.join(sorted(named))}"
                f"{f'; did you mean {near[0]!r}?' if near else '.'}"
            )
    if program.log_density is not None and (
        PRIOR not in model.named_vars or model[PRIOR].ndim != 0
    ):
        raise ValueError(
            f"{program.label} defines log_density and so needs the variable {PRIOR!r}, P(+), which"
            " its labels have: prior = pm.Beta('prior', 1, 1) and"
            " pm.Bernoulli('label', prior, observed=label)."
        )


def try_out(
    program: ModelProgram, record: ProgramRecord, model: Any, data: BinaryScores
) -> ProgramFunctions:
    """Return the program's functions, after a check at the model's initial point."""
    import pytensor.tensor as pt

    names = program.answer_parameters()
    variables = {name: model[name] for name in names if name in model.named_vars}
    given = {
        name: value.get_value() for name, value in variables.items() if hasattr(value, "get_value")
    }
    arguments = {n: np.asarray(record.arguments[n]) for n in names if n not in variables}
    score = pt.vector("score")
    columns = symbolic_columns(None if data.covariates is None else data.covariates.columns)
    fixed = {name: pt.constant(value) for name, value in arguments.items()}
    klasses = (None,) if program.log_odds is not None else (0, 1)
    with blamed_on_program(program.file):
        answers = model.replace_rvs_by_values(
            [symbolic(program, klass, score, columns, variables | fixed) for klass in klasses]
        )
        function = compiled([score, *(columns or {}).values(), *model.value_vars], answers)
        first = data.take(np.arange(data.score.size)[:CHECKED])
        start = model.initial_point()
        at = [start[each.name] for each in model.value_vars]
        own = [] if first.covariates is None else list(first.covariates.columns.values())
        x = (first.score - record.units[0]) / record.units[1]
        with np.errstate(all="ignore"):
            values = function(x, *own, *at)
    _check_answers(program, values, x.size)
    return ProgramFunctions(record, given | arguments)


def _check_answers(program: ModelProgram, answers: list[NDArray[Any]], size: int) -> None:
    name = program.answer.__name__
    for values in answers:
        if np.shape(values) != (size,):
            raise ValueError(
                f"{program.label}: {name} must return an array of the shape of the scores,"
                f" ({size},), got {np.shape(values)}."
            )
        if np.isnan(values).any():
            raise ValueError(
                f"{program.label}: {name} returns nan for {int(np.isnan(values).sum())} of {size}"
                " scores where its model starts; look for logarithms and powers of negative"
                " numbers, or give initvals."
            )


def _mode_group(mode: Mode, model: Any) -> dict[str, xr.Dataset]:
    if not mode.converged:
        warn_user(
            "the search for the posterior mode reached its limit of steps; use inference='nuts'"
            " or rescale the program's parameters."
        )
    variables = {name: (_dims(model, name, value), value) for name, value in mode.values.items()}
    attrs = {
        "log_density": mode.log_density,
        "agreeing_starts": mode.agreeing_starts,
        "starts": mode.starts,
        "converged": int(mode.converged),
    }
    named = {name for dims, _ in variables.values() for name in dims}
    coords = {name: list(model.coords[name]) for name in named if model.coords.get(name)}
    return {MODE: xr.Dataset(variables, coords, attrs)}


def _dims(model: Any, name: str, value: NDArray[Any]) -> tuple[str, ...]:
    named = model.named_vars_to_dims.get(name)
    return tuple(named) if named else tuple(f"{name}_dim_{k}" for k in range(np.ndim(value)))


def _with_base_rate(
    groups: Mapping[str, xr.Dataset], data: BinaryScores, rng: np.random.Generator
) -> dict[str, xr.Dataset]:
    """Return the groups with P(+), which a model of labels given scores does not include."""
    positives, negatives = data.rate_counts
    if MODE in groups:
        mean = (1.0 + positives) / (2.0 + positives + negatives)
        return {**groups, MODE: groups[MODE].assign({PRIOR: mean})}
    posterior = groups[POSTERIOR]
    shape = tuple(posterior.sizes[name] for name in DRAWS)
    drawn = rng.beta(1.0 + positives, 1.0 + negatives, shape)
    return {**groups, POSTERIOR: posterior.assign({PRIOR: (DRAWS, drawn, {INDEPENDENT: 1})})}


# One core: processes for chains cost more than sampling small data, and forking under threads
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
    started: Callable[[], None] | None = None,
) -> dict[str, xr.Dataset]:
    """Draw from the posterior of a model with pm.sample; `started` is called at the first draw."""
    import pymc as pm

    arguments = OPTIONS | dict(options or {})
    if started is not None:
        if arguments.get("nuts_sampler", "pymc") == "pymc":
            arguments.setdefault("callback", lambda **_: started())
        else:
            started()
    with model, _quiet("pymc"):
        result = pm.sample(
            draws=draws,
            chains=chains,
            random_seed=int(rng.integers(2**31)),
            progressbar=progressbar,
            compute_convergence_checks=False,  # results/diagnostics.py warns with advice
            **arguments,
        )
    return sample_groups(result, (POSTERIOR, CHAINS))


def draw_prior(
    model: Any, posterior: xr.Dataset, draws: int, rng: np.random.Generator
) -> xr.Dataset:
    """Return draws from a model's prior, one chain, of the variables of its posterior."""
    import pymc as pm

    names = [str(name) for name in posterior.data_vars if name in model.named_vars]
    values = pm.draw([model[name] for name in names], draws, random_seed=int(rng.integers(2**31)))
    variables = {
        # pm.draw returns a single draw without an axis.
        name: (posterior[name].dims, np.reshape(value, (1, draws, *posterior[name].shape[2:])))
        for name, value in zip(names, values, strict=True)
    }
    if PRIOR not in variables:
        variables[PRIOR] = (DRAWS, rng.beta(1.0, 1.0, (1, draws)))
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
    program: ModelProgram, data: BinaryScores, hyperparameters: Mapping[str, Any] | None = None
) -> Any:
    """Return the program's pymc.Model for the data."""
    import pymc as pm

    if data.weight is not None and not data.weight.all():
        data = data.take(np.flatnonzero(data.weight > 0.0))
    arguments = resolve_hyperparameters(program, data, hyperparameters)
    label, x = data.positive.astype(np.int64), data.score
    if program.standardised:
        centre, spread = data.centre_and_spread
        x = (x - centre) / spread
    model = _called(program, x, label, arguments, data)
    if data.weight is not None and not np.all(data.weight == 1.0):
        with model:
            terms = model.logp(vars=model.observed_RVs, sum=False)
            powers = sum(((data.weight - 1.0) * term).sum() for term in terms)
            pm.Potential("weights of documents", powers)
    return model


def _called(
    program: ModelProgram,
    score: Floats,
    label: NDArray[Any],
    arguments: Mapping[str, Any],
    data: BinaryScores,
) -> Any:
    """Return the program's pymc.Model."""
    import pymc as pm

    further: dict[str, Any] = {}
    if data.covariates is not None:
        if not program.takes_covariates:
            raise ValueError(
                f"{program.label} takes no covariates, got"
                f" {', '.join(data.covariates.columns)}: leave them out, or give its model and"
                f" {program.answer.__name__} the argument {COVARIATES!r}."
            )
        further[COVARIATES] = dict(data.covariates.columns)
        if program.takes_coords:
            further[COORDS] = {name: list(own) for name, own in data.covariates.levels.items()}
    elif program.takes_covariates:
        raise ValueError(
            f"{program.label} takes covariates: pass fit(scores, labels, covariates=frame)."
        )
    with blamed_on_program(program.file):
        model = program.model(score, label, **arguments, **further)
    if not isinstance(model, pm.Model):
        raise ValueError(
            f"model(score, label) of {program.label} must return a pymc.Model,"
            f" got {type(model).__name__}."
        )
    return model


def resolve_hyperparameters(
    program: ModelProgram, data: BinaryScores, hyperparameters: Mapping[str, Any] | None
) -> dict[str, Any]:
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


# Log likelihoods of fitted documents, and simulated scores, by draws of a program.


def log_likelihood(record: ProgramRecord, data: BinaryScores, draws: Draws) -> Floats:
    """Return the log likelihood of each document by the program's own model; (draws, n)."""
    from pymc.model.transform.conditioning import remove_value_transforms

    program = record.program()
    own = replace(data, weight=None, units=record.units if program.standardised else data.units)
    model = remove_value_transforms(build_model(program, own, _given(program, record)))
    total = sum(model.logp(vars=model.observed_RVs, sum=False))
    one = {rv.name: model.rvs_to_values[rv] for rv in model.free_RVs}
    function = compile_over_draws(total, one, {name: draws[name] for name in one}, [])
    return np.asarray(function(*(draws[name] for name in one)))


def simulate_scores(
    record: ProgramRecord,
    klass: int,
    size: int,
    draws: Draws,
    data: BinaryScores,
    rng: np.random.Generator,
) -> Floats:
    """Return scores of a class by the program's own model, for every draw; (draws, size)."""
    from pymc.pytensorf import compile as compile_random
    from pytensor.graph.replace import clone_replace

    program, (centre, spread) = record.program(), record.units
    model = build_model(program, data, _given(program, record))
    one = {rv.name: rv.type(rv.name) for rv in model.free_RVs}
    # The score's density may depend on the label's variable, which is fixed at the class.
    label = model["label"]
    known = {label: label.type.filter_variable(model.rvs_to_values[label])}
    known |= {model[name]: one[name] for name in one}
    (score,) = clone_replace([model["score"]], known)
    function = compile_random(
        list(one.values()), score, random_seed=int(rng.integers(2**31)), on_unused_input="ignore"
    )
    count = next(iter(draws.values())).shape[0]
    out = [function(*(draws[name][k] for name in one)) for k in range(count)]
    return centre + spread * np.stack(out)


def _given(program: ModelProgram, record: ProgramRecord) -> dict[str, Any]:
    """Return the hyperparameters of a record that do not come from the data."""
    return {name: value for name, value in record.arguments.items() if value is not None}
