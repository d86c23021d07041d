"""Random samples of a problem of the library, and other documents to test on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal.support.validation import Floats
from studies.problems.folds import Bools, Ints
from studies.problems.library import Problem
from studies.unseen_report import LATER, SAME

LARGEST_SHARE = 0.6
MOST_NEW = 2_000
Documents = tuple[Floats, Bools]


@dataclass(frozen=True)
class Sample:
    """A random sample of a problem, and its other documents.

    Attributes
    ----------
    scores, labels : array of shape (n,)
        To fit to.
    judged : dict of str to (array of scores, array of bool)
        To judge by, at each time.
    others : (array of scores, array of bool)
        All of the problem that were not sampled.
    """

    scores: Floats
    labels: Ints
    judged: dict[str, Documents]
    others: Documents


class EmptyLibraryError(ValueError):
    """A folder holds no problems."""


def draw_sample(problem: Problem, n_positive: int) -> Sample | None:
    """Return a random sample with an expected number of the rarer class, None if too large."""
    n = round(n_positive / rarer_share(problem.positive))
    if n > LARGEST_SHARE * problem.score.size:
        return None
    rng = generator(n_positive, *names_of(problem))
    mask = plain_random(problem.positive, n, rng)
    return Sample(
        scores=problem.score[mask].astype(np.float64),
        labels=problem.positive[mask].astype(np.int64),
        judged=new_documents(problem, ~mask, rng),
        others=(problem.score[~mask].astype(np.float64), problem.positive[~mask]),
    )


def names_of(problem: Problem) -> tuple[str, str, str]:
    """Return data set, class and classifier."""
    return problem.data_set, problem.class_name, problem.classifier


def generator(number: int, *names: str) -> np.random.Generator:
    """Return a generator seeded by the names and the number only."""
    return np.random.default_rng([number, *"\n".join(names).encode()])


def rarer_share(positive: Bools) -> float:
    """Return the share of the class that has fewer documents."""
    share = float(positive.mean())
    return min(share, 1.0 - share)


def plain_random(positive: Bools, n: int, rng: np.random.Generator) -> Bools:
    """Return a mask of n random documents, redrawn until both classes occur."""
    while True:
        mask = np.zeros(positive.size, dtype=np.bool_)
        mask[rng.choice(positive.size, n, replace=False)] = True
        if np.unique(positive[mask]).size == 2:
            return mask


def new_documents(problem: Problem, left: Bools, rng: np.random.Generator) -> dict[str, Documents]:
    """Return the scores and classes of documents to judge by, at most `MOST_NEW` of a time.

    Those of the same time come first: the documents left, and test documents of kind "same".
    """
    rest = problem.score[left], problem.positive[left]
    test = problem.test_score, problem.test_positive
    if problem.test_kind == "same":
        both = np.concatenate([rest[0], test[0]]), np.concatenate([rest[1], test[1]])
        return {SAME: at_most(*both, rng)}
    return {SAME: at_most(*rest, rng), LATER: at_most(*test, rng)}


def at_most(score: Any, positive: Bools, rng: np.random.Generator) -> Documents:
    """Return `MOST_NEW` random documents, or all if there are fewer."""
    kept: Ints = rng.permutation(score.size)[:MOST_NEW]
    return score[kept].astype(np.float64), positive[kept]
