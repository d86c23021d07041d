"""Scores of documents by classifiers that did not train on them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.model_selection import BaseCrossValidator, StratifiedKFold

from bayescal.calibrators.classifier.raw_scores import raw_scores as scores_by_column
from bayescal.calibrators.classifier.targets import BINARY
from bayescal.support.validation import Floats, as_scores, check_count, encode_labels

FOLDS = 5


def raw_scores(classifier: Any, documents: Any) -> Floats:
    """
    Return a fitted classifier's scores: margins, or log-odds taken in log space.

    `decision_function` where the classifier has one; else the difference of log probabilities.
    Never the logit of a probability, which is 0 or 1 for a tenth of naive Bayes' documents.

    Parameters
    ----------
    classifier : fitted scikit-learn classifier or pipeline
        Of two classes.
    documents : sequence or matrix of n documents
        What the classifier takes.

    Returns
    -------
    array of shape (n,)
        Larger for likelier positives, the second class in sorted order.

    Raises
    ------
    ValueError
        If there is not one finite score per document.

    Examples
    --------
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> model = MultinomialNB().fit([[1, 0], [0, 1]], [0, 1])
    >>> raw_scores(model, [[0, 2000]]).round(1)  # its probability rounds to 1
    array([1386.3])
    """
    column = scores_by_column(classifier, documents, BINARY, 1)
    return as_scores(column, f"scores of {type(classifier).__name__}")


def cross_val_scores(
    classifier: Any,
    documents: Any,
    labels: ArrayLike,
    *,
    folds: int | BaseCrossValidator = FOLDS,
    random_state: int = 0,
) -> Floats:
    """
    Return each document's score by a classifier fitted to the other folds.

    All that the classifier learns it learns without the fold: put selection of words and their
    weights into its pipeline. Scores of documents that a classifier was trained on are further
    apart than those of new ones, and calibrate nothing.

    Parameters
    ----------
    classifier : scikit-learn classifier or pipeline
        Cloned for every fold, so not changed.
    documents : array, sparse matrix or sequence of n documents
        What the classifier takes.
    labels : array-like of shape (n,)
        Two classes.
    folds : int or scikit-learn splitter
        Five, as the paper: leave-one-out skews the scores, few folds make the classifier worse
        than the one that is used. An int means stratified folds of shuffled documents.
    random_state : int
        Shuffles the documents; the same seed, the same folds.

    Returns
    -------
    array of shape (n,)
        One out-of-fold score a document, in its order.

    Raises
    ------
    ValueError
        If there are fewer documents of a class than folds, or a fold of the splitter leaves none
        of a class to train on, or documents without a score.

    Examples
    --------
    >>> from sklearn.naive_bayes import MultinomialNB
    >>> counts, labels = [[2, 0], [1, 1], [0, 3], [0, 1], [3, 1], [1, 2]], [0, 0, 1, 1, 0, 1]
    >>> cross_val_scores(MultinomialNB(), counts, labels, folds=3).shape
    (6,)
    """
    _, positive = encode_labels(labels, name="labels")
    values = np.asarray(labels).reshape(positive.size)
    rows = documents if hasattr(documents, "shape") else np.asarray(documents, dtype=object)
    scores = np.full(positive.size, np.nan)
    check_folds(folds, positive)
    for train, test in splitter(folds, random_state).split(rows, values):
        if np.unique(values[train]).size < 2:
            raise ValueError(
                "every fold must leave documents of both classes to train on, got one that leaves"
                f" {values[train].tolist()[0]!r} only: take stratified or fewer folds."
            )
        model = clone(classifier).fit(rows[train], values[train])
        scores[test] = raw_scores(model, rows[test])
    if np.isnan(scores).any():
        raise ValueError(
            "folds must hold every document once, got"
            f" {int(np.isnan(scores).sum())} documents in none: take a splitter of all documents."
        )
    return scores


def splitter(folds: int | BaseCrossValidator, random_state: int) -> BaseCrossValidator:
    """Return a splitter: as given, or so many stratified folds of shuffled documents."""
    if hasattr(folds, "split"):
        return folds
    return StratifiedKFold(folds, shuffle=True, random_state=random_state)


def check_folds(folds: int | BaseCrossValidator, labels: NDArray[Any]) -> None:
    """Raise ValueError unless every class has a document for each of the folds."""
    if hasattr(folds, "split"):
        return
    check_count("folds", folds)
    fewest = int(np.unique(labels, return_counts=True)[1].min())
    if not 2 <= folds <= fewest:
        raise ValueError(
            f"folds must be from 2 to {fewest}, the documents of the rarest class, so that each"
            f" fold has one; got {folds}."
        )
