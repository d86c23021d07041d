"""`bayescal predict`: probabilities of new scores by a calibrator that was saved."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from bayescal.cli import options
from bayescal.cli.console import Screen
from bayescal.cli.curve import Curve, curve_at, merge_curves
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.frames import SUFFIXES, write_frame
from bayescal.cli.pooled import pooled_curve, pooled_file
from bayescal.cli.problems import rows_by_topic
from bayescal.cli.reading import ColumnReader
from bayescal.cli.record import read_files
from bayescal.cli.writing import check_columns_free, staged_file, with_curve
from bayescal.validation import Floats, check_choice, check_fraction

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.score_calibrator import ScoreCalibrator

Calibrator = Annotated[
    Path,
    typer.Argument(
        metavar="CALIBRATOR", help="A .nc file, or a folder, that bayescal fit has written."
    ),
]
OutFile = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help="A .csv or .parquet file to write. By default CSV on the screen, quiet or not.",
        rich_help_panel=options.OUTPUT,
    ),
]


def predict(
    calibrator: Calibrator,
    scores: options.ScoresFile,
    score_column: options.ScoreColumn = "score",
    topic_column: options.TopicColumn = None,
    out: OutFile = None,
    level: options.Level = 0.9,
    band: options.Band = "pointwise",
    prior: options.Prior = None,
    quiet: options.Quiet = False,
) -> None:
    """Give new scores probabilities, with a band if the calibrator has a posterior.

    [bold]bayescal predict calibrated/posterior.nc new.csv --out probabilities.csv[/bold]

    copies the rows of new.csv and adds the columns probability, lower, upper
    and log_odds.

    [bold]bayescal predict calibrated new.csv --topic-column topic > probabilities.csv[/bold]

    takes each topic's calibrator, or that of all topics, from the folder that
    bayescal fit wrote; pooled, a topic that was not fitted has the answer of
    the population.
    """
    _check_options(level, band, prior)
    _check_out(out)
    reader = ColumnReader(scores)
    check_columns_free(reader.frame, scores)
    values = reader.scores(score_column)
    topics = reader.topics(topic_column) if topic_column else None
    screen = Screen(quiet=quiet)
    if (pooled := pooled_file(calibrator)) is not None:
        others = {"--band": band != "pointwise", "--prior": prior is not None}
        curve = _pooled_curve(pooled, values, topics, level, others)
        _write(with_curve(reader.frame, curve), out, screen)
        return
    files = _calibrator_files(calibrator, with_topics=topics is not None)
    rows = rows_by_topic(topics, values.size)
    _check_topics([topic for topic, _ in rows], files, reader.name(str(topic_column)))
    with screen.progress("predict", len(rows)) as step:
        curves = []
        for topic, where in rows:
            step.begin(topic or "")
            fitted = _read(files[topic])
            curves.append(curve_at(fitted, values[where], level, band=band, prior=prior))
            step.end()
    curve = merge_curves([where for _, where in rows], curves)
    _write(with_curve(reader.frame, curve), out, screen)


def _pooled_curve(
    path: Path,
    scores: Floats,
    topics: NDArray[np.str_] | None,
    level: float,
    others: Mapping[str, bool],
) -> Curve:
    """Return what a calibrator of many topics says; topics that it does not know are an error."""
    from bayescal.topic_calibrator import TopicCalibrator

    if topics is None:
        raise UsageError(f"{path} holds many topics: name their column with --topic-column.")
    for option, given in others.items():
        if given:
            raise UsageError(f"{option} is for topics fitted apart; {path} holds topics pooled.")
    with blamed_on_use():
        calibrator = TopicCalibrator.load(path)
    return pooled_curve(calibrator, scores, topics, level)


def _calibrator_files(path: Path, *, with_topics: bool) -> dict[str | None, Path]:
    files: dict[str | None, Path] = read_files(path) if path.is_dir() else {None: path}
    if with_topics and None in files:
        raise UsageError(
            f"--topic-column needs a folder that bayescal fit wrote with --topic-column;"
            f" {path} is one calibrator without topics."
        )
    if not with_topics and None not in files:
        raise UsageError(
            f"{path} has a calibrator a topic: name the column of topics with --topic-column."
        )
    return files


def _check_topics(
    topics: Sequence[str | None], files: Mapping[str | None, Path], column: str
) -> None:
    for topic in topics:
        if topic not in files:
            known = ", ".join(map(repr, files))
            raise UsageError(
                f"{column} must hold topics that have a calibrator, {known}; got {topic!r}."
            )


def _read(path: Path) -> ScoreCalibrator:
    from bayescal.score_calibrator import load

    with blamed_on_use():
        return load(path)


def _check_options(level: float, band: str, prior: float | None) -> None:
    from bayescal.results.calibration import KINDS

    with blamed_on_use():
        check_fraction(**{"--level": level})
        check_choice("--band", band, KINDS)
        if prior is not None:
            check_fraction(**{"--prior": prior})


def _check_out(out: Path | None) -> None:
    if out is not None and out.suffix.lower() not in SUFFIXES:
        raise UsageError(f"--out must end in {' or '.join(SUFFIXES)}, got {out}.")


def _write(frame: pd.DataFrame, out: Path | None, screen: Screen) -> None:
    if out is None:
        frame.to_csv(sys.stdout, index=False)
        return
    with staged_file(out) as path:
        write_frame(frame, path)
    screen.say(f"Written to {out}: {len(frame)} rows")
