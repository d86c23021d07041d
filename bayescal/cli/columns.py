"""Columns of a file as checked arrays: scores, labels, topics, weights, splits, texts."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.cli import files
from bayescal.cli.numbers import Formats, NumberFormat, as_numbers
from bayescal.cli.terminal import Screen, UsageError, counted, usage_errors
from bayescal.support import validation, weighting
from bayescal.support.files import file_row
from bayescal.support.labels import (
    PAIRS,
    encode_labels,
    match_labels,
    one_spelling,
    plain,
    position_by_words,
)
from bayescal.support.validation import first_of

if TYPE_CHECKING:
    import pandas as pd

Mask = NDArray[np.bool_]
Rows = NDArray[np.intp]

# Plain names of columns that identify documents, if every row has another value.
KEY = "(ids?|name|no|nr|number|key)"
IDENTIFIERS = re.compile(
    f"(document|doc|bates|begbates|begdoc|patient){KEY}?|(control|record|file){KEY}|id|mrn"
)
# Plain names of columns whose rows depend on each other if they share a name.
CLUSTER_NAMES = re.compile(
    "(thread|conversation|e?mail|session|prompt|patient|participant|person|speaker|author|user"
    f"|family|household|source|group|cluster){KEY}?|subjectid|{IDENTIFIERS.pattern}"
)
FIT_SPLITS, TEST_SPLIT = ("calibration", "train"), "test"
DEFAULT_SPLIT_COLUMN = "split"


class ColumnReader:
    """Columns of a file, of some of its rows or counts; errors name the file, column and row."""

    def __init__(
        self,
        path: Path,
        frame: pd.DataFrame | None = None,
        screen: Screen | None = None,
        formats: Formats | None = None,
        counts: validation.Floats | None = None,
    ) -> None:
        self.path = path
        self.screen = Screen(quiet=True) if screen is None else screen
        self.frame = files.read_frame(path) if frame is None else frame
        # By column; blocks of one file share them.
        self.formats = defaultdict(NumberFormat) if formats is None else formats
        self.counts = counts  # (n,): how many rows each stands for; None for one each

    def name(self, column: str) -> str:
        """Return a column's name for messages."""
        return f"column {column!r} of {self.path}"

    def row(self, position: int) -> str:
        """Return the name of a row for messages."""
        if self.counts is not None:
            return f"each of {counted(int(self.counts[position]), 'row')}"
        return file_row(int(self.frame.index[position]))

    def number(self, rows: Mask) -> int:
        """Return the number of rows of the file in a mask."""
        return int(rows.sum() if self.counts is None else self.counts[rows].sum())

    def scores(self, column: str, option: str | None = "--score-column") -> validation.Floats:
        """Return a column of finite numbers, and store them in the frame."""
        cells = self._cells(column, option)
        values, advice = self._numbers(column, cells)
        self._refuse(column, ~np.isfinite(values), "a finite number", advice)
        with usage_errors():
            values = validation.as_scores(values, self.name(column))
        self.frame[column] = values
        return values

    def set_aside(self, column: str, option: str = "--score-column") -> pd.DataFrame:
        """Remove the rows whose score is no finite number; return them, with row and reason."""
        cells = self._cells(column, option)
        bad = ~np.isfinite(self._numbers(column, cells)[0])
        rows = [self.row(k) for k in np.flatnonzero(bad).tolist()]
        reason = [f"{column} is {shown(cell)}, no finite number" for cell in cells[bad]]
        rejected = self.frame[bad].assign(file=str(self.path), row=rows, reason=reason)
        self.frame = self.frame[~bad]
        return rejected

    def class_scores(self, classes: Sequence[str]) -> validation.Floats:
        """Return the columns named by classes: numbers, or -inf for excluded classes."""
        missing = [name for name in classes if name not in self.frame.columns]
        if missing:
            known = ", ".join(repr(str(name)) for name in self.frame.columns)
            raise UsageError(
                f"{self.path} must have a column of scores for each class, it lacks"
                f" {validation.first_of(missing)}; its columns are {known}."
            )
        columns = []
        for name in classes:
            values, advice = as_numbers(self.frame[name].tolist())
            strange = np.isnan(values) | np.isposinf(values)
            self._refuse(name, strange, "a number, or -inf for an excluded class,", advice)
            columns.append(values)
        scores = np.stack(columns, axis=1)
        self.refuse_rows(np.isneginf(scores.max(axis=1)), "leave some class that is not excluded")
        return scores

    def covariate(self, column: str, *, text: bool | None = None) -> NDArray[Any]:
        """Return a column as finite numbers or text; by default numbers if any cell is one."""
        cells = self._named(column, "--covariate-columns", "a number or text").astype(str)
        values, advice = self.formats[column].read(cells.tolist())
        strange = ~np.isfinite(values)
        if text is None:
            text = bool(strange.all()) and not advice
        if text:
            return cells
        self._refuse(column, strange, "a finite number, as in other rows,", advice)
        return np.asarray(values)

    def weights(self, column: str, labelled: Mask, *, sampled: bool) -> validation.Floats:
        """Return counts or inclusion probabilities; 0 or 1 for rows without a label."""
        option = "--inclusion-column" if sampled else "--weight-column"
        cells = self._cells(column, option)
        reader = ColumnReader(self.path, cells.where(labelled, float(sampled)).to_frame())
        weights: validation.Floats = reader.scores(column, option)
        check: Callable[..., Any] = weighting.as_inclusion if sampled else weighting.as_weights
        with usage_errors():
            check(weights, weights.size, self.name(column))
        self.frame[column] = np.where(labelled, weights, as_numbers(cells.tolist())[0])
        return weights

    def labels(self, column: str, positive: str | None) -> tuple[tuple[Any, Any], Mask, Mask]:
        """Return the negative and the positive label, and masks of positive and labelled rows."""
        values, labelled = self.class_labels(column)
        with usage_errors():
            classes, is_second = encode_labels(values, name=self.name(column))
        if labelled.all():
            self.frame[column] = values
        else:
            cells = np.full(labelled.size, None, dtype=object)
            cells[labelled] = values.tolist()
            self.frame[column] = cells
        first, second = classes.tolist()
        if positive is not None and positive not in (str(first), str(second)):
            raise UsageError(
                f"--positive must be one of the labels in {self.name(column)},"
                f" {str(first)!r} and {str(second)!r}, got {positive!r}."
            )
        is_positive = np.zeros(labelled.size, dtype=bool)
        is_positive[labelled] = ~is_second if positive == str(first) else is_second
        pair = (second, first) if positive == str(first) else (first, second)
        self.state_positive(column, pair, is_positive, labelled)
        if positive is None and position_by_words(pair) is None:
            self.screen.note(
                f"{pair[0]!s} and {pair[1]!s} do not say which of them is positive:"
                f" {str(pair[1])!r} is taken, the last in sorted order. Name the positive label"
                " with --positive.",
                warning=True,
            )
        return pair, is_positive, labelled

    def state_positive(
        self, column: str, classes: tuple[Any, Any], is_positive: Mask, labelled: Mask
    ) -> None:
        """State the positive and the negative label."""
        self.screen.note(
            f"Positive label: {str(classes[1])!r}, {self.number(is_positive):,d} of"
            f" {counted(self.number(labelled), 'labelled row')} in {self.name(column)}; negative:"
            f" {str(classes[0])!r}."
        )

    def known_labels(
        self, column: str, classes: NDArray[Any], positive: str | None = None
    ) -> tuple[Mask, Mask, str]:
        """Return masks of positive and labelled rows, and a note on labels spelled differently."""
        name = self.name(column)
        if positive is not None:
            silent = ColumnReader(self.path, self.frame)
            own, is_positive, labelled = silent.labels(column, positive)
            spelling = _renamed(dict(zip(own, (False, True), strict=True)), classes, name)
            return is_positive, labelled, spelling
        values, labelled = self.class_labels(column)
        is_positive, meanings = np.zeros(labelled.size, dtype=bool), None
        try:
            is_positive[labelled] = match_labels(values, classes, name)
        except ValueError as err:
            meanings = spelled(values, classes)
            if meanings is None:
                fitted = " and ".join(repr(str(label)) for label in classes.tolist())
                here = ", ".join(repr(str(label)) for label in np.unique(values).tolist()[:4])
                raise UsageError(
                    f"{name} must hold the labels that were fitted, {fitted}, got {here}: rename"
                    f" them, or name the one that stands for {str(classes[1])!r} with --positive."
                ) from err
            is_positive[labelled] = [meanings[value] for value in values.tolist()]
        return is_positive, labelled, _renamed(meanings or {}, classes, name)

    def class_positions(
        self, column: str, classes: Sequence[Any], kind: str = "classes"
    ) -> tuple[Rows, Mask]:
        """Return positions of labels among classes or grades, and the mask of labelled rows."""
        if kind == "classes" and column in classes:
            raise UsageError(f"--label-column must be no class, got {column!r}.")
        values, labelled = self.class_labels(column)
        positions = np.zeros(labelled.size, dtype=np.intp)
        strange = np.zeros(labelled.size, dtype=bool)
        members = values.astype(str) == np.array(list(map(str, classes)))[:, None]
        positions[labelled], strange[labelled] = members.argmax(axis=0), ~members.any(axis=0)
        self._refuse(column, strange, f"{kind}, {validation.first_of(list(classes))},")
        return positions, labelled

    def label_cells(self, column: str) -> tuple[NDArray[Any], Mask]:
        """Return the cells of labelled rows, and their mask."""
        labelled = self.present(column, "--label-column")
        return self._named(column, "--label-column", "a label", labelled), labelled

    def class_labels(self, column: str) -> tuple[NDArray[Any], Mask]:
        """Return the labels of labelled rows, of any number of classes, and their mask."""
        cells, labelled = self.label_cells(column)
        if not labelled.any():
            raise UsageError(f"{self.name(column)} must hold labels to learn from, got none.")
        values = _labels(cells)
        if values.dtype.kind == "f" and not labelled.all() and (values % 1.0 == 0.0).all():
            values = values.astype(np.int64)  # floats only because of missing labels
        return values, labelled

    def names(
        self, column: str, kind: str = "topic", known: Iterable[str] = ()
    ) -> NDArray[np.str_]:
        """Return a column of names, by default of topics, each in one spelling."""
        return self.names_of([column], kind, f"--{kind}-column", known)[0]

    def names_of(
        self, columns: Sequence[str], kind: str, option: str, known: Iterable[str] = ()
    ) -> list[NDArray[np.str_]]:
        """Return columns of the same names, each in one spelling; state how many there are."""
        given = [self._named(column, option, f"a {kind}").astype(np.str_) for column in columns]
        spelling = one_spelling(np.concatenate(given).tolist(), known)
        names = list(dict.fromkeys(spelling.values()))
        note = f"{counted(len(names), kind)} in {' and '.join(columns)}: {first_of(sorted(names))}."
        if others := [f"{old} as {new}" for old, new in spelling.items() if old != new]:
            note += f" Capitals and blanks apart, these are one {kind}: {first_of(others)}."
        self.screen.note(note)
        return [np.array([spelling[name] for name in each.tolist()]) for each in given]

    def clusters(
        self,
        column: str | None,
        labelled: Mask,
        test: Mask | None = None,
        used: Iterable[Any] = (),
        *,
        topics: NDArray[np.str_] | None = None,
    ) -> NDArray[np.str_] | None:
        """Return the clusters of labelled rows, (n,); without a column, warn of a likely one."""
        if column is None:
            self._warn_of_clusters(used, topics)
            return None
        names = np.full(labelled.size, "", dtype=object)
        names[labelled] = self._named(column, "--cluster-column", "a cluster", labelled)
        clusters = names.astype(np.str_)
        if test is not None:
            shared = np.intersect1d(clusters[labelled & test], clusters[labelled & ~test])
            if shared.size:
                self.screen.note(
                    f"{counted(shared.size, 'cluster')} of {self.name(column)} have rows to fit and"
                    f" to test on ({first_of(shared.tolist())}): tests are too favourable; give all"
                    " rows of a cluster the same split.",
                    warning=True,
                )
        return clusters

    def _warn_of_clusters(self, used: Iterable[Any], topics: NDArray[np.str_] | None) -> None:
        """Warn of an unused column that names threads, documents or the like twice in a topic."""
        others = self.frame.columns.difference([*filter(None, used)], sort=False)
        for name in filter(lambda name: CLUSTER_NAMES.fullmatch(plain_name(name)), others):
            cells = self.frame[name].astype(str).where(self.frame[name].notna())
            cells = (cells if topics is None else cells + topics.astype(object)).dropna()
            if 2 < cells.nunique() < cells.size:
                self.screen.note(
                    f"{self.name(str(name))} has {cells.nunique():,} values in {cells.size:,} rows:"
                    " leave out rows that repeat others; if rows of one value depend on each other,"
                    " name it with --cluster-column. Otherwise bands and tests are too sure.",
                    warning=True,
                )
                return

    def rows_read(self, labelled: Mask) -> str:
        """Return in words how many rows were read, and how many were left out."""
        used, left_out = self.number(labelled), self.number(~labelled)
        return f"{used + left_out:,} read, {used:,} used, {left_out:,} left out without a label"

    def texts(self, column: str) -> list[str]:
        """Return a column of documents."""
        return [str(cell) for cell in self._complete(column, "--text-column", "a document")]

    def present(self, column: str, option: str | None) -> Mask:
        """Return the mask of rows with a value in a column."""
        cells = self._cells(column, option)
        blank = [isinstance(cell, str) and not cell.strip() for cell in cells]
        filled: Mask = cells.notna().to_numpy(dtype=bool) & ~np.array(blank, dtype=bool)
        return filled

    def test_rows(self, column: str | None, labelled: Mask | None = None) -> Mask:
        """Return the mask of test rows by a column of splits; False without a column."""
        if column is None:
            return np.zeros(len(self.frame), dtype=bool)
        rows = np.ones(len(self.frame), dtype=bool) if labelled is None else labelled
        test = np.zeros(rows.size, dtype=bool)
        values = self._complete(column, "--split-column", "a split", rows).astype(np.str_)
        strange = np.zeros(rows.size, dtype=bool)
        strange[rows] = ~np.isin(values, (*FIT_SPLITS, TEST_SPLIT))
        self._refuse(column, strange, "'calibration' or 'train' (to fit) or 'test'")
        test[rows] = values == TEST_SPLIT
        return test

    def held_out_rows(self, column: str | None, labelled: Mask) -> Mask:
        """Return the mask of labelled test rows; of all labelled rows if none is a test row."""
        test = self.test_rows(split_column(self.frame, column), labelled)
        return test if test.any() else labelled

    def _numbers(self, column: str, cells: pd.Series[Any]) -> tuple[validation.Floats, str]:
        """Return cells of a column as numbers, nan for others, with advice."""
        if cells.dtype.kind in "iuf":
            return cells.to_numpy(dtype=np.float64), ""
        return self.formats[column].read(cells.tolist())

    def _cells(self, column: str, option: str | None) -> pd.Series[Any]:
        if column not in self.frame.columns:
            known = [str(name) for name in self.frame.columns]
            if any(name.startswith(files.UNNAMED) for name in known[1:]):
                raise UsageError(
                    f"{self.path} has no column {column!r}, and its first row names no columns but"
                    f" {known[0]!r}: delete the rows above the names of columns, and name each"
                    " column."
                )
            advice = f"name the one you mean with {option}" if option else "rename the one you mean"
            raise UsageError(
                f"{self.path} has no column {column!r}; its columns are"
                f" {', '.join(map(repr, known))}: {advice}."
                f"{advice_on_missing(self.frame, column, option)}"
            )
        return self.frame[column]

    def _complete(
        self, column: str, option: str, what: str, rows: Mask | None = None
    ) -> NDArray[Any]:
        """Return the cells of a column, or of some rows; raise UsageError for empty ones."""
        cells = self._cells(column, option)
        values = cells.to_numpy(dtype=object)
        several = np.array([_is_several(cell) for cell in values], dtype=bool)
        bad = several | cells.isna().to_numpy(dtype=bool)
        self._refuse(column, bad if rows is None else bad & rows, what)
        return values if rows is None else values[rows]

    def _named(self, column: str, option: str, what: str, rows: Mask | None = None) -> NDArray[Any]:
        """Return the cells of a column, which results will name; raise UsageError for odd text."""
        values = self._complete(column, option, what, rows)
        with usage_errors():
            validation.check_names(values, self.name(column))
        return values

    def refuse_rows(self, bad: Mask, expected: str) -> None:
        """Raise UsageError if rows are bad, with the first of them."""
        if bad.any():
            row = self.row(int(np.flatnonzero(bad)[0]))
            raise UsageError(
                f"{self.path} must {expected}, {row} does not ({int(bad.sum())} of {bad.size}"
                " rows): correct or leave them out."
            )

    def _refuse(self, column: str, bad: Mask, expected: str, advice: str = "") -> None:
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            came = shown(self.frame[column].iloc[row])
            raise UsageError(
                f"{self.name(column)} must hold {expected} in every row, got {came} in"
                f" {self.row(row)} ({int(bad.sum())} of {bad.size} rows): correct or leave them"
                f" out.{advice}"
            )


