"""The words that say most about classes: mutual information of presence and label."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse, special
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted

from bayescal.support.validation import (
    Floats,
    check_count,
    check_same_length,
    encode_labels,
    unmasked,
    validated,
)


def presence(counts: Any) -> Any:
    """
    Return 1 where a word occurs in a document, as a sparse array of its own.

    Examples
    --------
    >>> presence([[2, 0], [0, 1]]).toarray().tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    # A copy: what comes in may be shared between processes, and read-only.
    present = sparse.csr_array(counts, dtype=np.float64, copy=True)
    present.sum_duplicates()
    present.data = (present.data != 0.0).astype(np.float64)
    return present


def mutual_information(counts: Any, positive: ArrayLike) -> Floats:
    """
    Return the mutual information of each word's presence with the class, in nats.

    I = sum over w in {present, absent} and c in {+, -} of P(w, c) ln(P(w, c) / (P(w) P(c))), from
    document frequencies (Bennett's feature selection; how often a word occurs does not count).

    Parameters
    ----------
    counts : array or sparse matrix of shape (documents, words)
        How often each word occurs; only whether it does is used.
    positive : array-like of shape (documents,) of bool
        The class of each document.

    Returns
    -------
    array of shape (words,)
        At least 0, at most ln 2.

    Examples
    --------
    >>> mutual_information([[2, 1], [1, 1], [0, 1], [0, 1]], [True, True, False, False]).round(4)
    array([0.6931, 0.    ])
    """
    present = presence(unmasked(counts, "counts"))
    truth = np.asarray(unmasked(positive, "positive"), dtype=np.float64)
    n, n_positive = float(truth.size), float(truth.sum())
    with_word = np.asarray(present.sum(axis=0), dtype=np.float64)
    with_both = np.asarray(present.T @ truth)
    total = np.zeros(with_word.size)
    for word, both in (
        (with_word, (with_both, with_word - with_both)),
        (n - with_word, (n_positive - with_both, n - n_positive - with_word + with_both)),
    ):
        for size, cell in zip((n_positive, n - n_positive), both, strict=True):
            # A cell of no document contributes nothing, whatever its margins.
            expected = np.where(cell > 0.0, word * size, 1.0)
            total += special.xlogy(cell, cell * n / expected) / n
    # Independent words sum to 0 but for rounding.
    return np.maximum(total, 0.0)


class MutualInformationSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """
    Keep the words of highest mutual information with a binary class, or with any of several.

    Of several classes a word counts by its largest mutual information with one of them, so that all
    classes of a corpus can share one set of words (Bennett's choice for nearest neighbours).

    Parameters
    ----------
    k : int
        How many; all that there are if fewer.
    min_documents : int
        Words in fewer of the documents fitted are left out, however telling.

    Attributes
    ----------
    mutual_information_ : array of shape (words,)
        Of each word, in nats; of several classes the largest.

    Examples
    --------
    >>> selector = MutualInformationSelector(k=1, min_documents=1)
    >>> selector.fit_transform([[2, 1], [1, 1], [0, 1]], [1, 1, 0]).tolist()
    [[2], [1], [0]]
    """

    def __init__(self, k: int = 300, min_documents: int = 3) -> None:
        self.k = k
        self.min_documents = min_documents

    def fit(self, X: Any, y: ArrayLike, topics: ArrayLike | None = None) -> Self:  # noqa: N803
        """
        Choose the words.

        Parameters
        ----------
        X : array or sparse matrix of shape (documents, words)
            How often each word occurs.
        y : array-like of shape (documents,) or (documents, classes)
            Labels, two classes, both present; or for each of several classes, whether a document
            is of it.
        topics : array-like of shape (documents, classes), optional
            Takes the place of y. In a pipeline whose classifier is for one class, scikit-learn's
            metadata routing brings the labels of all of them here, fold by fold.

        Raises
        ------
        ValueError
            If an argument is not as described, or no word is in `min_documents` documents.
        """
        check_count("k", self.k)
        check_count("min_documents", self.min_documents)
        X, y = validated(self, X, y, accept_sparse="csr", multi_output=True)  # noqa: N806
        labels = np.atleast_2d(
            np.transpose(y if topics is None else np.asarray(unmasked(topics, "topics")))
        )
        check_same_length("X", X.shape[0], "topics", labels.shape[1])
        # Of a class that all documents are of, or none, words say nothing: one other is enough.
        telling = [column for column in labels if np.unique(column).size > 1] or labels[:1]
        positive = [encode_labels(column)[1] for column in telling]
        documents = np.asarray(presence(X).sum(axis=0))
        candidates = np.flatnonzero(documents >= self.min_documents)
        if candidates.size == 0:
            raise ValueError(
                f"at least one word must be in {self.min_documents} of the documents, got none in"
                f" {X.shape[0]} documents: are they empty?"
            )
        of_classes = [mutual_information(X, members) for members in positive]
        self.mutual_information_ = np.max(of_classes, axis=0)
        # Ties go to the earlier word: the same words on every machine.
        order = np.argsort(-self.mutual_information_[candidates], kind="stable")
        self._support = np.zeros(documents.size, dtype=bool)
        self._support[candidates[order[: self.k]]] = True
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that sparse matrices and labels are wanted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self, "mutual_information_")
        return self._support
