"""Files of tables: CSV, spreadsheets and Parquet with named columns, read and written."""

from __future__ import annotations

import contextlib
import csv
import gzip
import io
import itertools
import re
import sys
import tempfile
import warnings
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from bayescal.cli.numbers import Formats, NumberFormat
from bayescal.cli.terminal import UsageError, counted, usage_errors
from bayescal.support.files import PrintableStream
from bayescal.support.validation import check_names

if TYPE_CHECKING:
    import pandas as pd

# Encoding and delimiter of CSV files.

# The first of the most frequent ones in the header is the delimiter.
SEPARATORS = (",", ";", "\t", "|")
MARKS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
    b"\xef\xbb\xbf": "utf-8-sig",
}
LONGEST_LINE = 10_000_000  # bytes: nothing that a person labels is longer
BLOCK = 1 << 20
ROWS = 1 << 19  # rows of a table in memory, where rows are answered by blocks
# First bytes of files that are no text, and what to do.
BINARY = {
    b"PK\x03\x04": "a spreadsheet or another zip archive, not text: name a spreadsheet .xlsx, or"
    " save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an old spreadsheet (.xls), not text: save the sheet as CSV",
    b"\x1f\x8b": "compressed, not text: let its name end in .csv.gz",
    b"PAR1": "a Parquet file, not text: let its name end in .parquet",
}


@dataclass(frozen=True)
class Dialect:
    """The encoding and the delimiter of a text file."""

    encoding: str  # of the byte order mark; otherwise UTF-8, or Latin-1 for invalid UTF-8
    separator: str  # the most frequent one in the header, or of a first line "sep="
    named: bool  # True with such a line, which spreadsheets write and hide
    blank: int  # number of blank lines above the header


def dialect_of(path: Path) -> Dialect:
    """Detect a file's encoding and delimiter from its first bytes and its header."""
    with _opened(path) as file:
        first = file.read(max(map(len, BINARY)))
        for mark, kind in BINARY.items():
            if first.startswith(mark):
                raise ValueError(f"it is {kind}.")
    with _opened(path) as file:
        encoding = _encoding(file)
    with _opened(path) as file:
        lines = io.TextIOWrapper(file, encoding, errors="replace")
        blank = 0
        while (line := lines.readline(BLOCK)) and not line.strip():
            blank += 1
    header = line.strip("\r\n")
    if header.lower().startswith("sep=") and len(header) == len("sep=") + 1:
        return Dialect(encoding, header[-1], named=True, blank=blank)
    return Dialect(encoding, max(SEPARATORS, key=header.count), named=False, blank=blank)


def _encoding(file: io.BufferedIOBase) -> str:
    block = file.read(BLOCK)
    if not block.strip():
        raise ValueError("it is empty: expected a header and rows.")
    encoding = next((name for mark, name in MARKS.items() if block.startswith(mark)), "utf-8")
    if encoding == "utf-8" and b"\0" in block[:2]:  # UTF-16 without its mark
        encoding = "utf-16-be" if block[:1] == b"\0" else "utf-16-le"
    pending, line = b"", 0
    while block:
        line = len(block) - 1 - block.rfind(b"\n") if b"\n" in block else line + len(block)
        if line > LONGEST_LINE:
            raise ValueError(
                f"one of its lines has more than {LONGEST_LINE:,} bytes: a table has lines of at"
                " most that; look for a missing line break or quotation mark."
            )
        if encoding == "utf-8":
            try:
                (pending + block).decode(encoding)
                pending = b""
            except UnicodeDecodeError as err:
                # A block may end inside a character.
                if err.reason != "unexpected end of data":
                    encoding = "latin-1"
                pending = (pending + block)[err.start :]
        block = file.read(BLOCK)
    return "latin-1" if pending else encoding


def _opened(path: Path) -> gzip.GzipFile | io.BufferedReader:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")


# Tables on disk: CSV files as text, Parquet files typed.

# Suffixes of input files and of output files.
TEXT_SUFFIXES, WRITTEN = (".csv", ".tsv", ".csv.gz", ".tsv.gz"), (".csv", ".parquet")
READ = (*TEXT_SUFFIXES, ".xlsx", ".parquet")
MOST_UNPACKED, PACKED = 100_000_000, 100  # bytes, and how far archives shrink spreadsheets
UNNAMED = "Unnamed: "  # pandas' name of a column without one, followed by its position
EXPECTED = f"{', '.join(READ[:-1])} or {READ[-1]}"


