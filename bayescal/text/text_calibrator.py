"""TextCalibrator: from labelled documents to probabilities of new ones."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.validation import check_is_fitted

from bayescal.labels import encode_labels
from bayescal.score_calibrator import ScoreCalibrator
from bayescal.score_checks import without_scores_warnings
from bayescal.text.classifiers import WORDS, make_classifier
from bayescal.text.cross_validation import FOLDS, cross_val_scores, raw_scores
from bayescal.validation import Floats, check_same_length


class UnknownWordsWarning(UserWarning):
    """Documents hold no word that the classifier knows: they all get the same probability."""


class TextCalibrator(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """
    Classify documents and calibrate: counts of words, a classifier, a `ScoreCalibrator`.

    The calibrator gets cross-validated scores: every document scored by a classifier that was
    fitted to the other folds, selection of words included. New documents are scored by the
    classifier fitted to all.

    Parameters
    ----------
    classifier : str or scikit-learn classifier
        "linear_svm", "naive_bayes", "bernoulli_naive_bayes", or one of your own for counts of
        words, sparse, such as a pipeline.
    words : int
        How many words the named classifiers use, by mutual information with the class.
    folds : int
        Number of folds of the cross-validation; every class needs at least so many documents.
    calibrator : ScoreCalibrator, optional
        Its settings, `positive` among them, are used for the fit; by default `ScoreCalibrator()`.
    random_state : int
        Seeds folds, solver and posterior; the same seed gives the same probabilities.

    Attributes
    ----------
    classes_ : array of shape (2,)
        The negative and the positive class: see `ScoreCalibrator`.
    scores_ : array of shape (n,)
        The out-of-fold scores of the documents fitted.
    classifier_, calibrator_ : scikit-learn classifier, ScoreCalibrator
        Fitted.
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

    def __init__(
        self,
        classifier: Any = "linear_svm",
        *,
        words: int = WORDS,
        folds: int = FOLDS,
        calibrator: ScoreCalibrator | None = None,
        random_state: int = 0,
    ) -> None:
        self.classifier = classifier
        self.words = words
        self.folds = folds
        self.calibrator = calibrator
        self.random_state = random_state

    def fit(self, texts: Iterable[str], y: ArrayLike) -> Self:
        """
        Fit the classifier to all documents, and the calibrator to cross-validated scores.

        Parameters
        ----------
        texts : iterable of n str
            Documents, each with a word at least.
        y : array-like of shape (n,)
            Labels, two classes.

        Raises
        ------
        ValueError
            If an argument is not as described, or a class has fewer documents than folds.
        """
        documents = _as_documents(texts)
        calibrator = self._new_calibrator()
        classes, positive = encode_labels(y, positive=calibrator.positive)
        check_same_length("texts", len(documents), "y", positive.size)
        vectorizer = CountVectorizer()
        _check_words(documents, vectorizer.build_analyzer())
        counts = vectorizer.fit_transform(documents)
        classifier = self._new_classifier()
        scores = cross_val_scores(
            classifier, counts, positive, folds=self.folds, random_state=self.random_state
        )
        # Scores are the classifier's own business: whoever has documents can turn none around.
        with without_scores_warnings():
            calibrator.set_params(positive=classes[1])
            calibrator.fit(scores, classes[positive.astype(np.intp)])
        self.classifier_ = classifier.fit(counts, positive)
        self.vectorizer_, self.calibrator_ = vectorizer, calibrator
        self.classes_, self.scores_ = classes, scores
        return self

    def score_documents(self, texts: Iterable[str]) -> Floats:
        """
        Return the classifier's raw scores of new documents, shape (n,).

        Warns
        -----
        UnknownWordsWarning
            If documents hold no word that a document fitted had.

        Raises
        ------
        ValueError
            If a document is no text or holds no word, or none holds a known word.
        """
        check_is_fitted(self, "classifier_")
        documents = _as_documents(texts)
        _check_words(documents, self.vectorizer_.build_analyzer())
        counts = self.vectorizer_.transform(documents)
        unknown = np.flatnonzero(counts.getnnz(axis=1) == 0)
        if unknown.size == len(documents):
            raise ValueError(
                f"none of the {unknown.size} documents holds a word of the documents fitted: are"
                " they of the same language and kind?"
            )
        if unknown.size:
            warnings.warn(
                f"{unknown.size} of {len(documents)} documents hold no word of the documents fitted"
                f" (the first is number {unknown[0] + 1}): all of these get the same probability.",
                UnknownWordsWarning,
                stacklevel=2,
            )
        return raw_scores(self.classifier_, counts)

    def decision_function(self, texts: Iterable[str]) -> Floats:
        """Return calibrated natural log-odds of the positive class, shape (n,)."""
        scores = self.score_documents(texts)
        return self.calibrator_.decision_function(scores)

    def predict_proba(self, texts: Iterable[str]) -> Floats:
        """Return probabilities of both classes, in the order of `classes_`; shape (n, 2)."""
        scores = self.score_documents(texts)
        return self.calibrator_.predict_proba(scores)

    def predict_log_proba(self, texts: Iterable[str]) -> Floats:
        """Return natural logarithms of `predict_proba`, finite where that rounds to 0."""
        scores = self.score_documents(texts)
        return self.calibrator_.predict_log_proba(scores)

    def predict(self, texts: Iterable[str]) -> NDArray[Any]:
        """Return the likelier class of each document."""
        scores = self.score_documents(texts)
        return self.calibrator_.predict(scores)

    def predict_interval(self, texts: Iterable[str], level: float = 0.9) -> Floats:
        """Return the posterior interval of the positive class's probability; shape (n, 2)."""
        scores = self.score_documents(texts)
        return self.calibrator_.predict_interval(scores, level)

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn what comes in: texts, and two classes."""
        tags = super().__sklearn_tags__()
        tags.input_tags.string, tags.input_tags.two_d_array = True, False
        tags.classifier_tags.multi_class = False
        return tags

    def _new_classifier(self) -> Any:
        if isinstance(self.classifier, str):
            return make_classifier(
                self.classifier, words=self.words, random_state=self.random_state
            )
        return clone(self.classifier)

    def _new_calibrator(self) -> ScoreCalibrator:
        if self.calibrator is None:
            return ScoreCalibrator(random_state=self.random_state)
        return clone(self.calibrator)  # type: ignore[no-any-return]


def _as_documents(texts: Iterable[str]) -> list[str]:
    if isinstance(texts, str):
        raise ValueError("texts must be a sequence of documents, got one str: put it into a list.")
    documents = list(texts)
    if not documents:
        raise ValueError("texts must hold at least one document, got none.")
    for number, document in enumerate(documents, start=1):
        if not isinstance(document, str):
            raise ValueError(
                f"texts must hold documents of type str, got {type(document).__name__} as document"
                f" {number}: decode bytes, and leave missing ones out."
            )
    return documents


def _check_words(documents: list[str], words_of: Any) -> None:
    empty = [k for k, document in enumerate(documents, start=1) if not words_of(document)]
    if empty:
        raise ValueError(
            f"every document must hold a word, got none in document {empty[0]} ({len(empty)} of"
            f" {len(documents)} documents): leave empty documents out."
        )
