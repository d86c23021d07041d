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
from bayescal.indicators.kind import Indicator, ModelIndicators
from bayescal.indicators.neighbours import NEIGHBOURS
from bayescal.indicators.support_vectors import SUPPORT_VECTORS
from bayescal.indicators.tree import TREE
from bayescal.indicators.unigram import UNIGRAM
from bayescal.validation import Floats

# A kind of classifiers is one entry, whose file holds its indicators.
KINDS = (UNIGRAM, BERNOULLI, *NEIGHBOURS, SUPPORT_VECTORS, TREE)


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
    kind : ModelIndicators or None
        None for classifiers without indicators of their own.
    learnt : object
        What the kind's `learn` returned.
    most : float
        What stands for infinite log-odds.
    """

    name: str
    estimator: Any
    kind: ModelIndicators | None
    learnt: Any
    most: float

    @classmethod
    def of(cls, name: str, estimator: Any, documents: Any, positive: NDArray[np.bool_]) -> Member:
        """Return a fitted classifier with what it and the training documents say."""
        classifier, features = last_step(estimator, documents)
        kind = next((kind for kind in KINDS if kind.recognises(classifier)), None)
        learnt = None if kind is None else kind.learn(classifier, features, positive)
        # A probability of 1 after N documents stands for Laplace's (N + 1)/(N + 2).
        return cls(name, estimator, kind, learnt, float(np.log1p(positive.size)))

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
        if self.kind is None:
            return self._scores(classifier, features), []
        around = self.kind.around(self.learnt, features)
        values = [indicator(around) for indicator in self.kind.indicators.values()]
        if self.kind.score is not None:
            return self.kind.score(around), values
        return self._scores(classifier, features), values

    def _scores(self, classifier: Any, features: Any) -> Floats:
        scores = raw_scores(classifier, features, BINARY, 1)[:, 0]
        if np.isnan(scores).any():
            raise ValueError(
                f"classifier {self.name!r} must give a score to every document, got nan for"
                f" document {int(np.isnan(scores).argmax())} of those given."
            )
        return np.clip(scores, -self.most, self.most) if np.isinf(scores).any() else scores


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
