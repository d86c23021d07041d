"""Real scores of several classifiers combined: held-out loss of all combiners, and coverage.

python -m studies.combining [--quick] [--problems FOLDER]

The folder is what python -m studies.problems makes.
"""

from __future__ import annotations

import time
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
from bayescal.support.validation import Floats
from studies.command import Options, main, spread_over
from studies.peers import PEERS
from studies.problems.folds import Bools
from studies.problems.library import EmptyLibraryError, Problem, problems
from studies.reporting import (
    Bar,
    by_column,
    fill,
    markdown,
    with_error,
    with_errors,
    write_bars,
    write_page,
    write_table,
)
from studies.unseen import BIG, LEVEL
from studies.unseen_samples import LARGEST_SHARE, generator, plain_random, rarer_share

OURS, SINGLE, LOGISTIC = "bayes", "best classifier, calibrated", "logistic stacking"
FEW, SEVERAL = 2, 5  # classifiers combined, at most
# Bars allow this share of the other loss, or so many standard errors.
SHARE, ERRORS = 0.02, 2.0


def write_report(results: pd.DataFrame, out: Path) -> None:
    """Write combining.md and its tables in CSV.

    Parameters
    ----------
    results : pandas.DataFrame
        Columns data_set, class, n (expected positives), classifiers, method, bits, brier, seconds,
        coverage: what `studies.combining.measure` returns.
    out : Path
        The folder to write to.
    """
    keys = ["n", "data_set", "classifiers", "method"]
    each = results.groupby(keys, sort=False)[["bits", "brier", "seconds", "coverage"]]
    rows = each.mean().reset_index().sort_values("n", kind="stable")
    table = compare(rows[rows["classifiers"] == SEVERAL])
    write_table(table, out, "combining")
    write_table(against_logistic(rows), out, "combining_logistic")
    write_bars(bars(table), out, "combining")
    write_page("combining", out, page(out))


def page(folder: Path) -> str:
    """Return the page: log-loss as a share of the best single classifier's."""
    table = pd.read_csv(folder / "combining.csv")
    texts = table.assign(text=with_errors(table["ratio"], table["ratio error"], 3))
    covered = table["coverage"].dropna()
    pairs = pd.read_csv(folder / "combining_logistic.csv")
    for name in ("ratio", "bayes seconds", "logistic seconds"):
        digits = 3 if name == "ratio" else 2
        pairs[name] = with_errors(pairs[name], pairs[f"{name} error"], digits)
    better = pairs["better"].astype(str) + " of " + pairs["sets"].astype(str)
    pairs = pairs.assign(better=better).rename(columns={"n": "n+"})
    return fill(
        "combining",
        folder,
        table=by_column(texts, "text", ["method"], "n"),
        logistic=markdown(pairs[[name for name in pairs if not name.endswith(("error", "sets"))]]),
        sets=table["sets"].max(),
        coverage=f"{covered.min():.2f} to {covered.max():.2f}",
    )


def compare(rows: pd.DataFrame) -> pd.DataFrame:
    """Return each method's mean losses by size, and its log-loss over the best classifier's.

    The ratio is the geometric mean over data sets, with the standard error of its logarithm.
    """
    out = []
    for n, part in rows.groupby("n", sort=False):
        wide = part.pivot_table("bits", "data_set", "method", sort=False)
        logs = np.log(wide.div(wide[SINGLE], axis="index"))
        of_method = part.groupby("method", sort=False)
        ratio = pd.DataFrame({"ratio": np.exp(logs.mean()), "ratio error": logs.sem()})
        table = of_method[["bits", "brier"]].mean().join(ratio).assign(n=n, sets=len(wide))
        covered = of_method["coverage"]
        table["coverage"], table["coverage error"] = covered.mean(), covered.sem()
        table["coverage sets"] = covered.count()
        out.append(table.reset_index())
    return pd.concat(out)


