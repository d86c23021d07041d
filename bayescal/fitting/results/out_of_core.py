"""Predictions of more scores than memory holds: Dask arrays and Parquet files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal.fitting.results import storage
from bayescal.fitting.results.calibration import TopicCurves
from bayescal.fitting.results.tree import Results
from bayescal.fitting.scores import Cells, names_of_columns, read_cells, topics_of_long
from bayescal.support import files as run_files
from bayescal.support.lazy import sent
from bayescal.support.numerics import probability
from bayescal.support.parallel import in_parallel
from bayescal.support.validation import Floats, as_array, is_lazy

if TYPE_CHECKING:
    import dask.array as da
    import pyarrow as pa


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


def map_blocks(
    function: Callable[..., Floats], state: Any, arrays: list[da.Array], last: Last | None
) -> da.Array:
    """Return function(state, *blocks) for the blocks of arrays of the same shape."""
    import dask.array as da

    own = tuple(range(arrays[0].ndim))
    out = own if last is None else (*own, len(own))
    pairs = [each for array in arrays for each in (array, own[len(own) - array.ndim :])]
    unknown = any(np.isnan(size) for array in arrays for sizes in array.chunks for size in sizes)
    return da.blockwise(
        partial(_call, function),
        out,
        *pairs,
        state=sent(state),
        new_axes={} if last is None else {out[-1]: len(last[1])},
        align_arrays=not unknown,
        dtype=np.float64,
        meta=np.empty((0,) * len(out)),
    )


def _call(function: Callable[..., Floats], *blocks: Any, state: Any) -> Floats:
    return function(state, *blocks)


def _wide(
    curves: TopicCurves, read: Reader, scores: da.Array, names: Any, last: Last | None
) -> da.Array:
    import dask.array as da

    ends = np.cumsum(scores.chunks[1])[:-1]
    blocks = np.split(names, ends)
    columns = np.split(np.arange(names.size), ends)
    # A block gets only the draws of its own topics.
    parts = [
        map_blocks(
            partial(_read_wide, read, names=own),
            curves.of(own.tolist()),
            [scores[:, where[0] : where[-1] + 1]],
            last,
        )
        for own, where in zip(blocks, columns, strict=True)
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
    return map_blocks(partial(_read_long, read), curves, [scores, topics], last)


def _read_wide(read: Reader, curves: TopicCurves, scores: Any, *, names: Any) -> Floats:
    return read(curves, read_cells(scores, names))


def _read_long(read: Reader, curves: TopicCurves, scores: Any, topics: Any) -> Floats:
    return read(curves, read_cells(np.asarray(scores, dtype=np.float64), np.asarray(topics)))


def _as_dask(values: Any) -> da.Array:
    import dask.array as da

    values = getattr(values, "data", values) if hasattr(values, "coords") else values
    return values if isinstance(values, da.Array) else da.from_array(as_array(values, "scores"))


def as_given(scores: Any, answer: Any, last: Last | None) -> Any:
    """Return an answer about a DataArray as one, with its coordinates; others as they are."""
    if not hasattr(scores, "coords"):
        return answer
    import xarray as xr

    dims = scores.dims if last is None else (*scores.dims, last[0])
    coords = dict(scores.coords) if last is None else {**scores.coords, last[0]: last[1]}
    return xr.DataArray(answer, coords, dims)


ADDED = ("probability", "lower", "upper", "log_odds")
ROWS = 1 << 17  # rows in a worker's memory
CALIBRATOR = "calibrator.nc"


@dataclass(frozen=True)
class Piece:
    """Rows of a Parquet file and where their predictions go."""

    rows: Any  # a row group
    schema: Any  # of the rows
    target: Path  # the file to write
    calibrator: Path  # the file of the topics' calibrator
    point: str  # its point estimate
    score: str  # column of scores
    topic: str  # column of topics
    level: float  # posterior probability of the band
    strict: bool  # whether a topic that was not fitted is an error


def predict_parquet(
    curves: TopicCurves,
    source: str | Path,
    out: str | Path,
    *,
    score: str,
    topic: str,
    level: float,
    strict: bool,
    resume: bool,
) -> Path:
    """Write predictions for the scores in Parquet files; see `TopicCalibrator.predict_parquet`."""
    target = Path(out)
    if target.is_file() or (
        target.is_dir() and any(each.name != run_files.FOLDER for each in target.iterdir())
    ):
        raise ValueError(f"{target} must be a new or an empty folder: choose another.")
    dataset = _dataset(Path(source), (score, topic))
    folder = target / run_files.FOLDER
    record = {
        "calibrator": storage.digest(curves.results.tree),
        "files": _digest_of_files(dataset.files),
        "columns": f"{score}, {topic}",
        "level": level,
        "strict": strict,
    }
    run_files.begin(folder, record, resume=resume)
    # Each worker reads this file once, for all of its pieces.
    calibrator = folder / CALIBRATOR
    if not calibrator.exists():
        storage.write_tree(curves.results.tree, calibrator)
    wanted = Piece(
        rows=None,
        schema=dataset.schema,
        target=folder,
        calibrator=calibrator.absolute(),
        point=curves.point,
        score=score,
        topic=topic,
        level=level,
        strict=strict,
    )
    pieces = list(_pieces(dataset, wanted))
    missing = [piece for piece in pieces if not piece.target.exists()]
    for _ in in_parallel(_write_piece, missing, [1] * len(missing)):
        pass
    for piece in pieces:
        piece.target.replace(target / piece.target.name)
    shutil.rmtree(folder)
    return target


def _pieces(dataset: Any, wanted: Piece) -> Iterator[Piece]:
    """Yield the row groups of all files."""
    groups = (group for file in dataset.get_fragments() for group in file.split_by_row_group())
    for k, group in enumerate(groups):
        yield replace(wanted, rows=group, target=wanted.target.absolute() / f"part-{k:06d}.parquet")


def _write_piece(piece: Piece) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    fields = [*piece.schema, *(pa.field(name, pa.float64()) for name in ADDED)]
    schema = pa.schema(fields, metadata=piece.schema.metadata)
    beside = piece.target.with_name(f".{piece.target.name}.{os.getpid()}.part")
    try:
        with parquet.ParquetWriter(beside, schema) as writer:
            # Without reading ahead, memory holds one batch, even of large row groups.
            for batch in piece.rows.to_batches(
                schema=piece.schema, batch_size=ROWS, batch_readahead=0, use_threads=False
            ):
                if batch.num_rows:
                    writer.write_batch(_with_answers(batch, piece, schema))
        beside.replace(piece.target)
    finally:
        beside.unlink(missing_ok=True)


def _with_answers(batch: pa.RecordBatch, piece: Piece, schema: pa.Schema) -> pa.RecordBatch:
    import pyarrow as pa

    written = piece.calibrator.stat().st_mtime_ns
    curves = _curves_at(piece.calibrator, piece.point, written)
    scores, topics = (
        batch.column(batch.schema.get_field_index(name)).to_numpy(zero_copy_only=False)
        for name in (piece.score, piece.topic)
    )
    cells = read_cells(np.asarray(scores, dtype=np.float64), topics)
    log_odds = curves.log_odds(cells, strict=piece.strict)
    lower, upper = curves.interval(cells, piece.level, strict=piece.strict).T
    answers: tuple[Floats, ...] = (probability(log_odds), lower, upper, log_odds)
    added = [pa.array(np.ascontiguousarray(values)) for values in answers]
    return pa.RecordBatch.from_arrays([*batch.columns, *added], schema=schema)


@lru_cache(maxsize=1)
def _curves_at(path: Path, point: str, written: int) -> TopicCurves:
    """Return the curves in a file; its modification time is part of the cache key."""
    return TopicCurves(Results.of_tree(storage.read_tree(path)), point)


def _dataset(source: Path, wanted: tuple[str, ...]) -> Any:
    import pyarrow.dataset

    if not source.exists():
        raise FileNotFoundError(f"there is no {source}: expected a Parquet file or a folder.")
    dataset = pyarrow.dataset.dataset(source, format="parquet", partitioning="hive")
    missing = [name for name in wanted if name not in dataset.schema.names]
    if missing:
        raise ValueError(
            f"{source} must have the columns {', '.join(wanted)}; it lacks {', '.join(missing)}."
        )
    taken = [name for name in ADDED if name in dataset.schema.names]
    if taken:
        raise ValueError(
            f"{source} has columns that the predictions add, {', '.join(taken)}: rename them."
        )
    return dataset


def _digest_of_files(files: list[str]) -> str:
    stats = [(name, Path(name).stat()) for name in sorted(files)]
    return run_files.digest(
        f"{name} {stat.st_size} {stat.st_mtime_ns}".encode() for name, stat in stats
    )
