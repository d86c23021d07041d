"""Topics pooled, on data sets that nothing was learnt from: held-out loss and coverage.

python -m studies.fresh_topics [--quick] --problems FOLDER

The folder is what python -m studies.problems --fresh makes.
"""

from __future__ import annotations

from studies.command import Options, main
from studies.unseen_topics import measured
from studies.unseen_topics_report import write_report


def run(options: Options) -> None:
    """Measure all methods; write page, tables and figure."""
    write_report("fresh_topics", measured(options), options.out)


if __name__ == "__main__":
    main("fresh_topics")
