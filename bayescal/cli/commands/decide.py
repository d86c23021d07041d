"""`bayescal decide`: what a threshold takes and misses, or the threshold for a wanted recall."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bayescal.cli import options
from bayescal.cli.command import Call, UsageError, blamed_on_use, command
from bayescal.cli.layout import counted
from bayescal.cli.reading import ColumnReader, write_frame
from bayescal.cli.saved import Calibrators, read_calibrators, say_what_is_not_used
from bayescal.cli.settings import check_at_least, option_advice
from bayescal.cli.tables import rates_table, thresholds_table
from bayescal.cli.writing import check_file, staged_file
from bayescal.support.validation import check_fraction

if TYPE_CHECKING:
    import pandas as pd

QUESTION = "Question, one of the first three"

At = Annotated[
    float | None,
    options.option(
        "--at",
        QUESTION,
        "Take documents whose probability is at least this, and say what is found and missed.",
        metavar="PROBABILITY",
    ),
]
AtScore = Annotated[
    float | None,
    options.option(
        "--at-score",
        QUESTION,
        "The same for documents whose score is at least this.",
        metavar="SCORE",
    ),
]
Recall = Annotated[
    float | None,
    options.option(
        "--recall",
        QUESTION,
        "Find the threshold that takes this share of the positives.",
        metavar="SHARE",
    ),
]
Assurance = Annotated[
    float | None,
    options.option(
        "--assurance",
        QUESTION,
        "With --recall: reach it with this posterior probability. By default it is reached on"
        " average over the posterior.",
    ),
]

app = typer.Typer()


@dataclass(frozen=True, kw_only=True)
class Decide(Call):
    """The options of `bayescal decide`."""

    calibrator: options.Calibrator
    scores: options.ScoresFile
    at: At = None
    at_score: AtScore = None
    recall: Recall = None
    assurance: Assurance = None
    score_column: options.ScoreColumn = "score"
    topic_column: options.TopicColumn = None
    out: options.TableFile = None
    level: options.Level = 0.9
    prior: options.Prior = None
    seed: options.Seed = 0


@command(app, Decide)
def decide(asked: Decide) -> None:
    """Say what a threshold finds and misses among new scores, or find one for a wanted recall.

    [bold]bayescal decide calibrated new.csv --at 0.5[/bold]

    takes the documents of new.csv whose probability is 0.5 or more, and says
    how many of them are positive (precision), which share of all positives
    they are (recall) and how many positives are missed, each with its
    interval. The documents need no labels.

    [bold]bayescal decide calibrated new.csv --recall 0.9[/bold]

    finds the score down to which documents are to be read so that nine in
    ten positives are found, and how many documents that are. With
    --topic-column there is a row for each topic: those that miss most, or
    that have most to be read, come first.
    """
    _check(asked)
    check_file(asked.out, read=asked.scores)
    reader = ColumnReader(asked.scores)
    values = reader.scores(asked.score_column)
    found = read_calibrators(asked.calibrator, reader, asked.topic_column)
    rows = ~found.left_out
    topics = None if found.topics is None else found.topics[rows]
    with asked.screen.warnings(advice=option_advice), blamed_on_use():
        table = _answer(asked, found.source, values[rows], topics)
    _show(asked, table, found, reader)


def _answer(asked: Decide, calibrator: Any, scores: Any, topics: Any) -> pd.DataFrame:
    from bayescal.decisions import rates_by_topic, thresholds_by_topic

    common: dict[str, Any] = {"level": asked.level, "prior": asked.prior}
    common["random_state"] = asked.seed
    if asked.recall is not None:
        recall, assurance = asked.recall, asked.assurance
        return thresholds_by_topic(
            calibrator, scores, topics, recall=recall, assurance=assurance, **common
        )
    at, at_score = asked.at, asked.at_score
    return rates_by_topic(calibrator, scores, topics, probability=at, threshold=at_score, **common)


def _show(asked: Decide, table: pd.DataFrame, found: Calibrators, reader: ColumnReader) -> None:
    if asked.out is not None:
        with staged_file(asked.out) as path:
            write_frame(table.reset_index() if found.problems.by_topic else table, path)
    shown, positive = asked.screen, str(next(iter(found.problems.values())).labels[1])
    if asked.recall is not None:
        shown.show(thresholds_table(table, positive, asked.recall, asked.assurance, asked.level))
    else:
        shown.show(rates_table(table, positive, asked.at, asked.at_score, asked.level))
    if asked.out is not None:
        shown.say(f"Written to {asked.out}: {counted(len(table), 'row')}")
    what = f"{asked.calibrator} is one calibrator for all rows."
    say_what_is_not_used(shown, reader.frame, asked.scores, asked.topic_column, what)
    if found.said:
        shown.warn(f"{found.said} The table leaves them out.")


def _check(asked: Decide) -> None:
    questions = {"--at": asked.at, "--at-score": asked.at_score, "--recall": asked.recall}
    given = [name for name, value in questions.items() if value is not None]
    if len(given) != 1:
        came = f"got {' and '.join(given)}" if given else "got none"
        raise UsageError(
            f"give one of --at PROBABILITY, --at-score SCORE and --recall SHARE, {came}."
        )
    if asked.assurance is not None and asked.recall is None:
        raise UsageError(f"--assurance needs --recall, got {given[0]}: leave it out.")
    if asked.at_score is not None and not math.isfinite(asked.at_score):
        raise UsageError(f"--at-score must be a finite number, got {asked.at_score}.")
    shares = questions | {"--assurance": asked.assurance, "--prior": asked.prior}
    del shares["--at-score"]
    with blamed_on_use():
        check_fraction(**{"--level": asked.level})
        check_fraction(**{name: value for name, value in shares.items() if value is not None})
    check_at_least(0, **{"--seed": asked.seed})
