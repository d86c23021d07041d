"""Results of every room on small data, to compare one version with the next.

Each module here but `plain` and `steady` is a room: its `CASES` name functions without arguments,
which return results of the package. `python -m tests.same_numbers` writes the references anew: do
so only where results are meant to change, and say in the commit which and why.
"""

import json
from importlib import import_module
from pathlib import Path
from unittest import mock

from bayescal.fitting.engines.multiclass import engine
from tests.same_numbers.plain import plain
from tests.same_numbers.steady import drawn_nearby, rounding_of_processor

FOLDER = Path(__file__).parents[1] / "reference" / "same_numbers"
PROCESSOR = FOLDER / "processor.txt"  # how the one rounds that wrote the references
ROOMS = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if path.stem not in ("__init__", "__main__", "plain", "steady")
)


def cases_of(room):
    """Return the cases of a room: by name, functions without arguments."""
    return import_module(f"tests.same_numbers.{room}").CASES


def results_of(room, name):
    """Return the results of a case, in plain form."""
    with mock.patch.object(engine, "sample", drawn_nearby):
        return plain(cases_of(room)[name]())


def references_of(room):
    """Return the stored results of a room, by case."""
    return json.loads((FOLDER / f"{room}.json").read_text(encoding="utf-8"))


def write_references(rooms):
    """Write the results of rooms, a line for each case."""
    rounding = rounding_of_processor() + "\n"
    if set(rooms) != set(ROOMS) and PROCESSOR.read_text() != rounding:
        raise SystemExit("This processor rounds differently: write the references of all rooms.")
    PROCESSOR.write_text(rounding)
    for room in rooms:
        lines = [
            f"{json.dumps(name)}: {json.dumps(results_of(room, name), ensure_ascii=False)}"
            for name in cases_of(room)
        ]
        text = "{\n" + ",\n".join(lines) + "\n}\n"
        (FOLDER / f"{room}.json").write_text(text, encoding="utf-8")
