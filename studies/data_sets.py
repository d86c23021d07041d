"""Tables to train classifiers on: scikit-learn's own, and those of a folder of CSV files."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

# A folder with files such as pendigits.csv.xz: numeric columns, then `label`.
FOLDER = "BAYESCAL_TABLES"
OWN = ("breast_cancer", "digits", "wine")

Table = tuple[NDArray[np.float64], NDArray[np.bool_]]


def names() -> list[str]:
    """Return the names of the tables that are there."""
    return sorted((*OWN, *_files()))


def load(name: str) -> Table:
    """Return standardised columns (documents, columns), and whether each is of the first class."""
    x, label = _read(name)
    kept = x[:, x.std(axis=0) > 0.0]
    classes, counts = np.unique(label, return_counts=True)
    positive = label == classes[counts.argmax()]
    return (kept - kept.mean(axis=0)) / kept.std(axis=0), positive


def _read(name: str) -> tuple[NDArray[np.float64], NDArray[np.generic]]:
    if name in OWN:
        from sklearn import datasets

        x, label = getattr(datasets, f"load_{name}")(return_X_y=True)
        return np.asarray(x, dtype=float), label
    frame = pd.read_csv(_files()[name])
    return frame.drop(columns="label").to_numpy(float), frame["label"].to_numpy()


def _files() -> dict[str, Path]:
    folder = os.environ.get(FOLDER)
    paths = Path(folder).glob("*.csv*") if folder else ()
    return {path.name.partition(".")[0]: path for path in paths}
