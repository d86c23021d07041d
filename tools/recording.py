"""Record what public calls return while the tests run, to compare two versions of the package.

Use it around a change that must not change results, once at each version:

    python -m pytest -p tools.recording --record=build/before.jsonl tests
    python -m pytest -p tools.recording --record=build/after.jsonl tests
    python -m tools.recording build/before.jsonl build/after.jsonl

The last command lists calls whose results differ (same test, same name, same number of the call)
and calls that vanished; `--tolerance` sets the largest relative difference. Only calls from
outside the package count, and what commands print. `tests` may be a few files; files that calls
write are not compared.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import importlib
import inspect
import json
import math
import pkgutil
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from typer.testing import CliRunner, Result

MOST_NUMBERS = 40  # of an array; longer ones are recorded as weighted sums
CANCELLED = 1e-6  # relative to an array's largest number, smaller ones are rounding errors
ROUNDED = 1e-14  # the absolute difference that rounding leaves of numbers near one
FOLDERS_OF_PYTEST = re.compile(r"[^\s\"']*/pytest-\d+(?=/)")


def plain(value: Any) -> Any:
    """Return a result as dictionaries, lists, texts and numbers; the type of other objects."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, xr.DataTree):
        value = {path: node.to_dataset() for path, node in value.subtree_with_keys}
    elif isinstance(value, pd.DataFrame):
        value = {"index": value.index} | {name: value[name] for name in value}
    elif isinstance(value, Result):
        value = {name: getattr(value, name) for name in ("exit_code", "stdout", "stderr")}
    elif hasattr(value, "_asdict"):
        value = value._asdict()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    elif isinstance(value, set | frozenset):
        value = sorted(map(str, value))
    if isinstance(value, Mapping):  # a Dataset too
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple) and not _are_numbers(value):
        return [plain(each) for each in value]
    if isinstance(value, list | tuple | np.generic) or hasattr(value, "__array__"):
        return _array(np.asarray(value))
    return f"<{type(value).__name__}>"


def _array(values: np.ndarray) -> Any:
    if values.dtype.kind not in "biuf":
        return [plain(each) if values.dtype == object else str(each) for each in values.flat]
    numbers = values.ravel().astype(float)
    if numbers.size <= MOST_NUMBERS:
        return numbers.tolist()
    finite = np.isfinite(numbers)
    steps = np.arange(numbers.size)
    weights = [2.0 + np.cos(steps * math.sqrt(prime)) for prime in (2.0, 3.0, 5.0)]
    return {
        "shape": list(values.shape),
        "not finite": np.flatnonzero(~finite).tolist()[:MOST_NUMBERS],
        "sums": [float(weight[finite] @ numbers[finite]) for weight in weights],
    }


def differences(after: Any, before: Any, tolerance: float, place: str = "") -> Iterator[str]:
    """Yield the places where two recorded results differ."""
    if isinstance(before, dict) and isinstance(after, dict) and after.keys() == before.keys():
        for name in before:
            yield from differences(after[name], before[name], tolerance, f"{place}.{name}")
    elif not (isinstance(before, list) and isinstance(after, list) and len(after) == len(before)):
        if not _close([after], [before], tolerance):
            yield f"{place}: {after!r}, was {before!r}"
    elif not _close(after, before, tolerance):
        if _are_numbers(before) and _are_numbers(after):
            yield f"{place}: {after!r}, was {before!r}"
        else:
            for k, pair in enumerate(zip(after, before, strict=True)):
                yield from differences(*pair, tolerance, f"{place}[{k}]")


def _are_numbers(values: Sequence[Any]) -> bool:
    return all(isinstance(value, int | float) for value in values)


def _close(after: list[Any], before: list[Any], tolerance: float) -> bool:
    if not (_are_numbers(after) and _are_numbers(before)):
        return after == before
    new, old = np.array(after, dtype=float), np.array(before, dtype=float)
    least = CANCELLED * np.abs(old[np.isfinite(old)]).max(initial=0.0)
    bound = tolerance * np.maximum(np.abs(old), least) + ROUNDED
    with np.errstate(invalid="ignore"):
        near = np.abs(new - old) <= bound
    return bool((near | (new == old) | (np.isnan(new) & np.isnan(old))).all())


def public_objects(package: ModuleType) -> Iterator[Any]:
    """Yield the functions and classes that a package and its packages export, also lazily."""
    found = pkgutil.walk_packages(package.__path__, f"{package.__name__}.")
    names = [name for _, name, is_package in found if is_package and "._" not in name]
    for module in (package, *map(importlib.import_module, names)):
        for name in sorted({*dir(module), *getattr(module, "__all__", ())}):
            each = None if name.startswith("_") else getattr(module, name)
            home = getattr(each, "__module__", None) or ""
            if (inspect.isfunction(each) or inspect.isclass(each)) and _is_in(home, package):
                yield each


def _is_in(module: str, package: ModuleType) -> bool:
    return module.partition(".")[0] == package.__name__


