"""Shares of faults found, by room, of a table whose survivors are judged: docs/validation."""

from __future__ import annotations

import csv
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from scipy import stats

from tools.mutations.sample import ROOMS
from tools.mutations.trial import FOUND, SLOW

# What survivors are judged to be, in the column that people fill in.
EQUIVALENT, TESTED, LEFT = "equivalent", "test added", "left"
HEADER = ("room", "faults", "equivalent", "found before", "found now", "share now", "95 % interval")


def table(rows: Iterable[dict[str, str]]) -> str:
    """Return a table in Markdown of faults, those that could be found, and those found."""
    by_room: dict[str, Counter[str]] = {room: Counter() for room in ROOMS}
    for row in rows:
        by_room[row["room"]][_verdict(row)] += 1
    tried = {room: counts for room, counts in by_room.items() if counts}
    total = sum(tried.values(), Counter())
    lines = [_line(room, counts) for room, counts in tried.items()]
    return _markdown(HEADER, [*lines, _line("all", total)])


def _markdown(header: tuple[str, ...], lines: Sequence[tuple[str, ...]]) -> str:
    whole = [header, ("---",) * len(header), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in whole)


def _verdict(row: dict[str, str]) -> str:
    if row["ended"] in (FOUND, SLOW):
        return FOUND
    if row["judged"] not in (EQUIVALENT, TESTED, LEFT):
        raise ValueError(f"a survivor in {row['path']}, line {row['line']} is not judged")
    return row["judged"]


def _line(name: str, counts: Counter[str]) -> tuple[str, ...]:
    faults, before = counts.total(), counts[FOUND]
    could, now = faults - counts[EQUIVALENT], before + counts[TESTED]
    share = stats.binomtest(now, could)
    low, high = share.proportion_ci(method="wilson")
    numbers = (faults, counts[EQUIVALENT], before, now)
    shares = (f"{share.statistic:.1%}", f"{low:.1%} to {high:.1%}")
    return (name, *map(str, numbers), *(each.replace("%", " %") for each in shares))


def read(path: Path) -> Iterator[dict[str, str]]:
    """Read a table of faults."""
    with path.open(newline="", encoding="utf-8") as file:
        yield from csv.DictReader(file)


if __name__ == "__main__":
    print(table(read(Path(sys.argv[1]))))