def read_frame(path: Path, what: str = "scores") -> pd.DataFrame:
    """Return a CSV file as text, or a typed Parquet file or spreadsheet, without blank rows."""
    return next(_blocks_of(path, None, what))


def read_blocks(
    paths: Sequence[Path], rows: int | None
) -> Iterator[tuple[Path, pd.DataFrame, Formats]]:
    """Yield the rows of files by blocks of at most so many, and the formats of each file."""
    columns: list[str] = []
    for path in paths:
        formats: Formats = defaultdict(NumberFormat)
        for frame in _blocks_of(path, rows, "scores"):
            columns = columns or list(frame.columns)
            if list(frame.columns) != columns:
                raise UsageError(
                    f"{path} must have the columns of {paths[0]}, {', '.join(columns)}, in this"
                    f" order, got {', '.join(map(str, frame.columns))}."
                )
            yield path, frame, formats


def _blocks_of(path: Path, rows: int | None, what: str) -> Iterator[pd.DataFrame]:
    _check_readable(path, what)
    readers: dict[str, Any] = {".parquet": _parquet, ".xlsx": _xlsx}
    # Damaged archives raise the last four.
    errors = (OSError, ValueError, ImportError, KeyError, BadZipFile, EOFError, zlib.error)
    blocks = readers.get(path.suffix.lower(), _csv)(path, rows)
    empty = True
    while True:
        with usage_errors(f"{path} cannot be read: ", errors):
            block: pd.DataFrame | None = next(blocks, None)
            if block is None:
                break
            block = block[~_blank_rows(block)]
            check_names(list(block.columns), "the names of its columns")
        if not block.empty:
            empty = False
            yield block
    if empty:
        raise UsageError(f"{path} must hold a header and at least one row of {what}, got no row.")


def files_of(path: Path) -> list[Path]:
    """Return the files that a path names: itself, those of a folder, or those of a pattern."""
    files = _named_files(path)
    for each in files or [path]:
        _check_readable(each, "scores")
    return files


def _named_files(path: Path) -> list[Path]:
    """Return the files that a path names, which may be no tables."""
    if path.is_dir():
        return sorted(each for each in path.iterdir() if each.name.lower().endswith(READ))
    return [path] if path.exists() else sorted(path.parent.glob(path.name))


def _check_readable(path: Path, what: str) -> None:
    """Raise UsageError unless a path is a file that can be read as a table."""
    if not path.name.lower().endswith(READ):
        calibrator = path.suffix == ".nc" or path.is_dir()
        advice = " Where a calibrator is named too, it comes before them." * calibrator
        raise UsageError(f"{what} must come in a {EXPECTED} file, got {path}.{advice}")
    if path.is_dir():
        raise UsageError(f"{path} is a folder: expected a {EXPECTED} file of {what}.")
    if not path.is_file():
        raise UsageError(f"there is no file {path}; expected a {EXPECTED} file of {what}.")


def count_rows(paths: Sequence[Path]) -> int | None:
    """Return the number of rows of Parquet files; None if a file does not state it."""
    if not all(path.suffix.lower() == ".parquet" and path.is_file() for path in paths):
        return None
    from pyarrow import parquet

    rows = 0
    for path in paths:
        with usage_errors(f"{path} cannot be read: ", (OSError, ValueError)):
            rows += int(parquet.read_metadata(path).num_rows)
    return rows


def _csv(path: Path, rows: int | None) -> Iterator[pd.DataFrame]:
    import pandas as pd

    dialect = dialect_of(path)
    # As text: as numbers a document 007 would become 7, and a topic "NA" missing.
    options: dict[str, Any] = {
        "dtype": str,
        "keep_default_na": False,
        "na_values": [""],
        "sep": dialect.separator,
        "encoding": dialect.encoding,
        "skiprows": dialect.blank + dialect.named,
        "skip_blank_lines": False,
    }
    _check_header(pd.read_csv(path, header=None, nrows=1, **options).iloc[0].tolist())
    with pd.read_csv(path, index_col=False, chunksize=rows or sys.maxsize, **options) as blocks:
        while True:
            with warnings.catch_warnings():
                # Rows longer than the header; index_col=False keeps pandas from shifting them.
                warnings.simplefilter("error", pd.errors.ParserWarning)
                try:
                    frame: pd.DataFrame | None = next(blocks, None)
                except (pd.errors.ParserWarning, pd.errors.ParserError) as err:
                    raise ValueError(_unparsed(err, dialect.separator)) from err
            if frame is None:
                return
            frame.index += dialect.blank
            yield _map_text(frame, "'", QUOTED, lambda cell: cell[1:])


