"""Documents of equal scores: which order a measure takes them in.

A ranking comes as the grades of its documents, best scores first, with the groups of equal scores.
In the worst order grades rise within each group; an expectation is a mean over all orders.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayescal.validation import Floats, Integers

TIES = ("pessimistic", "expected")


@dataclass(frozen=True)
class Ranking:
    """
    The documents of one query in falling order of scores, the worst order among equal scores.

    Attributes
    ----------
    grades : array of shape (documents,)
        Their grades.
    group : array of shape (documents,) of int
        0, 0, 1, ...: the documents of equal scores share a number.
    """

    grades: Floats
    group: Integers

    def means(self, of: Floats) -> Floats:
        """Return for each document the mean of a quantity over the documents of its group."""
        sums = np.bincount(self.group, weights=of)
        return np.asarray(sums / np.bincount(self.group))[self.group]

    def first(self) -> Integers:
        """Return for each document the rank of the first of its group, counted from 0."""
        return np.searchsorted(self.group, self.group, side="left")


def ranking_of(grades: Floats, scores: Floats) -> Ranking:
    """
    Return the ranking of documents with these grades and scores.

    Examples
    --------
    >>> ranking = ranking_of(np.array([1.0, 0.0, 1.0]), np.array([0.2, 0.9, 0.9]))
    >>> ranking.grades.tolist(), ranking.group.tolist()
    ([0.0, 1.0, 1.0], [0, 0, 1])
    """
    order = np.lexsort((grades, -scores))
    new = np.diff(scores[order], prepend=scores[order[0]]) != 0.0
    return Ranking(grades[order], np.cumsum(new))
