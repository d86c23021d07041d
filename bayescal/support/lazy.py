"""Answers in the form of their rows: xarray for xarray, and lazy for Dask collections."""

import inspect
import warnings
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial, wraps
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayescal.support.labels import in_order
from bayescal.support.validation import generator, is_lazy

Method = TypeVar("Method", bound=Callable[..., Any])
State = TypeVar("State")
# Dimensions of answers; that of the rows has the name that it has in what was given.
ROW, KLASS, BAND, DRAW = "row", "klass", "band", "draw"
ENDS = ["lower", "upper"]  # along BAND


def rowwise(
    *dims: str, argument: int = 1, axis: int = 0, classes: bool = False
) -> Callable[[Method], Method]:
    """Let a function answer in the form of its rows, with dimensions `dims`.

    An axis of one argument counts the rows. With `classes`, the columns of a DataArray that are
    named by the classes get their order. Answers are arrays, or dataclasses of them.
    """

    def in_their_form(method: Method) -> Method:
        signature = inspect.signature(method)
        name = list(signature.parameters)[argument]

        @wraps(method)
        def answered(*arguments: Any, **options: Any) -> Any:
            rows: Any = arguments[argument] if len(arguments) > argument else options.get(name)
            if not (is_lazy(rows) or hasattr(rows, "dims")):
                return method(*arguments, **options)
            bound = signature.bind(*arguments, **options)
            bound.apply_defaults()
            given = bound.arguments
            del given[name]
            if classes and hasattr(rows, "dims"):
                rows = in_order(rows, rows, given["self"].classes_, name)
            if is_lazy(rows):
                answer = _lazily(partial(answered, **_fixed(given)), name, rows, dims, axis)
            else:
                answer = method(**{name: rows.values}, **given)
            ends = {KLASS: getattr(given.get("self"), "classes_", None), BAND: ENDS}
            return _with_arrays(
                lambda values, _: as_given(
                    rows, values, _named(dims, values.ndim), ends, slice(axis, axis + 1)
                ),
                answer,
            )

        return answered  # type: ignore[return-value]

    return in_their_form


def _with_arrays(change: Callable[[Any, Callable[[Any], Any]], Any], answer: Any) -> Any:
    """Return change(array, its getter) of an answer, or of each array of a dataclass."""
    if not is_dataclass(answer):
        return change(answer, _same)
    found = {each.name: getattr(answer, each.name) for each in fields(answer)}
    arrays = {name: each for name, each in found.items() if getattr(each, "ndim", 0)}
    changed = {name: change(each, attrgetter(name)) for name, each in arrays.items()}
    return replace(answer, **changed)  # type: ignore[type-var]


def _fixed(options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments after the rows; all blocks get one seed, and with it the same draws."""
    for name, value in options.items():
        if is_lazy(value):
            raise ValueError(f"{name} must be in memory where the rows are a Dask collection.")
    if "random_state" not in options or isinstance(options["random_state"], int | np.integer):
        return options
    return options | {"random_state": int(generator(options["random_state"]).integers(2**32))}


def _named(dims: Sequence[str], ndim: int) -> list[str]:
    """Return the dimensions of an array, which may lack that of the classes, or else of bands."""
    lacking = KLASS if KLASS in dims else BAND
    return [name for name in dims if name != lacking or ndim == len(dims)]


def as_given(
    rows: Any, answer: Any, dims: Sequence[str], coords: dict[str, Any], axes: slice
) -> Any:
    """Return an answer about some axes of a DataArray as one, others as they are."""
    if not hasattr(rows, "dims"):
        return answer
    import xarray as xr

    first = rows.dims[axes]
    own = {name: each for name, each in rows.coords.items() if set(each.dims) <= set(first)}
    own |= {name: each for name, each in coords.items() if name in dims}
    own_dims = [each for name in dims for each in (first if name == ROW else (name,))]
    return xr.DataArray(answer, own, own_dims)


def _lazily(
    function: Callable[..., Any], name: str, rows: Any, dims: Sequence[str], axis: int
) -> Any:
    """Return a function's answers for blocks of the named argument as dask arrays."""
    import dask.array as da

    if hasattr(rows, "to_delayed") and not hasattr(rows, "chunks"):
        # Dask's own example of a row of these types; head would compute the first partition.
        first = rows._meta_nonempty.iloc[:1]
        # The blocks of this array are tables, which only the function reads.
        parts = [da.from_delayed(part, (np.nan,), object) for part in rows.to_delayed()]
        values = da.concatenate(parts, allow_unknown_chunksizes=True)
    else:
        values = rows.data if hasattr(rows, "dims") else rows
        others = dict.fromkeys(set(range(values.ndim)) - {axis}, -1)
        values = values.rechunk(others)
        shape = [1 if k == axis else size for k, size in enumerate(values.shape)]
        # Valid scores, and valid probabilities of classes.
        first = np.full(shape, 1.0 / shape[-1]).astype(values.dtype)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about a row that nobody gave
        sample = function(**{name: first})

    def place(array: NDArray[Any]) -> int:
        return _named(dims, array.ndim).index(ROW)

    none = _with_arrays(lambda each, _: each.take([], axis=place(each)), sample)
    letters = [0 if k == axis else k + 1 for k in range(values.ndim)]
    blocks = da.blockwise(
        _of_block,
        (0,),
        values,
        letters,
        state=sent((function, name, none, axis)),
        concatenate=True,
        dtype=object,
        meta=np.empty(0, dtype=object),
    )

    def whole(array: NDArray[Any], getter: Callable[[Any], Any]) -> Any:
        own = [k + 1 for k in range(array.ndim)]
        own[place(array)] = 0
        return da.blockwise(
            getter,
            own,
            blocks,
            (0,),
            new_axes={k: size for k, size in zip(own, array.shape, strict=True) if k},
            dtype=array.dtype,
            meta=array[(slice(0),) * array.ndim],
        )

    return _with_arrays(whole, sample)


def sent(state: Any) -> Any:
    """Return a value as a task of its own, for in the graph it is copied into every block's."""
    import dask

    return dask.delayed(_same, pure=False)(state)


def _same(state: State) -> State:
    return state


def _of_block(rows: Any, state: tuple[Callable[..., Any], str, Any, int]) -> Any:
    function, name, none, axis = state
    # A filter may leave a block without rows, for which functions raise an error.
    return function(**{name: rows}) if rows.shape[axis] else none
