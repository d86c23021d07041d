"""The numbers of the version before: a patch changes none unnoticed (docs/stability.md).

Other tests show that numbers are right; these show which ones a change moves. If it should, run

    python -m tests.test_recorded

which writes the table anew, read its difference, and name what changed in CHANGELOG.md.
"""

import csv
import importlib
import inspect
import pkgutil
import re
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from tests import recorded
from tools.recording import plain

TABLE = Path(__file__).parent / "reference" / "recorded.csv"
NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?")
# Of a relative change of one number, near enough: larger than rounding errors on other processors.
TOLERANCE = 2e-5


def cases():
    """Return the functions of all files by folder and name."""
    found = {}
    for each in pkgutil.iter_modules(recorded.__path__):
        module = importlib.import_module(f"{recorded.__name__}.{each.name}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            if function.__module__ == module.__name__ and not name.startswith("_"):
                found[f"{each.name}.{name}"] = function
    return found


def numbers(result):
    """Yield the numbers of a result as `plain` returns it, those in texts too."""
    if isinstance(result, dict):
        for each in result.values():
            yield from numbers(each)
    elif isinstance(result, list):
        for each in result:
            yield from numbers(each)
    elif isinstance(result, str):
        yield from (float(found.replace(",", "")) for found in NUMBER.findall(result))
    elif result is not None:
        yield float(result)


def digest(result):
    """Return how many numbers a result holds, and a sum to which each adds its logarithm."""
    values = np.array(list(numbers(plain(result))), float)
    finite = np.where(np.isfinite(values), values, np.pi)
    weights = 2.0 + np.cos(np.sqrt(2.0) * np.arange(values.size))
    return values.size, float(weights @ np.arcsinh(1e4 * finite))


def digests(function):
    return {name: digest(result) for name, result in function().items()}


def read_table():
    table = defaultdict(dict)
    with TABLE.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            table[row["case"]][row["result"]] = (int(row["numbers"]), float(row["sum"]))
    return table


CASES, TABLE_READ = cases(), read_table() if TABLE.exists() else {}


@pytest.mark.parametrize("case", CASES)
def test_numbers_are_those_of_the_version_before(case):
    found = digests(CASES[case])
    assert found.keys() == TABLE_READ[case].keys()
    moved = [
        f"{name}: {found[name]}, was {before}"
        for name, before in TABLE_READ[case].items()
        if found[name][0] != before[0] or not abs(found[name][1] - before[1]) < TOLERANCE
    ]
    assert not moved


def test_the_table_has_no_case_that_went():
    assert TABLE_READ.keys() == CASES.keys()


def test_a_change_of_one_number_is_seen():
    before = digest({"p": np.linspace(1e-4, 1.0, 39), "words": "1,234 of 0.5 %"})
    assert before[0] == 41
    for k in (0, 20, 38):
        values = np.linspace(1e-4, 1.0, 39)
        values[k] *= 1.0001
        after = digest({"p": values, "words": "1,234 of 0.5 %"})
        assert abs(after[1] - before[1]) > TOLERANCE
    assert digest({"words": "1,235 of 0.5 %"})[1] != digest({"words": "1,234 of 0.5 %"})[1]
    assert digest([1.0, 2.0])[1] != digest([2.0, 1.0])[1]


def main():
    """Write the table anew."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["case", "result", "numbers", "sum"])
        for case, function in CASES.items():
            for name, (count, total) in digests(function).items():
                writer.writerow([case, name, count, f"{total:.6f}"])


if __name__ == "__main__":
    main()
