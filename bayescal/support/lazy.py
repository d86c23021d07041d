"""Answers in the form of their rows: xarray for xarray, and lazy for Dask collections."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from bayescal.support.validation import generator, is_lazy

Method = TypeVar("Method", bound=Callable[..., Any])
State = TypeVar("State")
# Dimensions of answers; that of the rows has the name that it has in what was given.
ROW, KLASS, BAND, DRAW = "row", "klass", "band", "draw"
ENDS = ["lower", "upper"]  # along BAND


def rowwise(*dims: str) -> Callable[[Method], Method]:
    """Let a method whose first argument holds rows answer in their form, with dimensions `dims`."""

    def in_their_form(method: Method) -> Method:
        signature = inspect.signature(method)
        name = list(signature.parameters)[1]

        @wraps(method)
        def answered(estimator: Any, *arguments: Any, **options: Any) -> Any:
            rows: Any = arguments[0] if arguments else options.get(name)
            if not (is_lazy(rows) or hasattr(rows, "dims")):
                return method(estimator, *arguments, **options)
            bound = signature.bind(estimator, *arguments, **options)
            bound.apply_defaults()
            _, _, *others = bound.arguments
            given = {each: bound.arguments[each] for each in others}
            if is_lazy(rows):
                answer = _lazily(_Call(method.__name__, estimator, _fixed(given)), rows, dims)
            else:
                answer = method(estimator, rows.values, **given)
            ends = {KLASS: getattr(estimator, "classes_", None), BAND: ENDS}
            return as_given(rows, answer, _named(dims, answer.ndim), ends)

        return answered  # type: ignore[return-value]

    return in_their_form


class _Call(NamedTuple):
    """A method of an estimator and its arguments after the rows."""

    method: str
    estimator: Any
    options: dict[str, Any]

    def of(self, rows: Any) -> NDArray[Any]:
        """Return the answer for rows in memory."""
        answer = getattr(self.estimator, self.method)(rows, **self.options)
        return np.asarray(answer)


def _fixed(options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments after the rows; all blocks get one seed, and with it the same draws."""
    for name, value in options.items():
        if is_lazy(value):
            raise ValueError(f"{name} must be in memory where the rows are a Dask collection.")
    if "random_state" not in options or isinstance(options["random_state"], int | np.integer):
        return options
    return options | {"random_state": int(generator(options["random_state"]).integers(2**32))}


def _named(dims: Sequence[str], ndim: int) -> list[str]:
    return [name for name in dims if name != KLASS or ndim == len(dims)]


def as_given(
    rows: Any, answer: Any, dims: Sequence[str], coords: dict[str, Any], kept: int = 1
) -> Any:
    """Return an answer about the first dimensions of a DataArray as one, others as they are."""
    if not hasattr(rows, "dims"):
        return answer
    import xarray as xr

    first = rows.dims[:kept]
    own = {name: each for name, each in rows.coords.items() if set(each.dims) <= set(first)}
    own |= {name: each for name, each in coords.items() if name in dims}
    own_dims = [each for name in dims for each in (first if name == ROW else (name,))]
    return xr.DataArray(answer, own, own_dims)


def _lazily(call: _Call, rows: Any, dims: Sequence[str]) -> Any:
    """Return the answers for blocks of rows as one dask array."""
    import dask
    import dask.array as da

    if hasattr(rows, "to_delayed") and not hasattr(rows, "chunks"):
        # Dask's own example of a row of these types; head would compute the first partition.
        sample = call.of(rows._meta_nonempty.iloc[:1])
        axis = _named(dims, sample.ndim).index(ROW)
        state = sent((call, sample, axis))
        shape = (*sample.shape[:axis], np.nan, *sample.shape[axis + 1 :])
        parts = [dask.delayed(_of_block)(part, state) for part in rows.to_delayed()]
        arrays = [da.from_delayed(part, shape, sample.dtype) for part in parts]
        return da.concatenate(arrays, axis, allow_unknown_chunksizes=True)
    values = rows.data if hasattr(rows, "dims") else rows
    if values.ndim == 2:
        values = values.rechunk({1: -1})
    sample = call.of(np.zeros((1, *values.shape[1:]), dtype=values.dtype))
    axis = _named(dims, sample.ndim).index(ROW)
    letters = [k + 2 for k in range(sample.ndim)]
    letters[axis] = 0
    return da.blockwise(
        _of_block,
        letters,
        values,
        (0, 1)[: values.ndim],
        state=sent((call, sample, axis)),
        new_axes={k: size for k, size in zip(letters, sample.shape, strict=True) if k},
        concatenate=True,
        dtype=sample.dtype,
        meta=sample[(slice(0),) * sample.ndim],
    )


def sent(state: Any) -> Any:
    """Return a value as a task of its own, for in the graph it is copied into every block's."""
    import dask

    return dask.delayed(_same, pure=False)(state)


def _same(state: State) -> State:
    return state


def _of_block(rows: Any, state: tuple[_Call, NDArray[Any], int]) -> NDArray[Any]:
    call, sample, axis = state
    # A filter may leave a block without rows, for which methods raise an error.
    return call.of(rows) if len(rows) else sample.take([], axis=axis)
