"""Predictions for scores in Parquet files, read and written in pieces, in parallel."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayescal.fitting.results import storage
from bayescal.fitting.results.calibration import TopicCurves
from bayescal.fitting.results.tree import Results
from bayescal.fitting.scores import read_cells
from bayescal.support import files as run_files
from bayescal.support.numerics import probability
from bayescal.support.parallel import in_parallel
from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pyarrow as pa

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
    _check_target(target)
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


def _check_target(out: Path) -> None:
    if out.is_file() or (out.is_dir() and any(p.name != run_files.FOLDER for p in out.iterdir())):
        raise ValueError(f"{out} must be a new or an empty folder: choose another.")


def _digest_of_files(files: list[str]) -> str:
    stats = [(name, Path(name).stat()) for name in sorted(files)]
    return run_files.digest(
        f"{name} {stat.st_size} {stat.st_mtime_ns}".encode() for name, stat in stats
    )
