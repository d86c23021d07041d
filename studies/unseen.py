"""Real scores of data sets that no default was tuned on: held-out loss and coverage, all methods.

python -m studies.unseen [--quick] [--problems FOLDER]

The folder is what python -m studies.problems makes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import numpy as np
import pandas as pd

from bayescal import ScoreCalibrator
from bayescal.fitting.learned_prior import write_populations
from bayescal.metrics import losses
from bayescal.support.score_checks import without_scores_warnings
from bayescal.support.validation import Floats
from studies.command import Options, main, spread_over
from studies.learning import groups_of, populations_of
from studies.peers import DEFAULT, OURS, Settings, ours_for, peers_for
from studies.problems.library import EmptyLibraryError, Problem, problems
from studies.unseen_report import write_report
from studies.unseen_samples import Documents, Sample, draw_sample, generator, names_of, rarer_share

SIZES, QUICK_SIZES = (3, 5, 10, 20, 50, 100, 200), (3, 50)
# Classes of each data set and classifier; the short version uses every other data set.
CLASSES, EVERY = 3, 2
SEED = 0
# A reference curve needs this many times the documents of the sample.
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
# Coverage of the curve of all documents, and of that of the documents not sampled.
ALL, OTHERS = "coverage", "coverage, others"
Curves = tuple[Floats, dict[str, Floats]]
"""Scores, and curves there by the name of their coverage."""


class Fitted(Protocol):
    """Predictions of a calibrator of one class."""

    def decision_function(self, scores: Floats) -> Floats:
        """Return log-odds."""

    def predict_interval(self, scores: Floats, level: float) -> Floats:
        """Return both ends of bands of probabilities."""


def run(options: Options) -> None:
    """Measure all methods on a sample of the library; write page, table and figure."""
    sample, sizes = sample_of(options)
    with TemporaryDirectory() as folder:
        tasks = []
        for k, judged in enumerate(groups_of(list(sample))):
            # The prior must not be learned from the data sets under test.
            others = [name for name in sample if name not in judged]
            path = Path(folder) / f"without_{k}.json"
            write_populations(populations_of(options.problems, others), path)
            ours = {name: {"prior_knowledge": path} | each for name, each in OURS.items()}
            tasks += [(problem, sizes, ours) for name in judged for problem in sample[name]]
        results = [row for rows in spread_over(options.jobs, measure, tasks) for row in rows]
    write_report("unseen", pd.DataFrame(results), options.out)


def sample_of(options: Options) -> tuple[dict[str, list[Problem]], Sequence[int]]:
    """Return the problems of each data set in the study, and the sizes of samples."""
    classes, step = options.size(CLASSES, 1), options.size(1, EVERY)
    of_sets = groupby(chosen(options.problems, classes, SEED), lambda each: each.data_set)
    sample = {name: list(group) for name, group in islice(of_sets, 0, None, step)}
    if not sample:
        raise EmptyLibraryError(options.problems)
    return sample, QUICK_SIZES if options.quick else SIZES


def chosen(folder: Path, classes: int, seed: int) -> Iterator[Problem]:
    """Yield a number of classes of each data set and classifier, or all of them.

    The first is the class with most documents, which large samples need; the others are random.
    """
    for names, group in groupby(problems(folder), lambda each: (each.data_set, each.classifier)):
        first, *others = sorted(group, key=lambda each: -rarer_share(each.positive))
        drawn = generator(seed, *names).permutation(len(others))[: classes - 1]
        yield from (first, *(others[k] for k in drawn))


def measure(problem: Problem, sizes: Sequence[int], ours: dict[str, Settings]) -> list[Row]:
    """Return one row a size, time and method: bits and squared error a decision, and coverage.

    Coverage is that of our bands, on the same time, where the problem has at least `BIG` times the
    documents of the sample: of the curve of all documents at deciles of their scores and of
    positives', and of the curve of the documents not sampled.

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
    of_all = curve_of_all(problem, settings[DEFAULT])
    rows = []
    for n_positive in sizes:
        sample = draw_sample(problem, n_positive)
        if sample is None:
            continue
        fitted = {name: fit(each, sample.scores, sample.labels) for name, each in settings.items()}
        curves = with_curve_of_others(of_all, sample, settings[DEFAULT])
        rows += rows_of(problem, n_positive, sample, fitted, curves)
    return rows


def curve_of_all(problem: Problem, settings: Settings) -> Curves:
    """Return deciles of all scores and of positives', and the curve of all documents there."""
    score = problem.score.astype(np.float64)
    at = np.concatenate([np.quantile(each, DECILES) for each in (score, score[problem.positive])])
    return at, {ALL: fit(settings, score, problem.positive).predict_proba(at)[:, 1]}


def with_curve_of_others(of_all: Curves, sample: Sample, settings: Settings) -> Curves:
    """Return the curves with that of the documents not sampled, if there are enough of them."""
    at, curves = of_all
    scores, positive = sample.others
    if not is_big(sample) or np.unique(positive).size < 2:
        return of_all
    return at, curves | {OTHERS: fit(settings, scores, positive).predict_proba(at)[:, 1]}


def is_big(sample: Sample) -> bool:
    """Return whether the problem has `BIG` times the sample's documents."""
    return sample.others[1].size >= (BIG - 1) * sample.labels.size


def rows_of(
    problem: Problem, n_positive: int, sample: Sample, ours: Mapping[str, Fitted], truth: Curves
) -> list[Row]:
    """Return the rows of one sample; ours are fitted already, peers are fitted here."""
    new = np.concatenate([scores for scores, _ in sample.judged.values()])
    results = [
        losses_of(name, method(sample.scores, sample.labels, new), sample.judged)
        for name, method in peers_for(problem.score_kind).items()
    ]
    at, curves = truth
    for name, fitted in ours.items():
        results.append(losses_of(name, fitted.decision_function(new), sample.judged))
        if is_big(sample):
            results[-1][0] |= coverage(fitted.predict_interval(at, LEVEL), curves)
    where: Row = dict(zip(("data_set", "class", "classifier"), names_of(problem), strict=True))
    where |= {"kind": KINDS[problem.classifier], "n": n_positive}
    return [where | row for of_method in results for row in of_method]


def fit(settings: Settings, scores: Floats, labels: Any) -> ScoreCalibrator:
    """Return a calibrator fitted to scores, without warnings about them."""
    with without_scores_warnings():
        return ScoreCalibrator(random_state=0, **settings).fit(scores, labels.astype(np.int64))


def losses_of(method: str, log_odds: Floats, judged: dict[str, Documents]) -> list[Row]:
    """Return the losses at each time, given the log-odds of all documents in order."""
    ends = np.cumsum([positive.size for _, positive in judged.values()])[:-1]
    rows = []
    for (when, (_, positive)), part in zip(judged.items(), np.split(log_odds, ends), strict=True):
        lost = losses(part, positive)
        means = {"bits": lost.log_loss / lost.n, "brier": lost.squared_error / lost.n}
        rows.append({"time": when, "method": method} | means)
    return rows


def coverage(band: Floats, curves: Mapping[str, Floats]) -> Row:
    """Return shares of deciles (all scores, positives' scores) where the band contains a curve."""
    results = {}
    for name, curve in curves.items():
        inside = (band[:, 0] <= curve) & (curve <= band[:, 1])
        results[name], results[f"{name}, positives"] = inside.reshape(2, -1).mean(axis=1).tolist()
    return results


if __name__ == "__main__":
    main("unseen")
