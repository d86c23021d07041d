"""Symbolic functions of a program, compiled once and evaluated over all draws."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from functools import cache, cached_property, lru_cache, reduce
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from bayescal.distributions import programs
from bayescal.distributions.programs import COVARIATES, ModelProgram, blamed_on_program
from bayescal.support.validation import Floats

# PyMC takes seconds to import: import it in functions.

Draws = Mapping[str, NDArray[Any]]  # by variable, draws along the first axis
Columns = Mapping[str, NDArray[Any]]  # further columns of documents, by name
SHIPPED, FILE, DENSITY = "shipped", "file", "density"
# Draws x scores of a block, to limit temporary arrays.
AT_ONCE = 1 << 19
RECORD = "program"  # the attribute of a part's constants that holds the record


@dataclass(frozen=True)
class ProgramRecord:
    """Plain data that identify a program in a file of results and can rebuild it."""

    kind: str  # SHIPPED with the package, the user's FILE, or built by a DENSITY record
    name: str
    path: str = ""  # of the user's file
    source: str = ""  # its text, or the JSON of a density record
    arguments: Mapping[str, Any] = field(default_factory=dict)  # hyperparameters of `model`
    units: tuple[float, float] = (0.0, 1.0)  # centre and spread of standardised scores

    def program(self) -> ModelProgram:
        """Return the program; raise ValueError if the user's file has changed."""
        return _program(self.kind, self.name, self.path, self.source)

    def to_json(self) -> str:
        """Return the record as JSON."""
        return json.dumps(asdict(self), default=_plain)

    @classmethod
    def from_json(cls, text: str) -> ProgramRecord:
        """Return the record from JSON by `to_json`."""
        plain = json.loads(text)
        return cls(**plain | {"units": tuple(plain["units"])})


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise ValueError(
        "hyperparameters of a program must be numbers, text or arrays of these, got an object of"
        f" type {type(value).__name__}."
    )


@lru_cache(maxsize=32)
def _program(kind: str, name: str, path: str, source: str) -> ModelProgram:
    if kind == DENSITY:
        from bayescal.distributions.density import density_program

        return density_program(name, json.loads(source))
    if kind == SHIPPED:
        return programs.load(name)
    try:
        program = programs.load(path)
    except ValueError as err:
        raise ValueError(f"{err} {_restore(path)}") from None
    if program.source != source:
        raise ValueError(f"program {path} is not the text that was fitted. {_restore(path)}")
    return program


def _restore(path: str) -> str:
    return (
        "The results were fitted with it and hold its text: `bayescal models FILE.nc` prints it;"
        f" put it at {path}."
    )


@dataclass(frozen=True)
class ProgramFunctions:
    """A program's log_density or log_odds over draws, compiled on first use."""

    record: ProgramRecord
    constants: Draws  # arguments that are no variables with draws

    def log_odds(self, score: Floats, draws: Draws, columns: Columns | None) -> Floats:
        """Return the log-odds of a program of labels given scores; (draws, scores)."""
        return self._evaluate(None, score, draws, columns)

    def log_density(
        self, klass: int, score: Floats, draws: Draws, columns: Columns | None
    ) -> Floats:
        """Return log p(score | klass), per unit of raw score; (draws, scores)."""
        out = self._evaluate(klass, score, draws, columns)
        out -= np.log(self.record.units[1])
        return out

    def _evaluate(
        self, klass: int | None, score: Floats, draws: Draws, columns: Columns | None
    ) -> Floats:
        centre, spread = self.record.units
        x = (score - centre) / spread
        own = {name: draws[name] for name in self.parameters if name in draws}
        size = next(iter(draws.values())).shape[0]
        function = self._compiled(klass, own, columns)
        out = np.empty((size, x.size))
        width = max(1, AT_ONCE // max(size, 1))
        for start in range(0, x.size, width):
            part = slice(start, start + width)
            some = [] if columns is None else [each[part] for each in columns.values()]
            with np.errstate(all="ignore"):  # densities may underflow far out
                out[:, part] = function(x[part], *some, *own.values())
        return out

    @property
    def parameters(self) -> list[str]:
        """Return the arguments of the function other than documents."""
        return self.record.program().answer_parameters()

    @property
    def shown(self) -> list[str]:
        """Return the variables that tables show: those of predictions and of new groups."""
        own = self.parameters
        return own + [name for name in self.record.program().group_parameters() if name not in own]

    def _compiled(self, klass: int | None, own: Draws, columns: Columns | None) -> Any:
        shapes = tuple(each.shape[1:] for each in own.values())
        key = klass, None if columns is None else tuple(columns), shapes
        if key not in self._functions:
            program = self.record.program()
            with blamed_on_program(program.file):
                self._functions[key] = over_draws(program, klass, own, self.constants, columns)
        return self._functions[key]

    @cached_property
    def _functions(self) -> dict[Any, Any]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        # Compiled functions stay in their process.
        return {"record": self.record, "constants": self.constants}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)

    def dataset(self) -> xr.Dataset:
        """Return the record and the constants as the group of a tree."""
        variables = {
            name: ([f"{name}_{axis}" for axis in range(np.ndim(value))], value)
            for name, value in self.constants.items()
        }
        return xr.Dataset(variables, attrs={RECORD: self.record.to_json()})

    @classmethod
    def of(cls, dataset: xr.Dataset) -> ProgramFunctions:
        """Return the functions from a group by `dataset`."""
        constants = {str(name): each.values for name, each in dataset.data_vars.items()}
        return cls(ProgramRecord.from_json(dataset.attrs[RECORD]), constants)


