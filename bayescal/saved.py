"""Where calibrators are saved: files of one, and folders that `bayescal fit` wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TypeVar

from bayescal.fitted.many import problems_of_each
from bayescal.fitted.problem import Calibrator, Problems

Read = TypeVar("Read", bound=Calibrator)

# What `bayescal fit` writes into a folder: the record of the run, and topics fitted together.
SUMMARY, TOPICS_FILE = "summary.json", "topics.nc"


class CalibratorsOfTopics(Mapping[str, Read]):
    """
    The calibrators of topics fitted one by one, by topic; each is read when it is asked for.

    Parameters
    ----------
    files : mapping of str to Path
        The file of each topic's calibrator.
    read : callable
        From a file to its calibrator.
    """

    def __init__(self, files: Mapping[str, Path], read: Callable[[Path], Read]) -> None:
        self._files, self._read = files, read

    def __getitem__(self, topic: str) -> Read:
        return self._read(self._files[topic])

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def fitted_problems(self) -> Problems:
        """Return the problem of each topic, read when it is asked for."""
        return problems_of_each(self)


def read_saved(path: str | Path, read: Callable[[Path], Read]) -> Read | CalibratorsOfTopics[Read]:
    """
    Return the calibrator of a file, or what a folder holds.

    Parameters
    ----------
    path : str or Path
        The file or the folder.
    read : callable
        From a file to its calibrator.

    Raises
    ------
    ValueError
        If `bayescal fit` did not write the folder.
    """
    source = Path(path)
    if not source.is_dir():
        return read(source)
    if (source / TOPICS_FILE).is_file():
        return read(source / TOPICS_FILE)
    try:
        record = json.loads((source / SUMMARY).read_text(encoding="utf-8"))
        files = {topic["topic"]: source / topic["file"] for topic in record["topics"]}
    except (OSError, ValueError, KeyError, TypeError) as err:
        raise ValueError(
            f"{source} must be a .nc file or a folder that bayescal fit wrote, but its"
            f" {SUMMARY} is missing or unreadable."
        ) from err
    return read(files[None]) if None in files else CalibratorsOfTopics(files, read)
