"""The faults to try: the same number at random from every folder."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tools.mutations.faults import Fault, faults_of

# Name of the room, the files in it.
ROOMS = {
    "families": ("bayescal/families",),
    "engines": ("bayescal/fitting/engines", "bayescal/inference"),
    "results": ("bayescal/fitting/results",),
    "fitting": ("bayescal/fitting",),
    "calibrators": ("bayescal/calibrators",),
    "combining": ("bayescal/combining",),
    "ranking": ("bayescal/ranking",),
    "text": ("bayescal/text",),
    "reports": ("bayescal/report", "bayescal/plots"),
    "cli": ("bayescal/cli",),
    "support": ("bayescal/support",),
    "distributions": ("bayescal/distributions",),
    "decisions": ("bayescal/decisions", "bayescal/monitoring"),
    "metrics": ("bayescal/metrics",),
    "sampling": ("bayescal/sampling",),
    "likelihood_ratio": ("bayescal/likelihood_ratio",),
    "topics": (
        "bayescal/calibrators/topic_calibrator.py",
        "bayescal/fitting/fitted_topics.py",
        "bayescal/fitting/fitted_topics.py",
        "bayescal/fitting/scores.py",
        "bayescal/fitting/engines/pooled",
    ),
}


def room_of(path: str) -> str | None:
    """Return the room of a file, the one with the longest name that holds it."""
    found = [(len(p), room) for room, paths in ROOMS.items() for p in paths if _holds(p, path)]
    return max(found)[1] if found else None


def _holds(place: str, path: str) -> bool:
    return path == place or path.startswith(place + "/")


def draw_faults(root: Path, each: int, seed: str = "") -> list[Fault]:
    """Return `each` faults from every room, drawn at random.

    A fault's place in the lottery is a hash of the change and of the function that it is in: what
    has not changed between two versions of the package is drawn in both, so that they are compared
    on the same faults. Another seed draws others, which no test was written for.
    """

    def place(fault: Fault) -> str:
        return hashlib.sha256((seed + fault.rank).encode()).hexdigest() if seed else fault.rank

    by_room: dict[str, list[Fault]] = {room: [] for room in ROOMS}
    for path in sorted((root / "bayescal").rglob("*.py")):
        name = path.relative_to(root).as_posix()
        room = room_of(name)
        if room is not None:
            by_room[room].extend(faults_of(root, name))
    drawn = (sorted(faults, key=place)[:each] for faults in by_room.values())
    return [fault for faults in drawn for fault in faults]
