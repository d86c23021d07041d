"""One fault in a copy of the project, and the tests that should notice."""

from __future__ import annotations

import math
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tools.mutations.faults import Fault

FOUND, SURVIVED, SLOW, UNCOVERED = "found", "survived", "too slow", "not covered"
# A fault may make a loop endless: so many times as long as the tests take, and so many seconds, of
# the processor's time. What waits for ever uses none: so many times as long by the clock.
PATIENCE, GRACE, BY_THE_CLOCK = 4.0, 60.0, 20.0
# Tests that run first and alone: most faults are found by them, and few files are collected.
NEAREST = 20


@dataclass(frozen=True)
class Verdict:
    """The outcome of a fault: its end, the test that found it, and the number that could have."""

    fault: Fault
    ended: str
    by: str
    tests: int
    seconds: float


def copy_project(root: Path, folder: Path) -> Path:
    """Return a copy of the project's own files, without what is ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=root, check=True, capture_output=True, text=True,
    )  # fmt: skip
    for name in filter(None, listed.stdout.split("\0")):
        if (root / name).exists():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, folder / name)
    # Compiled once: a file with a fault in it is newer, and is read itself.
    collect = ["-m", "pytest", "--collect-only", "-qq", "-p", "no:cacheprovider"]
    environment = os.environ | {"PYTHONPATH": str(folder)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([sys.executable, *collect], cwd=folder, env=environment, check=False,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    return folder


def try_fault(fault: Fault, project: Path, tests: list[str], expected: float) -> Verdict:
    """Put a fault into a copy of the project, run tests until one fails, and take it out."""
    started = time.monotonic()

    def verdict(ended: str, by: str = "") -> Verdict:
        return Verdict(fault, ended, by, len(tests), time.monotonic() - started)

    if not tests:
        return verdict(UNCOVERED)
    path = project / fault.path
    source = path.read_text(encoding="utf-8")
    path.write_text(fault.applied(source), encoding="utf-8")
    try:
        for some in filter(None, (tests[:NEAREST], tests[NEAREST:])):
            ended, by = _run(project, some, PATIENCE * expected + GRACE)
            if ended != SURVIVED:
                break
        return verdict(ended, by)
    finally:
        path.write_text(source, encoding="utf-8")


def _run(project: Path, tests: list[str], limit: float) -> tuple[str, str]:
    """Run the tests in a fork of this process, which has imported what takes long to import."""
    fork = multiprocessing.get_context("fork")
    receive, send = fork.Pipe(duplex=False)
    process = fork.Process(target=_child, args=(project, tests, limit, send))
    process.start()
    send.close()
    process.join(BY_THE_CLOCK * limit)
    if process.is_alive():
        process.kill()
        process.join()
        return SLOW, ""
    if process.exitcode == -signal.SIGXCPU:
        return SLOW, ""
    failed = receive.recv() if receive.poll() else "the process died"
    return (FOUND, failed) if failed else (SURVIVED, "")


def _child(project: Path, tests: list[str], limit: float, send: Any) -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (math.ceil(limit), resource.RLIM_INFINITY))
    os.chdir(project)
    sys.path[0] = str(project)
    os.environ |= {"PYTHONPATH": str(project), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    for name in [name for name in sys.modules if name.split(".")[0] in ("bayescal", "tests")]:
        del sys.modules[name]
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
    chosen = _Chosen(tests)
    # The package's own examples last, as in a run of all tests: collecting them imports modules,
    # some of which are called like a function that tests import.
    files = sorted({test.partition("::")[0] for test in tests}, reverse=True)
    code = pytest.main([*files, "-x", "-q", "-p", "no:cacheprovider", "-m", ""], plugins=[chosen])
    # A module that cannot even be imported is a fault found.
    send.send("" if code == pytest.ExitCode.OK else chosen.failed or f"pytest ended with {code}")
    send.close()
    os._exit(0)


class _Chosen:
    """A plugin that leaves only chosen tests, in their order, and knows the one that failed."""

    def __init__(self, tests: list[str]) -> None:
        self.place = {test: k for k, test in enumerate(tests)}
        self.failed = ""

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        kept = [item for item in items if item.nodeid in self.place]
        items[:] = sorted(kept, key=lambda item: self.place[item.nodeid])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed and not self.failed:
            self.failed = report.nodeid