def against_logistic(rows: pd.DataFrame) -> pd.DataFrame:
    """Return ours against logistic stacking on the same samples, by classifiers and size.

    The ratio of log-losses is the geometric mean over data sets, with the standard error of the
    mean of paired log ratios; seconds are means of processor time.
    """
    out = []
    for (classifiers, n), part in rows.groupby(["classifiers", "n"], sort=False):
        bits, seconds = (
            part.pivot_table(name, "data_set", "method", sort=False)[[OURS, LOGISTIC]]
            for name in ("bits", "seconds")
        )
        log_ratio = np.log(bits[OURS] / bits[LOGISTIC])
        row = {"classifiers": classifiers, "n": n, "sets": len(bits)}
        row |= {"ratio": np.exp(log_ratio.mean()), "ratio error": log_ratio.sem()}
        row["better"] = int((log_ratio < 0.0).sum())
        for name, method in (("bayes", OURS), ("logistic", LOGISTIC)):
            row[f"{name} seconds"] = seconds[method].mean()
            row[f"{name} seconds error"] = seconds[method].sem()
        out.append(row)
    return pd.DataFrame(out).sort_values(["classifiers", "n"], ascending=[False, True])


def bars(table: pd.DataFrame) -> list[Bar]:
    """Return bars by size: ours against the best classifier and the best other combiner."""
    out = []
    for n, part in table.groupby("n", sort=False):
        own = part.set_index("method").loc[OURS]
        limit = 1.0 + max(SHARE, ERRORS * own["ratio error"])
        measured = with_error(own["ratio"], own["ratio error"], 3)
        holds = bool(own["ratio"] <= limit)
        claim = f"n+ = {n}: log-loss as a share of the best classifier's, calibrated"
        out.append(Bar(claim, measured, f"≤ {limit:.3f}", holds))
        others = part[~part["method"].isin([OURS, SINGLE])].set_index("method")["ratio"]
        best = str(others.idxmin())
        out.append(
            Bar(
                f"n+ = {n}: against the best other combiner, {best}",
                f"{own['ratio']:.3f}",
                f"≤ {others[best] * (1.0 + SHARE):.3f}",
                bool(own["ratio"] <= others[best] * (1.0 + SHARE)),
            )
        )
    return out


SIZES, QUICK_SIZES = (3, 5, 10, 20, 50, 100, 200), (3, 20)
# Classes of each data set; each further one doubles the time.
CLASSES = 1
MOST_NEW = 2_000
# The prior of the weights was chosen on these data sets.
TUNED_ON = ("abalone", "enron", "landsat", "medical", "page-blocks", "vehicle")
# The first five that a data set has are combined.
PREFERRED = (
    "linear_svm",
    "naive_bayes",
    "nearest_neighbours",
    "random_forest",
    "gradient_boosting",
    "gaussian_naive_bayes",
)
Row = dict[str, Any]


class ScoreColumn(ClassifierMixin, BaseEstimator):
    """A classifier that was trained elsewhere: its score is a column of the documents."""

    def __init__(self, column: int = 0) -> None:
        self.column = column

    def fit(self, X: Floats, y: ArrayLike) -> Self:  # noqa: N803
        """Fit nothing: the scores are out of fold."""
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X: Floats) -> Floats:  # noqa: N803
        """Return the column."""
        return np.asarray(X[:, self.column])


