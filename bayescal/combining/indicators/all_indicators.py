"""All indicators of several fitted classifiers, their training documents and their decisions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from bayescal.calibrators.classifier.raw_scores import last_step, raw_scores
from bayescal.calibrators.classifier.targets import BINARY
from bayescal.combining.indicators import words
from bayescal.combining.indicators.kind import Indicator, ModelIndicators
from bayescal.combining.indicators.linear_models import BERNOULLI, SUPPORT_VECTORS, UNIGRAM
from bayescal.combining.indicators.neighbours import (
    COSINE_NEIGHBOURS,
    EUCLIDEAN_NEIGHBOURS,
    NEIGHBOURS,
)
from bayescal.combining.indicators.tree import TREE
from bayescal.support.parallel import blocks_of
from bayescal.support.validation import Floats

# Kinds of classifiers that have indicators of their own.
KINDS: Mapping[str, ModelIndicators] = {
    "unigram": UNIGRAM,
    "bernoulli": BERNOULLI,
    "neighbours": NEIGHBOURS,
    "cosine_neighbours": COSINE_NEIGHBOURS,
    "euclidean_neighbours": EUCLIDEAN_NEIGHBOURS,
    "support_vectors": SUPPORT_VECTORS,
    "tree": TREE,
}


@dataclass(frozen=True)
class Member:
    """A fitted classifier, and what its indicators are made of."""

    name: str  # What users call it
    estimator: Any  # Fitted
    # Its name in `KINDS`, which can be pickled unlike the kind; None for other classifiers.
    kind_name: str | None
    learnt: Any  # What the kind's `learn` returned
    farthest: float  # Beyond it no log-odds of probabilities are believed; see `farthest_log_odds`

    @classmethod
    def of(cls, name: str, estimator: Any, documents: Any, positive: NDArray[np.bool_]) -> Member:
        """Return a fitted classifier with what its kind learns from the training documents."""
        classifier, features = last_step(estimator, documents)
        kind_name = next((key for key, kind in KINDS.items() if kind.recognises(classifier)), None)
        learnt = None
        if kind_name is not None:
            learnt = KINDS[kind_name].learn(classifier, features, positive)
        return cls(name, estimator, kind_name, learnt, farthest_log_odds(classifier, features))

    @property
    def kind(self) -> ModelIndicators | None:
        """Return its kind, None for classifiers without indicators of their own."""
        return None if self.kind_name is None else KINDS[self.kind_name]

    def scores(self, documents: Any) -> Floats:
        """Return the scores of documents, (documents,)."""
        return self._scores(*last_step(self.estimator, documents))

    @property
    def indicators(self) -> Mapping[str, Indicator]:
        """Return the indicators of its kind by name."""
        return {} if self.kind is None else self.kind.indicators

    def scores_and_values(self, documents: Any) -> tuple[Floats, list[Floats]]:
        """Return the scores of documents, and the values of the kind's indicators in order."""
        classifier, features = last_step(self.estimator, documents)
        kind = self.kind
        if kind is None:
            return self._scores(classifier, features), []
        around = kind.around(self.learnt, features)
        values = [indicator(around) for indicator in kind.indicators.values()]
        if kind.score is not None:
            return kind.score(around), values
        return self._scores(classifier, features), values

    def _scores(self, classifier: Any, features: Any) -> Floats:
        scores = raw_scores(classifier, features, BINARY, 1)[:, 0]
        scores = np.clip(scores, -self.farthest, self.farthest)
        if not np.isfinite(scores).all():
            wrong = int((~np.isfinite(scores)).argmax())
            raise ValueError(
                f"classifier {self.name!r} must give a finite score to every document, got"
                f" {scores[wrong]} for document {wrong}."
            )
        return np.asarray(scores)


def farthest_log_odds(classifier: Any, features: Any) -> float:
    """
    Return a bound on the size of log-odds of a classifier's probabilities; infinity for scores.

    Probabilities of 0 and 1, as of pure leaves, have infinite log-odds. These and all others are
    kept within twice the farthest finite ones of the N training documents, and at least within
    ln(N + 1), which Laplace's (N + 1)/(N + 2) has.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> pure = DecisionTreeClassifier().fit([[0], [1], [2]], [0, 1, 1])
    >>> round(farthest_log_odds(pure, [[0], [1], [2]]), 4)  # ln 4
    1.3863
    """
    if hasattr(classifier, "decision_function"):
        return np.inf
    scores = raw_scores(classifier, features, BINARY, 1)[:, 0]
    known = np.abs(scores[np.isfinite(scores)]).max(initial=0.0)
    return float(max(2.0 * known, np.log1p(scores.size)))


def selected_words(estimator: Any, size: int) -> NDArray[np.bool_] | None:
    """Return a mask of the words that a pipeline selects; None if it does not select."""
    if isinstance(estimator, FrozenEstimator):
        return selected_words(estimator.estimator, size)
    if not isinstance(estimator, Pipeline):
        return None
    for _, step in estimator.steps[:-1]:
        if isinstance(step, SelectorMixin):
            support: NDArray[np.bool_] = step.get_support()
            return support if support.size == size else None
    return selected_words(estimator[-1], size)


