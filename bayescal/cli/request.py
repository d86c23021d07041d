"""What `fit` and `compare` are asked for: their options and scores, checked before any work."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from bayescal.cli.console import Screen
from bayescal.cli.fitting import Calibrated, calibrate
from bayescal.cli.problems import split_by_topic
from bayescal.cli.reading import Columns, ScoreTable, read_scores
from bayescal.cli.settings import Settings
from bayescal.cli.writing import (
    TableFormat,
    check_columns_free,
    check_folder,
    staged_folder,
    write_results,
)


@dataclass(frozen=True)
class Request:
    """
    A call of `fit` or `compare`.

    Attributes
    ----------
    settings : Settings
        How to fit.
    table : ScoreTable
        What to fit.
    out : Path or None
        The folder to write into, if any.
    table_format : TableFormat
        Of the probabilities to write.
    arguments : dict
        What the summary tells about the call.
    screen : Screen
        Where to print.
    """

    settings: Settings
    table: ScoreTable
    out: Path | None
    table_format: TableFormat
    arguments: Mapping[str, Any]
    screen: Screen

    def calibrate(self, table: ScoreTable, folder: Path | None = None) -> list[Calibrated]:
        """Fit the topics of a table; a folder keeps them, and has those fitted already."""
        return calibrate(split_by_topic(table), self.settings, self.screen, folder=folder)

    def save(self, calibrated: Sequence[Calibrated]) -> None:
        """Write results into the folder and say so, or say how to get them."""
        self.store(
            lambda folder: write_results(folder, calibrated, self.arguments, self.table_format)
        )

    def store(self, write: Callable[[Path], None]) -> None:
        """Have a function write into the folder and say so, or say how to get what it writes."""
        if self.out is None:
            self.screen.say("Nothing is written; --out FOLDER keeps calibrators and probabilities.")
            return
        with staged_folder(self.out) as stage:
            write(stage)
            names = [path.name for path in sorted(stage.iterdir())]
        self.screen.say(f"Written to {self.out}: {', '.join(names)}")


def read_request(command: str, given: Mapping[str, Any]) -> Request:
    """
    Check the options of a command and read its scores.

    Parameters
    ----------
    command : str
        Its name.
    given : mapping
        Its arguments; those for `Settings` have the names of the fields there.

    Raises
    ------
    UsageError
        If an option or the file is not as it should be.
    """
    settings = Settings(**{field.name: given[field.name] for field in fields(Settings)})
    settings.check()
    check_folder(given["out"])
    columns = Columns(**{field.name: given[f"{field.name}_column"] for field in fields(Columns)})
    table = read_scores(given["scores"], columns, given["positive"])
    check_columns_free(table.frame, given["scores"])
    return Request(
        settings=settings,
        table=table,
        out=given["out"],
        table_format=given["table_format"],
        arguments=recorded(command, {**given, "inference": settings.inference_name}),
        screen=Screen(quiet=given["quiet"]),
    )


def recorded(command: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the summary tells about a call: not where it wrote, nor whether it printed."""
    kept = {name: value for name, value in given.items() if name not in ("out", "quiet")}
    return {"command": command, **kept}
