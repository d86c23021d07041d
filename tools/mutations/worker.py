"""A process that tries faults, each in a fork of itself, so that imports cost their time once."""

from __future__ import annotations

import importlib
import tempfile
from pathlib import Path

from tools.mutations.faults import Fault
from tools.mutations.trial import Verdict, copy_project, try_fault

# Imported once and forked: seconds a fault.
HEAVY = ("numpy", "scipy.stats", "sklearn", "pandas", "xarray", "arviz_stats", "pymc")
PROJECT = Path()


def start(root: Path, folder: Path) -> None:
    """Import what is heavy, and make the copy of the project that faults are put into."""
    for name in HEAVY:
        importlib.import_module(name)
    global PROJECT  # what a worker process keeps from its start
    PROJECT = copy_project(root, Path(tempfile.mkdtemp(dir=folder)))


def work(fault: Fault, tests: list[str], expected: float) -> Verdict:
    """Return the outcome of a fault."""
    return try_fault(fault, PROJECT, tests, expected)
