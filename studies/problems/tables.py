"""Tables of numbers: ten CSV files of the UCI repository, every class against the rest."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from studies.problems.data_set import DataSet, one_of, with_random_test

NAMES = (
    "german",
    "vehicle",
    "segment",
    "page-blocks",
    "abalone",
    "spambase",
    "waveform",
    "optdigits",
    "landsat",
    "pendigits",
)
LEAST_DOCUMENTS = 20


def load(data: Path, name: str, seed: int) -> DataSet:
    """Return the columns of a table as documents, and every class with at least 20 of them."""
    frame = pd.read_csv(data / "tabular" / f"{name}.csv.xz", dtype={"label": str})
    columns = frame.drop(columns="label").to_numpy(float)
    classes = _classes(frame["label"])
    return with_random_test(name, "table", classes, columns, one_of(frame["label"], classes), seed)


def _classes(label: pd.Series[str]) -> tuple[str, ...]:
    count = label.value_counts()
    if len(count) == 2:
        # The other class is the same problem.
        return (str(count.index[-1]),)
    return tuple(sorted(str(name) for name in count.index[count >= LEAST_DOCUMENTS]))
