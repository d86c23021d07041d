"""What kind of CSV file it is: its encoding, and what separates its cells."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

# Of equal numbers of each in the header the first is taken.
SEPARATORS = (",", ";", "\t")
MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
BLOCK = 1 << 20
ZIP = b"PK\x03\x04"  # what spreadsheets begin with


@dataclass(frozen=True)
class Dialect:
    """
    How a file of cells is written.

    Attributes
    ----------
    encoding : str
        By its byte order mark; else UTF-8, or Latin-1 where it is not UTF-8.
    separator : str
        A comma, semicolon or tab: what the header holds most of, unless a first line "sep=" says.
    told : bool
        Whether there is such a line, which spreadsheets write.
    """

    encoding: str
    separator: str
    told: bool


def dialect_of(path: Path) -> Dialect:
    """
    Return how a file is written, by its first bytes and its header.

    Raises
    ------
    ValueError
        If it is no text but a spreadsheet.
    """
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
