"""Files of scores: CSV or Parquet with named columns, read into checked arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.cli.columns import advice_on_missing
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.frames import read_frame
from bayescal.cli.label_spellings import spelled
from bayescal.cli.numerals import as_numbers
from bayescal.labels import encode_labels, match_labels
from bayescal.validation import Floats, as_scores, as_weights

if TYPE_CHECKING:
    import pandas as pd

FIT_SPLITS, TEST_SPLIT = ("calibration", "train"), "test"
DEFAULT_SPLIT_COLUMN = "split"


@dataclass(frozen=True)
class ScoreTable:
    """
    A file of labelled scores, checked.

    Attributes
    ----------
    frame : pandas.DataFrame
        All rows and columns; score, label and weight as what they mean, the rest of a CSV file
        as the text it is.
    score : array of shape (n,)
        Raw scores, finite.
    positive : array of shape (n,) of bool
        Whether the label is the positive one.
    classes : tuple
        The negative and the positive label.
    test : array of shape (n,) of bool
        Rows to test on; the others are fitted.
    topic : array of shape (n,) of str, or None
        Topic of each row.
    weight : array of shape (n,), or None
        Weights in the fit.
    """

    frame: pd.DataFrame
    score: Floats
    positive: NDArray[np.bool_]
    classes: tuple[Any, Any]
    test: NDArray[np.bool_]
    topic: NDArray[np.str_] | None = None
    weight: Floats | None = None

    def labels(self, rows: NDArray[np.intp]) -> NDArray[Any]:
        """Return the labels of some rows, as the file has them."""
        return np.array(self.classes)[self.positive[rows].astype(np.intp)]

    def labelled(self, rows: NDArray[np.intp]) -> tuple[NDArray[Any], ...]:
        """Return the scores and labels of some rows, and their topics if there are any."""
        topics = () if self.topic is None else (self.topic[rows],)
        return (self.score[rows], self.labels(rows), *topics)


class ColumnReader:
    """
    Reads columns of one file; its errors name the file, the column and the row.

    Parameters
    ----------
    path : Path
        What they call the file.
    frame : pandas.DataFrame, optional
        Its rows, or some of them; by default the file, .csv or .parquet, is read.
    """

    def __init__(self, path: Path, frame: pd.DataFrame | None = None) -> None:
        self.path = path
        self.frame = read_frame(path) if frame is None else frame

    def name(self, column: str) -> str:
        """Return how messages call a column."""
        return f"column {column!r} of {self.path}"

    def scores(self, column: str, option: str = "--score-column") -> Floats:
        """Return a column of finite numbers, and keep it as numbers in the frame."""
        cells = self._cells(column, option)
        values, advice = as_numbers(cells.tolist())
        self._refuse(column, ~np.isfinite(values), "a finite number", advice)
        with blamed_on_use():
            values = as_scores(values, self.name(column))
        self.frame[column] = values
        return values

    def weights(self, column: str) -> Floats | None:
        """Return a column of weights."""
        values = self.scores(column, "--weight-column")
        with blamed_on_use():
            return as_weights(values, values.size, self.name(column))

    def labels(
        self, column: str, positive: str | None
    ) -> tuple[tuple[Any, Any], NDArray[np.bool_]]:
        """Return the negative and the positive label, and which rows are positive."""
        values = _labels(self._complete(column, "--label-column", "a label"))
        with blamed_on_use():
            classes, is_second = encode_labels(values, name=self.name(column))
        self.frame[column] = values
        first, second = classes.tolist()
        if positive is not None and positive not in (str(first), str(second)):
            raise UsageError(
                f"--positive must be one of the labels in {self.name(column)},"
                f" {str(first)!r} and {str(second)!r}, got {positive!r}."
            )
        if positive == str(first):
            return (second, first), ~is_second
        return (first, second), is_second

    def known_labels(
        self, column: str, classes: NDArray[Any], positive: str | None = None
    ) -> tuple[NDArray[np.bool_], str]:
        """
        Return which rows have the positive one of two known classes; one may be missing.

        Parameters
        ----------
        column : str
            Of the labels.
        classes : array of shape (2,)
            The negative and the positive class that were fitted.
        positive : str, optional
            The label here that stands for the positive class, whatever it was called there.

        Returns
        -------
        tuple of array of bool, shape (n,), and str
            And how labels are read that are spelled otherwise, in words; empty if none is.
        """
        name = self.name(column)
        if positive is not None:
            own, is_positive = self.labels(column, positive)
            return is_positive, _renamed(dict(zip(own, (False, True), strict=True)), classes, name)
        values = _labels(self._complete(column, "--label-column", "a label"))
        try:
            return match_labels(values, classes, name), ""
        except ValueError:
            meanings = spelled(values, classes)
        if meanings is None:
            fitted = " and ".join(repr(str(label)) for label in classes.tolist())
            here = ", ".join(repr(str(label)) for label in np.unique(values).tolist()[:4])
            raise UsageError(
                f"{name} must hold the labels that were fitted, {fitted}, got {here}: rename them,"
                f" or name the one that stands for {str(classes[1])!r} with --positive."
            )
        is_positive = np.array([meanings[value] for value in values.tolist()], dtype=bool)
        return is_positive, _renamed(meanings, classes, name)

    def topics(self, column: str) -> NDArray[np.str_]:
        """Return a column of names."""
        return self._complete(column, "--topic-column", "a topic").astype(np.str_)

    def texts(self, column: str) -> list[str]:
        """Return a column of documents."""
        return [str(cell) for cell in self._complete(column, "--text-column", "a document")]

    def present(self, column: str, option: str) -> NDArray[np.bool_]:
        """Return which rows have something in a column."""
        filled: NDArray[np.bool_] = self._cells(column, option).notna().to_numpy(dtype=bool)
        return filled

    def test_rows(self, column: str) -> NDArray[np.bool_]:
        """Return which rows a column of splits sets apart for testing."""
        values = self._complete(column, "--split-column", "a split").astype(np.str_)
        expected = "'calibration' or 'train' (to fit) or 'test'"
        self._refuse(column, ~np.isin(values, (*FIT_SPLITS, TEST_SPLIT)), expected)
        test: NDArray[np.bool_] = values == TEST_SPLIT
        return test

    def held_out_rows(self, column: str | None) -> NDArray[np.bool_]:
        """Return the test rows of a column of splits, found if not named; all if there is none."""
        split = split_column(self.frame, column)
        test = np.zeros(len(self.frame), dtype=bool) if split is None else self.test_rows(split)
        return test if test.any() else ~test

    def _cells(self, column: str, option: str) -> pd.Series[Any]:
        if column not in self.frame.columns:
            known = ", ".join(repr(str(name)) for name in self.frame.columns)
            raise UsageError(
                f"{self.path} has no column {column!r}; its columns are {known}:"
                f" name the one you mean with {option}."
                f"{advice_on_missing(self.frame, column, option)}"
            )
        return self.frame[column]

    def _complete(self, column: str, option: str, what: str) -> NDArray[Any]:
        cells = self._cells(column, option)
        values = cells.to_numpy(dtype=object)
        several = np.array([_is_several(cell) for cell in values])
        self._refuse(column, several | cells.isna().to_numpy(dtype=bool), what)
        return values

    def _refuse(self, column: str, bad: NDArray[np.bool_], expected: str, advice: str = "") -> None:
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            came = _shown(self.frame[column].iloc[row])
            raise UsageError(
                f"{self.name(column)} must hold {expected} in every row, got {came} in data row"
                f" {row + 1} ({int(bad.sum())} of {bad.size} rows): correct or leave them out."
                f"{advice}"
            )


def read_scores(
    path: Path,
    positive: str | None = None,
    *,
    score: str = "score",
    label: str = "label",
    topic: str | None = None,
    weight: str | None = None,
    split: str | None = None,
) -> ScoreTable:
    """
    Read a file of labelled scores.

    Parameters
    ----------
    path : Path
        A file that ends in .csv or .parquet.
    positive : str, optional
        The positive label; by default the second in sorted order.
    score, label, topic, weight, split : str or None
        Columns: raw scores; classes; which classifier or topic a score belongs to; weights; which
        rows to fit to ("calibration" or "train") and which to test on ("test"). Without a column
        of splits one named "split" is taken, if there is one.

    Raises
    ------
    UsageError
        If the file cannot be read, lacks a column, or a cell holds what it may not.
    """
    reader = ColumnReader(path)
    split = split_column(reader.frame, split)
    values = reader.scores(score)
    classes, is_positive = reader.labels(label, positive)
    return ScoreTable(
        frame=reader.frame,
        score=values,
        positive=is_positive,
        classes=classes,
        test=reader.test_rows(split) if split else np.zeros(values.size, dtype=bool),
        topic=reader.topics(topic) if topic else None,
        weight=reader.weights(weight) if weight else None,
    )


def split_column(frame: pd.DataFrame, named: str | None) -> str | None:
    """Return the column of splits: as named, or one called split if there is one."""
    if named is None and DEFAULT_SPLIT_COLUMN in frame.columns:
        return DEFAULT_SPLIT_COLUMN
    return named


def _renamed(meanings: Mapping[Any, bool], classes: NDArray[Any], name: str) -> str:
    """Return in words as which class each label is read."""
    read = {str(label): str(classes[int(which)]) for label, which in meanings.items()}
    said = [f"{label!r} as {fitted!r}" for label, fitted in read.items() if label != fitted]
    return f"The labels in {name} are read as those fitted: {', '.join(said)}." if said else ""


def _is_several(cell: Any) -> bool:
    """Return whether a cell of a Parquet file holds a list, a struct or a map."""
    return not isinstance(cell, str | bytes) and (hasattr(cell, "__len__") or np.ndim(cell) > 0)


def _shown(cell: Any) -> str:
    import pandas as pd

    if _is_several(cell):
        value = cell.tolist() if isinstance(cell, np.ndarray) else cell
        text = repr(value)
        return f"a {type(value).__name__} {text if len(text) <= 40 else f'{text[:37]}...'}"
    return "an empty cell" if pd.isna(cell) else repr(cell)


def _labels(cells: NDArray[Any]) -> NDArray[Any]:
    """Return labels with a type of their own: whole numbers where every text is one."""
    # Dates and decimals of a Parquet file are the texts that a CSV file would have.
    plain = (str, bool, int, float)
    values = np.array([cell if isinstance(cell, plain) else str(cell) for cell in cells.tolist()])
    if values.dtype.kind != "U":
        return values
    try:
        numbers = {text: int(text) for text in np.unique(values).tolist()}
    except ValueError:
        return values
    if any(str(number) != text for text, number in numbers.items()):
        return values
    return np.array([numbers[text] for text in values.tolist()])
