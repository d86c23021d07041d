"""What scores were found to mean on other data sets, as a prior: held-out loss and coverage.

python -m studies.learned_prior [--quick] [--problems FOLDER]

The folder is what python -m studies.problems makes.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from bayescal.learned_prior import write_populations
from bayescal.parallel import spread_over
from studies.command import Options, main
from studies.learned_prior_report import write_report
from studies.learning import populations_of
from studies.peers import Settings
from studies.problems.library import EmptyLibraryError, Problem
from studies.unseen import (
    CLASSES,
    EVERY,
    QUICK_SIZES,
    SEED,
    SIZES,
    Row,
    chosen,
    curve_of_all,
    fit,
    rows_of,
)
from studies.unseen_methods import DEFAULT, LEARNED, ours_for
from studies.unseen_samples import draw_sample, generator

# Groups of data sets: each is judged by what was learnt on the others.
GROUPS = 3


def run(options: Options) -> None:
    """Learn on two thirds of the data sets, measure on the other; write page, table and figure."""
    classes, step = options.size(CLASSES, 1), options.size(1, EVERY)
    of_sets = groupby(chosen(options.problems, classes, SEED), lambda each: each.data_set)
    sample = {name: list(group) for name, group in islice(of_sets, 0, None, step)}
    if not sample:
        raise EmptyLibraryError(options.problems)
    sizes = QUICK_SIZES if options.quick else SIZES
    with TemporaryDirectory() as folder:
        tasks = []
        for k, judged in enumerate(groups_of(list(sample))):
            path = Path(folder) / f"without_{k}.json"
            others = [name for name in sample if name not in judged]
            write_populations(populations_of(options.problems, others), path)
            tasks += [(problem, sizes, path) for name in judged for problem in sample[name]]
        found = [row for rows in spread_over(options.jobs, measure, tasks) for row in rows]
    write_report(pd.DataFrame(found), options.out)


def groups_of(data_sets: Sequence[str]) -> list[list[str]]:
    """Return the data sets dealt at random to groups, none of them empty if there are enough."""
    dealt = generator(SEED, *data_sets).permutation(len(data_sets))
    return [[data_sets[k] for k in dealt[group::GROUPS]] for group in range(GROUPS)]


def measure(problem: Problem, sizes: Sequence[int], populations: Path) -> list[Row]:
    """
    Return the rows of `studies.unseen.measure`, those of the learnt prior among them.

    Parameters
    ----------
    problem : Problem
        One of the library.
    sizes : sequence of int
        Expected documents of the rarer class in the samples.
    populations : Path
        What was learnt, from other data sets.
    """
    asked: dict[str, Settings] = {DEFAULT: {}, LEARNED: {"prior_knowledge": populations}}
    settings = ours_for(problem.score_kind, asked)
    truth = curve_of_all(problem, settings[DEFAULT])
    rows = []
    for n_positive in sizes:
        sample = draw_sample(problem, n_positive)
        if sample is None:
            continue
        fitted = {name: fit(each, sample.scores, sample.labels) for name, each in settings.items()}
        rows += rows_of(problem, n_positive, sample, fitted, truth)
    return rows


if __name__ == "__main__":
    main("learned_prior")
