"""`bayescal rate`: the rate of a collection from few labels and many scores."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
import typer

from bayescal.cli import options, reviews, writing
from bayescal.cli.columns import ColumnReader, Rows
from bayescal.cli.documents import DocumentNames
from bayescal.cli.files import ROWS, check_file
from bayescal.cli.terminal import Screen, UsageError, usage_errors

if TYPE_CHECKING:
    from bayescal.sampling import Rate, RateDifference

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
    "Slices, such as languages: state the rate of each, with intervals that hold for all at once;"
    " slices borrow from each other."
)
AT_SCORE = (
    "The judge calls answers of at least this score positive: state how far it agrees with the"
    " labels."
)
AtScore = Annotated[float | None, options.option("--at-score", reviews.REVIEW, AT_SCORE, "SCORE")]
CLUSTERS = (
    "Which documents were drawn together, as all answers to one prompt: they count by the"
    " dependence of their labels."
)
ClusterColumn = Annotated[str | None, options.option("--cluster-column", options.COLUMNS, CLUSTERS)]
ByColumn = Annotated[str | None, options.option("--by-column", options.COLUMNS, SLICES)]
REPORT = "A page to write: the answer, its intervals, P(positive | score), the assumptions."
Report = Annotated[Path | None, options.option("--report", options.OUTPUT, REPORT, "FILE")]

OF_ROWS = "against", "at_score", "by_column", "cluster_column", "report"  # need all rows at once

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
    at_score: AtScore = None,
    by_column: ByColumn = None,
    cluster_column: ClusterColumn = None,
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

    [bold]bayescal rate 'answers*.csv' --labels read_answers.csv[/bold]

    counts the rows of a file, a folder or a pattern by blocks, so that memory does
    not limit them. Plans, labels by row, --against, --at-score, --by-column,
    --cluster-column and --report need all rows of one file in memory.
    """
    from bayescal.report.rates import write_rate_report
    from bayescal.sampling import judge_agreement, rates_by_slice

    if not labels:
        raise UsageError("--labels must name a file of labels, got none.")
    if against == scores:
        raise UsageError(f"--against must be another file than {scores}.")
    if (against is None) != (not against_labels):
        raise UsageError("--against and --against-labels must be given together, got one of them.")
    check_file(report, (".html",), read=scores, option="--report")
    screen = Screen(quiet=quiet)
    columns = score_column, -1.0 if lower_is_positive else 1.0, screen, id_column
    whole = [options.flag(name) for name in OF_ROWS if options.is_given(context, name)]
    reads = [reviews.read_review(scores, labels, *columns, plans=plans, rows=ROWS, whole=whole)]
    if against is not None:
        reads.append(reviews.read_review(against, against_labels, *columns))
    drawn = [plan for read in reads for plan in read.plan_of.values()]
    if design and drawn:
        raise UsageError("--design random must be left out, since there is a plan of the labels.")
    strata = max((len(plan.strata) for plan in drawn), default=1)
    if strata > 1 and any(each is not None for each in (against, by_column, at_score)):
        raise UsageError(
            "--against, --by-column and --at-score need simple random samples, got a plan of"
            f" {strata} strata: draw documents by bayescal sample --for control."
        )
    used = score_column, id_column, by_column
    readers = [ColumnReader(read.documents.path, read.documents.frame, screen) for read in reads]
    systems: list[tuple[Any, ...]] = [
        (
            *(one.scores, one.labels, one.counts),
            by.clusters(cluster_column, ~np.isnan(one.labels), used=used),
        )
        for by, one in zip(readers, reads, strict=True)
    ]
    paired, slices, more = None, None, {"level": level, "random_state": seed}
    if against is not None:
        paired, rows = _same_items(reads[0].documents, reads[1].documents)
        systems[1] = tuple(None if each is None else each[rows] for each in systems[1])
        screen.say(f"A is {scores}, B is {against}.")
    with screen.warnings(reviews.option_advice), usage_errors():
        result = _answer(systems, design or drawn or None, False if unpaired else paired, more)
        if by_column is not None:
            names = readers[0].names_of([by_column], "slice", "--by-column")[0]
            given: dict[str, Any] = {"clusters": systems[0][3], **more}
            slices = rates_by_slice(systems[0][0], systems[0][1], names, **given)
        agreement = [
            judge_agreement(values, known, columns[1] * at_score, clusters=cluster, **more)
            for values, known, _, cluster in systems
            if at_score is not None
        ]
    screen.say(result.text)
    for system, each in zip("AB", agreement, strict=False):
        screen.say(f"{system}: {each.text}" if against is not None else each.text)
    if slices is not None:
        screen.say(f"By {by_column}. {slices.text}")
    if report is not None:
        arrays = {
            str(read.documents.path): system[:2]
            for read, system in zip(reads, systems, strict=True)
        }
        files = reviews.files_read(scores, labels, plans)
        if against is not None:
            files += reviews.files_read(against, against_labels, None)
        with usage_errors():
            used_rows = "; ".join(
                f"{each[0].size:,} read of {path}, all used" for path, each in arrays.items()
            )
            write_rate_report(
                *(report, result, arrays, slices, agreement),
                run=writing.page_run(
                    context, "rate", files, used_rows, reads[0].positive, "document"
                ),
                positive=reads[0].positive,
                axis="minus the score" if lower_is_positive else "score",
            )
        screen.say(f"Written to {report}")


def _answer(
    systems: list[tuple[Any, ...]], design: Any, paired: bool | None, more: dict[str, Any]
) -> "Rate | RateDifference":
    """Return the rate of one system, or the first one's less the second's."""
    from bayescal.sampling import compare_rates, estimate_rate

    (scores, labels, counts, clusters), *others = systems
    if not others:
        own = {"clusters": clusters, "sample_weight": counts}
        return estimate_rate(scores, labels, design=design, **own, **more)
    scores_b, labels_b, _, clusters_b = others[0]
    both = {"clusters_a": clusters, "clusters_b": clusters_b}
    return compare_rates(scores, labels, scores_b, labels_b, paired=paired, **both, **more)


def _same_items(first: DocumentNames, second: DocumentNames) -> tuple[bool | None, Rows]:
    """Return whether documents are the same ones, None if nothing tells, and rows in this order."""
    rows = np.arange(second.rows.size)
    for name, texts in first.identifiers.items():
        if name in second.identifiers:
            order = second.identifiers[name].get_indexer(texts)
            same = order.size == rows.size and bool((order >= 0).all())
            return same, order if same else rows
    return None, rows
