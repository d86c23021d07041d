"""`bayescal sample`: which documents to label."""

import math
import shlex
import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from bayescal.cli import options, reviews
from bayescal.cli.files import check_file, write_frame
from bayescal.cli.terminal import Screen, UsageError, counted, usage_errors
from bayescal.support.files import whole_file

N = Annotated[
    int, options.option("--n", reviews.REVIEW, "How many documents to draw.", "NUMBER", least=1)
]
Out = Annotated[Path, options.option("--out", options.OUTPUT, "The plan to write, a CSV file.")]
Purpose = Literal["recall", "precision", "prevalence", "calibration", "control"]
FOR = "What the labels are for; control is a simple random sample, for elusion and stop."
For = Annotated[Purpose, options.option("--for", reviews.REVIEW, FOR)]

app = typer.Typer()


@app.command()
def sample(
    scores: options.ScoresFile,
    n: N,
    out: Out,
    labels: reviews.LabelFiles = None,
    purpose: For = "recall",
    at_score: reviews.AtScore = None,
    hidden: reviews.Hidden = "vague",
    score_column: options.ScoreColumn = "score",
    lower_is_positive: options.LowerIsPositive = False,
    id_column: reviews.IdColumn = None,
    group_column: reviews.GroupColumn = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Draw documents to label, and write them with their inclusion probabilities.

    [bold]bayescal sample scores.csv --n 100 --at-score 1.5 --out round1.csv[/bold]

    draws documents at random within strata of the score. Fill in the column
    label of round1.csv. Its first columns are the identifiers of scores.csv,
    if it has some, and the row as a spreadsheet counts. Then

    [bold]bayescal sample scores.csv --labels round1.csv --n 400 --out round2.csv[/bold]

    with the same --at-score draws where labels inform recall most.
    """
    from bayescal.sampling import plan_sample

    check_file(out, (".csv",), read=scores)
    screen = Screen(quiet=quiet)
    if any(out.exists() and out.samefile(path) for path in labels or () if path.exists()):
        raise UsageError(f"--out must be another file than {out}, which holds labels.")
    sign = -1.0 if lower_is_positive else 1.0
    review = reviews.read_review(
        scores, labels, score_column, sign, screen, id_column, group_column
    )
    plans = tuple(review.plan_of.values())
    with screen.warnings(), usage_errors():
        plan = plan_sample(
            review.scores,
            n,
            purpose=purpose,
            threshold=None if at_score is None else sign * at_score,
            labels=review.labels,
            inclusion=plans,
            groups=review.groups,
            hidden=0 if hidden == "none" else hidden,
            random_state=seed,
        )
    with usage_errors("--out: ", (OSError,)), whole_file(out) as path:
        write_frame(review.documents.table(plan), path)
    words = shlex.join(["bayescal", *sys.argv[1:]])
    strata = f"{len(plan.strata)} {'stratum' if len(plan.strata) == 1 else 'strata'}"
    drawn = counted(plan.documents.size, "document")
    screen.say(f"Written to {out}: {drawn} of {strata}, round {plan.round}")
    screen.say(f"Seed of the draw {plan.seed}, hash of the scores {plan.hash}, command: {words}")
    if not math.isnan(plan.expected_width):
        screen.say(f"Expected width of the design-based 90 % interval: {plan.expected_width:.2f}")
    for note in plan.notes:
        screen.warn(note)
