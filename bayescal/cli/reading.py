"""Files of scores: CSV or Parquet with named columns, read into checked arrays."""

from __future__ import annotations

import gzip
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from bayescal.cli.command import UsageError, blamed_on_use
from bayescal.cli.layout import counted
from bayescal.support.validation import Floats, as_scores, as_weights, encode_labels, match_labels

if TYPE_CHECKING:
    import pandas as pd

# What kind of CSV file it is: its encoding, and what separates its cells.

# Of equal numbers of each in the header the first is taken.
SEPARATORS = (",", ";", "\t")
MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
BLOCK = 1 << 20
ZIP = b"PK\x03\x04"  # what spreadsheets begin with


@dataclass(frozen=True)
class Dialect:
    """The encoding and the delimiter of a file of cells."""

    # By its byte order mark; else UTF-8, or Latin-1 where it is not UTF-8
    encoding: str
    # A comma, semicolon or tab: what the header holds most of, unless a first line "sep=" says
    separator: str
    # Whether there is such a line, which spreadsheets write
    told: bool


def dialect_of(path: Path) -> Dialect:
    """Detect a file's encoding and delimiter from its first bytes and its header."""
    with _opened(path) as file:
        if file.read(len(ZIP)) == ZIP:
            raise ValueError(
                "it is a spreadsheet or another zip archive, not text: save the sheet as CSV."
            )
    with _opened(path) as file:
        encoding = _encoding(file)
    with _opened(path) as file:
        head = file.readline(BLOCK)
        # UTF-16 ends lines in two bytes, of which readline takes one.
        head += file.read(1) if encoding == "utf-16" else b""
    header = head.decode(encoding, errors="replace").strip("\r\n")
    if header.lower().startswith("sep=") and len(header) == len("sep=") + 1:
        return Dialect(encoding, header[-1], told=True)
    return Dialect(encoding, max(SEPARATORS, key=header.count), told=False)


def _encoding(file: IO[bytes]) -> str:
    block = file.read(BLOCK)
    for mark, encoding in MARKS.items():
        if block.startswith(mark):
            return encoding
    pending = b""
    while block:
        try:
            (pending + block).decode("utf-8")
            pending = b""
        except UnicodeDecodeError as err:
            # A character may be cut at the end of a block.
            if err.reason != "unexpected end of data":
                return "latin-1"
            pending = (pending + block)[err.start :]
        block = file.read(BLOCK)
    return "latin-1" if pending else "utf-8"


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    file = gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")  # noqa: SIM115
    try:
        yield file  # type: ignore[misc]
    finally:
        file.close()


# Tables on disk: CSV files as text, Parquet files as they are typed.

# What is read; tables are written as the two of WRITTEN.
TEXT_SUFFIXES, WRITTEN = (".csv", ".tsv", ".csv.gz", ".tsv.gz"), (".csv", ".parquet")
READ = (*TEXT_SUFFIXES, ".parquet")
EXPECTED = f"{', '.join(READ[:-1])} or {READ[-1]}"


def read_frame(path: Path, what: str = "scores") -> pd.DataFrame:
    """
    Read a CSV file as text, or a Parquet file as it is typed; see `READ`.

    Cells may be separated by commas, semicolons or tabs, and encoded in UTF-8, UTF-16 or Latin-1.
    """
    if not path.name.lower().endswith(READ):
        calibrator = path.suffix == ".nc" or path.is_dir()
        advice = " Where a calibrator is named too, it comes before them." * calibrator
        raise UsageError(f"{what} must come in a {EXPECTED} file, got {path}.{advice}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder: expected a {EXPECTED} file of {what}.")
    if not path.is_file():
        raise UsageError(f"there is no file {path}; expected a {EXPECTED} file of {what}.")
    read = _parquet if path.name.lower().endswith(".parquet") else _csv
    with blamed_on_use(f"{path} cannot be read: ", (OSError, ValueError)):
        frame = read(path)
    if frame.empty:
        raise UsageError(f"{path} must hold a header and at least one row of {what}, got no row.")
    return frame


