"""Raw scores of a fitted classifier: its decision_function, else log-odds of its probabilities."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.base import BaseEstimator
from sklearn.frozen import FrozenEstimator
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from bayescal.calibrators.classifier.targets import BINARY, MULTICLASS, MULTILABEL, Target
from bayescal.support.validation import Floats, check_instance

# These fit a binary classifier for each label, whose scores are finer than their probabilities.
PER_LABEL = (OneVsRestClassifier, MultiOutputClassifier)
# The largest score that calibrators take.
FARTHEST = 1e150


def check_scoring(estimator: Any, kind: str) -> None:
    """Raise ValueError unless a classifier, fitted or not, can give scores."""
    check_instance("estimator", estimator, "a classifier instance", "fit")
    if _has_scores(estimator):
        return
    inner, _ = last_step(estimator)
    if kind == MULTILABEL and isinstance(inner, PER_LABEL) and _has_scores(inner.estimator):
        return
    raise ValueError(
        "estimator must have fit and decision_function or predict_proba,"
        f" {type(inner).__name__} has neither."
    )


def read_classifiers(classifiers: Any) -> dict[str, Any]:
    """Return checked (name, classifier) pairs as a mapping."""
    try:
        pairs = [(name, classifier) for name, classifier in classifiers]
    except (TypeError, ValueError) as err:
        raise ValueError(
            f"classifiers must be a list of (name, classifier), got {classifiers!r}."
        ) from err
    if not pairs:
        raise ValueError("classifiers must hold at least one (name, classifier), got none.")
    names = [name for name, _ in pairs]
    if nameless := [name for name in names if not isinstance(name, str)]:
        raise ValueError(f"names of classifiers must be text, got {nameless[0]!r}.")
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(
            f"classifiers must have names of their own, got {', '.join(map(repr, repeated))} more"
            " than once: the same classifier may come twice under two names."
        )
    for name, classifier in pairs:
        try:
            check_scoring(classifier, BINARY)
        except ValueError as err:
            raise ValueError(f"classifier {name!r}: {err}") from err
    return dict(pairs)


@contextmanager
def named_refusal(estimator: Any) -> Iterator[None]:
    """Name the classifier that cannot read the documents."""
    try:
        yield
    except TypeError as err:
        name = type(last_step(estimator)[0]).__name__
        raise TypeError(f"the classifier {name} refused X, or another argument: {err}") from err


def raw_scores(estimator: Any, documents: Any, kind: str, columns: int) -> Floats:
    """Return a fitted classifier's decision_function or log-odds, shape (n, columns)."""
    # The other classes' probabilities sum to 1 - p, so that p = 1 - 1e-30 does not round to 1.
    if kind == MULTICLASS and _scores_pairs(estimator):
        raise ValueError(
            "estimator must give a score for each class, got scores of pairs of classes: of SVC set"
            " decision_function_shape='ovr'."
        )
    if hasattr(estimator, "decision_function"):
        with named_refusal(estimator):
            scores = np.asarray(estimator.decision_function(documents), dtype=np.float64)
        scores = scores[:, None] if scores.ndim == 1 else scores
    elif kind == MULTILABEL and isinstance(last_step(estimator)[0], PER_LABEL):
        last, features = last_step(estimator, documents)
        parts = [raw_scores(one, features, BINARY, 1) for one in last.estimators_]
        scores = np.concatenate(parts, axis=1)
    else:
        scores = _log_odds(estimator, documents, kind)
    if scores.ndim != 2 or scores.shape[1] != columns:
        raise ValueError(
            f"estimator must give {columns} column{'s' * (columns > 1)} of scores, one a class or"
            f" label, got shape {scores.shape}."
        )
    return scores


@dataclass(frozen=True)
class ScoreColumns:
    """The columns of a classifier's scores that are calibrated."""

    kind: str  # {"binary", "multiclass", "multilabel"}: how the classifier scores
    count: int  # Number of score columns
    turned: bool  # Whether larger scores mean the negative of two classes
    kept: NDArray[np.bool_] | None = None  # Mask of the calibrated columns; None for all

    @classmethod
    def of(cls, target: Target, kept: NDArray[np.bool_] | None = None) -> ScoreColumns:
        """Return the score columns of a target."""
        return cls(target.kind, target.columns.size, target.turned, kept)

    def scores(self, estimator: Any, documents: Any) -> Floats:
        """Return a fitted classifier's raw scores, larger for likelier positives."""
        scores = raw_scores(estimator, documents, self.kind, self.count)
        scores = -scores if self.turned else scores
        return scores if self.kept is None else scores[:, self.kept]


