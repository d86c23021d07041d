"""`bayescal decide`: precision and recall at a threshold, or the threshold for a recall."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from bayescal.cli import classes as class_files
from bayescal.cli import options, predictions, tables, writing
from bayescal.cli.blocks import read_rows
from bayescal.cli.columns import Mask
from bayescal.cli.files import ROWS, check_file
from bayescal.cli.scores import rows_by_topic
from bayescal.cli.terminal import Screen, UsageError, usage_errors
from bayescal.support.validation import Floats

QUESTION = "Question, one of the first three"

AT = "Take documents whose probability is at least this: what is found and missed?"
At = Annotated[float | None, options.option("--at", QUESTION, AT, "PROBABILITY", fraction=True)]
AT_SCORE = "The same for documents whose score is at least this."
AtScore = Annotated[float | None, options.option("--at-score", QUESTION, AT_SCORE, "SCORE")]
RECALL = "Find the threshold that takes this share of the positives."
Recall = Annotated[
    float | None, options.option("--recall", QUESTION, RECALL, "SHARE", fraction=True)
]
ASSURANCE = (
    "With --recall: reach it with this probability. By default its posterior mean reaches it."
)
Assurance = Annotated[
    float | None, options.option("--assurance", QUESTION, ASSURANCE, fraction=True)
]

CLASSES = "Several classes"
COSTS = (
    "Costs of decisions: a column decision, which names the classes first and then others, and a"
    " column for each true class. By default a wrong class costs 1."
)
Costs = Annotated[Path | None, options.option("--costs", CLASSES, COSTS, "FILE")]
ABSTAIN = "The cost of not deciding, if that is allowed."
AbstainCost = Annotated[float | None, options.option("--abstain-cost", CLASSES, ABSTAIN)]

app = typer.Typer()


@app.command()
def decide(
    context: typer.Context,
    calibrator: options.CalibratorPath,
    scores: options.ScoresFile,
    at: At = None,
    at_score: AtScore = None,
    recall: Recall = None,
    assurance: Assurance = None,
    costs: Costs = None,
    abstain_cost: AbstainCost = None,
    score_column: options.ScoreColumn = "score",
    lower_is_positive: options.LowerIsPositive = False,
    topic_column: options.TopicColumn = None,
    out: options.TableFile = None,
    level: options.Level = 0.9,
    prior: options.Prior = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """State what a threshold finds and misses among new scores, or find one for a recall.

    [bold]bayescal decide calibrated new.csv --at 0.5[/bold]

    takes the documents of new.csv whose probability is 0.5 or more, and
    states how many positives are found and missed, the share of all positives
    that is found (recall) and the share of positives among the documents
    taken (precision), with intervals. The documents need no labels.

    [bold]bayescal decide calibrated new.csv --recall 0.9[/bold]

    finds the score down to which to read so that nine in ten positives are
    found, the number of documents to read, and the numbers of positives found
    and missed. With --topic-column the table has a row for each topic; topics
    that miss most, or have most to read, come first.

    [bold]bayescal decide calibrated 'new*.csv' --at 0.5[/bold]

    counts the rows of the files of a folder or a pattern by blocks, so that
    memory does not limit them; topics need all rows of one file in memory.

    [bold]bayescal decide insects logits.csv --abstain-cost 0.2 --out d.csv[/bold]

    chooses, for a calibrator of several classes, the decision of the least
    expected cost for each row; --costs names a file of costs.
    """
    from bayescal.decisions import rates_by_topic, thresholds_by_topic

    questions = {"--at": at, "--at-score": at_score, "--recall": recall}
    check_file(out, read=scores)
    with usage_errors():
        source: Any = predictions.load(calibrator)
    if predictions.of_classes(source):
        class_files.refuse_options_of_one_score(options.given(context))
        screen = Screen(quiet=quiet)
        frame = class_files.decide(
            source, scores, screen, level=level, costs=costs, abstain_cost=abstain_cost
        )
        if out is not None:
            writing.write_table(frame, out, screen)
        return
    if costs is not None or abstain_cost is not None:
        raise UsageError("--costs and --abstain-cost are for a calibrator of several classes.")
    _check_question(questions, assurance)
    screen = Screen(quiet=quiet)
    # Names of topics need all rows at once.
    whole = [] if topic_column is None else ["--topic-column"]
    first, reader = read_rows(scores, ROWS, screen, score_column, whole=whole)
    values = reader.scores(score_column)
    saved = predictions.read_calibrator(
        calibrator, reader, topic_column, source, lower_is_positive=lower_is_positive
    )
    predictions.state_positive(screen, source)
    _check_direction(saved, calibrator, by_score=at is None)
    name = str(next(iter(saved.problems.values())).labels[1])
    common: dict[str, Any] = {"level": level, "prior": prior, "random_state": seed}
    common["sample_weight"] = reader.counts
    documents = saved.source, *saved.documents(values, saved.answered)
    with screen.warnings(), usage_errors():
        if recall is not None:
            table = thresholds_by_topic(*documents, recall=recall, assurance=assurance, **common)
            ends = ["threshold_lower", "threshold_upper"]
            if saved.sign < 0:
                table["threshold"], table[ends] = -table["threshold"], -table[ends[::-1]].to_numpy()
            shown = tables.thresholds_table(table, recall, assurance, level, saved.sign)
        else:
            threshold = None if at_score is None else saved.sign * at_score
            table = rates_by_topic(*documents, probability=at, threshold=threshold, **common)
            table["score"] *= saved.sign
            shown = tables.rates_table(table, name, at, at_score, level, saved.sign)
    screen.show(shown)
    if out is not None:
        table = table.reset_index() if saved.problems.by_topic else table
        writing.write_table(table, out, screen)
    why = f"{calibrator} is one calibrator for all rows."
    predictions.warn_of_topics(screen, first.frame, scores, topic_column, why)
    if saved.left_out_note:
        screen.warn(f"{saved.left_out_note} The table leaves them out.")


def _check_direction(saved: predictions.SavedCalibrator, path: Path, *, by_score: bool) -> None:
    """Refuse scores that do not rank documents: turned round, or without information."""
    from bayescal.support import score_checks

    problem, known = next(iter(saved.problems.values())), []
    for score, is_positive, weight in _fitted_documents(saved, path):
        direction = score_checks.direction(score, is_positive, weight)
        known += [] if direction is None else [direction]
    pooled = known[0] if len(known) == 1 else score_checks.pooled_direction(known)
    if pooled is None:
        return
    negative, positive = (str(label) for label in problem.labels)
    if pooled.probability_below > score_checks.SURE:
        raise UsageError(
            f"{path}: scores of class {positive!r}, the positive one, lie below those of"
            f" {negative!r} (AUC {pooled.auc:.2f}), so that thresholds take the wrong documents:"
            f" fit again with --lower-is-positive if lower scores mean {positive!r}, or with"
            f" --positive {negative} if larger scores mean {negative!r}."
        )
    fitted_range = np.linspace(*problem.calibration.score_range, 33)
    flat = np.ptp(problem.log_odds(fitted_range)) < score_checks.FLAT
    near_half = pooled.probability_near_half(score_checks.NEAR_HALF) > score_checks.SURE
    if near_half and (by_score or flat):
        raise UsageError(
            f"{path}: scores do not separate {positive!r} from {negative!r} (AUC {pooled.auc:.2f}),"
            " so that a threshold takes documents as if at random: check that scores and labels"
            " belong to the same documents, and fit again."
        )


def _fitted_documents(
    saved: predictions.SavedCalibrator, path: Path
) -> Iterator[tuple[Floats, Mask, Floats | None]]:
    """Yield the scores fitted of each topic, the mask of positives, and weights."""
    problems = saved.problems
    name = str(next(iter(problems.values())).labels[1])
    examples = predictions.fitted_examples(path, problems)
    if examples is not None:
        score, label, *topics = examples
        for _, rows in rows_by_topic(topics[0] if topics else None, score.size):
            yield score[rows], label[rows].astype(str) == name, None
        return
    for problem in problems.values():
        documents = problem.documents
        yield documents.score, documents.positive, documents.weight


def _check_question(questions: dict[str, float | None], assurance: float | None) -> None:
    named = [name for name, value in questions.items() if value is not None]
    if len(named) != 1:
        came = f"got {' and '.join(named)}" if named else "got none"
        raise UsageError(
            f"give one of --at PROBABILITY, --at-score SCORE and --recall SHARE, {came}."
        )
    if assurance is not None and named != ["--recall"]:
        raise UsageError(f"--assurance needs --recall, got {named[0]}: leave it out.")
    at_score = questions["--at-score"]
    if at_score is not None and not math.isfinite(at_score):
        raise UsageError(f"--at-score must be a finite number, got {at_score}.")
