"""Results of the version before: a patch changes no number unnoticed (docs/stability.md).

Other tests show that numbers are right; these show which results a change moves, and whether their
numbers or only their words. If it should move them, run

    python -m tests.test_recorded

which writes the table anew, read its difference, and name changed numbers in CHANGELOG.md.
"""

import csv
import importlib
import inspect
import pkgutil
import re
import zlib
from collections import defaultdict
from functools import cache
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


def leaves(result):
    """Yield the numbers and texts of a result as `plain` returns it, and its names."""
    if isinstance(result, dict):
        for name, each in result.items():
            yield name
            yield from leaves(each)
    elif isinstance(result, list):
        for each in result:
            yield from leaves(each)
    elif result is not None:
        yield result


def digest(result):
    """Return how many numbers a result holds, a sum of their logarithms, a checksum of its words.

    Numbers in texts count too. Each number has another weight in the sum.
    """
    found = list(leaves(plain(result)))
    texts = "\n".join(each for each in found if isinstance(each, str))
    values = [float(each) for each in found if not isinstance(each, str)]
    values += [float(each.replace(",", "")) for each in NUMBER.findall(texts)]
    finite = np.where(np.isfinite(values), values, np.pi)
    weights = 2.0 + np.cos(np.sqrt(2.0) * np.arange(finite.size))
    words = f"{zlib.crc32(NUMBER.sub('', texts).encode()):08x}"
    return finite.size, float(weights @ np.arcsinh(1e4 * finite)), words


def same(found, before):
    (count, total, words), (old_count, old_total, old_words) = found, before
    return (count, words) == (old_count, old_words) and abs(total - old_total) < TOLERANCE


def digests(function):
    return {name: digest(result) for name, result in function().items()}


@cache
def read_table():
    """Return the stored digests by case and result."""
    table = defaultdict(dict)
    with TABLE.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            now = int(row["numbers"]), float(row["sum"]), row["words"]
            table[row["case"]][row["result"]] = now
    return table


CASES = cases()


@pytest.mark.parametrize("case", CASES)
def test_numbers_are_those_of_the_version_before(case):
    found, before = digests(CASES[case]), read_table()[case]
    assert found.keys() == before.keys()
    moved = [name for name in found if not same(found[name], before[name])]
    assert not moved, {name: (found[name], before[name]) for name in moved}


def test_the_table_has_no_case_that_went():
    assert read_table().keys() == CASES.keys()


def test_a_change_of_one_number_or_word_is_seen():
    values = np.linspace(1e-4, 1.0, 39)
    before = digest({"p": values, "in words": "1,234 of 0.5 %"})
    assert before[0] == 41
    for k in (0, 20, 38):
        moved = np.where(np.arange(39) == k, 1.0001 * values, values)
        assert not same(digest({"p": moved, "in words": "1,234 of 0.5 %"}), before)
        rounded = np.where(np.arange(39) == k, (1.0 + 1e-9) * values, values)
        assert same(digest({"p": rounded, "in words": "1,234 of 0.5 %"}), before)
    assert not same(digest({"p": values, "in words": "1,235 of 0.5 %"}), before)
    assert not same(digest({"p": values, "in words": "1,234 or 0.5 %"}), before)
    assert not same(digest({"p": values[::-1], "in words": "1,234 of 0.5 %"}), before)


def main():
    """Write the table anew."""
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["case", "result", "numbers", "sum", "words"])
        for case, function in CASES.items():
            for name, (count, total, words) in digests(function).items():
                writer.writerow([case, name, count, f"{total:.6f}", words])


if __name__ == "__main__":
    main()
