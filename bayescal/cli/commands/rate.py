"""`bayescal rate`: the rate of a collection from few labels and many scores."""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import typer

from bayescal.cli import options, reviews, writing
from bayescal.cli.columns import ColumnReader, Rows
from bayescal.cli.documents import DocumentNames
from bayescal.cli.files import check_file
from bayescal.cli.terminal import Screen, UsageError, usage_errors
from bayescal.support.validation import Floats, first_of

DESIGN = (
    "random: the labelled documents are a simple random sample. By default the plans beside the"
    " labels say how documents were chosen."
)
Design = Annotated[Literal["random"] | None, options.option("--design", reviews.REVIEW, DESIGN)]
AGAINST = "Scores of another system: state the rate of SCORES less its rate."
Against = Annotated[Path | None, options.option("--against", reviews.REVIEW, AGAINST, "FILE")]
THEIRS = "Labels of the other system, as --labels."
AgainstLabels = Annotated[
    list[Path] | None, options.option("--against-labels", reviews.REVIEW, THEIRS, "FILE")
]
UNPAIRED = (
    "With --against: the systems' items differ. By default items with one identifier are the same,"
    " or else rows of files of equal length."
)
Unpaired = Annotated[bool, options.option("--unpaired", reviews.REVIEW, UNPAIRED)]
SLICES = (
    "Slices, such as languages: state the rate of each, with intervals that hold for all at once."
)
ByColumn = Annotated[str | None, options.option("--by-column", options.COLUMNS, SLICES)]
REPORT = "A page to write: the answer, its intervals, P(positive | score), the assumptions."
Report = Annotated[Path | None, options.option("--report", options.OUTPUT, REPORT, "FILE")]

app = typer.Typer()


@app.command()
def rate(
    context: typer.Context,
    scores: options.ScoresFile,
    labels: reviews.LabelFiles = None,
    plans: reviews.PlanFiles = None,
    design: Design = None,
    against: Against = None,
    against_labels: AgainstLabels = None,
    unpaired: Unpaired = False,
    by_column: ByColumn = None,
    report: Report = None,
    score_column: options.ScoreColumn = "score",
    lower_is_positive: options.LowerIsPositive = False,
    id_column: reviews.IdColumn = None,
    level: options.Level = 0.9,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """State the share of positives among all documents, from scores of all and labels of some.

    [bold]bayescal rate answers.csv --labels read_answers.csv --design random[/bold]

    gives the rate with its interval, the interval of the labels alone, and how
    many labels your labels are worth together with the scores.

    [bold]bayescal rate answers.csv --labels read_answers.csv --against old_answers.csv
    --against-labels read_old_answers.csv[/bold]

    says whether the new system is better.
    """
    from bayescal.report.rates import write_rate_report
    from bayescal.sampling import Rate, RateDifference, compare_rates, estimate_rate, rank_rates

    if not labels:
        raise UsageError("--labels must name a file of labels, got none.")
    if against == scores:
        raise UsageError(f"--against must be another file than {scores}.")
    if (against is None) != (not against_labels):
        raise UsageError("--against and --against-labels must be given together, got one of them.")
    check_file(report, (".html",), read=scores, option="--report")
    screen = Screen(quiet=quiet)
    columns = score_column, -1.0 if lower_is_positive else 1.0, screen, id_column
    reads = [reviews.read_review(scores, labels, *columns, plans=plans)]
    if against is not None:
        reads.append(reviews.read_review(against, against_labels, *columns))
    drawn = [plan for read in reads for plan in read.plan_of.values()]
    if design and drawn:
        raise UsageError("--design random must be left out, since there is a plan of the labels.")
    strata = max((len(plan.strata) for plan in drawn), default=1)
    if strata > 1 and (against is not None or by_column is not None):
        raise UsageError(
            f"--against and --by-column need simple random samples, got a plan of {strata} strata:"
            " draw documents by bayescal sample --for control."
        )
    slices = None
    arrays = {str(scores): (reads[0].scores, reads[0].labels)}
    with screen.warnings(reviews.option_advice), usage_errors():
        if against is None:
            given = design or drawn or None
            result: Rate | RateDifference = estimate_rate(
                *arrays[str(scores)], design=given, level=level, random_state=seed
            )
        else:
            same, rows = _same_items(reads[0].documents, reads[1].documents)
            arrays[str(against)] = reads[1].scores[rows], reads[1].labels[rows]
            (first, second), paired = arrays.values(), False if unpaired else same
            result = compare_rates(*first, *second, paired=paired, level=level, random_state=seed)
            screen.say(f"A is {scores}, B is {against}.")
        if by_column is not None:
            parts = _slices(reads[0], by_column, screen)
            slices = rank_rates(parts, paired=False, level=level, random_state=seed)
    screen.say(result.text)
    if slices is not None:
        screen.say(f"By {by_column}. {slices.text}")
    if report is not None:
        with usage_errors(errors=(ValueError, OSError)):
            axis = "minus the score" if lower_is_positive else "score"
            sizes = {str(path): values.size for path, (values, _) in arrays.items()}
            files = reviews.files_read(scores, labels, plans)
            if against is not None:
                files += reviews.files_read(against, against_labels, None)
            run = _provenance(context, files, sizes, reads[0].positive)
            positive = reads[0].positive
            write_rate_report(report, result, arrays, slices, positive=positive, axis=axis, run=run)
        screen.say(f"Written to {report}")


def _provenance(
    context: typer.Context, files: list[Path], sizes: dict[str, int], positive: str
) -> dict[str, dict[str, str]]:
    """Return the files, rows and call that the page states."""
    rows = "; ".join(f"{size:,} read of {path}, all used" for path, size in sizes.items())
    return writing.page_run(context, "rate", files, rows, positive, "document")


def _slices(
    read: reviews.ReviewFiles, column: str, screen: Screen
) -> dict[str, tuple[Floats, Floats]]:
    """Return scores and labels of each slice; warn of slices without a rate to estimate."""
    reader = ColumnReader(read.documents.path, read.documents.frame, screen)
    names = reader.names_of([column], "slice", "--by-column")[0]
    parts, left_out = {}, []
    for name in np.unique(names).tolist():
        own = names == name
        if 0 < np.count_nonzero(~np.isnan(read.labels[own])) < np.count_nonzero(own):
            parts[name] = read.scores[own], read.labels[own]
        else:
            left_out.append(name)
    if left_out:
        screen.warn(
            "Slices whose documents all lack a label, or all have one, are left out:"
            f" {first_of(left_out)}."
        )
    return parts


def _same_items(first: DocumentNames, second: DocumentNames) -> tuple[bool | None, Rows]:
    """Return whether documents are the same ones, None if nothing tells, and rows in this order."""
    rows = np.arange(second.rows.size)
    for name, texts in first.identifiers.items():
        if name in second.identifiers:
            order = second.identifiers[name].get_indexer(texts)
            same = order.size == rows.size and bool((order >= 0).all())
            return same, order if same else rows
    return None, rows
