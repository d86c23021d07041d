"""`--resume`: topics are kept as they are fitted, and a run that was killed goes on."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from bayescal import unfinished
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.reading import ScoreTable
from bayescal.parallel import keeps_nothing

# What results do not depend on: where scores are read from, where and how results are written.
ELSEWHERE = ("command", "scores", "jobs", "resume", "table_format")


@contextmanager
def unfinished_run(
    out: Path | None, table: ScoreTable, arguments: Mapping[str, Any], *, resume: bool
) -> Iterator[Path | None]:
    """
    Give a folder, inside that of the results, that keeps topics until all are fitted.

    It goes when all went well, and when it keeps nothing yet; else it stays. None
    without topics, or where nothing is to be written.

    Raises
    ------
    UsageError
        If it cannot be resumed.
    """
    if resume and (out is None or table.topic is None):
        raise UsageError("--resume needs --topic-column and --out, as the run to go on with had.")
    if out is None or table.topic is None:
        yield None
        return
    folder = out / unfinished.FOLDER
    made = [path for path in (out, *out.parents) if not path.exists()]
    try:
        with blamed_on_use("--out: "):
            unfinished.begin(folder, _record(table, arguments), resume=resume)
        yield folder
    except BaseException:
        if folder.is_dir() and keeps_nothing(folder):
            _remove(folder, made)
        raise
    shutil.rmtree(folder, ignore_errors=True)


def _remove(folder: Path, made: list[Path]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for path in made:
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()


def _record(table: ScoreTable, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the results of a run depend on."""
    from bayescal.results.provenance import versions

    options = {name: value for name, value in arguments.items() if name not in ELSEWHERE}
    arrays = (table.score, table.positive, table.test, table.topic, table.weight)
    data = [b"" if array is None else np.ascontiguousarray(array).tobytes() for array in arrays]
    model = options.get("model")
    if model is not None and Path(model).is_file():
        options["text of --model"] = hashlib.sha256(Path(model).read_bytes()).hexdigest()
    record = {
        "scores": unfinished.digest([repr(table.classes).encode(), *data]),
        **options,
        **{f"version of {name}": version for name, version in versions().items()},
    }
    # As it will be read again: paths and names of options as text.
    found: dict[str, Any] = json.loads(json.dumps(record, default=str))
    return found
