"""`bayescal models`: the model programs, and the source of one."""

import sys
from typing import Annotated

import typer

from bayescal.cli.terminal import Screen, usage_errors

Name = Annotated[
    str | None, typer.Argument(metavar="NAME", help="A program, or the path of a .py file.")
]

app = typer.Typer()


@app.command()
def models(name: Name = None) -> None:
    """List the model programs, or print the source of one.

    [bold]bayescal models asymmetric_laplace > mine.py[/bold]

    copies a program. Edit its priors, then run

    [bold]bayescal fit scores.csv --model mine.py[/bold]

    A program is code, and naming one as a file runs it.
    """
    if name is None:
        _list()
    else:
        _print_source(name)


def _list() -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    from bayescal.distributions import programs

    table = Table("program", "description", box=box.SIMPLE_HEAD, show_lines=True, pad_edge=False)
    for name in programs.available():
        program = programs.load(name)
        values = ", ".join(f"{key}={value}" for key, value in program.hyperparameters().items())
        lines = (program.summary, f"hyperparameters: {values}", f"source: {program.path}")
        table.add_row(Text(name, style="bold"), Text("\n".join(lines), overflow="fold"))
    Screen().show(table)


def _print_source(name: str) -> None:
    from bayescal.distributions import programs

    with usage_errors():
        source = programs.load(name).path.read_text(encoding="utf-8")
    if not sys.stdout.isatty():
        sys.stdout.write(source)
        return
    from rich.console import Console
    from rich.syntax import Syntax

    Console().print(Syntax(source, "python", theme="ansi_dark", background_color="default"))
