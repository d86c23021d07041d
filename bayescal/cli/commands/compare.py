"""`bayescal compare`: maximum likelihood and the posterior side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from bayescal.cli import options
from bayescal.cli.command import Screen, UsageError, blamed_on_use, command
from bayescal.cli.fitting import calibrate, hold_out, left_out_tables, losses_table, split_by_topic
from bayescal.cli.options import InferenceName
from bayescal.cli.reading import ScoreTable
from bayescal.cli.request import Fitting
from bayescal.cli.tables import curve_table, parameter_table
from bayescal.cli.writing import by_method, with_test_rows
from bayescal.support.validation import check_fraction

DEFAULT_HOLDOUT = 0.3

Holdout = Annotated[
    float | None,
    options.option(
        "--holdout",
        options.COLUMNS,
        f"Share of rows of each class to test on where the file has no test rows, chosen at"
        f" random by --seed. By default {DEFAULT_HOLDOUT:g}.",
    ),
]


app = typer.Typer()


@dataclass(frozen=True, kw_only=True)
class Compare(Fitting):
    """The options of `bayescal compare`."""

    holdout: Holdout = None


@command(app, Compare)
def compare(asked: Compare) -> None:
    """Compare maximum likelihood with the posterior: parameters, curves, losses on test rows.

    [bold]bayescal compare scores.csv[/bold]

    fits seven tenths of the rows and tests on the others, or takes the test
    rows that a column split names. With --out it writes what bayescal fit
    writes.
    """
    _check(asked.inference, asked.holdout)
    screen, level = asked.screen, asked.level
    table = _with_test_rows(asked.read(), asked.holdout, asked.seed, screen)
    many, left_out = calibrate(split_by_topic(table), asked, screen)
    for one in many:
        screen.show(parameter_table(one, level), curve_table(one, level))
    tested = with_test_rows(many)
    if tested:
        screen.show(losses_table([by_method(one) for one in tested]))
    else:
        screen.warn(
            "no row is left to test on, so there are no losses: classes of one row are kept."
        )
    screen.show(*left_out_tables(left_out))
    asked.save(many, "compare", left_out)


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
