"""Results of every room on small data, to compare one version with the next.

Each module here is a room: its `CASES` name functions without arguments, which return what the
package answers. `python -m tests.same_numbers ROOM...` writes the references of rooms anew: do so
only where results are meant to change, and say in the commit which and why.
"""

import json
from importlib import import_module
from pathlib import Path

from tests.same_numbers.plain import plain

FOLDER = Path(__file__).parents[1] / "reference" / "same_numbers"
ROOMS = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if path.stem not in ("__init__", "__main__", "plain")
)


def cases_of(room):
    """Return the cases of a room: by name, functions without arguments."""
    return import_module(f"tests.same_numbers.{room}").CASES


def references_of(room):
    """Return what the cases of a room answered when their references were written."""
    return json.loads((FOLDER / f"{room}.json").read_text(encoding="utf-8"))


def write_references(room):
    """Write what the cases of a room answer, a line for each."""
    lines = [
        f"{json.dumps(name)}: {json.dumps(plain(case()), ensure_ascii=False)}"
        for name, case in cases_of(room).items()
    ]
    text = "{\n" + ",\n".join(lines) + "\n}\n"
    (FOLDER / f"{room}.json").write_text(text, encoding="utf-8")
