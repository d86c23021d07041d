"""`bayescal compare`: maximum likelihood and the posterior side by side.

The parameters of the function are the options; it hands them on to `read_request` as they are.
"""

from __future__ import annotations

from typing import Annotated

import typer

from bayescal.cli import options
from bayescal.cli.console import Screen
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.problems import hold_out
from bayescal.cli.reading import ScoreTable
from bayescal.cli.request import read_request
from bayescal.cli.settings import InferenceName
from bayescal.cli.tables import by_method, curve_table, losses_table, parameter_table
from bayescal.cli.writing import TableFormat
from bayescal.validation import check_fraction

DEFAULT_HOLDOUT = 0.3

Holdout = Annotated[
    float | None,
    typer.Option(
        "--holdout",
        help=f"Share of rows of each class to test on where the file has no test rows, chosen at"
        f" random by --seed. By default {DEFAULT_HOLDOUT:g}.",
        rich_help_panel=options.COLUMNS,
    ),
]


def compare(
    scores: options.ScoresFile,
    score_column: options.ScoreColumn = "score",
    label_column: options.LabelColumn = "label",
    topic_column: options.TopicColumn = None,
    weight_column: options.WeightColumn = None,
    split_column: options.SplitColumn = None,
    holdout: Holdout = None,
    positive: options.Positive = None,
    scores_are: options.ScoresAre = "auto",
    family: options.Family = None,
    parts: options.Parts = "auto",
    inference: options.Inference = None,
    model: options.Model = None,
    jobs: options.Jobs = 1,
    draws: options.Draws = 1000,
    chains: options.Chains = 4,
    tune: options.Tune = 1000,
    target_accept: options.TargetAccept = 0.9,
    out: options.OutFolder = None,
    table_format: options.Format = TableFormat.CSV,
    level: options.Level = 0.9,
    seed: options.Seed = 0,
    quiet: options.Quiet = False,
) -> None:
    """Compare maximum likelihood with the posterior: parameters, curves, losses on test rows.

    [bold]bayescal compare scores.csv[/bold]

    fits seven tenths of the rows and tests on the others, or takes the test
    rows that a column split names. With --out it writes what bayescal fit
    writes.
    """
    arguments = locals()
    _check(inference, holdout)
    request = read_request("compare", arguments)
    table = _with_test_rows(request.table, holdout, seed, request.screen)
    calibrated = request.calibrate(table)
    for one in calibrated:
        request.screen.show(parameter_table(one, level), curve_table(one, level))
    request.screen.show(losses_table([by_method(one) for one in calibrated if one.losses]))
    request.save(calibrated)


def _check(inference: InferenceName | None, holdout: float | None) -> None:
    if inference is InferenceName.MLE:
        raise UsageError(
            "--inference must be exact, nuts or map, to be compared with maximum likelihood;"
            " got mle."
        )
    if holdout is not None:
        with blamed_on_use():
            check_fraction(**{"--holdout": holdout})


def _with_test_rows(
    table: ScoreTable, holdout: float | None, seed: int, screen: Screen
) -> ScoreTable:
    if table.test.any():
        if holdout is not None:
            raise UsageError(
                f"--holdout is for files without test rows, got {holdout:g} and"
                f" {int(table.test.sum())} rows of split 'test': leave one of them out."
            )
        return table
    share = DEFAULT_HOLDOUT if holdout is None else holdout
    table = hold_out(table, share, seed)
    screen.show(
        f"No test rows: {int(table.test.sum())} of {table.test.size} rows held out at random,"
        f" {100 * share:g} % of each class (--holdout {share:g} --seed {seed})."
    )
    return table