def _csv(path: Path) -> pd.DataFrame:
    import pandas as pd

    dialect = dialect_of(path)
    # As text: numbers parsed and printed again would turn a document 007 into 7, and a topic
    # "NA" into a missing one.
    options: dict[str, Any] = {
        "dtype": str,
        "keep_default_na": False,
        "na_values": [""],
        "sep": dialect.separator,
        "encoding": dialect.encoding,
        "skiprows": int(dialect.told),
    }
    _check_header(pd.read_csv(path, header=None, nrows=1, **options).iloc[0].tolist())
    with warnings.catch_warnings():
        # Rows longer than the header; index_col=False keeps pandas from shifting them.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame: pd.DataFrame = pd.read_csv(path, index_col=False, **options)
        except (pd.errors.ParserWarning, pd.errors.ParserError) as err:
            raise ValueError(_unparsed(err, dialect.separator)) from err
    return frame


def _unparsed(err: Exception, separator: str) -> str:
    """Return why rows cannot be read, in words, and what may help."""
    text = str(err)
    if quote := re.search(r"EOF inside string starting at row (\d+)", text):
        return f"a quotation mark that opens in line {int(quote[1]) + 1} is never closed."
    too_long = re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", text)
    where = "its rows have more cells than its header."
    if too_long:
        expected, line, came = too_long.groups()
        where = f"its header has {counted(int(expected), 'cell')}, line {line} has {came}."
    if separator != ",":
        return where
    return (
        f"{where} Put cells that hold a comma in quotes; numbers with a decimal comma need"
        " semicolons between cells."
    )


def _check_header(names: list[Any]) -> None:
    """Refuse a name of two columns, of which pandas would rename the second."""
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice and isinstance(twice[0], str):
        raise ValueError(f"its header names the column {twice[0]!r} twice: rename one of them.")


def _parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

    return pd.read_parquet(path).reset_index(drop=True)


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a table in the format that the path's suffix says."""
    if path.suffix.lower() == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)


# Labels of held-out rows, which may be spelled otherwise than those that were fitted.

# What means the same, once blanks around it and capitals are left out.
NO = frozenset({"0", "0.0", "-1", "-", "false", "f", "no", "n", "neg", "negative"})
YES = frozenset({"1", "1.0", "+1", "+", "true", "t", "yes", "y", "pos", "positive"})


def spelled(values: NDArray[Any], classes: NDArray[Any]) -> dict[Any, bool] | None:
    """
    Return of each label that occurs whether it means the positive class; None if one means neither.

    Labels mean a class if they are it but for blanks and capitals; or, where the two classes are
    a word for no and one for yes, if they are another such word.

    Examples
    --------
    >>> spelled(np.array(["Yes", "no", "no"]), np.array([0, 1]))
    {'Yes': True, 'no': False}
    >>> spelled(np.array(["Spam", "eggs"]), np.array(["ham", "spam"]))
    """
    negative, positive = (_plain_label(label) for label in classes.tolist())
    meanings = {negative: False, positive: True}
    for no, yes, of_no in ((negative, positive, False), (positive, negative, True)):
        if no in NO and yes in YES:
            meanings |= dict.fromkeys(NO, of_no) | dict.fromkeys(YES, not of_no)
    labels = np.unique(values).tolist()
    if negative == positive or any(_plain_label(label) not in meanings for label in labels):
        return None
    return {label: meanings[_plain_label(label)] for label in labels}


def _plain_label(label: Any) -> str:
    return str(label).strip().casefold()


# Cells of text as numbers, with a decimal point or a decimal comma.

# 1,234 may be one thousand and more, or one and a little.
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
ADVICE = (
    " Numbers with a decimal comma are read only in a column without decimal points, and where they"
    " cannot be thousands, as 1,234 can: write them with a decimal point."
)


