"""Folders of unfinished runs: finished files, and a record of the run's inputs and options.

A run writes each file beside its place and renames it, so that every file is whole. The record
shows whether the files belong to the run to resume.
"""

import hashlib
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

FOLDER = ".unfinished"
RECORD = "run.json"
SHOWN = 40  # characters of a value in messages


def begin(folder: Path, record: Mapping[str, Any], *, resume: bool) -> None:
    """Make the folder of a run, or keep that of the same run."""
    known = read_record(folder)
    if known is None or (known != record and not resume):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        beside = folder / f"{RECORD}.part"
        beside.write_text(json.dumps(dict(record)), encoding="utf-8")
        beside.replace(folder / RECORD)
    elif known != record:
        raise ValueError(
            f"{folder} is of another run, which cannot be resumed with other scores or settings:"
            f" {'; '.join(_changes(known, record))}. Undo the change, or leave out resume to begin"
            " anew."
        )
    elif not resume:
        raise ValueError(
            f"{folder} holds what a run of the same scores and settings has done so far: resume it,"
            " or delete that folder to begin anew."
        )


def read_record(folder: Path) -> dict[str, Any] | None:
    """Return the record of a folder; None where there is none."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def digest(parts: Iterable[bytes]) -> str:
    """Return a number, as text, that tells data from other data."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "little"))
        whole.update(part)
    return whole.hexdigest()


def _changes(known: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
    names = sorted(name for name in {*known, *record} if known.get(name) != record.get(name))
    return [f"{name} was {_text(known.get(name))}, is {_text(record.get(name))}" for name in names]


def _text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[:12]}..."
