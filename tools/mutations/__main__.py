"""Count the faults that the tests find: python -m tools.mutations --help."""

from __future__ import annotations

import argparse
import csv
import multiprocessing
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from tools.mutations import covering, worker
from tools.mutations.faults import Fault
from tools.mutations.sample import ROOMS, draw_faults, room_of
from tools.mutations.trial import FOUND, SLOW, Verdict

COLUMNS = ("room", "path", "function", "line", "before", "after", "ended", "by", "tests", "seconds")
MARKS = "not slow and not docs and not studies"


def main() -> None:
    """Measure which tests cover what, try the faults, write a table and print the shares."""
    options = _options()
    root, folder = options.root.resolve(), options.folder
    if not (folder / "times.xml").exists():
        covering.measure(root, options.marks, folder)
    covered = covering.read(root, folder)
    drawn = draw_faults(root, options.each, options.seed)
    faults = [f for f in drawn if options.room in ("", room_of(f.path))]
    verdicts = []
    with options.out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for verdict in _tried(faults, covered, options):
            writer.writerow(_row(verdict))
            file.flush()
            verdicts.append(verdict)
    _print_shares(verdicts)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tools.mutations", description=__doc__)
    add = parser.add_argument
    add("--each", type=int, default=24, help="faults in each room (default 24)")
    add("--seed", default="", help="any text: other faults than those of other seeds")
    add("--room", default="", choices=["", *ROOMS], help="one room only")
    add("--marks", default=MARKS, help="the tests tried, as for pytest -m")
    add("--at-most", type=float, default=300.0, help="seconds of tests a fault (default 300)")
    add("--jobs", type=int, default=2, help="processes (default 2)")
    add("--root", type=Path, default=Path(), help="the project, if it is another checkout")
    add("--folder", type=Path, default=Path("build/mutations"), help="where coverage is kept")
    add("--out", type=Path, default=Path("build/mutations.csv"), help="the table")
    return parser.parse_args()


def _tried(
    faults: list[Fault], covered: covering.Covering, options: argparse.Namespace
) -> Iterator[Verdict]:
    with tempfile.TemporaryDirectory() as folder:
        # Spawned, not forked: a process with threads cannot fork safely. So the worker is a module
        # of its own, for spawned processes do not import __main__.
        pool = ProcessPoolExecutor(
            options.jobs, multiprocessing.get_context("spawn"), worker.start,
            (options.root.resolve(), Path(folder)),
        )  # fmt: skip
        with pool:
            tasks = [
                pool.submit(worker.work, fault, *_tests_of(fault, covered, options.at_most))
                for fault in faults
            ]
            for task in as_completed(tasks):
                yield task.result()


def _tests_of(fault: Fault, covered: covering.Covering, at_most: float) -> tuple[list[str], float]:
    """Return tests to try, the quickest first, and the seconds that they take together."""
    chosen: list[str] = []
    total = 0.0
    for test in covered.of(fault):
        total += covered.seconds.get(test, 0.0)
        if total > at_most and chosen:
            break
        chosen.append(test)
    return chosen, min(total, at_most)


def _row(verdict: Verdict) -> list[object]:
    fault = verdict.fault
    place = (room_of(fault.path), fault.path, fault.function, fault.first)
    change = (" ".join(fault.before.split()), " ".join(fault.after.split()))
    return [*place, *change, verdict.ended, verdict.by, verdict.tests, round(verdict.seconds, 1)]


def _print_shares(verdicts: list[Verdict]) -> None:
    for room in ROOMS:
        ended = [v.ended for v in verdicts if room_of(v.fault.path) == room]
        if ended:
            found = sum(each in (FOUND, SLOW) for each in ended)
            print(f"{room:14} {found:3} of {len(ended):3} found")


if __name__ == "__main__":
    main()
