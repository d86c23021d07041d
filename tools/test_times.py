"""Where the time of the tests goes: a table of every file, from what the lanes last recorded."""

from __future__ import annotations

import argparse
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HEADER = "| lane | file | tests | seconds | slowest test | its seconds |\n|---|---|--:|--:|---|--:|"


@dataclass(frozen=True)
class Case:
    """One test: its lane, file, name and seconds, of its fixtures too."""

    lane: str
    file: str
    name: str
    seconds: float


def read_cases(path: Path) -> Iterator[Case]:
    """Give the tests of a JUnit file that pytest wrote; its name is the lane's."""
    for case in ET.parse(path).iter("testcase"):
        *_, file = (case.get("classname") or "").rpartition("tests.")
        yield Case(path.stem, file, case.get("name") or "", float(case.get("time") or 0.0))


def table(cases: list[Case]) -> str:
    """Return a Markdown table of files, those that take longest first, and the lanes' totals."""
    by_file: dict[tuple[str, str], list[Case]] = defaultdict(list)
    for case in cases:
        by_file[case.lane, case.file].append(case)
    rows = sorted(by_file.items(), key=lambda row: -_seconds(row[1]))
    lines = [
        "| lane | file | tests | seconds | slowest test | its seconds |",
        "|---|---|--:|--:|---|--:|",
    ]
    for lane in sorted({case.lane for case in cases}):
        lines.append(_line(lane, "all", [case for case in cases if case.lane == lane]))
    lines += [_line(lane, file, of) for (lane, file), of in rows]
    return "\n".join(lines) + "\n"


def _line(lane: str, file: str, cases: list[Case]) -> str:
    worst = max(cases, key=lambda case: case.seconds)
    total = f"{_seconds(cases):.1f}"
    name = worst.name.replace("|", "\\|")
    return f"| {lane} | {file} | {len(cases)} | {total} | `{name}` | {worst.seconds:.1f} |"


def _seconds(cases: list[Case]) -> float:
    return sum(case.seconds for case in cases)


def main() -> None:
    """Write the table; its seconds are those of processes, two of which run at once."""
    parser = argparse.ArgumentParser(prog="python -m tools.test_times", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the lanes wrote LANE.xml")
    parser.add_argument("out", type=Path, help="the table, in Markdown")
    options = parser.parse_args()
    files = sorted(options.folder.glob("*.xml"))
    if not files:
        raise SystemExit(f"there is no record of tests in {options.folder}: run make test first.")
    options.out.write_text(table([case for file in files for case in read_cases(file)]))


if __name__ == "__main__":
    main()
