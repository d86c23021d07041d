"""`bayescal decide`: precision and recall at a threshold, or the threshold for a wanted recall."""

from __future__ import annotations

import math
from typing import Annotated, Any

import typer

from bayescal.cli import options, predictions, tables, writing
from bayescal.cli.columns import ColumnReader
from bayescal.cli.files import write_frame
from bayescal.cli.terminal import Screen, UsageError, check_at_least, counted, usage_errors
from bayescal.support.validation import check_fraction

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


@app.command()
def decide(
    calibrator: options.CalibratorPath,
    scores: options.ScoresFile,
    at: At = None,
    at_score: AtScore = None,
    recall: Recall = None,
    assurance: Assurance = None,
    score_column: options.ScoreColumn = "score",
    topic_column: options.TopicColumn = None,
    out: options.TableFile = None,
    level: options.Level = 0.9,
    prior: options.Prior = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
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
    from bayescal.decisions import rates_by_topic, thresholds_by_topic

    _check_question({"--at": at, "--at-score": at_score, "--recall": recall}, assurance)
    shares = {"--at": at, "--recall": recall, "--assurance": assurance, "--prior": prior}
    with usage_errors():
        check_fraction(**{"--level": level})
        check_fraction(**{name: value for name, value in shares.items() if value is not None})
    check_at_least(0, **{"--seed": seed})
    writing.check_file(out, read=scores)
    screen, reader = Screen(quiet=quiet), ColumnReader(scores)
    values = reader.scores(score_column)
    saved = predictions.read_calibrator(calibrator, reader, topic_column)
    rows, name = saved.answered, str(next(iter(saved.problems.values())).labels[1])
    common: dict[str, Any] = {"level": level, "prior": prior, "random_state": seed}
    documents = (saved.source, values[rows], saved.topics_of(rows))
    with screen.warnings(), usage_errors():
        if recall is not None:
            table = thresholds_by_topic(*documents, recall=recall, assurance=assurance, **common)
            shown = tables.thresholds_table(table, name, recall, assurance, level)
        else:
            table = rates_by_topic(*documents, probability=at, threshold=at_score, **common)
            shown = tables.rates_table(table, name, at, at_score, level)
    if out is not None:
        with writing.staged_file(out) as path:
            write_frame(table.reset_index() if saved.problems.by_topic else table, path)
    screen.show(shown)
    if out is not None:
        screen.say(f"Written to {out}: {counted(len(table), 'row')}")
    why = f"{calibrator} is one calibrator for all rows."
    predictions.warn_of_topics(screen, reader.frame, scores, topic_column, why)
    if saved.left_out_note:
        screen.warn(f"{saved.left_out_note} The table leaves them out.")


def _check_question(questions: dict[str, float | None], assurance: float | None) -> None:
    asked = [name for name, value in questions.items() if value is not None]
    if len(asked) != 1:
        came = f"got {' and '.join(asked)}" if asked else "got none"
        raise UsageError(
            f"give one of --at PROBABILITY, --at-score SCORE and --recall SHARE, {came}."
        )
    if assurance is not None and asked != ["--recall"]:
        raise UsageError(f"--assurance needs --recall, got {asked[0]}: leave it out.")
    at_score = questions["--at-score"]
    if at_score is not None and not math.isfinite(at_score):
        raise UsageError(f"--at-score must be a finite number, got {at_score}.")
