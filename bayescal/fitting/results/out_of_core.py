"""Predictions of more scores than memory holds, as Dask arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal.fitting.results.calibration import TopicCurves
from bayescal.fitting.scores import Cells, names_of_columns, read_cells, topics_of_long
from bayescal.support.lazy import sent
from bayescal.support.validation import Floats, as_array, is_lazy

if TYPE_CHECKING:
    import dask.array as da


Reader = Callable[[TopicCurves, Cells], Floats]
Last = tuple[str, list[Any]]


def read_lazily(
    curves: TopicCurves, read: Reader, scores: Any, topics: Any, last: Last | None = None
) -> da.Array:
    """Return values of the topics' curves as a dask array."""
    if hasattr(scores, "columns"):
        scores, topics = scores["score"].values, scores["topic"].values
    values = _as_dask(scores)
    if values.ndim == 2:
        return _wide(curves, read, values, names_of_columns(scores, topics), last)
    return _long(curves, read, values, topics_of_long(scores, topics), last)


def _blockwise(
    read: Reader, curves: TopicCurves, arrays: list[da.Array], last: Last | None, names: Any = None
) -> da.Array:
    """Return values of curves for blocks of scores and topics, or of columns with names."""
    import dask.array as da

    own = tuple(range(arrays[0].ndim))
    out = own if last is None else (*own, len(own))
    pairs = [each for array in arrays for each in (array, own)]
    unknown = any(np.isnan(size) for array in arrays for sizes in array.chunks for size in sizes)
    return da.blockwise(
        partial(_read, read, names),
        out,
        *pairs,
        curves=sent(curves),
        new_axes={} if last is None else {out[-1]: len(last[1])},
        align_arrays=not unknown,
        dtype=np.float64,
        meta=np.empty((0,) * len(out)),
    )


def _read(read: Reader, names: Any, scores: Any, topics: Any = None, *, curves: Any) -> Floats:
    named = np.asarray(names if topics is None else topics)
    return read(curves, read_cells(np.asarray(scores, dtype=np.float64), named))


def _wide(
    curves: TopicCurves, read: Reader, scores: da.Array, names: Any, last: Last | None
) -> da.Array:
    import dask.array as da

    blocks = np.split(np.arange(names.size), np.cumsum(scores.chunks[1])[:-1])
    # A block gets only the draws of its own topics.
    parts = [
        _blockwise(read, curves.of(names[own].tolist()), [scores[:, own]], last, names[own])
        for own in blocks
        if own.size
    ]
    return da.concatenate(parts, axis=1)


def _long(
    curves: TopicCurves, read: Reader, scores: da.Array, topics: Any, last: Last | None
) -> da.Array:
    import dask.array as da

    if not is_lazy(topics):
        topics = da.from_array(as_array(topics, "topics"), chunks=scores.chunks)
    topics = _as_dask(topics)
    if topics.shape != scores.shape and not np.isnan(scores.shape + topics.shape).any():
        raise ValueError(
            f"scores and topics must have the same length, got {scores.size} and {topics.size}."
        )
    return _blockwise(read, curves, [scores, topics], last)


def _as_dask(values: Any) -> da.Array:
    import dask.array as da

    values = getattr(values, "data", values) if hasattr(values, "coords") else values
    return values if isinstance(values, da.Array) else da.from_array(as_array(values, "scores"))