def over_draws(
    program: ModelProgram, klass: int | None, own: Draws, constants: Draws, columns: Columns | None
) -> Any:
    """Return the program's function of scores, columns and draws of its parameters, compiled."""
    import pytensor.tensor as pt

    score = pt.vector("score")
    further = symbolic_columns(columns)
    one = {
        name: pt.tensor(name, dtype=str(each.dtype), shape=each.shape[1:])
        for name, each in own.items()
    }
    fixed = {name: pt.constant(value) for name, value in constants.items()}
    answer = symbolic(program, klass, score, further, one | fixed)
    return compile_over_draws(answer, one, own, [score, *(further or {}).values()])


def symbolic_columns(columns: Columns | None) -> dict[str, Any] | None:
    """Return vectors of the names and types of columns, if there are any."""
    import pytensor.tensor as pt

    if columns is None:
        return None
    return {name: pt.vector(name, dtype=str(each.dtype)) for name, each in columns.items()}


def symbolic(
    program: ModelProgram,
    klass: int | None,
    score: Any,
    columns: Any,
    parameters: Mapping[str, Any],
) -> Any:
    """Return the answer of a program for symbolic scores and parameters."""
    import pytensor.tensor as pt

    known = dict(parameters) | ({} if klass is None else {"klass": klass})
    if COVARIATES in inspect.signature(program.answer).parameters:
        known[COVARIATES] = columns
    names = [*program.answer_parameters(), *({"klass", COVARIATES} & set(known))]
    return pt.as_tensor_variable(
        program.answer(score, **{name: known[name] for name in names if name in known})
    )


def compile_over_draws(
    answer: Any, one: Mapping[str, Any], own: Draws, documents: list[Any]
) -> Callable[..., Any]:
    """Return a function of documents and of draws of the inputs `one`, (draws, documents)."""
    import pytensor.tensor as pt
    from pytensor.graph.replace import vectorize_graph

    many = {
        name: pt.tensor(f"{name}_draws", dtype=str(each.dtype), shape=(None, *each.shape[1:]))
        for name, each in own.items()
    }
    over_all = vectorize_graph(answer, {one[name]: many[name] for name in one})
    return compiled([*documents, *many.values()], over_all)


def compiled(inputs: list[Any], outputs: Any, *, checked: bool = True) -> Callable[..., Any]:
    """Return a function that numpy evaluates, without a C compiler or checks of parameters."""
    import pytensor
    from pytensor.compile.mode import Mode
    from pytensor.graph.rewriting.basic import dfs_rewriter

    mode = Mode(linker="vm", optimizer="fast_run").excluding(
        "fusion", "BlasOpt", "inplace", "local_pow_to_nested_squaring"
    )
    mode = mode.register((dfs_rewriter(_for_numpy()), BEFORE_INPLACE))
    if not checked:
        mode = mode.including("local_remove_check_parameter")
    with pytensor.config.change_flags(cxx=""):
        function: Callable[..., Any] = pytensor.function(
            inputs, outputs, mode=mode, on_unused_input="ignore"
        )
    return function


BEFORE_INPLACE = 49.9  # position after PyTensor's last rewrites of operations


@cache
def _for_numpy() -> Any:
    """Return the rewrite of operations without a numpy function into those with one."""
    import pytensor.scalar as ps
    import pytensor.tensor as pt
    from pytensor.graph.rewriting.basic import node_rewriter
    from pytensor.scalar.math import Log1mexp, Softplus
    from pytensor.tensor.elemwise import Elemwise

    def rewritten(node: Any) -> Any:
        op, inputs = node.op.scalar_op, node.inputs
        if isinstance(op, ps.Add | ps.Mul) and len(inputs) > 2:
            return reduce(node.op, inputs)
        if isinstance(op, ps.Clip):
            return pt.minimum(pt.maximum(inputs[0], inputs[1]), inputs[2])
        if isinstance(op, ps.Second):
            return pt.switch(np.array(True), inputs[1], inputs[0])
        if isinstance(op, Softplus):
            return pt.maximum(inputs[0], 0.0) + pt.log1p(pt.exp(-pt.abs(inputs[0])))
        if isinstance(op, Log1mexp):
            near_zero, far = pt.log(-pt.expm1(inputs[0])), pt.log1p(-pt.exp(inputs[0]))
            return pt.switch(inputs[0] > -np.log(2.0), near_zero, far)
        return None

    @node_rewriter([Elemwise])  # type: ignore[untyped-decorator]
    def for_numpy(_: Any, node: Any) -> Any:
        new = rewritten(node)
        return [new] if new is not None and new.type == node.outputs[0].type else None

    return for_numpy
