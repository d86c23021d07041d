"""Kinds of classifiers that have indicators of their own, and a fitted classifier with its kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from bayescal.classification.raw_scores import check_scoring, last_step, raw_scores
from bayescal.classification.targets import BINARY
from bayescal.indicators.bernoulli import BERNOULLI
from bayescal.indicators.euclidean_neighbours import EUCLIDEAN_NEIGHBOURS
from bayescal.indicators.kind import Indicator, ModelIndicators
from bayescal.indicators.neighbours import COSINE_NEIGHBOURS, NEIGHBOURS
from bayescal.indicators.support_vectors import SUPPORT_VECTORS
from bayescal.indicators.tree import TREE
from bayescal.indicators.unigram import UNIGRAM
from bayescal.validation import Floats

# A kind of classifiers is one entry, whose file holds its indicators.
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
    """
    A fitted classifier, and what its indicators are made of.

    Attributes
    ----------
    name : str
        What users call it.
    estimator : classifier or pipeline
        Fitted.
    kind_name : str or None
        Its name in `KINDS`, which unlike the kind can be kept in a file; None for classifiers
        without indicators of their own.
    learnt : object
        What the kind's `learn` returned.
    farthest : float
        Beyond it no log-odds of probabilities are believed; see `farthest_log_odds`.
    """

    name: str
    estimator: Any
    kind_name: str | None
    learnt: Any
    farthest: float

    @classmethod
    def of(cls, name: str, estimator: Any, documents: Any, positive: NDArray[np.bool_]) -> Member:
        """Return a fitted classifier with what it and the training documents say."""
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
            strange = int((~np.isfinite(scores)).argmax())
            raise ValueError(
                f"classifier {self.name!r} must give a finite score to every document, got"
                f" {scores[strange]} for document {strange} of those given."
            )
        return np.asarray(scores)


def farthest_log_odds(classifier: Any, features: Any) -> float:
    """
    Return how far from 0 log-odds of a classifier's probabilities may be; infinity for scores.

    Probabilities of 0 and 1, as of pure leaves, have infinite log-odds. These and all others are
    kept within twice the farthest finite ones of the N training documents, and at least within
    ln(N + 1), which Laplace's (N + 1)/(N + 2) has.

    Parameters
    ----------
    classifier : classifier
        Fitted.
    features : array or sparse matrix of shape (documents, features)
        The training documents as it sees them.

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


def selected_words(estimator: Any, words: int) -> NDArray[np.bool_] | None:
    """
    Return which words a pipeline selects; None if it does not select.

    Parameters
    ----------
    estimator : classifier or pipeline
        Fitted.
    words : int
        How many there are.
    """
    if isinstance(estimator, FrozenEstimator):
        return selected_words(estimator.estimator, words)
    if not isinstance(estimator, Pipeline):
        return None
    for _, step in estimator.steps[:-1]:
        if isinstance(step, SelectorMixin):
            support: NDArray[np.bool_] = step.get_support()
            return support if support.size == words else None
    return selected_words(estimator[-1], words)


def check_classifiers(classifiers: Sequence[tuple[str, Any]]) -> None:
    """
    Raise ValueError unless there are classifiers, each with a name of its own and scores.

    Parameters
    ----------
    classifiers : list of (str, classifier)
        See `ReliabilityIndicators`.

    Examples
    --------
    >>> check_classifiers([("svm", 1), ("svm", 2)])
    Traceback (most recent call last):
    ...
    ValueError: classifiers must have names of their own, got 'svm' twice.
    """
    pairs = list(classifiers)
    if not pairs or not all(isinstance(pair, tuple | list) and len(pair) == 2 for pair in pairs):
        raise ValueError(
            "classifiers must be a list of (name, classifier) with at least one of them, got"
            f" {classifiers!r}."
        )
    for name, number in Counter(name for name, _ in pairs).items():
        if not isinstance(name, str):
            raise ValueError(f"names of classifiers must be text, got {name!r}.")
        if number > 1:
            raise ValueError(f"classifiers must have names of their own, got {name!r} twice.")
    for name, classifier in pairs:
        try:
            check_scoring(classifier, BINARY)
        except ValueError as err:
            raise ValueError(f"classifier {name!r} cannot be used: {err}") from err