def names_in(text: str) -> list[str]:
    """Return names that are separated by commas."""
    return [name.strip() for name in text.split(",")]


def two_names(text: str, option: str, what: str) -> list[str]:
    """Return the two names of an option, separated by a comma."""
    names = names_in(text)
    if len(names) != 2 or not all(names) or names[0] == names[1]:
        raise UsageError(f"{option} must name two columns, {what}, such as a,b; got {text!r}.")
    return names


def split_column(frame: pd.DataFrame, named: str | None) -> str | None:
    """Return the column of splits: the named one, or "split" if it exists."""
    if named is None and DEFAULT_SPLIT_COLUMN in frame.columns:
        return DEFAULT_SPLIT_COLUMN
    return named


def _renamed(meanings: Mapping[Any, bool], classes: NDArray[Any], name: str) -> str:
    """Return a sentence on labels read as differently spelled classes."""
    read = {str(label): str(classes[int(positive)]) for label, positive in meanings.items()}
    pairs = [f"{label!r} as {fitted!r}" for label, fitted in read.items() if label != fitted]
    return f"The labels in {name} are read as those fitted: {', '.join(pairs)}." if pairs else ""


def _is_several(cell: Any) -> bool:
    """Return True if a cell of a Parquet file holds a list, a struct or a map."""
    return not isinstance(cell, str | bytes) and (hasattr(cell, "__len__") or np.ndim(cell) > 0)


