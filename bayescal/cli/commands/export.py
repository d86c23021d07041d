"""`bayescal export`: a calibrator as a file that needs no bayescal."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from bayescal.cli import options
from bayescal.cli.command import Call, blamed_on_use, command
from bayescal.cli.saved import load

Out = Annotated[Path, options.option("--out", options.OUTPUT, "The file to write.", metavar="FILE")]
FormatName = Annotated[
    str,
    options.option(
        "--format",
        options.OUTPUT,
        "python: a module that needs numpy alone; json: knots to interpolate, for any language;"
        " sql: expressions for SELECT; onnx: a graph for ONNX runtimes.",
    ),
]
Topic = Annotated[
    str | None,
    options.option("--topic", None, "Of calibrators of several topics the one to write."),
]
Band = Annotated[
    bool,
    options.option(
        "--band/--no-band",
        options.OUTPUT,
        "Whether to write the band at each score, for which there must be a posterior.",
    ),
]
Column = Annotated[
    str,
    options.option(
        "--score-column",
        options.COLUMNS,
        "What the scores are called where the file is used: the column of sql, the input of onnx.",
    ),
]

app = typer.Typer()


@dataclass(frozen=True, kw_only=True)
class Export(Call):
    """The options of `bayescal export`."""

    calibrator: options.Calibrator
    out: Out
    format: FormatName = "python"
    topic: Topic = None
    level: options.Level = 0.9
    band: Band = True
    prior: options.Prior = None
    score_column: Column = "score"


@command(app, Export)
def export(asked: Export) -> None:
    """Write a calibrator to a file that needs no bayescal.

    [bold]bayescal export calibrated --format sql --out corn.sql[/bold]

    takes the folder, or a .nc file, that bayescal fit has written. The file
    says what bayescal predict says, within 0.0001 in probability.
    """
    from bayescal.report.export.writing import export as write

    with asked.screen.warnings(), blamed_on_use(kinds=(ValueError, OSError, ImportError)):
        written = write(
            load(asked.calibrator),
            asked.out,
            format=asked.format,
            topic=asked.topic,
            level=asked.level if asked.band else None,
            prior=asked.prior,
            column=asked.score_column,
        )
    asked.screen.say(f"Written to {written}: {written.stat().st_size / 1e3:.0f} kB")
