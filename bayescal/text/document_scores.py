"""From scores and decisions of sentences to those of their documents."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.text.sentence_position import document_numbers
from bayescal.validation import Floats, as_scores, check_same_length


def document_predictions(predicted: ArrayLike, documents: ArrayLike) -> NDArray[np.bool_]:
    """
    Return which documents hold a sentence that is taken for positive.

    Parameters
    ----------
    predicted : array-like of shape (sentences,) of bool
        Whether each sentence is taken.
    documents : array-like of shape (sentences,)
        Which document each sentence is of.

    Returns
    -------
    array of shape (documents,) of bool
        In the order of `numpy.unique(documents)`.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Examples
    --------
    >>> document_predictions([False, True, False], ["a", "a", "b"]).tolist()
    [True, False]
    """
    number = document_numbers(documents)
    taken = _as_decisions(predicted, number.size)
    return np.bincount(number, weights=taken) > 0.0


def document_scores(
    sentence_scores: ArrayLike, predicted: ArrayLike, documents: ArrayLike, tokens: ArrayLike
) -> Floats:
    """
    Return how likely documents are to hold a positive sentence, as scores to rank them by.

    The sum of the scores of the sentences that are taken, or, where none is, the largest score of
    all: psi(d) = (1/n(d)) sum of psi(s) over sentences s taken, else (1/n(d)) max of psi(s), where
    n(d) is the number of tokens of the document, at least 1. Long documents hold more sentences
    that are taken by mistake, hence the division.

    Parameters
    ----------
    sentence_scores : array-like of shape (sentences,)
        Raw scores, larger for likelier positives.
    predicted : array-like of shape (sentences,) of bool
        Whether each sentence is taken for positive. Where that is decided by another threshold
        than 0, give scores less this threshold: taken sentences then count for a document.
    documents : array-like of shape (sentences,)
        Which document each sentence is of.
    tokens : array-like of shape (sentences,)
        How many tokens each sentence has.

    Returns
    -------
    array of shape (documents,)
        In the order of `numpy.unique(documents)`; units of the scores per token.

    Raises
    ------
    ValueError
        If an argument is not as described, or lengths differ.

    References
    ----------
    Bennett's dissertation, section 10.3.2.

    Examples
    --------
    >>> scores, taken = [2.0, -1.0, 1.0, -3.0, -2.0], [True, False, True, False, False]
    >>> document_scores(scores, taken, ["a", "a", "a", "b", "b"], [3, 4, 3, 2, 2]).tolist()
    [0.3, -0.5]
    """
    scores = as_scores(sentence_scores, "sentence_scores")
    number = document_numbers(documents)
    check_same_length("sentence_scores", scores.size, "documents", number.size)
    taken = _as_decisions(predicted, number.size)
    length = np.maximum(np.bincount(number, weights=_as_numbers_of_tokens(tokens, number.size)), 1)
    total = np.bincount(number, weights=np.where(taken, scores, 0.0))
    largest = np.full(length.size, -np.inf)
    np.maximum.at(largest, number, scores)
    found = np.bincount(number, weights=taken) > 0.0
    return np.asarray(np.where(found, total, largest) / length)


def _as_decisions(predicted: ArrayLike, sentences: int) -> NDArray[np.bool_]:
    values: NDArray[Any] = np.asarray(predicted)
    check_same_length("predicted", values.size, "documents", sentences)
    if values.ndim != 1 or not np.isin(values, (0, 1)).all():
        raise ValueError(
            "predicted must hold True for sentences that are taken and False for the others, got"
            f" {values.dtype} of shape {values.shape}: compare scores with a threshold."
        )
    return values.astype(np.bool_)


def _as_numbers_of_tokens(tokens: ArrayLike, sentences: int) -> Floats:
    counts = as_scores(tokens, "tokens")
    check_same_length("tokens", counts.size, "documents", sentences)
    if (counts < 0.0).any():
        raise ValueError(f"tokens must not be negative, got {counts.min()}.")
    return counts
