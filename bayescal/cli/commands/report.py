"""`bayescal report`: one HTML file of what `bayescal fit` has written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from bayescal.cli import options
from bayescal.cli.command import Call, blamed_on_use, command
from bayescal.cli.reading import WRITTEN, ColumnReader, read_scores
from bayescal.cli.saved import TOPIC, calibrators_of, load, say_what_is_not_used
from bayescal.cli.writing import check_file, read_record
from bayescal.support.validation import check_fraction

if TYPE_CHECKING:
    from bayescal.fitting.problems.problem import Calibrator, Problems

# Scores, labels and maybe topics; what a run was asked for.
Labelled = tuple[NDArray[Any], ...]
Told = dict[str, Any]
PAGES = (".html", ".htm")
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
Collection = Annotated[
    Path | None,
    options.option(
        "--collection",
        None,
        "Scores whose labels nobody knows: the report says how many documents to read, and how"
        " many positives that finds and misses, as bayescal decide does.",
        metavar="FILE",
    ),
]
OutFile = Annotated[Path, options.option("--out", None, "The .html file to write.", metavar="FILE")]
Title = Annotated[str | None, options.option("--title", None, "Title of the page.")]


AtScore = Annotated[
    float | None,
    options.option(
        "--at-score",
        None,
        "A score: the report says what taking documents of this score and above finds and misses.",
        metavar="SCORE",
    ),
]
Recall = Annotated[
    float,
    options.option(
        "--recall", None, "The report says which threshold takes this share of the positives."
    ),
]
app = typer.Typer()


@dataclass(frozen=True, kw_only=True)
class Report(Call):
    """The options of `bayescal report`."""

    calibrator: options.Calibrator
    out: OutFile = Path("report.html")
    test: Test = None
    collection: Collection = None
    title: Title = None
    score_column: options.ScoreColumn = "score"
    label_column: options.LabelColumn = "label"
    topic_column: options.TopicColumn = None
    split_column: options.SplitColumn = None
    positive: options.PositiveHere = None
    at_score: AtScore = None
    recall: Recall = 0.9
    level: options.Level = 0.9


@command(app, Report)
def report(asked: Report) -> None:
    """Write a report of calibrators: one HTML file that opens without network.

    [bold]bayescal report calibrated --test held_out.csv --out report.html[/bold]

    takes the folder, or a .nc file, that bayescal fit has written. The page
    has the curves with their bands, the topics in a table, reliability on the
    held-out scores, and sliders for costs and prior.
    """
    from bayescal.report import write_report

    out = asked.out
    with blamed_on_use():
        check_fraction(**{"--level": asked.level, "--recall": asked.recall})
    check_file(out, PAGES)
    with asked.screen.warnings(), blamed_on_use():
        source = load(asked.calibrator)
        write_report(
            source,
            out,
            test=_held_out(asked, source),
            fitted=_fitted(asked.calibrator, source.fitted_problems()),
            collection=_collection(asked, source),
            level=asked.level,
            threshold=asked.at_score,
            recall=asked.recall,
            title=asked.title,
        )
    size = out.stat().st_size / 1e6
    asked.screen.say(f"Written to {out}: {size:.2f} MB, opens in any browser")


def _held_out(asked: Report, source: Calibrator) -> Labelled | None:
    """Return held-out scores, labels and, where there are any, topics."""
    if asked.test is None:
        return None
    reader, column = ColumnReader(asked.test), asked.topic_column
    problems = source.fitted_problems()
    if problems.by_topic and column is None:
        column = TOPIC
    score = reader.scores(asked.score_column)
    found = calibrators_of(source, asked.calibrator, reader, column)
    classes = next(iter(problems.values())).labels
    positive, told = reader.known_labels(asked.label_column, classes, asked.positive)
    labels = np.where(positive, classes[1], classes[0])
    held_out = reader.held_out_rows(asked.split_column)
    if found.said:
        asked.screen.warn(f"{found.said} The report leaves them out.")
    if told:
        asked.screen.tell(told)
    what = f"{asked.calibrator} is one calibrator for all rows."
    say_what_is_not_used(asked.screen, reader.frame, asked.test, column, what)
    rows = held_out & ~found.left_out
    if found.topics is None:
        return score[rows], labels[rows]
    return score[rows], labels[rows], found.topics[rows]


def _collection(asked: Report, source: Calibrator) -> Labelled | NDArray[Any] | None:
    """Return the scores of the collection and, where there are any, topics."""
    if asked.collection is None:
        return None
    reader, column = ColumnReader(asked.collection), asked.topic_column
    if source.fitted_problems().by_topic and column is None:
        column = TOPIC
    score = reader.scores(asked.score_column)
    found = calibrators_of(source, asked.calibrator, reader, column)
    if found.said:
        asked.screen.warn(f"{found.said} The collection leaves them out.")
    rows = ~found.left_out
    return score[rows] if found.topics is None else (score[rows], found.topics[rows])


def _fitted(path: Path, problems: Problems) -> Labelled | None:
    """Return the scores fitted, where the calibrator does not keep them: they stand beside it."""
    told: Told = read_record(path).get("arguments", {})
    folder = path if path.is_dir() else path.parent
    files = [folder / f"probabilities{suffix}" for suffix in WRITTEN]
    found = [file for file in files if file.is_file()]
    if not told or not found or next(iter(problems.values())).documents.known:
        return None
    columns = {name: told[f"{name}_column"] for name in COLUMNS}
    table = read_scores(found[0], told["positive"], **columns)
    return table.labelled(np.flatnonzero(~table.test))
