"""Results of the version before: a patch changes no number unnoticed (docs/stability.md).

Other tests show that numbers are right; these show which results a change moves, and whether their
numbers or only their words. If it should move them, run

    python -m tests.test_recorded

which writes the table anew, read its difference, and name changed numbers in CHANGELOG.md.
"""

import copy
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
import pandas as pd
import pytest
from sklearn.base import clone

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


def is_array(value):
    return isinstance(value, np.ndarray | pd.Series) and value.ndim > 0


@cache
def run(case):
    """Return the digests of a case, and the arguments of the calls of public functions.

    Of each function these are the first call, and the first with an array for each argument.
    """
    calls, seen = [], set()

    def note(frame, event, _):
        if event == "call" and frame.f_code in PUBLIC:
            given = dict(frame.f_locals)
            own = {(frame.f_code, name, is_array(value)) for name, value in given.items()}
            new = [name for _, name, _ in own - seen]
            seen.update(own)
            if new:
                calls.append((PUBLIC[frame.f_code], given, sorted(new)))

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
    members = [getattr(each, "__func__", each) for each in members]  # of class methods
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
    **dict.fromkeys(("resamples", "draws", "chains", "rank"), 0),
    **dict.fromkeys(("kind", "method", "band", "strategy", "norm", "ties", "loss"), "?"),
    **dict.fromkeys(("inference", "scores_are", "point", "pooling", "rule", "new_topics"), "?"),
    **{name: [-1.0] for name in ("sample_weight", "inclusion", "clusters")},
    "threshold": np.nan,
}
# Methods for the package's own modules and for parts of one's own, called with checked arrays.
UNCHECKED = {
    "Change.log_odds",
    "Densities.check",
    "ConfiguredPart.check",
    "Configured.get_params",
    "CalibratedClassifier.problem_scores",
    "Density.get_params",
    "Family.from_sides",
    "FittedClassifier.labelled_scores",
    "GroupedScores.quantile",
    "Interval.of_draws",
    "NearestNeighbours.vote",
    "NearestNeighbours.weigh",
    "SamplePlan.columns",
    "place_knots",
}


def with_one(value):
    """Return a function that replaces one of an array's values."""

    def put(values):
        out = np.array(values, dtype=object)
        out.flat[min(3, out.size - 1)] = value
        return out

    return put


def hide(values):
    """Return values of which one is masked."""
    mask = np.zeros(np.shape(values), dtype=bool)
    mask.flat[min(3, mask.size - 1)] = True
    return np.ma.MaskedArray(values, mask)


# Arguments whose values are names, none of which may be missing.
NAMES = {"a", "classes", "clusters", "groups", "qid", "sites", "slices", "task", "topics"}
# What no function may take for an array, or for True or False.
NO_ARRAYS = [hide, with_one({}), lambda values: {1, 2}, lambda values: len, lambda values: "word"]
NO_FLAGS = ["yes", 1, None]


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
        f"{function.__qualname__}({name}={value!r})"
        for function, given, names in run(case)[1]
        if function.__qualname__ not in UNCHECKED
        for name, value, changed in wrong_arguments(function, given, names)
        if not refuses(function, given | changed, name)
    ]
    assert not accepted


def wrong_arguments(function, given, names):
    """Yield a name, a wrong value and the changed arguments, for all names that are checked."""
    parameters = inspect.signature(function).parameters
    for name in parameters.keys() & names:
        wrong = [WRONG[name]] if name in WRONG else []
        if isinstance(parameters[name].default, bool):
            wrong += NO_FLAGS
        if is_array(given[name]):
            wrong += [made(given[name]) for made in NO_ARRAYS]
            wrong += [with_one(None)(given[name])] * (name in NAMES)
        yield from ((name, value, {name: value}) for value in wrong)
    if "self" in names and function.__name__ == "fit" and hasattr(given["self"], "get_params"):
        for name, value in given["self"].get_params(deep=False).items():
            wrong = [WRONG[name]] if name in WRONG else []
            if isinstance(value, bool) and name != "positive":
                wrong = NO_FLAGS
            for value in wrong:
                other = clone(given["self"])
                setattr(other, name, value)
                yield name, value, {"self": other}


def refuses(function, given, name):
    """Return whether a function refuses a wrong value of an argument, and names the argument."""
    bound = inspect.BoundArguments(inspect.signature(function), given)
    try:
        answer = function(*bound.args, **bound.kwargs)
        if hasattr(answer, "compute"):  # of Dask
            answer.compute()
    except ValueError as error:
        return name in str(error) or (name == "X" and "Expected 2D array" in str(error))
    except TypeError as error:  # as scikit-learn's checks expect, and named all the same
        return re.search(f"{name} must hold|refused (X|{name})|argument '{name}'$", str(error))
    return False


# The answer has the index of the table, or the call changes the estimator.
OTHERWISE = {"probability_table", "TopicCalibrator.add_topics"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of names of columns, and of the first call
@pytest.mark.parametrize("case", [case for case in CASES if not case.startswith(GONE)])
def test_tables_whose_index_is_in_another_order_change_no_number(case):
    moved = []
    for function, given, _ in run(case)[1]:
        arrays = {name: value for name, value in given.items() if isinstance(value, np.ndarray)}
        tables = {
            name: as_table(value)
            for name, value in arrays.items()
            if value.ndim == 1 or name in ("X", "documents")
        }
        if not tables or function.__qualname__ in UNCHECKED | OTHERWISE:
            continue
        before, again, found = (answer(function, given | each) for each in ({}, {}, tables))
        if same(before, again) and not same(found, before):
            moved.append(f"{function.__qualname__}({', '.join(tables)})")
    assert not moved


def as_table(values):
    """Return a Series or a DataFrame with the index of a table whose rows were shuffled."""
    index = np.random.default_rng(0).permutation(len(values))
    columns = [f"column {k}" for k in range(values.shape[-1])]
    frame = pd.DataFrame(values, index, columns if values.ndim == 2 else None)
    return frame if values.ndim == 2 else frame[0]


def answer(function, given):
    """Return the digest of an answer, or of a fitted estimator's attributes."""
    given = copy.deepcopy(given)
    bound = inspect.BoundArguments(inspect.signature(function), given)
    result = function(*bound.args, **bound.kwargs)
    if result is given.get("self"):
        learned = {name: value for name, value in vars(result).items() if name.endswith("_")}
        result = learned | {"feature_names_in_": None}
    return digest(result)


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
    found = {case: run(case)[0] for case in CASES}
    with TABLE.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["case", "result", "numbers", "sum", "words"])
        for case, results in found.items():
            for name, (count, total, words) in results.items():
                writer.writerow([case, name, count, f"{total:.6f}", words])


if __name__ == "__main__":
    main()
