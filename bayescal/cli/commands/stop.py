"""`bayescal stop`: whether a review may stop."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from bayescal.cli import options, reviews
from bayescal.cli.terminal import Screen, UsageError, usage_errors

RuleName = Literal["posterior", "control", "elusion", "hypergeometric"]
RULE = "How to decide; each rule's guarantee is printed."
Rule = Annotated[RuleName, options.option("--rule", reviews.REVIEW, RULE)]
CONTROL = "The control sample of bayescal sample --for control, filled in, with its plan beside it."
Control = Annotated[Path | None, options.option("--control", reviews.REVIEW, CONTROL, "FILE")]
LOOKS = "How many times you will ask, at most: each look gets a share of the risk."
Looks = Annotated[int, options.option("--looks", reviews.REVIEW, LOOKS, "NUMBER", least=1)]

app = typer.Typer()


@app.command()
def stop(
    scores: options.ScoresFile,
    labels: reviews.LabelFiles = None,
    recall: reviews.Recall = 0.8,
    assurance: reviews.Assurance = 0.9,
    rule: Rule = "posterior",
    control: Control = None,
    looks: Looks = 1,
    hidden: reviews.Hidden = "vague",
    score_column: options.ScoreColumn = "score",
    lower_is_positive: options.LowerIsPositive = False,
    id_column: reviews.IdColumn = None,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Decide whether a review that reads the highest scores first may stop.

    [bold]bayescal stop new.csv --labels read.csv --recall 0.8 --assurance 0.9[/bold]

    takes the labels of the documents read so far, and states down to which
    rank to read to find eight in ten positives with probability 0.9.
    """
    from bayescal.sampling import stop_review

    screen = Screen(quiet=quiet)
    files = [*(labels or ()), *([] if control is None else [control])]
    if not files:
        raise UsageError("--labels must name a file of labels, got none.")
    sign = -1.0 if lower_is_positive else 1.0
    unique = list(dict.fromkeys(files))
    review = reviews.read_review(scores, unique, score_column, sign, screen, id_column)
    if control is not None and control not in review.plan_of:
        raise UsageError(
            f"--control: {control} has no plan {reviews.plan_beside(control)} beside it; write both"
            " with bayescal sample."
        )
    with screen.warnings(reviews.option_advice), usage_errors():
        decision = stop_review(
            review.scores,
            review.labels,
            recall=recall,
            assurance=assurance,
            rule=rule,
            control=None if control is None else review.plan_of[control],
            looks=looks,
            hidden=reviews.PRIORS[hidden],
            random_state=seed,
        )
    screen.say(decision.advice)
    evidence = f"{decision.evidence:.3f}"
    screen.say(
        f"Read from the top without a gap: {decision.read:,} documents; evidence that the recall"
        f" is reached: {evidence}"
    )
    screen.say(f"Guarantee of the rule {decision.rule}: {decision.guarantee}")
