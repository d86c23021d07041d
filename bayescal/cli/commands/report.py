"""`bayescal report`: one HTML file of what `bayescal fit` has written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from bayescal.cli import options
from bayescal.cli.console import Screen
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.fitting import class_labels
from bayescal.cli.frames import SUFFIXES
from bayescal.cli.predict import Calibrator
from bayescal.cli.reading import Columns, ScoreTable, read_scores

if TYPE_CHECKING:
    from bayescal.report.contents import Source

Test = Annotated[
    Path | None,
    typer.Option(
        "--test",
        metavar="FILE",
        help="Held-out labelled scores, .csv or .parquet. Of a file with a column split its test"
        " rows are taken.",
    ),
]
OutFile = Annotated[Path, typer.Option("--out", metavar="FILE", help="The .html file to write.")]
Title = Annotated[str | None, typer.Option("--title", help="Title of the page.")]


def report(
    calibrator: Calibrator,
    out: OutFile = Path("report.html"),
    test: Test = None,
    title: Title = None,
    score_column: options.ScoreColumn = "score",
    label_column: options.LabelColumn = "label",
    topic_column: options.TopicColumn = None,
    split_column: options.SplitColumn = None,
    positive: options.Positive = None,
    level: options.Level = 0.9,
    quiet: options.Quiet = False,
) -> None:
    """Write a report of calibrators: one HTML file that opens without network.

    [bold]bayescal report calibrated --test held_out.csv --out report.html[/bold]

    takes the folder, or a .nc file, that bayescal fit has written. The page
    has the curves with their bands, the topics in a table, reliability on the
    held-out scores, and sliders for costs and prior.
    """
    from bayescal.report import write_report

    run = _Run(calibrator)
    columns = Columns(score_column, label_column, topic_column, None, split_column)
    with Screen(quiet=quiet).warnings(), blamed_on_use():
        write_report(
            run.calibrators,
            out,
            test=None if test is None else run.held_out(test, columns, positive),
            fitted=run.fitted(),
            level=level,
            title=title,
        )
    size = out.stat().st_size / 1e6
    Screen(quiet=quiet).say(f"Written to {out}: {size:.2f} MB, opens in any browser")


class _Run:
    """What a call of `bayescal fit` wrote, or one calibrator of it."""

    def __init__(self, path: Path) -> None:
        self._path = path

    @cached_property
    def calibrators(self) -> Source:
        """Return the calibrator, or those of topics, each read when it is asked for."""
        from bayescal.loading import load

        return load(self._path)

    def held_out(self, path: Path, columns: Columns, positive: str | None) -> tuple[Any, ...]:
        """Return held-out scores, labels and, where there are any, topics."""
        arguments = self._arguments
        single = not self._has_topics
        if not single and columns.topic is None:
            columns = Columns(columns.score, columns.label, "topic", None, columns.split)
        if single and columns.topic is not None:
            raise UsageError(f"--topic-column needs calibrators of topics; {self._path} is one.")
        table = read_scores(path, columns, positive or arguments.get("positive"))
        rows = np.flatnonzero(table.test) if table.test.any() else np.arange(table.score.size)
        return _labelled(table, rows)

    def fitted(self) -> tuple[Any, ...] | None:
        """Return the scores that pooled topics were fitted to, where they stand beside them."""
        if not self._pooled:
            return None
        arguments = self._arguments
        files = [self._folder / f"probabilities{suffix}" for suffix in SUFFIXES]
        found = [file for file in files if file.is_file()]
        if not arguments or not found:
            return None
        names = ("score", "label", "topic", "weight", "split")
        columns = Columns(**{name: arguments[f"{name}_column"] for name in names})
        table = read_scores(found[0], columns, arguments["positive"])
        return _labelled(table, np.flatnonzero(~table.test))

    @property
    def _has_topics(self) -> bool:
        return self._pooled or isinstance(self.calibrators, Mapping)

    @property
    def _pooled(self) -> bool:
        from bayescal.topic_calibrator import TopicCalibrator

        return isinstance(self.calibrators, TopicCalibrator)

    @property
    def _folder(self) -> Path:
        return self._path if self._path.is_dir() else self._path.parent

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        """Return what `bayescal fit` was asked for; nothing where its summary is not there."""
        from bayescal.loading import SUMMARY

        try:
            record = json.loads((self._folder / SUMMARY).read_text(encoding="utf-8"))
            arguments: dict[str, Any] = record["arguments"]
        except (OSError, ValueError, KeyError):
            return {}
        return arguments


def _labelled(table: ScoreTable, rows: Any) -> tuple[Any, ...]:
    topics = () if table.topic is None else (table.topic[rows],)
    return (table.score[rows], class_labels(table, rows), *topics)
