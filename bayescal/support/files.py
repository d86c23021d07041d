"""Files that are written whole or not at all, text made safe to show, and runs that are resumed."""

import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

# Control characters, which move the cursor, change colours or set a terminal's title, are shown as
# pictures. Tabs and ends of lines are not such.
CONTROLS = {code: chr(0x2400 + code) for code in range(32) if chr(code) not in "\n\r\t"}
CONTROLS |= dict.fromkeys(range(0x7F, 0xA0), "\N{REPLACEMENT CHARACTER}")
CONTROL = re.compile(f"[{re.escape(''.join(map(chr, CONTROLS)))}]")


def printable(text: str) -> str:
    """Return text without control characters, for terminals and for files that people open."""
    return text.translate(CONTROLS) if CONTROL.search(text) else text


ROW, FIRST_ROW = "row", 2  # as spreadsheets count: the first row below the header


def file_row(position: int) -> str:
    """Return the name of a table's row as spreadsheets number it."""
    return f"row {position + FIRST_ROW} of the file (its first row is row 1)"


class PrintableStream(io.TextIOBase):
    """A stream that passes text on to another one without control characters."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def writable(self) -> bool:
        """Return that it is, as writers ask."""
        return True

    def write(self, text: str) -> int:
        """Pass text on."""
        return self.stream.write(printable(text))


def check_target(path: str | Path) -> Path:
    """Return the path of a file that is to be written, which may be there already."""
    target = Path(path)
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder: give the path of a file in it.")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"there is no folder {target.parent}; make it first.")
    return target


@contextmanager
def whole_file(path: str | Path) -> Iterator[Path]:
    """Give a path to write to, with the same ending, which becomes `path` if nothing goes wrong."""
    target = check_target(path)
    # Beside the target, so that the final step is one rename; the process number keeps two apart.
    temporary = target.with_name(f".{os.getpid()}.part.{target.name}")
    try:
        try:
            yield temporary
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)
    except PermissionError as err:
        raise PermissionError(
            f"{target} cannot be written, the system says {err.strerror!r}: choose a folder where"
            " files can be written."
        ) from err


# The last line of a saved file: the SHA-256 of the bytes before it. Readers of HDF5 ignore it.
SEAL = b"\nbayescal sha256 %s\n"
LENGTH_OF_SEAL = len(SEAL % bytes(64))


def sealed(content: bytes | memoryview) -> bytes:
    """Return the bytes of a file, followed by a line with their checksum."""
    return bytes(content) + _seal_of(content)


def read_sealed(path: Path, saved_by: str) -> bytes:
    """Return the bytes of a file of `sealed`; raise ValueError if a single one has changed."""
    whole = path.read_bytes()
    content, seal = whole[:-LENGTH_OF_SEAL], whole[-LENGTH_OF_SEAL:]
    start = SEAL.index(b"%")
    if seal[:start] != SEAL[:start]:
        raise ValueError(
            f"{path} must be a file that {saved_by} wrote, got one that does not end with its"
            " checksum: it is cut short, changed by another program, or of another kind."
        )
    if seal != _seal_of(content):
        raise ValueError(
            f"{path} is damaged: its contents do not match its checksum. Copy it again from where"
            " it was written, or fit again."
        )
    return content


def _seal_of(content: bytes | memoryview) -> bytes:
    return SEAL % hashlib.sha256(content).hexdigest().encode()


# Runs that were not finished.

FOLDER = ".unfinished"
RECORD = "run.json"
SHOWN = 40  # characters of a value in messages


def begin(folder: Path, record: Mapping[str, Any], *, resume: bool) -> None:
    """Make the folder of a run, or keep that of the same run."""
    known = read_record(folder)
    if known is None or (known != record and not resume):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        beside = folder / f"{RECORD}.part"
        beside.write_text(json.dumps(dict(record)), encoding="utf-8")
        beside.replace(folder / RECORD)
    elif known != record:
        raise ValueError(
            f"{folder} is of another run, which cannot be resumed with other scores or settings:"
            f" {'; '.join(_changes(known, record))}. Undo the change, or leave out resume to begin"
            " anew."
        )
    elif not resume:
        raise ValueError(
            f"{folder} holds what a run of the same scores and settings has done so far: resume it,"
            " or delete that folder to begin anew."
        )


def read_record(folder: Path) -> dict[str, Any] | None:
    """Return the record of a folder, or None without one."""
    try:
        record = json.loads((folder / RECORD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return record if isinstance(record, dict) else None


def digest(parts: Iterable[bytes]) -> str:
    """Return a number, as text, that tells data from other data."""
    whole = hashlib.sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "little"))
        whole.update(part)
    return whole.hexdigest()


def _changes(known: Mapping[str, Any], record: Mapping[str, Any]) -> list[str]:
    names = sorted(name for name in {*known, *record} if known.get(name) != record.get(name))
    return [f"{name} was {_text(known.get(name))}, is {_text(record.get(name))}" for name in names]


def _text(value: Any) -> str:
    text = str(value)
    return text if len(text) <= SHOWN else f"{text[:12]}..."