@dataclass(frozen=True)
class TaskNumbers:
    """Training documents of a binary problem, the same for all its documents (section 5.3)."""

    training: int
    positive: int
    support_vectors: int  # training documents x with y f(x) <= 1; 0 without an SVM


TASK_INDICATORS: Mapping[str, Callable[[TaskNumbers], float]] = {
    "NumTrainingPoints": lambda task: float(task.training),
    "%TrainingPointsInPositive": lambda task: task.positive / task.training,
    "NumberOfSupportVectors": lambda task: float(task.support_vectors),
}


@dataclass(frozen=True)
class ClassifierVotes:
    """Decisions of the classifiers, for indicators of Type 4 (section 5.2.2)."""

    positive: NDArray[np.bool_]  # (documents, classifiers)
    best: int  # the classifier that was best on the training documents


VOTE_INDICATORS: Mapping[str, Indicator] = {
    "PercentPredictingPositive": lambda decisions: decisions.positive.mean(axis=1),
    # The best one agrees with itself.
    "PercentAgreeWBest": lambda decisions: (
        decisions.positive == decisions.positive[:, [decisions.best]]
    ).mean(axis=1),
}

# Documents at a time; each needs a row of distances to all training documents.
BLOCK = 1024
OF_WORDS = (words.DOCUMENT_INDICATORS, words.SELECTION_INDICATORS)


@dataclass(frozen=True)
class AllIndicators:
    """All that indicators are made of."""

    members: list[Member]  # The classifiers
    vocabulary: (
        words.Vocabulary | None
    )  # Of the training documents; None if their features are no words
    thresholds: Floats  # (classifiers,): the score above which each votes for the positive class
    best: int  # The classifier that the votes are compared with
    task: TaskNumbers | None  # None if its indicators are not wanted

    def names(self) -> Iterator[str]:
        """Yield the names of all indicators, in the order of their columns."""
        if self.vocabulary is not None:
            yield from chain(*OF_WORDS)
        of_models = Counter(name for member in self.members for name in member.indicators)
        for member in self.members:
            for name in member.indicators:
                yield f"{member.name}__{name}" if of_models[name] > 1 else name
        yield from VOTE_INDICATORS
        if self.task is not None:
            yield from TASK_INDICATORS

    def scores_and_indicators(self, documents: Any) -> tuple[Floats, Floats]:
        """Return scores, (documents, classifiers), and indicators, (documents, indicators)."""
        blocks = blocks_of(BLOCK, documents.shape[0])
        scores, indicators = zip(*(self._of_block(documents[b]) for b in blocks), strict=True)
        return np.concatenate(scores), np.concatenate(indicators)

    def _of_block(self, documents: Any) -> tuple[Floats, Floats]:
        columns: list[Floats] = []
        if self.vocabulary is not None:
            tallies = words.DocumentWords.of(documents, self.vocabulary)
            columns += [each(tallies) for indicators in OF_WORDS for each in indicators.values()]
        scores = np.empty((documents.shape[0], len(self.members)))
        for k, member in enumerate(self.members):
            scores[:, k], values = member.scores_and_values(documents)
            columns += values
        decisions = ClassifierVotes(scores > self.thresholds, self.best)
        columns += [indicator(decisions) for indicator in VOTE_INDICATORS.values()]
        if self.task is not None:
            same = [indicator(self.task) for indicator in TASK_INDICATORS.values()]
            columns += [np.full(documents.shape[0], value) for value in same]
        return scores, np.stack(columns, axis=1)


def scores_of(members: list[Member], documents: Any) -> Floats:
    """Return the scores of all classifiers, (documents, classifiers)."""
    return np.stack([member.scores(documents) for member in members], axis=1)


def vocabulary_of(
    members: list[Member], counts: Any, positive: NDArray[np.bool_]
) -> words.Vocabulary:
    """
    Return the vocabulary of the training documents.

    The words that classifiers see are those that the first pipeline selects which is not one by
    nearest neighbours (these see more words); all words where none selects.
    """
    size = counts.shape[1]
    selections = (
        selected_words(member.estimator, size)
        for member in members
        if member.kind is not NEIGHBOURS
    )
    every = np.ones(size, dtype=bool)
    selected = next((each for each in selections if each is not None), every)
    return words.Vocabulary.of(sparse.csr_array(counts), positive, selected)


def task_of(members: list[Member], positive: NDArray[np.bool_]) -> TaskNumbers:
    """Return the numbers of training documents, positive ones, and support vectors."""
    vectors = sum(m.learnt.score.size for m in members if m.kind is SUPPORT_VECTORS)
    return TaskNumbers(positive.size, int(positive.sum()), vectors)
