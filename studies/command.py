"""Options of a study, its command line, and the processes that share its work."""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from bayescal.support.parallel import in_parallel, workers

Result = TypeVar("Result")

DOCS = Path("docs/validation")
# A short version must not replace the figures of the documentation.
SCRATCH = Path("build/validation")
PROBLEMS = Path("build/problems")


@dataclass(frozen=True)
class Options:
    """Options of a study.

    Attributes
    ----------
    quick : bool
        Whether to run a short version, whose figures mean nothing.
    out : Path
        Folder for pages, tables and figures.
    jobs : int
        Processes.
    choose : bool
        Whether to compare within the calibration split of Reuters, to choose defaults.
    problems : Path
        Folder of the library of real scores.
    data : Path or None
        Folder of the public data, for studies that train classifiers.
    pages : bool
        Whether to write all pages from their tables and measure nothing.
    """

    quick: bool = False
    out: Path = DOCS
    jobs: int = 2
    choose: bool = False
    problems: Path = PROBLEMS
    data: Path | None = None
    pages: bool = False

    def size(self, full: int, quick: int) -> int:
        """Return the number of repetitions: full, or quick in the short version."""
        return quick if self.quick else full


def main(*names: str) -> None:
    """Run the named modules of this package with the options of the command line."""
    # Import by name: worker processes cannot find functions of a module that runs as __main__.
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
    if names == ("__main__",):
        parser.add_argument("--pages", action="store_true", help="measure nothing, write all pages")
    arguments = vars(parser.parse_args())
    arguments["out"] = arguments["out"] or (SCRATCH if arguments["quick"] else DOCS)
    options = Options(**arguments)
    options.out.mkdir(parents=True, exist_ok=True)
    for module in modules:
        module.run(options)


def spread_over(
    jobs: int, function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]
) -> list[Result]:
    """Return function(*arguments) of all arguments, in order, from that many processes."""
    with workers(jobs):
        return list(in_parallel(_call, [(function, each) for each in arguments]))


def _call(task: tuple[Callable[..., Result], tuple[Any, ...]]) -> Result:
    function, arguments = task
    return function(*arguments)
