"""Tables on disk: CSV files as text, Parquet files as they are typed."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bayescal.cli.errors import UsageError, blamed_on_use

if TYPE_CHECKING:
    import pandas as pd


SUFFIXES = (".csv", ".parquet")


def read_frame(path: Path, what: str = "scores") -> pd.DataFrame:
    """
    Read a CSV file as text, or a Parquet file as it is typed.

    Raises
    ------
    UsageError
        If there is no such file, or it cannot be read, or holds no rows.
    """
    readers: dict[str, Callable[[Path], pd.DataFrame]]
    readers = dict(zip(SUFFIXES, (_csv, _parquet), strict=True))
    if path.suffix.lower() not in SUFFIXES:
        raise UsageError(f"{what} must come in a .csv or .parquet file, got {path}.")
    if not path.is_file():
        raise UsageError(f"there is no file {path}; expected a .csv or .parquet file of {what}.")
    with blamed_on_use(f"{path} cannot be read: "):
        frame = readers[path.suffix.lower()](path)
    if frame.empty:
        raise UsageError(f"{path} must hold a header and at least one row of {what}, got no row.")
    return frame


def _csv(path: Path) -> pd.DataFrame:
    import pandas as pd

    # As text: numbers parsed and printed again would turn a document 007 into 7, and a topic
    # "NA" into a missing one.
    options: dict[str, Any] = {"dtype": str, "keep_default_na": False, "na_values": [""]}
    with warnings.catch_warnings():
        # Rows longer than the header; index_col=False keeps pandas from shifting them.
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame: pd.DataFrame = pd.read_csv(path, index_col=False, **options)
        except pd.errors.ParserWarning as err:
            raise ValueError("its rows have more cells than its header.") from err
    return frame


def _parquet(path: Path) -> pd.DataFrame:
    import pandas as pd

    return pd.read_parquet(path).reset_index(drop=True)


def write_frame(frame: pd.DataFrame, path: Path) -> None:
    """Write a table in the format that the path's suffix says."""
    if path.suffix.lower() == ".parquet":
        frame.to_parquet(path, index=False)
    else:
        frame.to_csv(path, index=False)
