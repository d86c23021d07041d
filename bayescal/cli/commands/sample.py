"""`bayescal sample`: which documents to label."""

import math
import shlex
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from bayescal.cli import options, reviews
from bayescal.cli.columns import names_in
from bayescal.cli.documents import LABEL
from bayescal.cli.files import check_file, write_frame
from bayescal.cli.terminal import Screen, UsageError, counted, usage_errors
from bayescal.support.files import whole_file
from bayescal.support.validation import first_of

DRAWN = "How many documents, or groups, to draw."
N = Annotated[int, options.option("--n", reviews.REVIEW, DRAWN, "NUMBER", least=1)]
OUT = (
    "The file to label, NAME.csv, which shows no scores; the plan is written to NAME.plan.csv."
    " Without it nothing is written."
)
Out = Annotated[Path | None, options.option("--out", options.OUTPUT, OUT, "FILE")]
SHOWN = "Columns of the scores' file that reviewers are to see, such as subject,date."
METAVAR = "NAME[,NAME...]"
ShowColumns = Annotated[
    str | None, options.option("--show-columns", options.COLUMNS, SHOWN, METAVAR)
]
Purpose = Literal["recall", "precision", "prevalence", "calibration", "control"]
FOR = "What the labels are for; control is a simple random sample, for stop."
For = Annotated[Purpose, options.option("--for", reviews.REVIEW, FOR)]

app = typer.Typer()


@app.command()
def sample(
    scores: options.ScoresFile,
    n: N,
    out: Out = None,
    labels: reviews.LabelFiles = None,
    plans: reviews.PlanFiles = None,
    purpose: For = "recall",
    at_score: reviews.AtScore = None,
    hidden: reviews.Hidden = "vague",
    score_column: options.ScoreColumn = "score",
    lower_is_positive: options.LowerIsPositive = False,
    id_column: reviews.IdColumn = None,
    group_column: reviews.GroupColumn = None,
    show_columns: ShowColumns = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Draw documents to label, and write them in random order, without scores.

    [bold]bayescal sample new.csv --n 100 --at-score -0.5 --out round1.csv[/bold]

    draws documents at random within strata of the score. Fill in the column
    label of round1.csv, which names documents by the identifiers of
    new.csv, or else by rows as a spreadsheet counts. Scores, strata and
    seed are in round1.plan.csv, which later commands read too. Then

    [bold]bayescal sample new.csv --labels round1.csv --n 400 --out round2.csv[/bold]

    with the same --at-score draws where labels inform recall most.
    """
    from bayescal.sampling import plan_sample

    check_file(out, (".csv",), read=scores)
    screen = Screen(quiet=quiet)
    written = [] if out is None else [out, reviews.plan_beside(out)]
    for path in (*(labels or ()), *(plans or ())):
        if path.exists() and any(each.exists() and each.samefile(path) for each in written):
            raise UsageError(f"--out must be another file than {path}, which is read.")
    sign = -1.0 if lower_is_positive else 1.0
    review = reviews.read_review(
        scores, labels, score_column, sign, screen, id_column, group_column, plans
    )
    shown = [] if show_columns is None else names_in(show_columns)
    known = [str(name) for name in review.documents.frame.columns]
    if any(name not in known or name in (score_column, LABEL) for name in shown):
        raise UsageError(
            f"--show-columns must name columns of {scores} other than {score_column} and label,"
            f" such as {first_of([name for name in known if name != score_column])}, got"
            f" {show_columns!r}."
        )
    with screen.warnings(reviews.option_advice), usage_errors():
        plan = plan_sample(
            review.scores,
            n,
            purpose=purpose,
            threshold=None if at_score is None else sign * at_score,
            labels=review.labels,
            inclusion=tuple(review.plan_of.values()),
            groups=review.groups,
            hidden=reviews.PRIORS[hidden],
            random_state=seed,
        )
    tables = review.documents.label_table(plan, shown), review.documents.plan_table(plan)
    for table, file in zip(tables, written, strict=False):
        with usage_errors("--out: ", (OSError,)), whole_file(file) as path:
            write_frame(table, path)
    words = shlex.join(["bayescal", *sys.argv[1:]])
    strata = f"{len(plan.strata)} {'stratum' if len(plan.strata) == 1 else 'strata'}"
    drawn = counted(plan.documents.size, "document")
    if review.groups is not None:
        drawn += f" in {counted(sum(each.sampled for each in plan.strata), 'group')}"
    done = "Nothing is written without --out" if out is None else f"Written to {out}, to label"
    screen.say(f"{done}: {drawn} of {strata}, round {plan.round}")
    if out is not None:
        screen.say(f"Written to {written[1]}: the plan, for recall and later rounds; keep it")
    screen.say(f"Seed of the draw {plan.seed}, hash of the scores {plan.hash}, command: {words}")
    if not math.isnan(plan.expected_width):
        width = f"{plan.expected_width:.2f}"
        screen.say(f"Expected width of the design-based 90 % interval: {width}")
    for note in plan.notes:
        screen.warn(note)
