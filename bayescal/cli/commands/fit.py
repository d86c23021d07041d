"""`bayescal fit`: calibrate the scores of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import typer
from rich.console import Group

from bayescal.cli import options
from bayescal.cli.command import UsageError, blamed_on_use, command
from bayescal.cli.fitting import (
    NONE,
    Calibrated,
    calibrate,
    left_out_tables,
    most_undecided_first,
    pool,
    split_by_topic,
)
from bayescal.cli.request import Fitting
from bayescal.cli.tables import answer_table, parameter_table, topics_table
from bayescal.cli.writing import held_out_tables, unfinished_run

# What tables call the losses of topics that were fitted together.
POOLED = "pooled"
POOL_ADVICE = "--pool fits all topics together, and answers for these too."

app = typer.Typer()


@dataclass(frozen=True, kw_only=True)
class Fit(Fitting):
    """The options of `bayescal fit`."""

    pool: options.Pool = False
    parameters: options.Parameters = False
    resume: options.Resume = False
    prior_knowledge: options.PriorKnowledge = None

    def check(self) -> None:
        """Check the options; see `Settings.check`."""
        super().check()
        if self.prior_knowledge is None:
            return
        if self.pool:
            raise UsageError(
                "--pool learns a prior from the topics themselves, got --prior-knowledge"
                f" {self.prior_knowledge}: leave out one of them."
            )
        with blamed_on_use("--prior-knowledge: "):
            from bayescal.fitting.fitted_scores import read_prior_knowledge
            from bayescal.fitting.settings import read_settings

            parameters = self.score_parameters()
            read_settings(parameters)
            read_prior_knowledge(parameters)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of a calibrator of one problem; see `Settings.arguments`."""
        given = {} if self.prior_knowledge is None else {"prior_knowledge": self.prior_knowledge}
        return super().arguments() | given


@command(app, Fit)
def fit(asked: Fit) -> None:
    """Fit a calibrator to labelled scores, one a topic if there are topics.

    [bold]bayescal fit scores.csv --out calibrated[/bold]

    prints probabilities with their bands at a few scores, and writes into the
    folder calibrated: posterior.nc (the calibrator, for bayescal predict and
    bayescal.load), probabilities.csv (every row with its probability, band
    and log-odds) and summary.json. --parameters prints the parameters too,
    maximum likelihood beside the posterior.

    [bold]bayescal fit scores.parquet --topic-column topic --inference mle[/bold]

    fits every topic by maximum likelihood, in milliseconds; with --pool
    topics with few positives borrow from the others. Topics are kept in
    --out as they are fitted: a run that was killed goes on with --resume.
    A topic that cannot be fitted, because it has no positives, is listed with
    the reason, and the others go on; the exit code is 0 unless none can be.
    Scores should come from documents that the classifier was not trained on,
    such as cross-validated scores.
    """
    table, screen, level = asked.read(), asked.screen, asked.level
    with unfinished_run(asked.out, table, asked.told("fit"), resume=asked.resume) as folder:
        if asked.pool:
            many, left_out = pool(table, asked, screen, folder), NONE
            screen.show(topics_table(many, level, "around their population"))
            losses = held_out_tables(many, POOLED)
        else:
            problems = split_by_topic(table)
            many, left_out = calibrate(problems, asked, screen, folder=folder)
            screen.show(_answer(many, level))
            losses = held_out_tables(many)
        if asked.parameters:
            screen.show(*(parameter_table(one, level) for one in many))
        screen.show(*losses, *left_out_tables(left_out, POOL_ADVICE))
        asked.save(many, "fit", left_out)


def _answer(many: list[Calibrated], level: float) -> Group:
    """Return the curve of the only problem, or a row for each of several."""
    if len(many) == 1:
        return answer_table(many[0], level)
    return topics_table(most_undecided_first(many), level, "by themselves")
