"""`bayescal report`: one HTML file on what `bayescal fit` has written."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from bayescal.cli import classes as class_files
from bayescal.cli import options, predictions, scores
from bayescal.cli.blocks import read_rows
from bayescal.cli.columns import ColumnReader
from bayescal.cli.files import ROWS, check_file
from bayescal.cli.terminal import Screen, UsageError, usage_errors
from bayescal.support.condensing import ScoreCounts

PAGES = (".html", ".htm")

TEST = f"Held-out labelled scores: {options.FILE_KINDS[2:]}; its test rows if it has a split."
COLLECTION = (
    "Scores without labels: state how many to read and how many positives they hold. A file, or"
    " without topics a folder or a pattern of files of any size."
)
Test = Annotated[Path | None, options.option("--test", None, TEST, "FILE")]
Collection = Annotated[Path | None, options.option("--collection", None, COLLECTION, "FILE")]
OutFile = Annotated[Path, options.option("--out", None, "The .html file to write.", "FILE")]
Title = Annotated[str | None, options.option("--title", None, "Title of the page.")]
AT_SCORE = "State the precision and the recall of a threshold at this score."
AtScore = Annotated[float | None, options.option("--at-score", None, AT_SCORE, "SCORE")]
RECALL = "State the threshold that finds this share of the positives."
LIKELIHOOD_RATIO = "A section on the likelihood ratios of the held-out scores."
LikelihoodRatio = Annotated[bool, options.option("--likelihood-ratio", None, LIKELIHOOD_RATIO)]
Recall = Annotated[float, options.option("--recall", None, RECALL, fraction=True)]

app = typer.Typer()


@app.command()
def report(
    context: typer.Context,
    calibrator: options.CalibratorPath,
    out: OutFile = Path("report.html"),
    test: Test = None,
    collection: Collection = None,
    title: Title = None,
    score_column: options.ScoreColumn = "score",
    label_column: options.LabelColumn = "label",
    lower_is_positive: options.LowerIsPositive = False,
    topic_column: options.TopicColumn = None,
    split_column: options.SplitColumn = None,
    positive: options.PositiveHere = None,
    at_score: AtScore = None,
    recall: Recall = 0.9,
    likelihood_ratio: LikelihoodRatio = False,
    level: options.Level = 0.9,
    quiet: options.Quiet = False,
) -> None:
    """Write a report of calibrators: one HTML file that opens without network.

    [bold]bayescal report calibrated --test held_out.csv --out report.html[/bold]

    takes the folder, or a .nc file, that bayescal fit has written. The page
    has the curves with their bands, the topics in a table, reliability on the
    held-out scores, and sliders for costs and prior. The rows of --collection
    are counted by blocks; those of --test, and those with topics, are held in
    memory.
    """
    from bayescal.report import write_report

    check_file(out, PAGES)
    screen = Screen(quiet=quiet)
    with screen.warnings(lambda _: ""), usage_errors():
        source: Any = predictions.load(calibrator)
        inputs: dict[str, Any] = {}
        if predictions.of_classes(source):
            class_files.refuse_options_of_one_score(options.given(context))
            if test is not None:
                reader = ColumnReader(test)
                inputs["test"] = class_files.held_out(source, reader, label_column, split_column)
        else:
            predictions.state_positive(screen, source)
            problems = source.fitted_problems()
            topic_column = topic_column or (predictions.TOPIC if problems.by_topic else None)
            answering = partial(
                predictions.read_calibrator,
                calibrator,
                topic_column=topic_column,
                source=source,
                lower_is_positive=lower_is_positive,
            )
            if collection is not None:
                inputs["collection"] = _read_collection(
                    collection, score_column, topic_column, screen, answering
                )
            if test is not None:
                reader = ColumnReader(test, screen=screen)
                score = reader.scores(score_column)
                saved = answering(reader)
                classes = next(iter(problems.values())).labels
                is_positive, labelled, renamed = reader.known_labels(
                    label_column, classes, positive
                )
                tested = reader.held_out_rows(split_column, labelled) & ~saved.left_out
                if not (rows := np.flatnonzero(tested)).size:
                    raise UsageError(f"{test} must hold a labelled row of a topic that was fitted.")
                score, topics = saved.documents(score, rows)
                known = (score, classes[is_positive.astype(np.intp)][rows])
                inputs["test"] = known if topics is None else (*known, topics)
                if saved.left_out_note:
                    screen.warn(f"{saved.left_out_note} The report leaves them out.")
                screen.say(renamed, stderr=True)
                why = f"{calibrator} is one calibrator for all rows."
                predictions.warn_of_topics(screen, reader.frame, test, topic_column, why)
            record = predictions.read_record(calibrator)
            sign = -1 if lower_is_positive else scores.sign_of(record.get("arguments", {}))
            if sign < 0:
                screen.warn(predictions.SIGN_TURNED)
            inputs |= {
                "fitted": predictions.fitted_examples(calibrator, problems),
                "threshold": None if at_score is None else sign * at_score,
                "recall": recall,
                "likelihood_ratio": likelihood_ratio,
            }
        write_report(source, out, level=level, title=title, **inputs)
    size = out.stat().st_size / 1e6
    screen.say(f"Written to {out}: {size:.2f} MB, opens in any browser")


def _read_collection(
    path: Path,
    score_column: str,
    topic_column: str | None,
    screen: Screen,
    answering: Callable[[ColumnReader], predictions.SavedCalibrator],
) -> Any:
    """Return the scores of a collection and their topics, if any, or counts of many rows."""
    # Names of topics need all rows at once.
    whole = [] if topic_column is None else ["--topic-column"]
    _, reader = read_rows(path, ROWS, screen, score_column, whole=whole)
    score = reader.scores(score_column)
    saved = answering(reader)
    if saved.left_out_note:
        screen.warn(f"{saved.left_out_note} The collection leaves them out.")
    score, topics = saved.documents(score, saved.answered)
    if reader.counts is not None:
        return ScoreCounts(score, None, reader.counts)
    return score if topics is None else (score, topics)
