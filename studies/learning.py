"""Populations of log-odds, learned from the library of real problems."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import numpy as np

from bayescal.fitting.engines.monotone.engine import LogOddsPopulation
from bayescal.fitting.learned_prior import FEWEST, learn_population
from bayescal.support.validation import Floats, as_scores_of
from studies.problems.library import Problem, problems
from studies.unseen_samples import generator, names_of, rarer_share

SCORES, LOG_ODDS, PROBABILITIES = "scores", "log_odds", "probabilities"
# Classifiers with similar scores, and their values of scores_are.
Kinds = Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]]
KINDS: Kinds = {
    "margins": (("linear_svm",), (SCORES,)),
    "log-odds": (
        ("logistic_regression", "gradient_boosting", "neural_network"),
        (SCORES, LOG_ODDS, PROBABILITIES),
    ),
    "naive Bayes": (
        ("naive_bayes", "bernoulli_naive_bayes", "gaussian_naive_bayes"),
        (SCORES, LOG_ODDS, PROBABILITIES),
    ),
    "shares": (("random_forest", "nearest_neighbours"), (PROBABILITIES,)),
}
# Classes of each data set and classifier; some have dozens.
CLASSES = 6
POSITIVES, MOST = 30, 1_200  # documents of a problem, of the rarer class and in all
LARGEST_SHARE = 0.6
SEED = 3
# Groups of data sets, each judged with populations of the others; and the seed of the split.
GROUPS, DEALT = 3, 0
Learnt = tuple[Floats, np.ndarray]


def groups_of(data_sets: Sequence[str]) -> list[list[str]]:
    """Return random groups of the data sets, none of them empty if there are enough."""
    dealt = generator(DEALT, *data_sets).permutation(len(data_sets))
    return [[data_sets[k] for k in dealt[group::GROUPS]] for group in range(GROUPS)]


def populations_of(
    folder: Path, data_sets: Collection[str] | None = None, kinds: Kinds = KINDS
) -> list[LogOddsPopulation]:
    """Return the populations of all kinds that have enough problems.

    Parameters
    ----------
    folder : Path
        The library.
    data_sets : collection of str, optional
        To learn from; by default all.
    kinds : mapping of str to (classifiers, values of scores_are)
        Which classifiers share a population.
    """
    samples: dict[str, list[Learnt]] = {name: [] for name in kinds}
    kind_of = {each: name for name, (classifiers, _) in kinds.items() for each in classifiers}
    for problem in _chosen(folder):
        if data_sets is None or problem.data_set in data_sets:
            sample = _sample(problem)
            if sample is not None:
                samples[kind_of[problem.classifier]].append(sample)
    return [
        replace(learn_population(name, samples[name], random_state=0), scores_are=scores_are)
        for name, (_, scores_are) in kinds.items()
        if len(samples[name]) >= FEWEST
    ]


def _chosen(folder: Path) -> Iterator[Problem]:
    """Yield some classes of each data set and classifier: the most frequent, and random others."""
    for names, group in groupby(problems(folder), lambda each: (each.data_set, each.classifier)):
        first, *others = sorted(group, key=lambda each: -rarer_share(each.positive))
        drawn = generator(SEED, *names).permutation(len(others))[: CLASSES - 1]
        yield from (first, *(others[k] for k in drawn))


def _sample(problem: Problem) -> Learnt | None:
    """Return a random sample on the calibrators' scale, or None if one class is missing."""
    n = min(
        round(POSITIVES / rarer_share(problem.positive)),
        MOST,
        int(LARGEST_SHARE * problem.score.size),
    )
    picked = generator(SEED, *names_of(problem)).permutation(problem.score.size)[:n]
    labels = problem.positive[picked].astype(np.int64)
    if np.unique(labels).size < 2:
        return None
    return internal(problem, problem.score[picked].astype(np.float64)), labels


def internal(problem: Problem, scores: Floats) -> Floats:
    """Return scores on the scale that calibrators work on."""
    return as_scores_of(scores, PROBABILITIES) if problem.score_kind == "probability" else scores