@dataclass(frozen=True)
class Reach:
    """Bounds of each column's scores, which replace infinite log-odds."""

    # A probability of 0 counts as half the smallest positive one calibrated on, and similarly at 1.

    low: Floats  # (columns,): lower bounds
    high: Floats  # (columns,): upper bounds

    @classmethod
    def of(cls, scores: Floats) -> Reach:
        """Return the reach of the scores calibrated on, shape (n, columns)."""
        low, high = infinite_as(scores)
        # Larger finite scores stay, so that calibrators refuse them.
        far = np.maximum(FARTHEST, np.abs(np.where(np.isfinite(scores), scores, 0.0)).max(axis=0))
        return cls(
            np.where((scores == -np.inf).any(axis=0), low, -far),
            np.where((scores == np.inf).any(axis=0), high, far),
        )

    def clip(self, scores: Floats) -> Floats:
        """Return scores clipped to the bounds; nan remains, and calibrators refuse it."""
        return np.clip(scores, self.low, self.high)


def infinite_as(scores: Floats) -> tuple[Floats, Floats]:
    """Return finite substitutes for minus and plus infinity in each column of scores."""
    finite = np.isfinite(scores)
    lowest = np.where(finite, scores, np.inf).min(axis=0)
    highest = np.where(finite, scores, -np.inf).max(axis=0)
    # Without any finite log-odds the bounds are arbitrary: minus and plus log 2.
    lowest, highest = (np.where(np.isfinite(end), end, 0.0) for end in (lowest, highest))
    return lowest - np.log(2.0), highest + np.log(2.0)


def _log_odds(estimator: Any, documents: Any, kind: str) -> Floats:
    with _logarithms_of_0(), named_refusal(estimator):
        if hasattr(estimator, "predict_log_proba"):
            log_proba = estimator.predict_log_proba(documents)
        else:
            proba = estimator.predict_proba(documents)
            log_proba = [np.log(one) for one in proba] if isinstance(proba, list) else np.log(proba)
        if isinstance(log_proba, list):  # several labels, two columns for each
            return np.stack([one[:, 1] - one[:, 0] for one in log_proba], axis=1)
        log_p = np.asarray(log_proba, dtype=np.float64)
        if kind == BINARY:
            return log_p[:, [1]] - log_p[:, [0]]
        rest = np.log1p(-np.exp(log_p))
        if kind == MULTICLASS:
            # For p close to 1, log(1 - p) cancels; the sum of the other classes does not.
            document, top = np.arange(len(log_p)), log_p.argmax(axis=1)
            others = log_p.copy()
            others[document, top] = -np.inf
            rest[document, top] = logsumexp(others, axis=1)
        return log_p - rest


@contextmanager
def _logarithms_of_0() -> Iterator[None]:
    """Ignore warnings of log(0), in a classifier's own workers too."""
    with np.errstate(divide="ignore"), warnings.catch_warnings():
        # scikit-learn passes warning filters to its workers, but not errstate.
        warnings.filterwarnings("ignore", "divide by zero encountered in log", RuntimeWarning)
        yield


def _scores_pairs(estimator: Any) -> bool:
    """Return whether a fitted classifier has a score for each pair of classes."""
    inner, _ = last_step(estimator)
    # Meta-estimators such as searches return the scores of their classifier.
    for name in ("best_estimator_", "estimator_"):
        if hasattr(inner, name):
            return _scores_pairs(getattr(inner, name))
    return getattr(inner, "decision_function_shape", None) == "ovo"


def _has_scores(estimator: Any) -> bool:
    return hasattr(estimator, "decision_function") or hasattr(estimator, "predict_proba")


def reads_texts(estimator: Any) -> bool:
    """Return whether a step of a classifier takes texts, as a CountVectorizer does."""
    if isinstance(estimator, FrozenEstimator):
        return reads_texts(estimator.estimator)
    if not isinstance(estimator, BaseEstimator):
        return False
    steps = [estimator, *estimator.get_params().values()]
    known = [each for each in steps if isinstance(each, BaseEstimator)]
    return any(get_tags(each).input_tags.string for each in known)


def last_step(estimator: Any, documents: Any = None) -> tuple[Any, Any]:
    """Return the classifier within pipelines and frozen estimators, and its transformed input."""
    while isinstance(estimator, FrozenEstimator | Pipeline):
        if isinstance(estimator, FrozenEstimator):
            estimator = estimator.estimator
            continue
        if documents is not None and len(estimator) > 1:
            documents = estimator[:-1].transform(documents)
        estimator = estimator[-1]
    return estimator, documents
