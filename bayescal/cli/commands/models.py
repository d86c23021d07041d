"""`bayescal models`: the model programs, the source of one, and a new one to start from."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bayescal.cli.terminal import Screen, UsageError, usage_errors

if TYPE_CHECKING:
    from bayescal.distributions.programs import ModelProgram

NEW = "new"
NAME = "A program, the path of a .py file, or a .nc file that was fitted with one; or new."
Name = Annotated[str | None, typer.Argument(metavar="NAME", help=NAME)]
File = Annotated[Path | None, typer.Argument(metavar="FILE", help="After new, the file to write.")]

app = typer.Typer()


@app.command()
def models(name: Name = None, file: File = None) -> None:
    """List the model programs, print the source of one, or write one to start from.

    [bold]bayescal models new mine.py[/bold]

    writes a program that runs, with comments on what to edit. Then

    [bold]bayescal fit scores.csv --model mine.py[/bold]

    [bold]bayescal models asymmetric_laplace > mine.py[/bold]

    copies a program of the package. A program is code, and naming one as a
    file runs it; that of a .nc file is printed only.
    """
    if name == NEW and file is not None:
        _write_new(file)
    elif name == NEW or file is not None:
        raise UsageError("bayescal models new FILE.py writes a program; or give one NAME.")
    elif name is None:
        from bayescal.distributions import programs

        loaded = [programs.load(each) for each in programs.available()]
        of_scores = [each for each in loaded if each.answers]
        others = [each for each in loaded if each not in of_scores]
        _show(of_scores, "Programs of scores and labels, for bayescal fit --model:")
        _show(
            others, "Programs of many topics, classes or grades, for pm.sample, and to start from:"
        )
    else:
        _print_source(name)


def _show(loaded: "list[ModelProgram]", title: str) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table("program", "description", box=box.SIMPLE_HEAD, show_lines=True, pad_edge=False)
    for program in loaded:
        values = ", ".join(f"{key}={value}" for key, value in program.hyperparameters().items())
        lines = (program.summary, f"hyperparameters: {values}", f"source: {program.path}")
        table.add_row(Text(program.name, style="bold"), Text("\n".join(lines), overflow="fold"))
    Screen().show(title, table)


def _write_new(file: Path) -> None:
    from bayescal.distributions import programs

    if file.suffix != ".py":
        raise UsageError(f"a program is a .py file, got {str(file)!r}.")
    if file.exists():
        raise UsageError(f"{file} exists: choose another name, or remove it first.")
    if not file.parent.is_dir():
        raise UsageError(f"there is no folder {str(file.parent)!r} to write {file.name} into.")
    text = programs.template().replace("mine.py", file.name)
    file.write_text(text, encoding="utf-8")
    Screen().show(f"Wrote {file}. Edit it, then: bayescal fit scores.csv --model {file}")


def _print_source(name: str) -> None:
    from bayescal.distributions import programs

    with usage_errors():
        is_results = name.endswith(".nc")
        source = _source_in(name) if is_results else programs.load(name).source
    if not sys.stdout.isatty():
        sys.stdout.write(source)
        return
    from rich.console import Console
    from rich.syntax import Syntax

    Console().print(Syntax(source, "python", theme="ansi_dark", background_color="default"))


def _source_in(path: str) -> str:
    """Return the text of the program in a file of results, without running it."""
    from bayescal.fitting.engines.program_functions import RECORD, ProgramRecord
    from bayescal.fitting.parts.part import all_paths, flat
    from bayescal.fitting.parts.program import program_path
    from bayescal.fitting.results.storage import read_tree

    groups = flat(read_tree(path))
    for paths in all_paths(groups):
        kept = groups.get(program_path(paths))
        if kept is not None:
            record = ProgramRecord.from_json(kept.attrs[RECORD])
            if record.path:
                return record.source
    raise ValueError(f"{path} was not fitted with a program of your own.")
