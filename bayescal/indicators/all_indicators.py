"""Several fitted classifiers and their training documents, and all indicators made of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from bayescal.indicators import document, feature_selection, task, votes
from bayescal.indicators.models import Member, selected_words
from bayescal.indicators.neighbours import NEIGHBOURS
from bayescal.indicators.support_vectors import SUPPORT_VECTORS
from bayescal.indicators.task import Task
from bayescal.indicators.votes import Votes
from bayescal.indicators.words import DocumentWords, Vocabulary
from bayescal.parallel import blocks_of
from bayescal.validation import Floats

# Documents at a time: of each there is a row of distances to all training documents.
BLOCK = 1024
OF_WORDS = (document.INDICATORS, feature_selection.INDICATORS)


@dataclass(frozen=True)
class AllIndicators:
    """
    All that indicators are made of.

    Attributes
    ----------
    members : list of Member
        The classifiers.
    vocabulary : Vocabulary or None
        Of the training documents; None if their features are no words.
    thresholds : array of shape (classifiers,)
        The score above which each votes for the positive class.
    best : int
        The classifier that the votes are compared with.
    task : Task or None
        None if its indicators are not wanted.
    """

    members: list[Member]
    vocabulary: Vocabulary | None
    thresholds: Floats
    best: int
    task: Task | None

    def names(self) -> Iterator[str]:
        """Yield the names of all indicators, in the order of their columns."""
        if self.vocabulary is not None:
            yield from chain(*OF_WORDS)
        of_models = Counter(name for member in self.members for name in member.indicators)
        for member in self.members:
            for name in member.indicators:
                yield f"{member.name}__{name}" if of_models[name] > 1 else name
        yield from votes.INDICATORS
        if self.task is not None:
            yield from task.INDICATORS

    def scores_and_indicators(self, documents: Any) -> tuple[Floats, Floats]:
        """Return scores, (documents, classifiers), and indicators, (documents, indicators)."""
        blocks = blocks_of(BLOCK, documents.shape[0])
        scores, indicators = zip(*(self._of_block(documents[b]) for b in blocks), strict=True)
        return np.concatenate(scores), np.concatenate(indicators)

    def _of_block(self, documents: Any) -> tuple[Floats, Floats]:
        columns: list[Floats] = []
        if self.vocabulary is not None:
            words = DocumentWords.of(documents, self.vocabulary)
            columns += [each(words) for indicators in OF_WORDS for each in indicators.values()]
        scores = np.empty((documents.shape[0], len(self.members)))
        for k, member in enumerate(self.members):
            scores[:, k], values = member.scores_and_values(documents)
            columns += values
        cast = Votes(scores > self.thresholds, self.best)
        columns += [indicator(cast) for indicator in votes.INDICATORS.values()]
        if self.task is not None:
            same = [indicator(self.task) for indicator in task.INDICATORS.values()]
            columns += [np.full(documents.shape[0], value) for value in same]
        return scores, np.stack(columns, axis=1)


def scores_of(members: list[Member], documents: Any) -> Floats:
    """Return the scores of all classifiers, (documents, classifiers)."""
    return np.stack([member.scores(documents) for member in members], axis=1)


def vocabulary_of(members: list[Member], counts: Any, positive: NDArray[np.bool_]) -> Vocabulary:
    """
    Return the vocabulary of the training documents.

    The words that classifiers see are those that the first pipeline selects which is not one by
    nearest neighbours (these see more words); all words where none selects.

    Parameters
    ----------
    members : list of Member
        The classifiers.
    counts : array or sparse matrix of shape (documents, words)
        How often each word occurs.
    positive : array of shape (documents,) of bool
        The classes.
    """
    words = counts.shape[1]
    selections = (
        selected_words(member.estimator, words)
        for member in members
        if member.kind is not NEIGHBOURS
    )
    every = np.ones(words, dtype=bool)
    selected = next((each for each in selections if each is not None), every)
    return Vocabulary.of(sparse.csr_array(counts), positive, selected)


def task_of(members: list[Member], positive: NDArray[np.bool_]) -> Task:
    """Return the numbers of training documents, positive ones, and support vectors."""
    vectors = sum(m.learnt.score.size for m in members if m.kind is SUPPORT_VECTORS)
    return Task(positive.size, int(positive.sum()), vectors)
