"""Labelled documents: a table with texts and labels, or a folder of text files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.cli.errors import UsageError
from bayescal.cli.frames import read_frame
from bayescal.cli.reading import ColumnReader, split_column

if TYPE_CHECKING:
    import pandas as pd

TEXT_FILES = "*.txt"


@dataclass(frozen=True)
class Documents:
    """
    Documents, some of them labelled.

    Attributes
    ----------
    frame : pandas.DataFrame
        All rows and columns but the texts.
    texts : list of str
        One document a row.
    labelled, positive : array of shape (n,) of bool
        Which rows have a label, and the positive one.
    classes : tuple
        The negative and the positive label.
    test : array of shape (n,) of bool
        Rows to test on: neither classifier nor calibrator sees them.
    """

    frame: pd.DataFrame
    texts: list[str]
    labelled: NDArray[np.bool_]
    positive: NDArray[np.bool_]
    classes: tuple[Any, Any]
    test: NDArray[np.bool_]

    @property
    def fitted(self) -> NDArray[np.bool_]:
        """Return the rows to fit: labelled, and not to test on."""
        return self.labelled & ~self.test

    @property
    def targets(self) -> NDArray[Any]:
        """Return the label of each document."""
        return np.array(self.classes)[self.positive.astype(np.intp)]

    def chosen(self, rows: NDArray[np.bool_]) -> list[str]:
        """Return the texts of some rows."""
        return [self.texts[k] for k in np.flatnonzero(rows)]


def read_documents(
    path: Path, text: str, label: str, split: str | None, positive: str | None
) -> Documents:
    """
    Read a table with a column of texts, or a folder.

    Parameters
    ----------
    path : Path
        A .csv or .parquet file, or a folder: its text files are documents without a label, those
        in a folder of it have that folder's name for a label.
    text, label : str
        Columns; an empty label is a document to predict.
    split : str or None
        Column of splits; by default one named split, if there is one.
    positive : str or None
        The positive label; by default the second in sorted order.

    Raises
    ------
    UsageError
        If something cannot be read, a document is empty, or there are not two labels.
    """
    if not path.is_dir() and not path.suffix:
        raise UsageError(f"there is no folder {path} of documents, nor is it named like a file.")
    frame = _folder(path, text, label) if path.is_dir() else read_frame(path, "documents")
    reader = ColumnReader(path, frame)
    texts = reader.texts(text)
    labelled = reader.present(label, "--label-column")
    split = split_column(frame, split)
    if not labelled.any():
        raise UsageError(f"{reader.name(label)} must hold labels to learn from, got none.")
    classes, is_positive = ColumnReader(path, frame[labelled].copy()).labels(label, positive)
    everywhere = np.zeros(len(frame), dtype=bool)
    everywhere[labelled] = is_positive
    return Documents(
        frame=frame.drop(columns=text),
        texts=texts,
        labelled=labelled,
        positive=everywhere,
        classes=classes,
        test=reader.test_rows(split) if split else np.zeros(len(frame), dtype=bool),
    )


def _folder(path: Path, text: str, label: str) -> pd.DataFrame:
    import pandas as pd

    files = sorted([*path.glob(TEXT_FILES), *path.glob(f"*/{TEXT_FILES}")])
    if not files:
        raise UsageError(
            f"{path} must hold text files ({TEXT_FILES}), those with a label in a folder of its"
            " name; got none."
        )
    return pd.DataFrame(
        {
            "document": [str(file.relative_to(path)) for file in files],
            text: [_text(file) for file in files],
            label: [None if file.parent == path else file.parent.name for file in files],
        }
    )


def _text(file: Path) -> str:
    try:
        content = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as err:
        raise UsageError(
            f"{file} must be UTF-8 text, got byte {err.object[err.start]:#04x} at {err.start}:"
            " convert it first."
        ) from err
    if not content.strip():
        raise UsageError(f"{file} must hold a document, got an empty file: leave it out.")
    return content