def _blank_rows(frame: pd.DataFrame) -> NDArray[np.bool_]:
    """Return the mask of rows without any filled cell."""
    blank = np.ones(len(frame), dtype=bool)
    for _, column in frame.items():
        rows = np.flatnonzero(blank)
        if not rows.size:
            break
        # Few rows remain after the first column.
        cells = column.iloc[rows]
        blank[rows] = cells.isna().to_numpy(dtype=bool)
        if column.dtype.kind not in NUMERIC:
            # Arrow strips text columns much faster than a loop over cells.
            blank[rows] |= (cells.astype(str).str.strip() == "").to_numpy(dtype=bool)
    return blank


def _unparsed(err: Exception, separator: str) -> str:
    """Explain why rows cannot be read, with advice."""
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
        " semicolons between cells; no line may stand above the header."
    )


def _check_header(names: list[Any]) -> None:
    """Raise ValueError for repeated names, of which pandas would rename the second."""
    twice = [name for name in dict.fromkeys(names) if names.count(name) > 1]
    if twice and isinstance(twice[0], str):
        raise ValueError(f"its header names the column {twice[0]!r} twice: rename one of them.")


def _xlsx(path: Path, _rows: int | None) -> Iterator[pd.DataFrame]:
    import pandas as pd

    try:
        _check_unpacked(path)
        raw: Any = {"header": None, "dtype": object, "keep_default_na": False, "na_values": [""]}
        sheets: Any = pd.read_excel(path, sheet_name=None, engine="openpyxl", **raw)
    except ImportError as err:
        raise ImportError(
            "spreadsheets need openpyxl: pip install bayescal[excel], or save the sheet as CSV."
        ) from err
    except BadZipFile as err:
        raise ValueError("it is no .xlsx file, or damaged: save the sheet as CSV.") from err
    filled: dict[str, pd.DataFrame] = {
        k: each for k, each in sheets.items() if each.notna().any(axis=None)
    }
    if len(filled) > 1:
        raise ValueError(
            f"expected one sheet with rows, got {', '.join(map(repr, filled))}: save the one with"
            " the scores as CSV."
        )
    if not filled:
        return
    (cells,) = filled.values()
    cells = cells.dropna(axis=1, how="all").dropna(how="all")
    names = [name if pd.isna(name) else str(name) for name in cells.iloc[0]]
    _check_header(names)
    names = [f"{UNNAMED}{k}" if pd.isna(name) else name for k, name in enumerate(names)]
    table = cells.iloc[1:].set_axis(names, axis=1)
    yield table.set_axis(table.index - 1)


def _check_unpacked(path: Path) -> None:
    """Raise ValueError for an archive that unpacks to a size no spreadsheet of its size has."""
    with ZipFile(path) as archive:
        unpacked = sum(each.file_size for each in archive.infolist())
    if unpacked > max(MOST_UNPACKED, PACKED * path.stat().st_size):
        raise ValueError(
            f"it unpacks to {unpacked / 1e6:,.0f} MB, more than {PACKED} times its size: save the"
            " sheet as CSV if you trust it."
        )


def _parquet(path: Path, rows: int | None) -> Iterator[pd.DataFrame]:
    import pandas as pd
    import pyarrow as pa
    from pyarrow import parquet

    # Buffers read ahead would stay until the file ends, and grow to its size.
    with parquet.ParquetFile(path, pre_buffer=False) as file:
        blocks = [file.read()] if rows is None else file.iter_batches(rows)
        start = 0
        for block in blocks:
            table = pa.Table.from_batches([block]) if rows else block
            frame: pd.DataFrame = table.to_pandas()
            frame.index = pd.RangeIndex(start, start + len(frame))
            start += len(frame)
            # Writers that do not mark text leave bytes.
            texts = {
                str(name): column.str.decode("utf-8")
                for name, column in frame.items()
                if column.dtype == object and pd.api.types.infer_dtype(column) == "bytes"
            }
            yield frame.assign(**texts)


Write = Callable[["pd.DataFrame"], None]


@contextmanager
def block_writer(path: Path | IO[str]) -> Iterator[Write]:
    """Yield a function that appends blocks of a table to a Parquet file, or as CSV."""
    if not isinstance(path, Path) or path.suffix.lower() != ".parquet":
        opened: Any = nullcontext(path)  # a stream stays open
        if isinstance(path, Path):
            opened = path.open("w", encoding="utf-8", newline="")
        with opened as stream:
            heads = itertools.chain([True], itertools.repeat(False))
            yield lambda frame: _write_csv(frame, stream, header=next(heads))
        return
    import pyarrow as pa
    from pyarrow import parquet

    with contextlib.ExitStack() as opened:
        writers: list[Any] = []

        def write(frame: pd.DataFrame) -> None:
            schema = writers[0].schema if writers else None
            with usage_errors("a block's columns differ from those before: ", (ValueError,)):
                table = pa.Table.from_pandas(frame, schema, preserve_index=False)
            if not writers:
                writers.append(opened.enter_context(parquet.ParquetWriter(path, table.schema)))
            writers[0].write_table(table)

        yield write


