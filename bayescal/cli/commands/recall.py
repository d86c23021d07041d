"""`bayescal recall`: which share of the positives a threshold takes, from labelled samples."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from bayescal.cli import options, reviews, tables, writing
from bayescal.cli.columns import two_names
from bayescal.cli.documents import LABEL
from bayescal.cli.files import check_file
from bayescal.cli.terminal import Screen, UsageError, usage_errors

REPORT = "A report to write: the design, the labels, the intervals and their assumptions."
Report = Annotated[Path | None, options.option("--report", options.OUTPUT, REPORT, "FILE")]
BOUNDS = "Bound the recall: planned documents without a label are all positive, or all negative."
Bounds = Annotated[bool, options.option("--missing-bounds", reviews.REVIEW, BOUNDS)]
SIMULTANEOUS = "Intervals that hold for all thresholds at once: choose one after seeing the labels."
Simultaneous = Annotated[bool, options.option("--simultaneous", reviews.REVIEW, SIMULTANEOUS)]
ERROR = (
    "How reviewers err: the share of positives that they label negative, and the share of negatives"
    " that they label positive."
)
METAVAR = "MISSED MISTAKEN"
ReviewerError = Annotated[
    tuple[float, float], options.option("--reviewer-error", reviews.REVIEW, ERROR, METAVAR)
]
REVIEWERS = (
    "Label columns of two reviewers in place of label, such as ann,bob: labels are the first one's,"
    " or else the second one's, and --reviewer-error is estimated from both."
)
ReviewerColumns = Annotated[
    str | None, options.option("--reviewer-columns", reviews.REVIEW, REVIEWERS, "A,B")
]
CONFLICTS = "A .csv or .parquet file for the documents on which the two reviewers differ."
Conflicts = Annotated[Path | None, options.option("--conflicts", options.OUTPUT, CONFLICTS, "FILE")]
COUNTED = "What to count: documents, or groups with a positive document."
Of = Annotated[Literal["documents", "groups"], options.option("--of", reviews.REVIEW, COUNTED)]
IN_SAMPLE = "The classifier was trained on labelled documents: fit no curve to their labels."
InSample = Annotated[bool, options.option("--in-sample", reviews.REVIEW, IN_SAMPLE)]

app = typer.Typer()


@app.command()
def recall(
    context: typer.Context,
    scores: options.ScoresFile,
    labels: reviews.LabelFiles = None,
    plans: reviews.PlanFiles = None,
    at_score: reviews.AtScore = None,
    report: Report = None,
    missing_bounds: Bounds = False,
    simultaneous: Simultaneous = False,
    reviewer_error: ReviewerError = (0.0, 0.0),
    reviewer_columns: ReviewerColumns = None,
    conflicts: Conflicts = None,
    in_sample: InSample = False,
    hidden: reviews.Hidden = "vague",
    score_column: options.ScoreColumn = "score",
    lower_is_positive: options.LowerIsPositive = False,
    id_column: reviews.IdColumn = None,
    group_column: reviews.GroupColumn = None,
    of: Of = "documents",
    level: options.Level = 0.9,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """State which share of the positives a threshold takes, with four intervals.

    [bold]bayescal recall new.csv --labels round1.csv --labels round2.csv --at-score -0.5[/bold]

    reads files that bayescal sample wrote and reviewers filled in, and the
    plans beside them. The first interval needs no model. The others use a
    curve of P(positive | score), with and without positives whose scores
    resemble those of negatives.
    """
    import pandas as pd

    from bayescal.report.review import write_review_report
    from bayescal.sampling import compare_reviewers, estimate_recall

    if not labels:
        raise UsageError("--labels must name a file of labels, got none.")
    if at_score is None:
        raise UsageError(
            "--at-score must be the score from which on documents are taken, got none."
        )
    names = [LABEL]
    if reviewer_columns is not None:
        names = two_names(reviewer_columns, "--reviewer-columns", "the labels of two reviewers")
    elif conflicts is not None:
        raise UsageError("--conflicts needs --reviewer-columns, the labels of two reviewers.")
    check_file(report, (".html",), read=scores, option="--report")
    check_file(conflicts, read=scores, option="--conflicts")
    screen = Screen(quiet=quiet)
    sign = -1.0 if lower_is_positive else 1.0
    review = reviews.read_review(
        scores, labels, score_column, sign, screen, id_column, group_column, plans, names
    )
    agreement = None
    if reviewer_columns is not None:
        with usage_errors():
            found = review.scores, review.labels, review.second
            agreement = compare_reviewers(*found, level=level, random_state=seed)
        screen.note(agreement.text)
        if not options.is_given(context, "reviewer_error"):
            reviewer_error = agreement.missed.value, agreement.mistaken.value
        if conflicts is not None:
            rows = agreement.conflicts
            first = review.labels[rows].astype(int)
            pair = {names[0]: first, names[1]: 1 - first}
            table = pd.DataFrame({**review.documents.named(rows), **pair})
            writing.write_table(table, conflicts, screen)
    design = tuple(review.plan_of.values())
    with screen.warnings(reviews.option_advice), usage_errors():
        result = estimate_recall(
            review.scores,
            review.labels,
            sign * at_score,
            design=design,
            level=level,
            groups=review.groups,
            of=of,
            missing="bounds" if missing_bounds else "error",
            simultaneous=simultaneous,
            reviewer_error=reviewer_error,
            hidden=reviews.PRIORS[hidden],
            out_of_sample=not in_sample,
            random_state=seed,
        )
    screen.show(tables.review_table(result))
    if not design:
        screen.warn(
            f"No plan is beside the labels, such as {reviews.plan_beside(labels[0])}: name it with"
            " --plan, or else no interval rests on the random draw alone."
        )
    for note in result.notes:
        screen.warn(note)
    if report is not None:
        with usage_errors():
            data = review.scores, review.labels, design
            read = f"{review.scores.size:,} read of {scores}, all used"
            files = reviews.files_read(scores, labels, plans)
            run = writing.page_run(context, "recall", files, read, review.positive, result.unit)
            if agreement is not None:
                run["Reviewers"] = {" and ".join(names): agreement.text}
            write_review_report(
                report, result, *data, positive=review.positive, groups=review.groups, run=run
            )
        screen.say(f"Written to {report}")
