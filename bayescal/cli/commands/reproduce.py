"""`bayescal reproduce`: the experiments found in `cli.experiments`."""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules

import typer

from bayescal.cli import experiments

app = typer.Typer(
    name="reproduce", help="Make the paper's tables and figures again.", no_args_is_help=True
)

for found in iter_modules(experiments.__path__):
    app.add_typer(import_module(f"{experiments.__name__}.{found.name}").app)
