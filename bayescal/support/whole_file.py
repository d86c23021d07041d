"""Files that are written whole or not at all."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


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
