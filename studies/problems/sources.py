"""All data sets, by name, in the order in which they are made: the quick ones first.

Defaults are chosen and populations learned on the data sets of the library; the fresh ones were
used for neither, and judge both.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from studies.problems import fresh, multilabel, reuters, tables, texts
from studies.problems.data_set import DataSet

LOADERS: dict[str, Callable[[Path, str, int], DataSet]] = {
    name: source.load for source in (multilabel, tables, texts, reuters) for name in source.NAMES
}
FRESH = fresh.NAMES


def load(data: Path | None, name: str, seed: int) -> DataSet:
    """Return a data set; only those of the library need the folder of the public data."""
    if name in FRESH:
        return fresh.load(name, seed)
    if data is None:
        raise ValueError(f"{name} is read from the folder of the public data: give it.")
    return LOADERS[name](data, name, seed)
