"""Tables on disk: CSV files as text, Parquet files as they are typed."""

from __future__ import annotations

import re
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayescal.cli.csv_dialects import dialect_of
from bayescal.cli.errors import UsageError, blamed_on_use
from bayescal.cli.layout import counted

if TYPE_CHECKING:
    import pandas as pd


# What is read; tables are written as the two of WRITTEN.
TEXT_SUFFIXES, WRITTEN = (".csv", ".tsv", ".csv.gz", ".tsv.gz"), (".csv", ".parquet")
READ = (*TEXT_SUFFIXES, ".parquet")
EXPECTED = f"{', '.join(READ[:-1])} or {READ[-1]}"


def read_frame(path: Path, what: str = "scores") -> pd.DataFrame:
    """
    Read a CSV file as text, or a Parquet file as it is typed; see `READ`.

    Cells may be separated by commas, semicolons or tabs, and encoded in UTF-8, UTF-16 or Latin-1.

    Raises
    ------
    UsageError
        If there is no such file, or it cannot be read, or holds no rows.
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
