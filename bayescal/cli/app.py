"""The application: its commands, and the options that belong to none of them."""

from __future__ import annotations

from typing import Annotated

import typer

import bayescal
from bayescal.cli.compare import compare
from bayescal.cli.demo import demo
from bayescal.cli.errors import CommandGroup
from bayescal.cli.fit import fit
from bayescal.cli.models import models
from bayescal.cli.predict import predict
from bayescal.cli.report import report
from bayescal.cli.reproduce import reproduce
from bayescal.cli.text import text

app = typer.Typer(
    cls=CommandGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # what still gets here is a bug: its traceback as it is
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bayescal {bayescal.__version__}")
        raise typer.Exit


@app.callback()
def _bayescal(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Calibrate classifier scores: probabilities with posterior bands, beside the MLE.

    Begin with [bold]bayescal demo[/bold], which calibrates real scores; then

    bayescal fit scores.csv --out calibrated

    where scores.csv has columns score and label.
    """


for command in (demo, fit, predict, compare, report, models):
    app.command()(command)
app.add_typer(reproduce, name="reproduce")
app.add_typer(text, name="text")