def shown(cell: Any) -> str:
    """Return a cell for a message."""
    import pandas as pd

    if _is_several(cell):
        value = cell.tolist() if isinstance(cell, np.ndarray) else cell
        return f"a {type(value).__name__} {validation.shown(value)}"
    if pd.isna(cell):
        return "an empty cell"
    return validation.shown(getattr(cell, "item", lambda: cell)())


def _labels(cells: NDArray[Any]) -> NDArray[Any]:
    """Return labels of one type: whole numbers if every text is one."""
    # Dates and decimals of a Parquet file become their text in a CSV file.
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


def spelled(values: NDArray[Any], classes: NDArray[Any]) -> dict[Any, bool] | None:
    """Return True for labels that mean the positive class, False for the other; None if unclear."""
    negative, positive = map(plain, classes.tolist())
    meanings = {negative: False, positive: True}
    for no, yes, of_no in ((negative, positive, False), (positive, negative, True)):
        for negatives, positives in PAIRS:
            if no in negatives and yes in positives:
                meanings |= dict.fromkeys(negatives, of_no) | dict.fromkeys(positives, not of_no)
    labels = np.unique(values).tolist()
    if negative == positive or any(plain(label) not in meanings for label in labels):
        return None
    return {label: meanings[plain(label)] for label in labels}


