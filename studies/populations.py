"""The number of populations of log-odds, by their log score on data sets left out.

python -m studies.populations [--quick] [--problems FOLDER]

The folder is what python -m studies.problems makes.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescal.fitting.engines.monotone.engine import (
    LaplaceFits,
    LogOddsPopulation,
    log_evidence_around,
    vague_log_evidence,
)
from bayescal.fitting.parts.log_odds import ENDS
from bayescal.fitting.scores import read_binary_scores
from bayescal.support.numerics import log_sum_exp
from studies.command import Options, main, spread_over
from studies.learning import KINDS, PROBABILITIES, SCORES, Kinds, internal, populations_of
from studies.problems.library import EmptyLibraryError, Problem
from studies.reporting import by_column, fill, with_error, write_page, write_table
from studies.unseen import CLASSES, EVERY, SEED, chosen
from studies.unseen_samples import draw_sample, names_of

SIZES, QUICK_SIZES = (3, 5, 10, 20), (3,)
SHIPPED, VAGUE = "four, as shipped", "none: vague"
Row = dict[str, Any]


def sharing(groups: Collection[Collection[str]]) -> Kinds:
    """Return groups of classifiers that share a population, named by their classifiers."""
    kinds = {each: scores_are for names, scores_are in KINDS.values() for each in names}
    return {
        ", ".join(group): (
            tuple(group),
            tuple(dict.fromkeys(kind for each in group for kind in kinds[each])),
        )
        for group in groups
    }


_SVM, _LOG_ODDS, _BAYES, _SHARES = (classifiers for classifiers, _ in KINDS.values())
GROUPINGS: dict[str, Kinds] = {
    "one": sharing([_SVM + _LOG_ODDS + _BAYES + _SHARES]),
    "two: naive Bayes, others": sharing([_BAYES, _SVM + _LOG_ODDS + _SHARES]),
    "three: SVM, naive Bayes, others": sharing([_SVM, _BAYES, _LOG_ODDS + _SHARES]),
    SHIPPED: KINDS,
    "six: three in place of log-odds": sharing(
        [_SVM, *((each,) for each in _LOG_ODDS), _BAYES, _SHARES]
    ),
    "nine: one a classifier": sharing([(each,) for each in (*_SVM, *_LOG_ODDS, *_BAYES, *_SHARES)]),
}


def run(options: Options) -> None:
    """Learn each number of populations without each data set; write page and table."""
    classes, step = options.size(CLASSES, 1), options.size(1, EVERY)
    sample = list(chosen(options.problems, classes, SEED))
    if not sample:
        raise EmptyLibraryError(options.problems)
    names = list(dict.fromkeys(problem.data_set for problem in sample))
    sizes = QUICK_SIZES if options.quick else SIZES
    of_set = {name: [each for each in sample if each.data_set == name] for name in names[::step]}
    tasks = [(options.problems, judged, names, sizes) for judged in of_set.values()]
    rows = pd.DataFrame(row for rows in spread_over(options.jobs, measure, tasks) for row in rows)
    means = by_set(rows)
    write_table(means.reset_index(), options.out, "populations")
    write_page("populations", options.out, page(options.out))


def page(folder: Path) -> str:
    """Return the page: log scores less that of the shipped grouping."""
    means = pd.read_csv(folder / "populations.csv", index_col=["n", "data_set"])
    return fill("populations", folder, table=_differences(means))


def measure(
    folder: Path, judged: Sequence[Problem], data_sets: Sequence[str], sizes: Sequence[int]
) -> list[Row]:
    """Return the log score of each grouping for samples of one data set's problems.

    Parameters
    ----------
    folder : Path
        The library.
    judged : sequence of Problem
        All of one data set, of which nothing is learnt.
    data_sets : sequence of str
        All of them.
    sizes : sequence of int
        Documents of the rarer class expected in a sample.
    """
    others = [name for name in data_sets if name != judged[0].data_set]
    scores = {VAGUE: partial(log_score, ())} | {
        name: partial(log_score, populations_of(folder, others, kinds))
        for name, kinds in GROUPINGS.items()
    }
    rows = []
    for problem in judged:
        where = dict(zip(("data_set", "class", "classifier"), names_of(problem), strict=True))
        rows += [
            where | {"n": n, "populations": name, "log_score": of_problem(problem, n)}
            for n in sizes
            if draw_sample(problem, n) is not None
            for name, of_problem in scores.items()
        ]
    return rows


def log_score(populations: Sequence[LogOddsPopulation], problem: Problem, n: int) -> float:
    """Return the natural log of p(labels | scores) of a sample, populations being equally likely.

    Populations of another sort of scores are excluded; without any population the priors are
    vague.
    """
    sample = draw_sample(problem, n)
    assert sample is not None  # noqa: S101
    data, _ = read_binary_scores(internal(problem, sample.scores), sample.labels, None, SCORES)
    if not populations:
        return vague_log_evidence(LaplaceFits(data), ENDS)
    scores_are = PROBABILITIES if problem.score_kind == "probability" else SCORES
    known = [each for each in populations if scores_are in each.scores_are]
    return float(
        log_sum_exp(log_evidence_around(LaplaceFits(data), known), axis=0) - np.log(len(known))
    )


def by_set(rows: pd.DataFrame) -> pd.DataFrame:
    """Return mean log scores, a row a size and data set and a column a grouping."""
    return rows.pivot_table("log_score", ["n", "data_set"], "populations", sort=False)


def _differences(means: pd.DataFrame) -> str:
    apart = means.sub(means[SHIPPED], axis=0).drop(columns=SHIPPED)
    rows = [
        {"populations": name, "n": n, "nats": with_error(part[name].mean(), part[name].sem(), 2)}
        for n, part in apart.groupby("n", sort=False)
        for name in apart
    ]
    return by_column(pd.DataFrame(rows), "nats", ["populations"], "n")


if __name__ == "__main__":
    main("populations")
