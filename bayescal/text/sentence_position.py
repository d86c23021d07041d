"""Where in its document a sentence is: its relative position, and the octile as features."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from bayescal.validation import Floats

OCTILES = 8


def sentence_positions(documents: ArrayLike) -> Floats:
    """
    Return where the middle of each sentence is in its document, between 0 and 1.

    The i-th of n sentences, from i = 0, is at (i + 1/2) / n. Compute positions of whole documents
    before sentences are dealt to folds.

    Parameters
    ----------
    documents : array-like of shape (sentences,)
        Which document each sentence is of; those of a document in their order, others may come
        between them.

    Returns
    -------
    array of shape (sentences,)

    Raises
    ------
    ValueError
        If `documents` is not of one dimension, or empty.

    Examples
    --------
    >>> sentence_positions(["a", "a", "b", "a", "a"]).tolist()
    [0.125, 0.375, 0.5, 0.625, 0.875]
    """
    number = document_numbers(documents)
    sizes = np.bincount(number)
    order = np.argsort(number, kind="stable")
    place = np.empty(number.size, dtype=np.intp)
    place[order] = np.arange(number.size) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return np.asarray((place + 0.5) / sizes[number])


def document_numbers(documents: ArrayLike) -> NDArray[np.intp]:
    """
    Return the number of each sentence's document, from 0 in the sorted order of documents.

    Parameters
    ----------
    documents : array-like of shape (sentences,)
        Which document each sentence is of.

    Raises
    ------
    ValueError
        If `documents` is not of one dimension, or empty.

    Examples
    --------
    >>> document_numbers(["b", "a", "b"]).tolist()
    [1, 0, 1]
    """
    values = np.asarray(documents)
    if values.ndim != 1 or values.size == 0:
        raise ValueError(
            "documents must have shape (sentences,), the document of each of at least one"
            f" sentence, got shape {values.shape}."
        )
    return np.asarray(np.unique(values, return_inverse=True)[1], dtype=np.intp)


class PositionOctiles(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """
    Make eight binary features of the position of a sentence: which eighth of its document it is in.

    A transformer of one column, `sentence_positions`, for a ColumnTransformer beside n-grams.

    References
    ----------
    Bennett's dissertation, section 10.3: features of sentences beside their n-grams.

    Examples
    --------
    >>> PositionOctiles().fit_transform([[0.05], [0.5]]).astype(int).tolist()
    [[1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0, 0]]
    """

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: N803
        """
        Check the positions; there is nothing to learn.

        Parameters
        ----------
        X : array-like of shape (sentences, 1)
            Positions from 0 to 1.
        y : ignored
            There for scikit-learn.
        """
        self._positions(X, reset=True)
        return self

    def transform(self, X: Any) -> Floats:  # noqa: N803
        """
        Return the features; shape (sentences, 8), in each row a single 1.

        Parameters
        ----------
        X : array-like of shape (sentences, 1)
            Positions from 0 to 1.

        Raises
        ------
        ValueError
            If there is not one column, or a position is outside [0, 1].
        """
        check_is_fitted(self, "n_features_in_")
        positions = self._positions(X, reset=False)
        # The end of the document belongs to its last eighth.
        octile = np.minimum((OCTILES * positions).astype(np.intp), OCTILES - 1)
        return np.asarray(np.eye(OCTILES)[octile])

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """
        Return the names octile1 to octile8.

        Parameters
        ----------
        input_features : ignored
            There for scikit-learn.
        """
        return np.array([f"octile{k + 1}" for k in range(OCTILES)], dtype=object)

    def _positions(self, X: Any, *, reset: bool) -> Floats:  # noqa: N803
        values = validate_data(self, X, dtype=np.float64, reset=reset)
        if values.shape[1] != 1:
            raise ValueError(f"X must have one column of positions, got {values.shape[1]}.")
        outside = np.flatnonzero((values[:, 0] < 0.0) | (values[:, 0] > 1.0))
        if outside.size:
            raise ValueError(
                f"positions must be from 0 to 1, got {values[outside[0], 0]} for sentence"
                f" {outside[0]}: see sentence_positions."
            )
        return np.asarray(values[:, 0])
