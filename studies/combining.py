"""Real scores of several classifiers combined: held-out loss of all combiners, and coverage.

python -m studies.combining [--quick] [--problems FOLDER]

The folder is what python -m studies.problems makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin

from bayescal import CombinedClassifier
from bayescal.metrics import losses
from bayescal.parallel import spread_over
from bayescal.validation import Floats
from studies.combining_report import write_report
from studies.command import Options, main
from studies.peers import PEERS
from studies.problems.folds import Bools
from studies.problems.library import EmptyLibraryError, Problem, problems
from studies.unseen import BIG, LEVEL
from studies.unseen_samples import LARGEST_SHARE, generator, plain_random, rarer_share

SIZES, QUICK_SIZES = (3, 5, 10, 20, 50, 100, 200), (3, 20)
# Of each data set; a further one takes as long as all first ones.
CLASSES = 1
MOST_NEW = 2_000
# The prior of weights was chosen on these: they are not in the study.
TUNED_ON = ("abalone", "enron", "landsat", "medical", "page-blocks", "vehicle")
# Combined are the first five of these that a data set has.
PREFERRED = (
    "linear_svm",
    "naive_bayes",
    "nearest_neighbours",
    "random_forest",
    "gradient_boosting",
    "gaussian_naive_bayes",
)
COMBINED = 5
Row = dict[str, Any]


class ScoreColumn(ClassifierMixin, BaseEstimator):
    """A classifier that was trained elsewhere: its score is a column of the documents."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, X: Floats, y: ArrayLike) -> Self:  # noqa: N803
        """Fit nothing: scores are of documents that the classifier was not trained on."""
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: Floats) -> Floats:  # noqa: N803
        """Return the column."""
        return np.asarray(X[:, self.column])


@dataclass(frozen=True)
class Task:
    """
    A class against the rest, scored by several classifiers.

    Attributes
    ----------
    data_set, class_name : str
        Whose.
    classifiers : tuple of str
        Names of the columns of scores.
    scores : array of shape (n, classifiers)
        Out of fold; log-odds of probabilities, infinite where these are 0 or 1.
    positive : array of shape (n,) of bool
        Labels.
    """

    data_set: str
    class_name: str
    classifiers: tuple[str, ...]
    scores: Floats
    positive: Bools


def run(options: Options) -> None:
    """Measure all combiners on a sample of the library; write page and table."""
    tasks = list(tasks_of(options.problems, CLASSES))
    if not tasks:
        raise EmptyLibraryError(options.problems)
    sizes = QUICK_SIZES if options.quick else SIZES
    found = spread_over(options.jobs, measure, [(task, sizes) for task in tasks])
    write_report(pd.DataFrame([row for rows in found for row in rows]), options.out)


def tasks_of(folder: Path, classes: int) -> Iterator[Task]:
    """Yield the evenest class of each data set, and others drawn at random."""
    for data_set, group in groupby(problems(folder), lambda each: each.data_set):
        if data_set in TUNED_ON:
            continue
        found: dict[str, dict[str, Problem]] = {}
        for each in group:
            found.setdefault(each.class_name, {})[each.classifier] = each
        order = sorted(found, key=lambda name: -rarer_share(_first(found[name]).positive))
        drawn = generator(0, data_set).permutation(len(order) - 1)[: classes - 1] + 1
        for name in (order[0], *(order[k] for k in drawn)):
            yield _task(found[name])


def _first(by_classifier: dict[str, Problem]) -> Problem:
    return next(iter(by_classifier.values()))


def _task(by_classifier: dict[str, Problem]) -> Task:
    names = tuple(name for name in PREFERRED if name in by_classifier)[:COMBINED]
    first = by_classifier[names[0]]
    columns = [_log_odds(by_classifier[name]) for name in names]
    return Task(first.data_set, first.class_name, names, np.column_stack(columns), first.positive)


def _log_odds(problem: Problem) -> Floats:
    scores = problem.score.astype(np.float64)
    if problem.score_kind != "probability":
        return scores
    with np.errstate(divide="ignore"):
        return np.asarray(special.logit(scores))


def measure(task: Task, sizes: Sequence[int]) -> list[Row]:
    """
    Return one row a size and method: bits and squared error a decision, and coverage of the bands.

    Parameters
    ----------
    task : Task
        One class.
    sizes : sequence of int
        Expected documents of the rarer class in the samples; sizes that would take more than
        `LARGEST_SHARE` of the documents have no row.
    """
    rows: list[Row] = []
    big = None
    for n_positive in sizes:
        n = round(n_positive / rarer_share(task.positive))
        if n > LARGEST_SHARE * task.positive.size:
            continue
        rng = generator(n_positive, task.data_set, task.class_name)
        mask = plain_random(task.positive, n, rng)
        # A class of one document cannot be combined.
        while min(task.positive[mask].sum(), (~task.positive[mask]).sum()) < 2:
            mask = plain_random(task.positive, n, rng)
        rest = rng.permutation(np.flatnonzero(~mask))[:MOST_NEW]
        where = {"data_set": task.data_set, "class": task.class_name, "n": n_positive}
        new, truth = task.scores[rest], task.positive[rest]
        found = fit_all(task.scores[mask], task.positive[mask], new)
        for method, log_odds in found.log_odds.items():
            lost = losses(log_odds, truth)
            own = {"bits": lost.log_loss / lost.n, "brier": lost.squared_error / lost.n}
            rows.append(where | {"method": method} | own)
        if task.positive.size >= BIG * n:
            if big is None:
                big = combine(task.scores, task.positive)
            curve = big.predict_proba(new)[:, 1]
            inside = (found.band[:, 0] <= curve) & (curve <= found.band[:, 1])
            rows[-len(found.log_odds)]["coverage"] = inside.mean()
    return rows


@dataclass(frozen=True)
class Found:
    """Log-odds of new documents by every method, ours first, and our band."""

    log_odds: dict[str, Floats]
    band: Floats


def combine(scores: Floats, positive: Bools, combiner: str = "bayes") -> CombinedClassifier:
    """Return a combination of columns of scores."""
    classifiers = [(f"column {i}", ScoreColumn(i)) for i in range(scores.shape[1])]
    fitted = CombinedClassifier(classifiers, combiner=combiner, random_state=0)
    return fitted.fit(scores, positive.astype(np.int64))


def fit_all(scores: Floats, positive: Bools, new: Floats) -> Found:
    """Return what all methods say of new documents."""
    ours = combine(scores, positive)
    (posterior,) = ours._combined
    calibrated, inputs = posterior.calibrated, ours._members[0].inputs(new)
    of_base = calibrated.point(inputs.scores)
    log_scores = special.log_expit(np.where(positive[:, None], 1, -1) * calibrated.held_out)
    logistic, svm = (combine(scores, positive, name) for name in ("logistic", "linear_svm"))
    return Found(
        {
            "bayes": ours.decision_function(new),
            "best classifier, calibrated": of_base[:, log_scores.sum(axis=0).argmax()],
            "mean of calibrated log-odds": of_base.mean(axis=1),
            "logistic stacking": logistic.decision_function(new),
            "Stack-S with Platt": PEERS["Platt"](
                svm.scores_, positive.astype(np.int64), svm.decision_function(new)
            ),
        },
        ours.predict_interval(new, LEVEL),
    )


if __name__ == "__main__":
    main("combining")
