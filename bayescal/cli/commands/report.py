"""`bayescal report`: one HTML file of what `bayescal fit` has written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from bayescal.cli import options
from bayescal.cli.command import Call, command
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.frames import WRITTEN
from bayescal.cli.reading import read_scores

if TYPE_CHECKING:
    from bayescal.fitted.problem import Problems

# Scores, labels and maybe topics; what a run was asked for.
Labelled = tuple[NDArray[Any], ...]
Told = dict[str, Any]
COLUMNS = ("score", "label", "topic", "weight", "split")

Test = Annotated[
    Path | None,
    options.option(
        "--test",
        None,
        "Held-out labelled scores, .csv or .parquet. Of a file with a column split its test"
        " rows are taken.",
        metavar="FILE",
    ),
]
OutFile = Annotated[Path, options.option("--out", None, "The .html file to write.", metavar="FILE")]
Title = Annotated[str | None, options.option("--title", None, "Title of the page.")]


app = typer.Typer()


@dataclass(frozen=True, kw_only=True)
class Report(Call):
    """The options of `bayescal report`."""

    calibrator: options.Calibrator
    out: OutFile = Path("report.html")
    test: Test = None
    title: Title = None
    score_column: options.ScoreColumn = "score"
    label_column: options.LabelColumn = "label"
    topic_column: options.TopicColumn = None
    split_column: options.SplitColumn = None
    positive: options.Positive = None
    level: options.Level = 0.9


@command(app, Report)
def report(asked: Report) -> None:
    """Write a report of calibrators: one HTML file that opens without network.

    [bold]bayescal report calibrated --test held_out.csv --out report.html[/bold]

    takes the folder, or a .nc file, that bayescal fit has written. The page
    has the curves with their bands, the topics in a table, reliability on the
    held-out scores, and sliders for costs and prior.
    """
    from bayescal.loading import load
    from bayescal.report import write_report

    out = asked.out
    with asked.screen.warnings(), blamed_on_use():
        source = load(asked.calibrator)
        problems = source.fitted_problems()
        told = _told(asked.calibrator)
        write_report(
            source,
            out,
            test=_held_out(asked, told, by_topic=problems.by_topic),
            fitted=_fitted(asked.calibrator, told, problems),
            level=asked.level,
            title=asked.title,
        )
    size = out.stat().st_size / 1e6
    asked.screen.say(f"Written to {out}: {size:.2f} MB, opens in any browser")


def _held_out(asked: Report, told: Told, *, by_topic: bool) -> Labelled | None:
    """Return held-out scores, labels and, where there are any, topics."""
    if asked.test is None:
        return None
    topic = asked.topic_column
    if topic is not None and not by_topic:
        raise UsageError(f"--topic-column needs calibrators of topics; {asked.calibrator} is one.")
    table = read_scores(
        asked.test,
        asked.positive or told.get("positive"),
        score=asked.score_column,
        label=asked.label_column,
        topic="topic" if by_topic and topic is None else topic,
        split=asked.split_column,
    )
    rows = np.flatnonzero(table.test) if table.test.any() else np.arange(table.score.size)
    return table.labelled(rows)


def _fitted(path: Path, told: Told, problems: Problems) -> Labelled | None:
    """Return the scores fitted, where the calibrator does not keep them: they stand beside it."""
    files = [_folder(path) / f"probabilities{suffix}" for suffix in WRITTEN]
    found = [file for file in files if file.is_file()]
    if not told or not found or next(iter(problems.values())).documents.known:
        return None
    columns = {name: told[f"{name}_column"] for name in COLUMNS}
    table = read_scores(found[0], told["positive"], **columns)
    return table.labelled(np.flatnonzero(~table.test))


def _told(path: Path) -> Told:
    """Return what `bayescal fit` was asked for; nothing where its summary is not there."""
    from bayescal.loading import SUMMARY

    try:
        record = json.loads((_folder(path) / SUMMARY).read_text(encoding="utf-8"))
        arguments: Told = record["arguments"]
    except (OSError, ValueError, KeyError):
        return {}
    return arguments


def _folder(path: Path) -> Path:
    return path if path.is_dir() else path.parent