# Suggestions for missing columns.

MOST_COLUMNS = 12  # checked for probabilities
ROUNDING = 1e-3  # of printed probabilities


def advice_on_missing(frame: pd.DataFrame, wanted: str, option: str | None) -> str:
    """Suggest in words a column for a misspelt name."""
    names = [str(name) for name in frame.columns]
    near = [name for name in names if plain_name(name) == plain_name(wanted)]
    if near:
        return f" Did you mean {option + ' ' if option else ''}{near[0]!r}?"
    if len(names) == 1:
        return " It has one column: separate cells by commas, semicolons, tabs or bars."
    if any(np.isfinite(as_numbers([name])[0][0]) for name in names):
        return " Its first line looks like data, where names of columns are expected: add them."
    pair = _probabilities(frame) if option == "--score-column" else None
    if pair is None:
        return ""
    return (
        f" Its columns {pair[0]!r} and {pair[1]!r} sum to 1, like the two that predict_proba"
        f" returns: pass [:, 1], the positive class's, which is likely {option} {pair[1]!r}."
    )


def _probabilities(frame: pd.DataFrame) -> tuple[str, str] | None:
    """Return two columns of probabilities that sum to 1 in every row; None without any."""
    inside = {}
    for name in frame.columns[:MOST_COLUMNS]:
        values, _ = as_numbers(frame[name].tolist())
        # Labels of 0 and 1 are no probabilities, and nan fails too.
        if ((values >= 0.0) & (values <= 1.0)).all() and not np.isin(values, (0.0, 1.0)).all():
            inside[str(name)] = values
    for first, second in combinations(inside, 2):
        if np.abs(inside[first] + inside[second] - 1.0).max() < ROUNDING:
            return first, second
    return None


def plain_name(name: Any) -> str:
    """Return the name of a column without capitals, blanks and punctuation."""
    return re.sub(r"[\W_]", "", str(name).casefold())
