"""Lines that each test runs, and its duration: one run of the tests under coverage."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import coverage

from tools.mutations.faults import Fault

LEAST_SECONDS = 0.02  # what any test takes


@dataclass(frozen=True)
class Covering:
    """What a run of the tests covered.

    Attributes
    ----------
    tests : dict
        By file and line, the tests that ran it, as pytest names them.
    seconds : dict
        By test, what it took.
    lines : dict
        By test, how many lines it ran.
    """

    tests: dict[str, dict[int, set[str]]]
    seconds: dict[str, float]
    lines: Counter[str]

    def of(self, fault: Fault) -> list[str]:
        """Return the tests that run a fault's statement, then others of their files.

        Quick tests that run little else come first. Other tests of their files follow because
        coverage counts a shared fixture for the first test alone. Statements that run at import,
        such as constants and defaults, belong to the tests that run anything else of the module.
        """
        lines = self.tests.get(fault.path, {})
        found: set[str] = set()
        for line in range(fault.first, fault.last + 1):
            found |= lines.get(line, set())
        if not found:
            found = set().union(*lines.values()) if lines else set()
        files = {_file_of(test) for test in found}
        others = {test for test in self.seconds if _file_of(test) in files} - found
        return self._nearest_first(found) + self._nearest_first(others)

    def _nearest_first(self, tests: set[str]) -> list[str]:
        def effort(test: str) -> float:
            return max(self.seconds.get(test, 0.0), LEAST_SECONDS) * self.lines[test]

        return sorted(tests, key=lambda test: (effort(test), test))


def _file_of(test: str) -> str:
    return test.partition("::")[0]


def measure(root: Path, marks: str, folder: Path) -> None:
    """Run the tests under coverage, with a context for every test."""
    folder.mkdir(parents=True, exist_ok=True)
    # Absolute: the tests run in the root of the project measured, which may be another.
    folder = folder.resolve()
    environment = os.environ | {"COVERAGE_FILE": str(folder / "coverage"), "PYTHONPATH": str(root)}
    command = [sys.executable, "-m", "pytest", "--quiet", "--numprocesses=2", "--dist=loadfile"]
    command += [f"-m={marks}"]
    command += [
        "--cov=bayescal",
        "--cov-context=test",
        "--cov-report=",
        "-o",
        "junit_family=xunit1",
    ]
    command += [f"--junitxml={folder / 'times.xml'}"]
    done = subprocess.run(command, cwd=root, env=environment, check=False)
    if done.returncode:
        raise SystemExit("mutations are counted against tests that pass; these do not.")


def read(root: Path, folder: Path) -> Covering:
    """Read what `measure` left."""
    data = coverage.CoverageData(str(folder / "coverage"))
    data.read()
    tests: dict[str, dict[int, set[str]]] = {}
    for file in data.measured_files():
        name = Path(file).relative_to(root.resolve()).as_posix()
        by_line: dict[int, set[str]] = defaultdict(set)
        for line, contexts in data.contexts_by_lineno(file).items():
            by_line[line] = {c.partition("|")[0] for c in contexts if c}
        tests[name] = dict(by_line)
    by_all_lines = (found for by_line in tests.values() for found in by_line.values())
    lines = Counter(itertools.chain.from_iterable(by_all_lines))
    return Covering(tests, _seconds(folder / "times.xml"), lines)


def _seconds(path: Path) -> dict[str, float]:
    seconds: dict[str, float] = {}
    for case in ET.parse(path).iter("testcase"):
        file, name = case.get("file") or "", case.get("name") or ""
        seconds[f"{file}::{name}"] = float(case.get("time") or 0.0)
    return seconds
