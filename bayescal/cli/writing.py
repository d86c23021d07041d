"""Folders of results: prepared beside their place and moved there whole, or nothing changes."""

from __future__ import annotations

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
from bayescal.cli.frames import write_frame
from bayescal.cli.options import TableFormat
from bayescal.cli.problems import HELD_OUT
from bayescal.cli.record import describe, write_record

if TYPE_CHECKING:
    import pandas as pd

CURVE_COLUMNS = ("probability", "lower", "upper", "log_odds")


def check_folder(out: Path | None) -> None:
    """
    Check, before any work, that a folder of results can be made.

    Raises
    ------
    UsageError
        If the path is a file, or goes through one.
    """
    for part in () if out is None else (out, *out.parents):
        if part.exists() and not part.is_dir():
            raise UsageError(f"--out must be a folder, but {part} is a file: choose another.")


@contextmanager
def staged_folder(out: Path) -> Iterator[Path]:
    """
    Give a folder to write into, whose files move to `out` if nothing goes wrong.

    Files of the same name in `out` are replaced, others stay.
    """
    # In the folder itself, where there is one: what is moved must not change file systems.
    parent = next(part for part in (out, *out.absolute().parents) if part.is_dir())
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
    """Give a path to write to, which becomes `out` if nothing goes wrong."""
    if not out.parent.is_dir():
        raise UsageError(f"--out: there is no folder {out.parent}; make it first.")
    with staged_folder(out.parent) as stage:
        yield stage / out.name


def save(
    out: Path | None,
    many: Sequence[Calibrated],
    arguments: Mapping[str, Any],
    table_format: TableFormat,
    screen: Screen,
) -> None:
    """Write results into a folder and say so; without one say how to get them."""
    if out is None:
        screen.say("Nothing is written; --out FOLDER keeps calibrators and probabilities.")
        return
    with staged_folder(out) as stage:
        write_results(stage, many, arguments, table_format)
        names = [path.name for path in sorted(stage.iterdir())]
    screen.say(f"Written to {out}: {', '.join(names)}. Next:")
    screen.say(f"  bayescal predict {out} new.csv --out probabilities.csv")
    screen.say(f"  bayescal report {out}")


def write_results(
    folder: Path,
    many: Sequence[Calibrated],
    arguments: Mapping[str, Any],
    table_format: TableFormat = TableFormat.CSV,
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
    """
    for name, calibrator in {one.file: one.calibrator for one in many}.items():
        calibrator.save(folder / name)
    curve = merge_curves([one.problem.rows for one in many], [one.curve for one in many])
    frame = with_curve(many[0].problem.table.frame, curve)
    write_frame(frame, folder / f"probabilities.{table_format}")
    write_record(describe(many, arguments), folder)


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
