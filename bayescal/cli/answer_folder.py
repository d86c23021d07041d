"""Answers for rows of large files as a folder of Parquet files, one for each block of rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from bayescal.cli import predictions
from bayescal.cli.files import write_frame
from bayescal.cli.terminal import Screen, UsageError, counted, usage_errors
from bayescal.support import files as run_files
from bayescal.support import parallel
from bayescal.support.validation import Columns, Floats

if TYPE_CHECKING:
    import pandas as pd

ROWS = 1 << 18  # of a part
BLOCKS_A_PROCESS = 2  # in memory at a time
PART, REJECTED = "part-{:06}.parquet", "rejected-{:06}.csv"

# Columns of answers of a calibrator's problem at scores, with covariates.
Answer = Callable[[Any, Floats, Columns | None], Mapping[str, Any]]


class RowBlock(NamedTuple):
    """Rows to answer, with their scores and covariates as the calibrator takes them."""

    frame: pd.DataFrame
    scores: Floats
    covariates: Columns | None
    rejected: pd.DataFrame  # rows of the block without a score


def is_folder(out: Path | None) -> bool:
    """Return whether a path names a folder of parts, which has no suffix, and not a file."""
    return out is not None and not out.suffix


def begin(out: Path, calibrator: Path, arguments: Mapping[str, Any], *, resume: bool) -> None:
    """Make the folder of parts, or check that the one to resume is of the same run."""
    if not out.parent.is_dir():
        raise UsageError(f"--out: there is no folder {out.parent}; make it first.")
    known = run_files.read_record(out)
    if (out.is_file() or (out.is_dir() and any(out.iterdir()))) and not (resume and known):
        advice = "add --resume, or choose another" if known else "choose another"
        raise UsageError(f"--out must be a new or an empty folder, got {out}: {advice}.")
    saved = sorted(calibrator.rglob("*.nc")) if calibrator.is_dir() else [calibrator]
    digest = run_files.digest(path.read_bytes() for path in saved)
    record = {name: value for name, value in arguments.items() if value is not None}
    with usage_errors("--out: ", (ValueError, OSError)):
        run_files.begin(out, record | {"contents of the calibrator": digest}, resume=resume)


def write_parts(
    blocks: Iterable[RowBlock],
    calibrator: Path,
    answer: Answer,
    out: Path,
    *,
    jobs: int,
    screen: Screen,
    update: Callable[..., None],
) -> None:
    """Answer blocks and write them; a part that holds the same rows is kept."""
    rows = rejected = kept = 0

    def missing() -> Iterator[tuple[Path, RowBlock, Path, Answer]]:
        nonlocal rows, rejected, kept
        for k, block in enumerate(blocks):
            rows, rejected = rows + len(block.frame), rejected + len(block.rejected)
            if len(block.rejected):
                write_frame(block.rejected, out / REJECTED.format(k))
                update(advance=len(block.rejected))
            path = out / PART.format(k)
            if len(block.frame) and not _holds(path, block.frame):
                yield path, block, calibrator, answer
            else:
                kept += len(block.frame)
                update(advance=len(block.frame))

    waiting = missing()
    with parallel.workers(jobs), usage_errors("--out: ", (OSError,)):
        while batch := list(itertools.islice(waiting, BLOCKS_A_PROCESS * jobs)):
            for done in parallel.in_parallel(_write, batch):
                update(advance=done)
    before = f", of which {kept:,} were there" if kept else ""
    screen.say(f"Written to {out}: {counted(rows, 'row')}{before}")
    if rejected:
        where = out / REJECTED.replace("{:06}", "*")
        screen.warn(f"{counted(rejected, 'row')} without a score: see {where}.")


def _holds(path: Path, frame: pd.DataFrame) -> bool:
    """Return whether a part holds these rows, up to the types of text."""
    import pandas as pd

    if not path.is_file():
        return False
    with usage_errors(f"{path} cannot be read, delete it: ", (OSError, ValueError)):
        part = pd.read_parquet(path)
    same = set(frame.columns) <= set(part.columns) and len(part) == len(frame)
    return same and all(
        np.array_equal(part[name].astype(str), frame[name].astype(str)) for name in frame.columns
    )


@cache
def _problem(calibrator: Path) -> Any:
    """Return the only problem of a saved calibrator, loaded once in each process."""
    (problem,) = predictions.load(calibrator).fitted_problems().values()
    return problem


def _write(task: tuple[Path, RowBlock, Path, Answer]) -> int:
    """Write the part of a block whole or not at all; return its number of rows."""
    path, block, calibrator, answer = task
    columns = answer(_problem(calibrator), block.scores, block.covariates)
    with run_files.whole_file(path) as beside:
        write_frame(block.frame.assign(**columns), beside)
    return len(block.frame)
