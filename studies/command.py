"""How a study is run: its options, and the command line that names them."""

from __future__ import annotations

import argparse
import importlib
from dataclasses import dataclass
from pathlib import Path

DOCS = Path("docs/validation")
# A short version must not replace what the documentation shows.
SCRATCH = Path("build/validation")
PROBLEMS = Path("build/problems")


@dataclass(frozen=True)
class Options:
    """
    How to run a study.

    Attributes
    ----------
    quick : bool
        A short version: everything runs, no figure means anything.
    out : Path
        The folder for pages, tables and figures.
    jobs : int
        Processes.
    choose : bool
        Reuters scores: compare within the calibration split, to choose defaults.
    problems : Path
        The library of real scores, for the studies that measure on it.
    data : Path or None
        The folder of the public data, for the studies that train classifiers.
    """

    quick: bool = False
    out: Path = DOCS
    jobs: int = 2
    choose: bool = False
    problems: Path = PROBLEMS
    data: Path | None = None

    def size(self, full: int, quick: int) -> int:
        """Return how many repetitions to make."""
        return quick if self.quick else full


def main(*names: str) -> None:
    """Run studies, modules of this package with a function `run`, as the command line says."""
    # By name: processes could not find the functions of a module that runs as __main__.
    modules = [importlib.import_module(f"studies.{name}") for name in names]
    parser = argparse.ArgumentParser(description=str(modules[0].__doc__).partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a short version, to try it out")
    parser.add_argument("--out", type=Path, help=f"folder (default {DOCS}, quick {SCRATCH})")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default 2)")
    parser.add_argument("--choose", action="store_true", help="leave Reuters' test split alone")
    parser.add_argument(
        "--problems", type=Path, default=PROBLEMS, help=f"real scores (default {PROBLEMS})"
    )
    parser.add_argument("--data", type=Path, help="folder of the public data")
    given = parser.parse_args()
    out = given.out or (SCRATCH if given.quick else DOCS)
    options = Options(given.quick, out, given.jobs, given.choose, given.problems, given.data)
    options.out.mkdir(parents=True, exist_ok=True)
    for module in modules:
        module.run(options)
