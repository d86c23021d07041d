"""`bayescal report`: one HTML file on what `bayescal fit` has written."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from numpy.typing import NDArray

from bayescal.cli import options, predictions, writing
from bayescal.cli.columns import ColumnReader
from bayescal.cli.files import WRITTEN
from bayescal.cli.scores import read_scores
from bayescal.cli.terminal import Screen, usage_errors
from bayescal.support.validation import check_fraction

if TYPE_CHECKING:
    from bayescal.fitting.problems.problem import Problems

# Scores, labels and maybe topics.
Labelled = tuple[NDArray[Any], ...]
PAGES = (".html", ".htm")

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


@app.command()
def report(
    calibrator: options.CalibratorPath,
    out: OutFile = Path("report.html"),
    test: Test = None,
    title: Title = None,
    score_column: options.ScoreColumn = "score",
    label_column: options.LabelColumn = "label",
    topic_column: options.TopicColumn = None,
    split_column: options.SplitColumn = None,
    positive: options.PositiveHere = None,
    at_score: AtScore = None,
    recall: Recall = 0.9,
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

    with usage_errors():
        check_fraction(**{"--level": level, "--recall": recall})
    writing.check_file(out, PAGES)
    screen = Screen(quiet=quiet)
    with screen.warnings(lambda _: ""), usage_errors():
        source = predictions.load(calibrator)
        held_out: Labelled | None = None
        problems = source.fitted_problems()
        if test is not None:
            topic_column = topic_column or (predictions.TOPIC if problems.by_topic else None)
            reader = ColumnReader(test)
            score = reader.scores(score_column)
            saved = predictions.read_calibrator(calibrator, reader, topic_column, source)
            classes = next(iter(problems.values())).labels
            is_positive, renamed = reader.known_labels(label_column, classes, positive)
            rows = np.flatnonzero(reader.held_out_rows(split_column) & ~saved.left_out)
            topics = saved.topics_of(rows)
            labels = classes[is_positive.astype(np.intp)][rows]
            held_out = (score[rows], labels, *(() if topics is None else (topics,)))
            if saved.left_out_note:
                screen.warn(f"{saved.left_out_note} The report leaves them out.")
            if renamed:
                screen.say(renamed, stderr=True)
            why = f"{calibrator} is one calibrator for all rows."
            predictions.warn_of_topics(screen, reader.frame, test, topic_column, why)
        write_report(
            source,
            out,
            test=held_out,
            fitted=_fitted(calibrator, problems),
            level=level,
            threshold=at_score,
            recall=recall,
            title=title,
        )
    size = out.stat().st_size / 1e6
    screen.say(f"Written to {out}: {size:.2f} MB, opens in any browser")


def _fitted(path: Path, problems: Problems) -> Labelled | None:
    """Return the fitted scores from the file beside a calibrator that does not keep them."""
    arguments: dict[str, Any] = predictions.read_record(path).get("arguments", {})
    folder = path if path.is_dir() else path.parent
    files = [folder / f"probabilities{suffix}" for suffix in WRITTEN]
    written = [file for file in files if file.is_file()]
    if not arguments or not written or next(iter(problems.values())).documents.known:
        return None
    table = read_scores(written[0], arguments)
    return table.examples(table.fit_rows)
