"""Real scores of data sets that no default was tuned on: held-out loss and coverage, all methods.

python -m studies.unseen [--quick] [--problems FOLDER]

The folder is what python -m studies.problems makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayescal import ScoreCalibrator
from bayescal.metrics import losses
from bayescal.parallel import spread_over
from bayescal.score_checks import without_scores_warnings
from bayescal.validation import Floats
from studies.command import Options, main
from studies.peers import Settings, accepted
from studies.problems.folds import Bools, Ints
from studies.problems.library import Problem, problems
from studies.unseen_methods import DEFAULT, OURS, ours_for, peers_for
from studies.unseen_report import LATER, SAME, write_report

SIZES, QUICK_SIZES = (3, 5, 10, 20, 50, 100, 200), (3, 50)
# Of each data set and classifier; the short version takes one class, of every other data set.
CLASSES, EVERY = 3, 2
SEED = 0
LARGEST_SHARE = 0.6
MOST_NEW = 2_000
# So many documents for each of the sample make the curve that bands should hold.
BIG = 4
LEVEL = 0.9
DECILES = np.arange(1, 10) / 10.0
KINDS = {
    "linear_svm": "SVM",
    "logistic_regression": "logistic",
    "naive_bayes": "naive Bayes",
    "bernoulli_naive_bayes": "naive Bayes",
    "gaussian_naive_bayes": "naive Bayes",
    "gradient_boosting": "boosting",
    "nearest_neighbours": "forest, neighbours",
    "random_forest": "forest, neighbours",
    "neural_network": "network",
}
Row = dict[str, Any]
Documents = tuple[Floats, Bools]


class EmptyLibraryError(ValueError):
    """A folder holds no problems."""


def run(options: Options) -> None:
    """Measure all methods on a sample of the library; write page, table and figure."""
    classes, step = options.size(CLASSES, 1), options.size(1, EVERY)
    of_sets = groupby(chosen(options.problems, classes, SEED), lambda each: each.data_set)
    sample = [problem for _, group in islice(of_sets, 0, None, step) for problem in group]
    if not sample:
        raise EmptyLibraryError(
            f"a library of problems was expected in {options.problems}, which holds none: make it"
            " by python -m studies.problems --data DIR --to FOLDER, and give --problems FOLDER."
        )
    sizes, ours = QUICK_SIZES if options.quick else SIZES, accepted(OURS)
    tasks = [(problem, sizes, ours) for problem in sample]
    found = [row for rows in spread_over(options.jobs, measure, tasks) for row in rows]
    write_report(pd.DataFrame(found), options.out)


def chosen(folder: Path, classes: int, seed: int) -> Iterator[Problem]:
    """
    Yield so many classes of each data set and classifier, or all there are.

    One is that of the most documents, which alone may have enough for large samples; the others
    are drawn at random.
    """
    for names, group in groupby(problems(folder), lambda each: (each.data_set, each.classifier)):
        first, *others = sorted(group, key=lambda each: -rarer_share(each.positive))
        drawn = generator(seed, *names).permutation(len(others))[: classes - 1]
        yield from (first, *(others[k] for k in drawn))


def generator(number: int, *names: str) -> np.random.Generator:
    """Return random numbers that depend on the names and the number, on nothing else there is."""
    return np.random.default_rng([number, *"\n".join(names).encode()])


def measure(problem: Problem, sizes: Sequence[int], ours: dict[str, Settings]) -> list[Row]:
    """
    Return one row a size, time and method: bits and squared error a decision, and coverage.

    Coverage is that of our bands, at deciles of all scores and of positives'; on the same time,
    and where the problem has at least `BIG` times the documents of the sample.

    Parameters
    ----------
    problem : Problem
        One of the library.
    sizes : sequence of int
        Expected documents of the rarer class in the samples; sizes that would take more than
        `LARGEST_SHARE` of the documents have no row.
    ours : dict of str to dict
        Settings of ScoreCalibrator, by the name of the method.
    """
    settings = ours_for(problem.score_kind, ours)
    score, names = problem.score.astype(np.float64), names_of(problem)
    at = np.concatenate([np.quantile(each, DECILES) for each in (score, score[problem.positive])])
    curve = fit(settings[DEFAULT], score, problem.positive).predict_proba(at)[:, 1]
    rows = []
    for n_positive in sizes:
        n = round(n_positive / rarer_share(problem.positive))
        if n > LARGEST_SHARE * score.size:
            continue
        rng = generator(n_positive, *names)
        mask = plain_random(problem.positive, n, rng)
        known, labels = score[mask], problem.positive[mask].astype(np.int64)
        judged = new_documents(problem, ~mask, rng)
        new = np.concatenate([each for each, _ in judged.values()])
        found = [
            losses_of(name, method(known, labels, new), judged)
            for name, method in peers_for(problem.score_kind).items()
        ]
        for name, each in settings.items():
            fitted = fit(each, known, labels)
            found.append(losses_of(name, fitted.decision_function(new), judged))
            if score.size >= BIG * n:
                found[-1][0] |= coverage(fitted.predict_interval(at, LEVEL), curve)
        where: Row = dict(zip(("data_set", "class", "classifier"), names, strict=True))
        where |= {"kind": KINDS[problem.classifier], "n": n_positive}
        rows += [where | row for of_method in found for row in of_method]
    return rows


def names_of(problem: Problem) -> tuple[str, str, str]:
    """Return data set, class and classifier."""
    return problem.data_set, problem.class_name, problem.classifier


def rarer_share(positive: Bools) -> float:
    """Return the share of the class that has fewer documents."""
    share = float(positive.mean())
    return min(share, 1.0 - share)


def plain_random(positive: Bools, n: int, rng: np.random.Generator) -> Bools:
    """Return a mask of n documents drawn at random, again until both classes are there."""
    while True:
        mask = np.zeros(positive.size, dtype=np.bool_)
        mask[rng.choice(positive.size, n, replace=False)] = True
        if np.unique(positive[mask]).size == 2:
            return mask


def new_documents(problem: Problem, left: Bools, rng: np.random.Generator) -> dict[str, Documents]:
    """
    Return the scores and classes of documents to judge by, at most `MOST_NEW` of a time.

    Those of the same time come first: the documents left, and test documents of kind "same".
    """
    rest = problem.score[left], problem.positive[left]
    test = problem.test_score, problem.test_positive
    if problem.test_kind == "same":
        both = np.concatenate([rest[0], test[0]]), np.concatenate([rest[1], test[1]])
        return {SAME: at_most(*both, rng)}
    return {SAME: at_most(*rest, rng), LATER: at_most(*test, rng)}


def at_most(score: Any, positive: Bools, rng: np.random.Generator) -> Documents:
    """Return `MOST_NEW` of the documents, drawn at random, or all where there are fewer."""
    kept: Ints = rng.permutation(score.size)[:MOST_NEW]
    return score[kept].astype(np.float64), positive[kept]


def fit(settings: Settings, scores: Floats, labels: Any) -> ScoreCalibrator:
    """Return a calibrator fitted to scores, whatever they look like."""
    with without_scores_warnings():
        return ScoreCalibrator(random_state=0, **settings).fit(scores, labels.astype(np.int64))


def losses_of(method: str, log_odds: Floats, judged: dict[str, Documents]) -> list[Row]:
    """Return a row for each time, of the log-odds of all their documents one after the other."""
    ends = np.cumsum([positive.size for _, positive in judged.values()])[:-1]
    rows = []
    for (when, (_, positive)), part in zip(judged.items(), np.split(log_odds, ends), strict=True):
        lost = losses(part, positive)
        means = {"bits": lost.log_loss / lost.n, "brier": lost.squared_error / lost.n}
        rows.append({"time": when, "method": method} | means)
    return rows


def coverage(band: Floats, curve: Floats) -> Row:
    """Return the share of deciles where the band holds the curve: of all scores, of positives'."""
    inside = (band[:, 0] <= curve) & (curve <= band[:, 1])
    of_all, of_positives = inside.reshape(2, -1).mean(axis=1)
    return {"coverage": float(of_all), "coverage, positives": float(of_positives)}


if __name__ == "__main__":
    main("unseen")
