"""Reading the library: its manifest and its problems."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayescal.support.files import whole_file
from studies.problems.folds import Bools

MANIFEST = "manifest.csv"


class EmptyLibraryError(ValueError):
    """A folder holds no problems to measure on."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"a library of problems was expected in {folder}, which holds none: make it"
            " by python -m studies.problems --to FOLDER with --data DIR, or with --fresh for the"
            " studies of fresh data sets, and give --problems FOLDER."
        )


@dataclass(frozen=True)
class Problem:
    """Scores of one class against the rest by one classifier.

    Attributes
    ----------
    data_set, class_name, classifier : str
        Names.
    score_kind : {"margin", "log_odds", "probability"}
        Kind of the scores.
    score : array of shape (n,)
        Of the documents trained with, each by a classifier that was trained without it.
    positive : array of shape (n,) of bool
        Which of them are of the class.
    test_score : array of shape (m,)
        Of the test documents, by the classifier trained with all others.
    test_positive : array of shape (m,) of bool
        Which of them are of the class.
    test_kind : {"later", "separate", "same"}
        Where the test documents are from.
    """

    data_set: str
    class_name: str
    classifier: str
    score_kind: str
    score: NDArray[np.floating[Any]]
    positive: Bools
    test_score: NDArray[np.floating[Any]]
    test_positive: Bools
    test_kind: str


def problems(folder: str | Path) -> Iterator[Problem]:
    """Yield all problems of a library, file after file in the order of their names.

    Parameters
    ----------
    folder : str or Path
        What `python -m studies.problems --to` was given.

    Yields
    ------
    Problem
        Their arrays are views of one file's, which is read when its first problem is asked for.
    """
    for path in _files(Path(folder)):
        with np.load(path) as file:
            all_of = dict(file.items())
        for k, name in enumerate(all_of["classes"].tolist()):
            yield Problem(
                path.parent.name,
                name,
                path.stem,
                str(all_of["score_kind"]),
                all_of["score"][:, k],
                all_of["label"][:, k],
                all_of["test_score"][:, k],
                all_of["test_label"][:, k],
                str(all_of["test_kind"]),
            )


def write_manifest(folder: Path) -> None:
    """Write manifest.csv, a row for each problem of the folder."""
    rows = [row for path in _files(folder) for row in _rows(path)]
    with whole_file(folder / MANIFEST) as file:
        pd.DataFrame(rows).to_csv(file, index=False)


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/[!.]*.npz"))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    with np.load(path) as file:
        label, test_label = file["label"], file["test_label"]
        for k, name in enumerate(file["classes"].tolist()):
            yield {
                "data_set": path.parent.name,
                "class": name,
                "classifier": path.stem,
                "score_kind": str(file["score_kind"]),
                "n": len(label),
                "positives": int(label[:, k].sum()),
                "test_n": len(test_label),
                "test_positives": int(test_label[:, k].sum()),
                "test_kind": str(file["test_kind"]),
                "seed": int(file["seed"]),
                "versions": str(file["versions"]),
            }
