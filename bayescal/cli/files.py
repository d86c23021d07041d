"""Names of the files of calibrators."""

from __future__ import annotations

import re
from collections.abc import Sequence

SINGLE = "posterior.nc"
LONGEST_SLUG = 80


def calibrator_files(topics: Sequence[str | None]) -> list[str]:
    """
    Return file names for the calibrators of topics: safe everywhere, and no two the same.

    Examples
    --------
    >>> calibrator_files(["corn", "money/fx", "money fx", "Corn"])
    ['corn.nc', 'money_fx.nc', 'money_fx-2.nc', 'Corn-2.nc']
    """
    taken: set[str] = set()
    names = []
    for topic in topics:
        stem = SINGLE.removesuffix(".nc") if topic is None else _slug(topic)
        name, k = stem, 1
        # Some file systems do not tell Corn from corn.
        while name.casefold() in taken:
            k += 1
            name = f"{stem}-{k}"
        taken.add(name.casefold())
        names.append(f"{name}.nc")
    return names


def _slug(topic: str) -> str:
    text = re.sub(r"[^A-Za-z0-9._-]+", "_", topic).strip("._-")
    return text[:LONGEST_SLUG] or "topic"
