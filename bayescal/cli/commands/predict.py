"""`bayescal predict`: probabilities of new scores by a calibrator that was saved."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
import typer
from numpy.typing import NDArray

from bayescal.cli import options
from bayescal.cli.command import Call, command
from bayescal.cli.console import Screen
from bayescal.cli.curve import Curve, curve_at, merge_curves
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.frames import WRITTEN, write_frame
from bayescal.cli.problems import rows_by_topic
from bayescal.cli.reading import ColumnReader
from bayescal.cli.verdicts import verdicts_by_topic, verdicts_table
from bayescal.cli.writing import check_columns_free, staged_file, with_curve
from bayescal.validation import Floats, check_choice, check_fraction

if TYPE_CHECKING:
    import pandas as pd

    from bayescal.fitted.problem import Problems

Test = Annotated[
    bool,
    options.option(
        "--test",
        options.OUTPUT,
        "The scores have labels (--label-column): say whether the probabilities are right.",
    ),
]
OutFile = Annotated[
    Path | None,
    options.option(
        "--out",
        options.OUTPUT,
        "A .csv or .parquet file to write. By default CSV on the screen, quiet or not.",
        metavar="FILE",
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
    out: OutFile = None
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
    the population.

    [bold]bayescal predict calibrated held_out.csv --test --out probabilities.csv[/bold]

    says as well whether the probabilities are right, as far as the labels of
    held_out.csv can tell, and what to do if they are not.
    """
    _check_options(asked.level, asked.band, asked.prior)
    _check_out(asked.out)
    reader = ColumnReader(asked.scores)
    check_columns_free(reader.frame, asked.scores)
    values = reader.scores(asked.score_column)
    topics = reader.topics(asked.topic_column) if asked.topic_column else None
    problems = _load(asked.calibrator)
    labels = next(iter(problems.values())).labels
    positive = reader.known_labels(asked.label_column, labels) if asked.test else None
    _check_topics(problems, asked.calibrator, with_topics=topics is not None)
    curve = _curve_of_rows(problems, values, topics, asked, reader)
    _write(with_curve(reader.frame, curve), asked.out, asked.screen)
    if positive is not None:
        # What is written to the screen may be piped on: the verdict stands apart from it.
        show = asked.screen.note if asked.out is None else asked.screen.show
        show(verdicts_table(verdicts_by_topic(curve.probability, positive, topics)))


def _load(path: Path) -> Problems:
    from bayescal.loading import load

    with blamed_on_use():
        return load(path).fitted_problems()


def _check_topics(problems: Problems, path: Path, *, with_topics: bool) -> None:
    if problems.by_topic and not with_topics:
        raise UsageError(f"{path} holds many topics: name their column with --topic-column.")
    if with_topics and not problems.by_topic:
        raise UsageError(
            f"--topic-column needs a folder that bayescal fit wrote with --topic-column;"
            f" {path} is one calibrator without topics."
        )


def _curve_of_rows(
    problems: Problems,
    scores: Floats,
    topics: NDArray[np.str_] | None,
    asked: Predict,
    reader: ColumnReader,
) -> Curve:
    """Return what each topic's problem says of its rows."""
    rows = rows_by_topic(topics, scores.size)
    for topic, _ in rows:
        if not problems.answers(topic or ""):
            raise UsageError(
                f"{reader.name(str(asked.topic_column))} must hold topics that have a calibrator,"
                f" {', '.join(map(repr, problems))}; got {topic!r}."
            )
    curves = []
    with asked.screen.progress("predict", len(rows)) as step:
        for topic, where in rows:
            step.begin(topic or "")
            with blamed_on_use():
                fitted = problems.answering(topic or "")
            curve = curve_at(fitted, scores[where], asked.level, band=asked.band, prior=asked.prior)
            curves.append(curve)
            step.end()
    return merge_curves([where for _, where in rows], curves)


def _check_options(level: float, band: str, prior: float | None) -> None:
    from bayescal.results.calibration import KINDS

    with blamed_on_use():
        check_fraction(**{"--level": level})
        check_choice("--band", band, KINDS)
        if prior is not None:
            check_fraction(**{"--prior": prior})


def _check_out(out: Path | None) -> None:
    if out is not None and out.suffix.lower() not in WRITTEN:
        raise UsageError(f"--out must end in {' or '.join(WRITTEN)}, got {out}.")


def _write(frame: pd.DataFrame, out: Path | None, screen: Screen) -> None:
    if out is None:
        frame.to_csv(sys.stdout, index=False)
        return
    with staged_file(out) as path:
        write_frame(frame, path)
    screen.say(f"Written to {out}: {len(frame)} rows")
