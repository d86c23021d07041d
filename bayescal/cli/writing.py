"""Folders of results: prepared beside their place and moved there whole, or nothing changes."""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayescal.cli.console import Screen
from bayescal.cli.curve import Curve, merge_curves
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.fitting import Calibrated
from bayescal.cli.frames import WRITTEN, write_frame
from bayescal.cli.left_out import NONE, LeftOut
from bayescal.cli.options import TableFormat
from bayescal.cli.problems import HELD_OUT
from bayescal.cli.record import describe, write_record

if TYPE_CHECKING:
    import pandas as pd

MOST_NAMES = 5  # of calibrators, in a line
CURVE_COLUMNS = ("probability", "lower", "upper", "log_odds")


def check_folder(out: Path | None) -> None:
    """
    Check, before any work, that a folder of results can be made.

    Raises
    ------
    UsageError
        If the path is a file, or goes through one.
    """
    if out is None:
        return
    for part in (out, *out.parents):
        if part.exists() and not part.is_dir():
            raise UsageError(f"--out must be a folder, but {part} is a file: choose another.")
    _check_writable(out)


def check_file(
    out: Path | None, suffixes: Sequence[str] = WRITTEN, read: Path | None = None
) -> None:
    """
    Check, before any work, that a file can be written.

    Parameters
    ----------
    out : Path or None
        The file; None for none.
    suffixes : sequence of str
        What it may end in.
    read : Path, optional
        What the command reads, which it is not to write over.

    Raises
    ------
    UsageError
        If the path ends otherwise, is that file or a folder, or lies in no folder.
    """
    if out is None:
        return
    if out.suffix.lower() not in suffixes:
        raise UsageError(f"--out must end in {' or '.join(suffixes)}, got {out}.")
    if out.is_dir():
        raise UsageError(f"--out: {out} is a folder, where a file is to be written.")
    if not out.parent.is_dir():
        raise UsageError(f"--out: there is no folder {out.parent}; make it first.")
    if read is not None and read.exists() and out.exists() and out.samefile(read):
        raise UsageError(f"--out must be another file than {read}, which is read: choose a name.")
    _check_writable(out.parent)


def _check_writable(folder: Path) -> None:
    """Make a folder where others are to be made, and remove it: permissions do not tell all."""
    try:
        Path(tempfile.mkdtemp(prefix=".bayescal-", dir=_existing(folder))).rmdir()
    except OSError as err:
        raise UsageError(
            f"--out must be where files can be written, but of {_existing(folder)} the system says:"
            f" {err.strerror or err}. Choose another."
        ) from err


def _existing(folder: Path) -> Path:
    """Return the folder, or the nearest above it that exists."""
    return next(part for part in (folder, *folder.absolute().parents) if part.is_dir())


@contextmanager
def staged_folder(out: Path) -> Iterator[Path]:
    """
    Give a folder to write into, whose files move to `out` if nothing goes wrong.

    Files of the same name in `out` are replaced, others stay.
    """
    # In the folder itself, where there is one: what is moved must not change file systems.
    parent = _existing(out)
    with blamed_on_use("--out: ", (OSError,)):
        stage = Path(tempfile.mkdtemp(prefix=".bayescal-", dir=parent))
        try:
            yield stage
            paths = sorted(stage.iterdir())
            for path in paths:
                if (out / path.name).is_dir():
                    raise UsageError(
                        f"--out: {out / path.name} is a folder, where a file is to be written."
                    )
            out.mkdir(parents=True, exist_ok=True)
            for path in paths:
                path.replace(out / path.name)
        finally:
            shutil.rmtree(stage, ignore_errors=True)


@contextmanager
def staged_file(out: Path) -> Iterator[Path]:
    """Give a path to write to, which becomes `out` if nothing goes wrong; see `check_file`."""
    with staged_folder(out.parent) as stage:
        yield stage / out.name


def save(
    out: Path | None,
    many: Sequence[Calibrated],
    arguments: Mapping[str, Any],
    table_format: TableFormat,
    screen: Screen,
    left_out: LeftOut = NONE,
) -> None:
    """Write results into a folder and say so; without one say how to get them."""
    if out is None:
        screen.say("Nothing is written; --out FOLDER keeps calibrators and probabilities.")
        return
    with staged_folder(out) as stage:
        write_results(stage, many, arguments, table_format, left_out)
        names = [path.name for path in sorted(stage.iterdir())]
    screen.say(f"Written to {out}: {', '.join(_shortened(names))}. Next:")
    for line in _next_steps(shlex.quote(str(out)), arguments):
        screen.say(f"  bayescal {line}")


def _shortened(names: list[str]) -> list[str]:
    """Return names of files, those of many calibrators as their number."""
    calibrators = [name for name in names if name.endswith(".nc")]
    if len(calibrators) <= MOST_NAMES:
        return names
    return [f"{len(calibrators)} calibrators (.nc)", *(n for n in names if n not in calibrators)]


def _next_steps(out: str, arguments: Mapping[str, Any]) -> list[str]:
    topic = arguments.get("topic_column")
    column = f" --topic-column {shlex.quote(topic)}" if topic else ""
    steps = [f"predict {out} new.csv{column} --out probabilities.csv", f"report {out}"]
    # New texts have no scores: their classifier is not kept.
    return steps if "score_column" in arguments else steps[1:]


def write_results(
    folder: Path,
    many: Sequence[Calibrated],
    arguments: Mapping[str, Any],
    table_format: TableFormat = TableFormat.CSV,
    left_out: LeftOut = NONE,
) -> None:
    """
    Write calibrators, probabilities and a summary.

    Parameters
    ----------
    folder : Path
        An existing folder.
    many : sequence of Calibrated
        All problems of one table; some or all may share a calibrator.
    arguments : mapping
        What the command was asked for; "level" and "seed" among it.
    table_format : TableFormat
        Of the probabilities.
    left_out : mapping
        Topics of the table that were not fitted, whose rows have empty cells, and why.
    """
    for name, calibrator in {one.file: one.calibrator for one in many}.items():
        calibrator.save(folder / name)
    frame = many[0].problem.table.frame
    rows = [one.problem.rows for one in many]
    curve = merge_curves(rows, [one.curve for one in many], len(frame))
    write_frame(with_curve(frame, curve), folder / f"probabilities.{table_format}")
    write_record(describe(many, arguments, left_out), folder)


def check_columns_free(frame: pd.DataFrame, path: Path) -> None:
    """
    Check that the columns to be added are not there yet.

    Raises
    ------
    UsageError
        If one of them is.
    """
    for name in (*CURVE_COLUMNS, HELD_OUT):
        if name in frame.columns:
            raise UsageError(
                f"{path} has a column {name!r}, which the output adds: rename it in the input."
            )


def with_curve(frame: pd.DataFrame, curve: Curve) -> pd.DataFrame:
    """Return the input with columns of probability, band and log-odds."""
    ends = (None, None) if curve.band is None else curve.band.T
    columns = zip(CURVE_COLUMNS, (curve.probability, *ends, curve.log_odds), strict=True)
    return frame.assign(**{name: value for name, value in columns if value is not None})
