"""ReliabilityIndicators: all indicators of several fitted classifiers and their documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from itertools import chain
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import ClassifierTags, _safe_indexing
from sklearn.utils.validation import _num_samples, check_is_fitted, check_non_negative

from bayescal.calibrators.classifier import raw_scores
from bayescal.calibrators.classifier.targets import BINARY
from bayescal.combining.indicators import models, neighbours, words
from bayescal.combining.indicators.models import ModelIndicators
from bayescal.support import validation
from bayescal.support.labels import sorted_labels
from bayescal.support.numerics import blocks_of
from bayescal.support.validation import Floats

# Kinds of classifiers that have indicators of their own.
KINDS: Mapping[str, ModelIndicators] = {
    "unigram": models.UNIGRAM,
    "bernoulli": models.BERNOULLI,
    "neighbours": neighbours.NEIGHBOURS,
    "cosine_neighbours": neighbours.COSINE_NEIGHBOURS,
    "euclidean_neighbours": neighbours.EUCLIDEAN_NEIGHBOURS,
    "support_vectors": models.SUPPORT_VECTORS,
    "tree": models.TREE,
}


OTHER = ModelIndicators(
    recognises=lambda model: True,
    learn=lambda model, features, positive: None,
    around=lambda learned, features: None,
    indicators={},
)


@dataclass(frozen=True)
class Member:
    """A fitted classifier, with the statistics that its indicators need."""

    name: str  # What users call it
    estimator: Any  # Fitted
    kind_name: str  # in `KINDS`, which can be pickled unlike the kind; empty for other classifiers
    learnt: Any  # What the kind's `learn` returned
    farthest: float  # Beyond it no log-odds of probabilities are believed; see `farthest_log_odds`

    @classmethod
    def of(cls, name: str, estimator: Any, documents: Any, positive: NDArray[np.bool_]) -> Member:
        """Return a fitted classifier with what its kind learns from the training documents."""
        classifier, features = raw_scores.last_step(estimator, documents)
        kind_name = next((key for key, kind in KINDS.items() if kind.recognises(classifier)), "")
        learnt = KINDS.get(kind_name, OTHER).learn(classifier, features, positive)
        return cls(name, estimator, kind_name, learnt, farthest_log_odds(classifier, features))

    @property
    def kind(self) -> ModelIndicators:
        """Return its kind, which has the indicators."""
        return KINDS.get(self.kind_name, OTHER)

    def scores(self, documents: Any) -> Floats:
        """Return the scores of documents, (documents,)."""
        return self._scores(*raw_scores.last_step(self.estimator, documents))

    def scores_and_values(self, documents: Any) -> tuple[Floats, list[Floats]]:
        """Return the scores of documents, and the values of the kind's indicators in order."""
        classifier, features = raw_scores.last_step(self.estimator, documents)
        kind = self.kind
        around = kind.around(self.learnt, features)
        values = [indicator(around) for indicator in kind.indicators.values()]
        if kind.score is not None:
            return kind.score(around), values
        return self._scores(classifier, features), values

    def _scores(self, classifier: Any, features: Any) -> Floats:
        scores = raw_scores.raw_scores(classifier, features, BINARY, 1)[:, 0]
        scores = np.clip(scores, -self.farthest, self.farthest)
        if not np.isfinite(scores).all():
            wrong = int((~np.isfinite(scores)).argmax())
            raise ValueError(
                f"classifier {self.name!r} must give a finite score to every document, got"
                f" {scores[wrong]} for document {wrong}."
            )
        return np.asarray(scores)


def farthest_log_odds(classifier: Any, features: Any) -> float:
    """Return a bound on log-odds of probabilities; infinity for decision_function."""
    if hasattr(classifier, "decision_function"):
        return np.inf
    scores = raw_scores.raw_scores(classifier, features, BINARY, 1)[:, 0]
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


# Indicators of Type 4 (section 5.2.2), from the decisions of the classifiers, an array of shape
# (documents, classifiers), and the position of the best classifier, which agrees with itself.
VOTE_INDICATORS: Mapping[str, Callable[[NDArray[np.bool_], int], Floats]] = {
    "PercentPredictingPositive": lambda taken, best: taken.mean(axis=1),
    "PercentAgreeWBest": lambda taken, best: (taken == taken[:, [best]]).mean(axis=1),
}

# Documents at a time; each needs a row of distances to all training documents.
BLOCK = 1024
OF_WORDS = (words.DOCUMENT_INDICATORS, words.SELECTION_INDICATORS)


