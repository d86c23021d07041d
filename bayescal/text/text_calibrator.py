"""TextCalibrator: from labelled documents to probabilities of new ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.model_selection import BaseCrossValidator
from sklearn.utils.validation import check_is_fitted

from bayescal.calibrators.calibrated_classifier import CalibratedClassifier
from bayescal.support.validation import Floats, check_same_length, unmasked, warn_user
from bayescal.text.classifiers import WORDS, make_classifier
from bayescal.text.cross_validation import FOLDS, check_folds, splitter


class UnknownWordsWarning(UserWarning):
    """Documents hold no word that the classifier knows: they all get the same probability."""


class TextCalibrator(CalibratedClassifier):
    """
    Classify documents and calibrate: a `CalibratedClassifier` of counts of words.

    The calibrator gets cross-validated scores: every document is scored by a classifier that was
    fitted to the other folds, selection of words included. New documents are scored by the
    classifier fitted to all.

    Parameters
    ----------
    classifier : str or scikit-learn classifier
        A name of `bayescal.text.make_classifier`, which are for two classes; or one of
        your own for counts of words, sparse, such as a pipeline.
    words : int
        How many words the named classifiers use, by mutual information with the class.
    folds : int or scikit-learn splitter
        Number of folds of the cross-validation, which are shuffled and stratified; every class
        needs at least so many documents.
    calibrator : object or str, optional
        See `CalibratedClassifier`; by default `ScoreCalibrator()`.
    random_state : int
        Seeds folds, solver and posterior; the same seed gives the same probabilities.
    positive : label, optional
        The positive one of two classes; by default the second in sorted order.

    Attributes
    ----------
    classes_, scores_, calibrated_classifiers_, posterior_, diagnostics_
        See `CalibratedClassifier`.
    vectorizer_ : sklearn.feature_extraction.text.CountVectorizer
        It counts words of at least two letters or digits, whatever their case.

    Examples
    --------
    >>> texts = ["corn prices up", "corn harvest", "oil prices up", "oil wells"] * 5
    >>> labels = ["corn", "corn", "oil", "oil"] * 5
    >>> calibrator = TextCalibrator().fit(texts, labels)
    >>> calibrator.predict(["a corn field", "an oil field"]).tolist()
    ['corn', 'oil']
    """

    ensemble = False
    n_jobs = None

    def __init__(
        self,
        classifier: Any = "linear_svm",
        *,
        words: int = WORDS,
        folds: int | BaseCrossValidator = FOLDS,
        calibrator: Any = None,
        random_state: int = 0,
        positive: Any = None,
    ) -> None:
        self.classifier = classifier
        self.words = words
        self.folds = folds
        self.calibrator = calibrator
        self.random_state = random_state
        self.positive = positive

    def fit(
        self, X: Iterable[str], y: ArrayLike, sample_weight: ArrayLike | None = None, **params: Any
    ) -> Self:
        """
        Fit the classifier to all documents, and the calibrator to cross-validated scores.

        Parameters
        ----------
        X : iterable of n str
            Documents, each with a word at least.
        y : array-like of shape (n,)
            Classes.
        sample_weight : array-like of shape (n,), optional
            See `CalibratedClassifier.fit`.
        **params
            See `CalibratedClassifier.fit`.

        Raises
        ------
        ValueError
            If an argument is not as described, or a class has fewer documents than folds.
        """
        documents, labels = _as_documents(X), _as_labels(y)
        check_same_length("X", len(documents), "y", labels.size)
        vectorizer = CountVectorizer()
        _check_words(documents, vectorizer.build_analyzer())
        classes = np.unique(labels).size
        if classes > 2 and isinstance(self.classifier, str):
            raise ValueError(
                f"classifier {self.classifier!r} is for two classes, got {classes}: give a"
                " classifier of your own, such as OneVsRestClassifier(linear_svm())."
            )
        if classes > 1:  # the fit below reports a single class
            check_folds(self.folds, labels)
        super().fit(vectorizer.fit_transform(documents), labels, sample_weight, **params)
        self.vectorizer_ = vectorizer
        return self

    def score_documents(self, X: Iterable[str]) -> Floats:
        """
        Return the classifier's raw scores of new documents, shape (n,) or (n, columns).

        Parameters
        ----------
        X : iterable of n str
            Documents, each with a word at least.

        Warns
        -----
        UnknownWordsWarning
            If documents hold no word that a document fitted had.

        Raises
        ------
        ValueError
            If a document is no text or holds no word, or none holds a known word.
        """
        (pair,) = self._pairs()
        scores = pair.scores(self._features(X))
        return scores[:, 0] if self.scores_.ndim == 1 else scores

    @property
    def cv(self) -> BaseCrossValidator:
        """The folds, as `CalibratedClassifier` takes them."""
        return splitter(self.folds, self.random_state)

    def _estimator(self) -> Any:
        if isinstance(self.classifier, str):
            return make_classifier(
                self.classifier, words=self.words, random_state=self.random_state
            )
        return self.classifier

    def _features(self, X: Iterable[str]) -> Any:
        """Return counts of the words that documents fitted had."""
        check_is_fitted(self, "vectorizer_")
        documents = _as_documents(X)
        _check_words(documents, self.vectorizer_.build_analyzer())
        counts = self.vectorizer_.transform(documents)
        unknown = np.flatnonzero(counts.getnnz(axis=1) == 0)
        if unknown.size == len(documents):
            raise ValueError(
                f"none of the {unknown.size} documents holds a word of the documents fitted: are"
                " they of the same language and kind?"
            )
        if unknown.size:
            warn_user(
                f"{unknown.size} of {len(documents)} documents hold no word of the documents fitted"
                f" (the first is number {unknown[0] + 1}): all of these get the same probability.",
                UnknownWordsWarning,
            )
        return counts

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what comes in: texts."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        return tags


def _as_documents(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise ValueError("X must be a sequence of documents, got one str: put it into a list.")
    if hasattr(texts, "columns"):
        names = ", ".join(map(repr, texts.columns))
        raise ValueError(f"X must hold documents, got a table: pass one of its columns, {names}.")
    documents = list(texts)
    if not documents:
        raise ValueError("X must hold at least one document, got none.")
    for number, document in enumerate(documents, start=1):
        if not isinstance(document, str):
            raise ValueError(
                f"X must hold documents of type str, got {type(document).__name__} as document"
                f" {number}: decode bytes, and leave missing ones out."
            )
    return documents


def _as_labels(y: ArrayLike) -> NDArray[Any]:
    labels = np.asarray(unmasked(y, "y"))
    if labels.ndim != 1:
        raise ValueError(
            f"y must have shape (n,), one class per document, got shape {labels.shape}: of several"
            " labels per document put make_pipeline(CountVectorizer(), ...) into a"
            " CalibratedClassifier."
        )
    return labels


def _check_words(documents: list[str], words_of: Any) -> None:
    empty = [k for k, document in enumerate(documents, start=1) if not words_of(document)]
    if empty:
        raise ValueError(
            f"every document must hold a word, got none in document {empty[0]} ({len(empty)} of"
            f" {len(documents)} documents): leave empty documents out."
        )
