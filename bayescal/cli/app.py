"""The application: the commands found in `cli.commands`, and what belongs to none of them."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Annotated

import typer

import bayescal
from bayescal.cli import commands
from bayescal.cli.command import CommandGroup

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
    """Turn classifier scores into probabilities, and say how sure those are.

    Begin with [bold]bayescal demo[/bold], which calibrates real scores; then

    bayescal fit scores.csv --out calibrated

    where scores.csv has columns score and label.
    """


for found in iter_modules(commands.__path__):
    app.add_typer(import_module(f"{commands.__name__}.{found.name}").app)
