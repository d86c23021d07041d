"""`bayescal predict`: probabilities of new scores by a calibrator that was saved."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayescal.cli import options
from bayescal.cli.command import Call, Screen, blamed_on_use, command
from bayescal.cli.fitting import (
    Curve,
    curve_at,
    held_out,
    merge_curves,
    verdicts_by_topic,
    verdicts_table,
)
from bayescal.cli.layout import counted
from bayescal.cli.reading import ColumnReader, write_frame
from bayescal.cli.saved import Calibrators, read_calibrators, say_what_is_not_used
from bayescal.cli.settings import option_advice
from bayescal.cli.writing import check_columns_free, check_file, staged_file, with_curve
from bayescal.support.validation import Floats, check_choice, check_fraction

if TYPE_CHECKING:
    import pandas as pd

Test = Annotated[
    bool,
    options.option(
        "--test",
        options.OUTPUT,
        "The scores have labels (--label-column): say whether the probabilities are right.",
    ),
]
app = typer.Typer()


@dataclass(frozen=True, kw_only=True)
class Predict(Call):
    """The options of `bayescal predict`."""

    calibrator: options.Calibrator
    scores: options.ScoresFile
    score_column: options.ScoreColumn = "score"
    topic_column: options.TopicColumn = None
    test: Test = False
    label_column: options.LabelColumn = "label"
    positive: options.PositiveHere = None
    out: options.PredictedFile = None
    level: options.Level = 0.9
    band: options.Band = "pointwise"
    prior: options.Prior = None


@command(app, Predict)
def predict(asked: Predict) -> None:
    """Give new scores probabilities, with a band if the calibrator has a posterior.

    [bold]bayescal predict calibrated/posterior.nc new.csv --out probabilities.csv[/bold]

    copies the rows of new.csv and adds the columns probability, lower, upper
    and log_odds.

    [bold]bayescal predict calibrated new.csv --topic-column topic > probabilities.csv[/bold]

    takes each topic's calibrator, or that of all topics, from the folder that
    bayescal fit wrote; pooled, a topic that was not fitted has the answer of
    the population. Rows of a topic that the fit left out get empty cells.

    [bold]bayescal predict calibrated held_out.csv --test --out probabilities.csv[/bold]

    says as well whether the probabilities are right, as far as the labels of
    held_out.csv can tell, and what to do if they are not.
    """
    _check_options(asked.level, asked.band, asked.prior)
    check_file(asked.out, read=asked.scores)
    reader = ColumnReader(asked.scores)
    check_columns_free(reader.frame, asked.scores)
    values = reader.scores(asked.score_column)
    found = read_calibrators(asked.calibrator, reader, asked.topic_column)
    labels = next(iter(found.problems.values())).labels
    positive, told = None, ""
    if asked.test:
        positive, told = reader.known_labels(asked.label_column, labels, asked.positive)
    with asked.screen.warnings(advice=option_advice):
        curve = _curve_of_rows(found, values, asked)
    _write(with_curve(reader.frame, curve), asked.out, asked.screen)
    say_what_is_not_used(
        asked.screen,
        reader.frame,
        asked.scores,
        asked.topic_column,
        f"{asked.calibrator} is one calibrator for all rows.",
    )
    if found.said:
        asked.screen.warn(f"{found.said} They get no probability.")
    if told:
        asked.screen.tell(told)
    if positive is not None:
        # What is written to the screen may be piped on: the verdict stands apart from it.
        show = asked.screen.note if asked.out is None else asked.screen.show
        tested = [
            (
                topic or "",
                held_out(found.problems.answering(topic), values[at], positive[at], asked.prior),
            )
            for topic, at in found.rows()
        ]
        show(verdicts_table(verdicts_by_topic(tested)))


def _curve_of_rows(found: Calibrators, scores: Floats, asked: Predict) -> Curve:
    """Return predictions for the rows of each topic's problem, without topics left out."""
    rows, problems, curves = found.rows(), found.problems, []
    with asked.screen.progress("predict", len(rows)) as step:
        for topic, where in rows:
            step.begin(topic)
            with blamed_on_use():
                fitted = problems.answering(topic)
            curve = curve_at(fitted, scores[where], asked.level, band=asked.band, prior=asked.prior)
            curves.append(curve)
            step.end()
    return merge_curves([where for _, where in rows], curves, scores.size)


def _check_options(level: float, band: str, prior: float | None) -> None:
    from bayescal.fitting.results.calibration import KINDS

    with blamed_on_use():
        check_fraction(**{"--level": level})
        check_choice("--band", band, KINDS)
        if prior is not None:
            check_fraction(**{"--prior": prior})


def _write(frame: pd.DataFrame, out: Path | None, screen: Screen) -> None:
    if out is None:
        frame.to_csv(sys.stdout, index=False)
        return
    with staged_file(out) as path:
        write_frame(frame, path)
    screen.say(f"Written to {out}: {counted(len(frame), 'row')}")