def write_frame(frame: pd.DataFrame, path: Path | IO[str]) -> None:
    """Write a table in the format of the path's suffix, or as CSV to a stream."""
    with block_writer(path) as write:
        write(frame)


def _write_csv(frame: pd.DataFrame, stream: IO[str], *, header: bool) -> None:
    text = _map_text(frame, SIGNS, FORMULA, lambda cell: f"'{cell}")
    # Python's writer does not quote carriage returns, where readers end the row.
    returns = any(
        column.astype(str).str.contains("\r", regex=False, na=False).any()
        for _, column in text.items()
        if column.dtype.kind not in NUMERIC
    )
    safe: Any = PrintableStream(stream)
    quoting: Any = csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL
    text.to_csv(safe, index=False, header=header, quoting=quoting)


# Checks of paths before any work.


def check_folder(out: Path | None) -> None:
    """Raise UsageError, before any work, if a folder of results cannot be made."""
    if out is None:
        return
    for part in (out, *out.parents):
        if part.exists() and not part.is_dir():
            raise UsageError(f"--out must be a folder, but {part} is a file: choose another.")
    _check_writable(out)


def check_file(
    out: Path | None,
    suffixes: Sequence[str] = WRITTEN,
    read: Path | None = None,
    option: str = "--out",
) -> None:
    """Raise UsageError, before any work, if a file cannot be written."""
    if out is None:
        return
    if out.suffix.lower() not in suffixes:
        raise UsageError(f"{option} must end in {' or '.join(suffixes)}, got {out}.")
    if out.is_dir():
        raise UsageError(f"{option}: {out} is a folder, where a file is to be written.")
    if not out.parent.is_dir():
        raise UsageError(f"{option}: there is no folder {out.parent}; make it first.")
    if read is not None and out.exists() and any(map(out.samefile, _named_files(read))):
        raise UsageError(f"{option} must differ from the input file {out}: choose another name.")
    _check_writable(out.parent)


def _check_writable(folder: Path) -> None:
    """Make and remove a folder there, as permissions alone are not conclusive."""
    try:
        Path(tempfile.mkdtemp(prefix=".bayescal-", dir=existing_folder(folder))).rmdir()
    except OSError as err:
        raise UsageError(
            "--out must be where files can be written, but of"
            f" {existing_folder(folder)} the system says: {err.strerror or err}. Choose another."
        ) from err


def existing_folder(folder: Path) -> Path:
    """Return the folder, or its nearest parent that exists."""
    return next(part for part in (folder, *folder.absolute().parents) if part.is_dir())


NUMERIC = "biufcmM"  # kinds of columns without text

# Spreadsheets run such cells of CSV files as formulas unless they begin with an apostrophe, which
# reading removes. Numbers and single signs are no formulas; full-width signs count.
SIGNS = "=+-@\t\r\n\uff1d\uff0b\uff0d\uff20"
FORMULA = re.compile(rf"(?![+-]?[\d.,]+(?:[eE][+-]?\d+)?\s*%?$|[-+=@]$)[{re.escape(SIGNS)}]")
QUOTED = re.compile(rf"'{FORMULA.pattern}")


def _map_text(
    frame: pd.DataFrame, first: str, pattern: re.Pattern[str], change: Callable[[str], str]
) -> pd.DataFrame:
    """Change matching names of columns and cells of text; matches begin with one of `first`."""

    def changed(cell: Any) -> Any:
        return change(cell) if isinstance(cell, str) and pattern.match(cell) else cell

    columns: dict[str, Any] = {}
    for name, column in frame.items():
        if column.dtype.kind in NUMERIC:
            continue
        # A fast first check, since the pattern is slow and few cells match.
        candidates = column.astype(str).str.startswith(tuple(first), na=False).to_numpy(dtype=bool)
        if candidates.any():
            cells = column.to_numpy(dtype=object, copy=True)
            cells[candidates] = [changed(cell) for cell in cells[candidates]]
            columns[str(name)] = cells
    return frame.assign(**columns).rename(columns=changed)
