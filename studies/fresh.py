"""Data sets that nothing was learnt from or chosen by: held-out loss and coverage, all methods.

python -m studies.fresh [--quick] --problems FOLDER

The folder is what python -m studies.problems --fresh makes.
"""

from __future__ import annotations

import pandas as pd

from bayescal.parallel import spread_over
from studies.command import Options, main
from studies.unseen import measure, sample_of
from studies.unseen_methods import OURS
from studies.unseen_report import write_report


def run(options: Options) -> None:
    """Measure all methods, ours with what is shipped; write page, table and figure."""
    sample, sizes = sample_of(options)
    tasks = [(problem, sizes, OURS) for of_set in sample.values() for problem in of_set]
    found = [row for rows in spread_over(options.jobs, measure, tasks) for row in rows]
    write_report("fresh", pd.DataFrame(found), options.out)


if __name__ == "__main__":
    main("fresh")