@dataclass(frozen=True)
class Task:
    """A class against the rest, scored by several classifiers.

    Attributes
    ----------
    data_set, class_name : str
        Names of data set and class.
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
    results = spread_over(options.jobs, measure, [(task, sizes) for task in tasks])
    write_report(pd.DataFrame([row for rows in results for row in rows]), options.out)


def tasks_of(folder: Path, classes: int) -> Iterator[Task]:
    """Yield the most balanced class of each data set, and random others."""
    for data_set, group in groupby(problems(folder), lambda each: each.data_set):
        if data_set in TUNED_ON:
            continue
        results: dict[str, dict[str, Problem]] = {}
        for each in group:
            results.setdefault(each.class_name, {})[each.classifier] = each
        order = sorted(results, key=lambda name: -rarer_share(_first(results[name]).positive))
        drawn = generator(0, data_set).permutation(len(order) - 1)[: classes - 1] + 1
        for name in (order[0], *(order[k] for k in drawn)):
            yield _task(results[name])


def _first(by_classifier: dict[str, Problem]) -> Problem:
    return next(iter(by_classifier.values()))


def _task(by_classifier: dict[str, Problem]) -> Task:
    names = tuple(name for name in PREFERRED if name in by_classifier)[:SEVERAL]
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
    """Return one row a size and method: bits and squared error a decision, and bands' coverage.

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
        # A combination needs two documents of each class.
        while min(task.positive[mask].sum(), (~task.positive[mask]).sum()) < 2:
            mask = plain_random(task.positive, n, rng)
        rest = rng.permutation(np.flatnonzero(~mask))[:MOST_NEW]
        where = {"data_set": task.data_set, "class": task.class_name, "n": n_positive}
        new, truth, sample = task.scores[rest], task.positive[rest], task.scores[mask]
        results = fit_all(sample, task.positive[mask], new)
        for method, (fitted, seconds) in fit_both(sample[:, :FEW], task.positive[mask]).items():
            own = _row(fitted.decision_function(new[:, :FEW]), truth)
            rows.append(where | {"classifiers": FEW, "method": method, "seconds": seconds} | own)
        for method, log_odds in results.log_odds.items():
            own = {"method": method, "seconds": results.seconds.get(method, np.nan)}
            rows.append(where | {"classifiers": SEVERAL} | own | _row(log_odds, truth))
        if task.positive.size >= BIG * n:
            if big is None:
                big = combine(task.scores, task.positive)
            curve = big.predict_proba(new)[:, 1]
            inside = (results.band[:, 0] <= curve) & (curve <= results.band[:, 1])
            rows[-len(results.log_odds)]["coverage"] = inside.mean()
    return rows


def _row(log_odds: Floats, truth: Bools) -> Row:
    lost = losses(log_odds, truth)
    return {"bits": lost.log_loss / lost.n, "brier": lost.squared_error / lost.n}


@dataclass(frozen=True)
class Found:
    """Log-odds of new documents by every method, ours first, times, and our band."""

    log_odds: dict[str, Floats]
    seconds: dict[str, float]
    band: Floats


def combine(scores: Floats, positive: Bools, combiner: str = "bayes") -> CombinedClassifier:
    """Return a combination of columns of scores."""
    classifiers = [(f"column {i}", ScoreColumn(i)) for i in range(scores.shape[1])]
    fitted = CombinedClassifier(classifiers, combiner=combiner, random_state=0)
    return fitted.fit(scores, positive.astype(np.int64))


Pair = dict[str, tuple[CombinedClassifier, float]]


def fit_both(scores: Floats, positive: Bools) -> Pair:
    """Return ours and logistic stacking, each with the seconds of processor time of its fit."""
    out = {}
    for method, combiner in ((OURS, "bayes"), (LOGISTIC, "logistic")):
        began = time.process_time()
        fitted = combine(scores, positive, combiner)
        out[method] = fitted, time.process_time() - began
    return out


def fit_all(scores: Floats, positive: Bools, new: Floats) -> Found:
    """Return the log-odds of new documents by every method, and our band."""
    both = fit_both(scores, positive)
    ours, logistic = (both[method][0] for method in (OURS, LOGISTIC))
    svm = combine(scores, positive, "linear_svm")
    (posterior,) = ours._combined
    calibrated, inputs = posterior.calibrated, ours._members[0].inputs(new)
    of_base = calibrated.point(inputs.scores)
    log_scores = special.log_expit(np.where(positive[:, None], 1, -1) * calibrated.held_out)
    return Found(
        {
            OURS: ours.decision_function(new),
            SINGLE: of_base[:, log_scores.sum(axis=0).argmax()],
            "mean of calibrated log-odds": of_base.mean(axis=1),
            LOGISTIC: logistic.decision_function(new),
            "Stack-S with Platt": PEERS["Platt"](
                svm.scores_, positive.astype(np.int64), svm.decision_function(new)
            ),
        },
        {method: seconds for method, (_, seconds) in both.items()},
        ours.predict_interval(new, LEVEL),
    )


if __name__ == "__main__":
    main("combining")