def scores_of(members: list[Member], documents: Any) -> Floats:
    """Return the scores of all classifiers, (documents, classifiers)."""
    return np.stack([member.scores(documents) for member in members], axis=1)


def vocabulary_of(
    members: list[Member], counts: Any, positive: NDArray[np.bool_]
) -> words.Vocabulary:
    """Return the vocabulary of the training documents."""
    size = counts.shape[1]
    selections = (
        selected_words(member.estimator, size)
        for member in members
        if member.kind is not neighbours.NEIGHBOURS
    )
    every = np.ones(size, dtype=bool)
    selected = next((each for each in selections if each is not None), every)
    return words.Vocabulary.of(sparse.csr_array(counts), positive, selected)


JUDGED_ON = 2000  # documents that choose the best classifier; neighbours take long


@dataclass(eq=False, repr=False)
class ReliabilityIndicators(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Compute features of documents that predict how reliable classifiers are on them.

    Bennett's reliability indicators: how much information the document holds before and after
    selection of words, how a classifier's score changes when the document changes a little, and how
    the classifiers vote. All five kinds of classifiers of `bayescal.text` together have 70.

    Parameters
    ----------
    classifiers : list of (str, classifier)
        Binary classifiers or pipelines, with decision_function or predict_proba. Classifiers of
        `bayescal.text.make_classifier`, and scikit-learn's MultinomialNB, BernoulliNB,
        KNeighborsClassifier (by cosines, or in Euclidean space with uniform weights), LinearSVC,
        SVC(kernel="linear") and DecisionTreeClassifier, alone or at the end of a pipeline, have
        indicators of their own; others only vote.
    text : bool
        Whether X counts words. If not, indicators of documents' words are left out. Pipelines that
        read texts, such as ``make_pipeline(TfidfVectorizer(), LinearSVC())``, need text=False.
    prefit : bool
        Whether the classifiers are fitted already, to the documents that `fit` receives.
    best : str, optional
        The classifier that all votes are compared with, such as the best of a cross-validation. By
        default the one with the fewest errors on at most 2,000 documents of `fit`, which favours
        classifiers that overfit.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The negative and the positive class.
    classifiers_ : list of (str, classifier)
        Fitted.
    best_ : str
        See `best`.
    thresholds_ : array of shape (classifiers,)
        The score above which each classifier votes for the positive class: its own `threshold_` if
        it has one, else 0.

    References
    ----------
    Bennett's dissertation, chapter 5; the names are those of its section 5.2.

    Examples
    --------
    >>> from bayescal.text import MultinomialNaiveBayes, DecisionTree
    >>> counts, y = [[3, 0, 1], [2, 1, 0], [0, 2, 2], [0, 1, 3]], [1, 1, 0, 0]
    >>> classifiers = [("naive_bayes", MultinomialNaiveBayes()), ("tree", DecisionTree())]
    >>> indicators = ReliabilityIndicators(classifiers, text=False).fit(counts, y)
    >>> names = indicators.get_feature_names_out()
    >>> values = dict(zip(names, indicators.transform([[1, 1, 0]])[0].round(2).tolist()))
    >>> values["UnigramMeanShift"], values["PercentPredictingPositive"]
    (1.03, 0.5)
    """

    classifiers: Sequence[tuple[str, Any]]
    _: KW_ONLY
    text: bool = True
    prefit: bool = False
    best: str | None = None

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit the classifiers, and learn the statistics that indicators need.

        Parameters
        ----------
        X : array or sparse matrix of shape (documents, features)
            How often each word occurs, before any selection of words; or any features. For
            pipelines that read texts, the documents as these take them.
        y : array-like of shape (documents,)
            Labels, two classes, both present.

        Raises
        ------
        ValueError
            If an argument is not as described, or a classifier reads texts and text=True.
        """
        by_name = raw_scores.read_classifiers(self.classifiers)
        validation.check_flag(text=self.text, prefit=self.prefit)
        self._of_texts = any(map(raw_scores.reads_texts, by_name.values()))
        if self.text and self._of_texts:
            raise ValueError(
                "text=True needs classifiers of counts of words, got some that read texts: leave"
                " out the indicators of words by text=False, or take the CountVectorizer out of"
                " the pipelines and pass its counts."
            )
        X, y = self._read(X, y)
        self.classes_, codes = sorted_labels(y)
        positive = codes == 1
        validation.check_same_length("X", _num_samples(X), "y", positive.size)
        self.classifiers_ = [
            (name, self._fitted(name, each, X, y)) for name, each in self.classifiers
        ]
        members = [Member.of(*pair, X, positive) for pair in self.classifiers_]
        last = [raw_scores.last_step(each)[0] for _, each in self.classifiers_]
        self.thresholds_ = np.array([getattr(each, "threshold_", 0.0) for each in last])
        self.best_ = self._best(members, X, positive)
        self._members = members
        self._vocabulary = vocabulary_of(members, X, positive) if self.text else None
        return self

    def classifier_scores(self, X: Any) -> Floats:
        """Return the scores of all classifiers; shape (documents, classifiers).

        They are decision_function, or the log-odds of predict_proba, kept within twice the farthest
        finite ones of the N training documents, and at least within ln(N + 1). Raises ValueError
        with a classifier's name if it gives nan or an infinite score.
        """
        documents = self._validated(X)
        return scores_of(self._members, documents)

    def transform(self, X: Any) -> Floats:
        """Return the indicators of documents, shape (documents, indicators); X as in `fit`."""
        return self.scores_and_indicators(X)[1]

    def scores_and_indicators(self, X: Any) -> tuple[Floats, Floats]:
        """Return `classifier_scores` and `transform` together, which saves time; X as in `fit`."""
        documents = self._validated(X)
        rows = blocks_of(BLOCK, _num_samples(documents))
        blocks = [_safe_indexing(documents, block) for block in rows]
        scores, indicators = zip(*map(self._of_block, blocks), strict=True)
        return np.concatenate(scores), np.concatenate(indicators)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the names of the indicators, in the order of `transform`'s columns.

        Several classifiers of a kind have names such as "linear_svm__signedNNSV". `input_features`
        is ignored.
        """
        check_is_fitted(self, "classes_")
        of_models = Counter(name for member in self._members for name in member.kind.indicators)
        names = [
            f"{member.name}__{name}" if of_models[name] > 1 else name
            for member in self._members
            for name in member.kind.indicators
        ]
        of_words = [] if self._vocabulary is None else chain(*OF_WORDS)
        return np.array([*of_words, *names, *VOTE_INDICATORS], dtype=object)

    def __sklearn_tags__(self) -> Any:
        """Declare the inputs: features, sparse or not, and labels of two classes."""
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.text
        tags.target_tags.required = True
        return tags

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self, "classes_")
        return self._read(X, reset=False)

    def _read(self, X: Any, *y: Any, **options: Any) -> Any:
        """Return documents and labels, checked; classifiers that read texts check them."""
        if self._of_texts:
            return (validation.as_documents(X), *y) if y else validation.as_documents(X)
        read = validation.validated(self, X, *y, accept_sparse="csr", dtype=np.float64, **options)
        if self.text:
            check_non_negative(read[0] if y else read, f"{type(self).__name__} with text=True")
        return read

    def _of_block(self, documents: Any) -> tuple[Floats, Floats]:
        columns: list[Floats] = []
        if self._vocabulary is not None:
            numbers = words.count_words(documents, self._vocabulary)
            columns += [each(numbers) for indicators in OF_WORDS for each in indicators.values()]
        scores = np.empty((_num_samples(documents), len(self._members)))
        for k, member in enumerate(self._members):
            scores[:, k], values = member.scores_and_values(documents)
            columns += values
        best = [member.name for member in self._members].index(self.best_)
        columns += [each(scores > self.thresholds_, best) for each in VOTE_INDICATORS.values()]
        return scores, np.stack(columns, axis=1)

    def _fitted(self, name: str, classifier: Any, X: Any, y: Any) -> Any:
        if not self.prefit:
            return clone(classifier).fit(X, y)
        check_is_fitted(classifier)
        if not np.array_equal(classifier.classes_, np.sort(self.classes_)):
            raise ValueError(
                f"classifier {name!r} must have been fitted to the classes"
                f" {self.classes_.tolist()}, got {np.asarray(classifier.classes_).tolist()}."
            )
        return classifier

    def _best(self, members: list[Member], X: Any, positive: NDArray[np.bool_]) -> str:
        names = tuple(member.name for member in members)
        if self.best is not None:
            validation.check_choice("best", self.best, names)
            return self.best
        rows = np.unique(np.linspace(0, positive.size - 1, JUDGED_ON).astype(np.intp))
        taken = scores_of(members, _safe_indexing(X, rows)) > self.thresholds_
        return names[int((taken == positive[rows, None]).mean(axis=0).argmax())]
