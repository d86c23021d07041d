"""All data sets, by name, in the order in which they are made: the quick ones first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from studies.problems import multilabel, reuters, tables, texts
from studies.problems.data_set import DataSet

LOADERS: dict[str, Callable[[Path, str, int], DataSet]] = {
    name: source.load for source in (multilabel, tables, texts, reuters) for name in source.NAMES
}


def load(data: Path, name: str, seed: int) -> DataSet:
    """Return a data set, without classes of too few positives."""
    return LOADERS[name](data, name, seed)