def as_numbers(cells: Sequence[Any]) -> tuple[Floats, str]:
    """
    Return cells as numbers, nan where one is none, and what to do about decimal commas.

    Examples
    --------
    >>> as_numbers(["0,75", "-1"])
    (array([ 0.75, -1.  ]), '')
    >>> values, advice = as_numbers(["0,75", "0.5"])
    >>> values, "decimal comma" in advice
    (array([nan, 0.5]), True)
    """
    values = np.array([_number(cell) for cell in cells], dtype=np.float64)
    texts = [cell for cell in cells if isinstance(cell, str)]
    with_comma = [text for text in texts if "," in text]
    if not with_comma:
        return values, ""
    other = np.array([_number(_with_point(cell)) for cell in cells], dtype=np.float64)
    pointed = any("." in text for text in texts)
    in_thousands = all(THOUSANDS.fullmatch(text.strip()) for text in with_comma)
    if not pointed and not in_thousands and np.isfinite(other).all():
        return other, ""
    return values, ADVICE if any(np.isfinite(_number(_with_point(c))) for c in with_comma) else ""


def _with_point(cell: Any) -> Any:
    return cell.replace(",", ".") if isinstance(cell, str) else cell


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return np.nan


# Columns that are not there: what the user may have meant.

MOST_COLUMNS = 12  # that are looked at for probabilities
ROUNDING = 1e-3  # of probabilities that were printed


def advice_on_missing(frame: pd.DataFrame, wanted: str, option: str) -> str:
    """Suggest the column that a misspelt name may mean, in words."""
    names = [str(name) for name in frame.columns]
    near = [name for name in names if _plain(name) == _plain(wanted)]
    if near:
        return f" Did you mean {option} {near[0]!r}?"
    if len(names) == 1:
        return " It has one column: cells must be separated by commas, semicolons or tabs."
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
    """Return two columns of probabilities that sum to 1 in every row, if there are any."""
    inside = {}
    for name in frame.columns[:MOST_COLUMNS]:
        values, _ = as_numbers(frame[name].tolist())
        # Labels of 0 and 1 are no probabilities; nan fails too.
        if ((values >= 0.0) & (values <= 1.0)).all() and not np.isin(values, (0.0, 1.0)).all():
            inside[str(name)] = values
    for first, second in combinations(inside, 2):
        if np.abs(inside[first] + inside[second] - 1.0).max() < ROUNDING:
            return first, second
    return None


def _plain(name: str) -> str:
    return name.casefold().strip().replace("_", "").replace(" ", "")


FIT_SPLITS, TEST_SPLIT = ("calibration", "train"), "test"
DEFAULT_SPLIT_COLUMN = "split"


@dataclass(frozen=True)
class ScoreTable:
    """A file of labelled scores, checked."""

    # All rows and columns; score, label and weight as what they mean, the rest of a CSV file as the
    # text it is
    frame: pd.DataFrame
    # (n,): raw scores, finite
    score: Floats
    # (n,): whether the label is the positive one
    positive: NDArray[np.bool_]
    # The negative and the positive label
    classes: tuple[Any, Any]
    # (n,): rows to test on; the others are fitted
    test: NDArray[np.bool_]
    # (n,): topic of each row
    topic: NDArray[np.str_] | None = None
    # (n,): weights in the fit
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
        """Return a column's name for messages."""
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
        """Return the mask of positive rows for two known classes; either may be absent."""
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
        """Return the mask of rows with a value in a column."""
        filled: NDArray[np.bool_] = self._cells(column, option).notna().to_numpy(dtype=bool)
        return filled

    def test_rows(self, column: str) -> NDArray[np.bool_]:
        """Return the mask of rows that a column of splits marks as test rows."""
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
    """Read a file of labelled scores."""
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


# Labelled documents: a table with texts and labels, or a folder of text files.

TEXT_FILES = "*.txt"


@dataclass(frozen=True)
class Documents:
    """Documents, some of them labelled."""

    # All rows and columns but the texts
    frame: pd.DataFrame
    # One document a row
    texts: list[str]
    # (n,): which rows have a label, and the positive one
    labelled: NDArray[np.bool_]
    positive: NDArray[np.bool_]
    # The negative and the positive label
    classes: tuple[Any, Any]
    # (n,): rows to test on: neither classifier nor calibrator sees them
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
    """Read a table with a column of texts, or a folder."""
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
