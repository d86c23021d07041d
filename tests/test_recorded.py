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
import sys
import zlib
from collections import defaultdict
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import bayescal
from tests import recorded
from tools.recording import plain, public_objects

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
    """Return the number of numbers in a result, a sum of their logarithms, a checksum of its words.

    Numbers in texts count too. Each number has another weight in the sum.
    """
    found = list(leaves(plain(result)))
    texts = "\n".join(each for each in found if isinstance(each, str))
    values = [float(each) for each in found if not isinstance(each, str)]
    values += [float(each.replace(",", "")) for each in NUMBER.findall(texts)]
    finite = np.where(np.isfinite(values), values, np.pi)
    weights = 2.0 + np.cos(np.sqrt(2.0) * np.arange(finite.size))
    # Signs, and the spaces of tables as wide as their numbers, vary with rounding errors.
    words = " ".join(re.findall(r"[^\W\d_]+", NUMBER.sub("", texts)))
    checksum = f"{zlib.crc32(words.encode()):08x}"
    return finite.size, float(weights @ np.arcsinh(1e4 * finite)), checksum


def same(found, before):
    (count, total, words), (old_count, old_total, old_words) = found, before
    return (count, words) == (old_count, old_words) and abs(total - old_total) < TOLERANCE


@cache
def run(case):
    """Return the digests of a case, and arguments of the first call of each public function."""
    calls = {}

    def note(frame, event, _):
        if event == "call" and frame.f_code in PUBLIC:
            calls.setdefault(frame.f_code, dict(frame.f_locals))

    sys.setprofile(note)
    try:
        results = CASES[case]()
    finally:
        sys.setprofile(None)
    return {name: digest(result) for name, result in results.items()}, calls


def public_functions():
    """Return the public functions and methods of the package by their code."""
    members = []
    for each in public_objects(bayescal):
        bases = inspect.getmro(each) if inspect.isclass(each) else ()
        items = [item for base in bases for item in vars(base).items()]
        members += [each, *(member for name, member in items if not name.startswith("_"))]
    functions = map(inspect.unwrap, filter(inspect.isfunction, members))
    return {each.__code__: each for each in functions if each.__module__.startswith("bayescal")}


@cache
def read_table():
    """Return the stored digests by case and result."""
    table = defaultdict(dict)
    with TABLE.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            now = int(row["numbers"]), float(row["sum"]), row["words"]
            table[row["case"]][row["result"]] = now
    return table


CASES, PUBLIC = cases(), public_functions()
# Values that no function may take, by parameter.
WRONG = {
    **dict.fromkeys(("level", "recall", "probability", "assurance", "power", "prior"), 1.5),
    **dict.fromkeys(("resamples", "draws", "rank"), 0),
    **dict.fromkeys(("kind", "method", "band", "strategy", "norm", "ties", "loss"), "?"),
    **{name: [-1.0] for name in ("sample_weight", "inclusion", "clusters")},
    "threshold": np.nan,
}


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="the table is of Python 3.11's pins")
@pytest.mark.parametrize("case", CASES)
def test_numbers_are_those_of_the_version_before(case):
    (found, _), before = run(case), read_table()[case]
    assert found.keys() == before.keys()
    moved = [name for name in found if not same(found[name], before[name])]
    assert not moved, {name: (found[name], before[name]) for name in moved}


def test_the_table_has_no_case_that_went():
    assert read_table().keys() == CASES.keys()


# Calls of commands, pages and files read files that are gone.
GONE = ("cli.", "report.", "fitting.files")


@pytest.mark.parametrize("case", [case for case in CASES if not case.startswith(GONE)])
def test_wrong_values_are_refused_by_name(case):
    accepted = [
        f"{PUBLIC[code].__qualname__}({name}={WRONG[name]!r})"
        for code, given in run(case)[1].items()
        for name in sorted(given.keys() & WRONG.keys())
        if not refuses(PUBLIC[code], given, name)
    ]
    assert not accepted


def refuses(function, given, name):
    """Return whether a function refuses a wrong value of an argument, and names the argument."""
    bound = inspect.BoundArguments(inspect.signature(function), given | {name: WRONG[name]})
    try:
        answer = function(*bound.args, **bound.kwargs)
        if hasattr(answer, "compute"):  # of Dask
            answer.compute()
    except ValueError as error:
        return name in str(error)
    return False


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
        for case in CASES:
            for name, (count, total, words) in run(case)[0].items():
                writer.writerow([case, name, count, f"{total:.6f}", words])


if __name__ == "__main__":
    main()
