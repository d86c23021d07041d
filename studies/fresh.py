"""Data sets that nothing was learned from or chosen by: single problems, and pooled topics.

python -m studies.fresh [--quick] --problems FOLDER

The folder is what python -m studies.problems --fresh makes.
"""

from __future__ import annotations

import pandas as pd

from studies.command import Options, main, spread_over
from studies.peers import OURS
from studies.unseen import measure, sample_of
from studies.unseen_report import write_report, write_topics_report
from studies.unseen_topics import measured


def run(options: Options) -> None:
    """Measure all methods, ours with the shipped prior; write both pages."""
    sample, sizes = sample_of(options)
    tasks = [(problem, sizes, OURS) for of_set in sample.values() for problem in of_set]
    rows = [row for results in spread_over(options.jobs, measure, tasks) for row in results]
    write_report("fresh", pd.DataFrame(rows), options.out)
    write_topics_report("fresh_topics", measured(options), options.out)


if __name__ == "__main__":
    main("fresh")
