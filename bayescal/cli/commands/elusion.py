"""`bayescal elusion`: positives among documents that nobody is going to read."""

import math
from typing import Annotated

import typer

from bayescal.cli import options, reviews
from bayescal.cli.tables import percent
from bayescal.cli.terminal import Screen, UsageError, usage_errors


def _number(names: str, text: str) -> object:
    return options.option(names, reviews.REVIEW, text, "NUMBER")


Documents = Annotated[int, _number("--documents", "Unread documents.")]
Found = Annotated[int, _number("--found", "Positives that the review found.")]
SAMPLED = "Unread documents that were drawn at random and read."
Sampled = Annotated[int | None, _number("--sampled", SAMPLED)]
Positives = Annotated[int | None, _number("--positives", "Positives among these.")]
SEQUENTIAL = (
    "The sample was extended after looking at the limits: print limits that hold after any label."
)
Sequential = Annotated[bool, options.option("--sequential", reviews.REVIEW, SEQUENTIAL)]
RECALL = "Without --sampled: say how many documents to draw to certify this recall."
Recall = Annotated[float | None, options.option("--recall", reviews.REVIEW, RECALL, "SHARE")]
EXPECTED = "With --recall: positives that you expect among the unread documents."
Expected = Annotated[int | None, _number("--expected", EXPECTED)]
ASSURANCE = "With --recall: 1 minus the largest probability of certifying a recall not reached."
Assurance = Annotated[float, options.option("--assurance", reviews.REVIEW, ASSURANCE)]

app = typer.Typer()


@app.command()
def elusion(
    documents: Documents,
    found: Found,
    sampled: Sampled = None,
    positives: Positives = None,
    sequential: Sequential = False,
    recall: Recall = None,
    expected: Expected = None,
    assurance: Assurance = 0.95,
    level: options.Level = 0.9,
    quiet: options.Quiet = False,
) -> None:
    """Bound the positives missed by a random sample of unread documents, without any model.

    [bold]bayescal elusion --documents 28000 --sampled 600 --positives 2 --found 240[/bold]

    gives exact limits of the positives among 28,000 unread documents, and of
    recall.

    [bold]bayescal elusion --documents 28000 --found 240 --recall 0.8[/bold]

    says how many of them to sample to certify a recall of 0.8.
    """
    from bayescal.sampling import elusion as bound
    from bayescal.sampling import elusion_size

    screen = Screen(quiet=quiet)
    if recall is not None:
        if sampled is not None or positives is not None:
            raise UsageError(
                "--recall asks how many to sample: leave out --sampled and --positives."
            )
        with usage_errors():
            size = elusion_size(documents, found, recall, assurance, expected=expected)
        power = "" if math.isnan(size.power) else f", with probability {size.power:.2f}"
        screen.say(
            f"Sample {size.sampled:,} of {documents:,} unread documents: with {size.allowed} or"
            f" fewer positives among them a recall of {percent(recall)} is certified{power}."
        )
        screen.say(f"It is reached if {size.most_missed:,} positives or fewer were missed.")
        return
    if sampled is None or positives is None:
        raise UsageError("give --sampled and --positives, or --recall to ask how many to sample.")
    if expected is not None:
        raise UsageError("--expected needs --recall: leave it out.")
    with usage_errors():
        result = bound(documents, sampled, positives, found, level, sequential=sequential)
    screen.say(f"missed: {result.missed:,.0f}")
    screen.say(f"elusion: {result.rate:.3%}")
    screen.say(f"recall: {result.recall:.1%}")
    kind = "after all numbers of labels at once" if sequential else "exact, hypergeometric"
    screen.say(f"in parentheses: {percent(level)} intervals, {kind}; no model is used")