class Recorder:
    """Writes what outermost public calls return, a line of JSON for each."""

    def __init__(self, path: str | Path, package: ModuleType) -> None:
        self._path, self._package = Path(path), package
        self._inside = True
        self._test, self._calls, self._lines = "", Counter[str](), list[str]()

    def begin(self, test: str) -> None:
        """Record the calls of a test."""
        self._test, self._calls, self._inside = test, Counter(), False

    def end(self) -> None:
        """Write the calls of a test, and record none before the next begins."""
        self._inside = True
        # In one piece, since several processes of pytest may append to the file.
        with self._path.open("ab", buffering=0) as file:
            file.write("".join(self._lines).encode())
        self._lines.clear()

    def install(self) -> None:
        """Wrap the public functions of the package, and the public methods of its classes."""
        package, functions, bases = self._package, {}, {}
        for each in public_objects(package):
            if inspect.isfunction(each):
                functions[id(each)] = self._wrapped(each)
            else:
                bases |= {base: None for base in each.__mro__ if _is_in(base.__module__, package)}
        for base in bases:
            for name, member in list(vars(base).items()):
                if not name.startswith("_"):
                    self.wrap_member(base, name, member)
        # Other modules, of tests too, may have imported a function already, under any name.
        for module in list(sys.modules.values()):
            for name, each in list(getattr(module, "__dict__", {}).items()):
                if id(each) in functions:
                    setattr(module, name, functions[id(each)])

    def wrap_member(self, owner: type, name: str, member: Any) -> None:
        """Wrap a method of a class."""
        if inspect.isfunction(member):
            setattr(owner, name, self._wrapped(member, is_method=True))
        elif isinstance(member, classmethod):
            setattr(owner, name, classmethod(self._wrapped(member.__func__, is_method=True)))
        elif isinstance(member, staticmethod):
            setattr(owner, name, staticmethod(self._wrapped(member.__func__)))

    def _wrapped(self, function: Callable[..., Any], *, is_method: bool = False) -> Any:
        def recorded(*arguments: Any, **options: Any) -> Any:
            if self._inside or _is_in(
                sys._getframe(1).f_globals.get("__name__", ""), self._package
            ):
                return function(*arguments, **options)
            name = function.__qualname__
            if is_method:  # by the class of the object: a method may move to a base class
                owner = arguments[0] if isinstance(arguments[0], type) else type(arguments[0])
                name = f"{owner.__name__}.{function.__name__}"
            self._inside, result = True, None
            try:
                result = function(*arguments, **options)
            except Exception as error:
                result = f"{type(error).__name__}: {error}"
                raise
            finally:
                self._write(name, result)
                self._inside = False
            return result

        # Warnings name the first line outside the package: a wrapper must count as inside.
        scope = globals() | {"__name__": function.__module__}
        wrapper = FunctionType(recorded.__code__, scope, closure=recorded.__closure__)
        return functools.wraps(function)(wrapper)

    def _write(self, name: str, result: Any) -> None:
        self._calls[name] += 1
        try:
            shown = plain(result)
        except Exception as error:  # an unusual object must not make the test fail
            shown = f"<{type(result).__name__}, {type(error).__name__}>"
        line = json.dumps([self._test, name, self._calls[name], shown])
        self._lines.append(FOLDERS_OF_PYTEST.sub("", line) + "\n")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option --record."""
    parser.addoption("--record", help="file to write with what public calls return")


def pytest_configure(config: pytest.Config) -> None:
    """Wrap the package before tests are imported."""
    if path := config.getoption("--record"):
        import bayescal

        if not hasattr(config, "workerinput"):
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            Path(path).write_bytes(b"")
        recorder = Recorder(path, bayescal)
        recorder.install()
        recorder.wrap_member(CliRunner, "invoke", CliRunner.invoke)  # what the shell prints
        config.pluginmanager.register(_Tests(recorder))


class _Tests:
    """The hook that names the test that runs."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Record the calls of a test and of its fixtures."""
        self._recorder.begin(item.nodeid)
        try:
            return (yield)
        finally:
            self._recorder.end()


def compare(before: str | Path, after: str | Path, tolerance: float = 1e-6) -> list[str]:
    """Return a line for each call whose result differs or is missing after a change."""
    old, new = _read(before), _read(after)
    lines = []
    for (test, name, number), result in old.items():
        call = f"{test} {name} (call {number})"
        if (test, name, number) not in new:
            lines.append(f"{call}: vanished")
        elif found := next(differences(new[test, name, number], result, tolerance), None):
            lines.append(f"{call}: {found}")
    return [*lines, f"{len(old)} calls, {len(lines)} differ or vanished"]


def _read(path: str | Path) -> dict[tuple[str, str, int], Any]:
    with Path(path).open(encoding="utf-8") as lines:
        return {(test, name, k): result for test, name, k, result in map(json.loads, lines)}


def main() -> None:
    """Print the differences between two records; leave with 1 if there are any."""
    parser = argparse.ArgumentParser(description="Compare two records of public calls.")
    parser.add_argument("before")
    parser.add_argument("after")
    parser.add_argument("--tolerance", type=float, default=1e-6)
    lines = compare(**vars(parser.parse_args()))
    print("\n".join(lines))
    sys.exit(len(lines) > 1)


if __name__ == "__main__":
    main()
