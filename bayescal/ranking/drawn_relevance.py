"""What draws of P(relevant) say of a whole ranking: its recall, its precision, and where to stop.

Probabilities are of one query's documents, first the one that stands highest. Given a draw of the
probabilities documents are relevant independently of one another; that draws differ is what one
does not know about the query.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats

# Shares are quotients of whole numbers: 0.8 of 5 documents is 4 of them.
ROUNDING = 1e-9


def draw_relevance(probability: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
    """
    Return which documents are relevant, once for each draw of their probabilities.

    Parameters
    ----------
    probability : array of shape (draws, documents)
        P(relevant).
    rng : numpy.random.Generator
        Source of randomness.
    """
    relevant: NDArray[np.bool_] = rng.random(probability.shape) < probability
    return relevant


def recall_by_rank(relevant: NDArray[np.bool_]) -> Floats:
    """
    Return the share of relevant documents at or above each rank, shape (draws, documents).

    Where no document is relevant it is 1: nothing is missed.

    Examples
    --------
    >>> recall_by_rank(np.array([[True, False, True], [False, False, False]])).tolist()
    [[0.5, 0.5, 1.0], [1.0, 1.0, 1.0]]
    """
    found = relevant.cumsum(axis=1)
    total = found[:, -1:]
    return np.where(total > 0, found / np.maximum(total, 1), 1.0)


def average_precision_of(relevant: NDArray[np.bool_]) -> Floats:
    """
    Return the average precision of each draw, shape (draws,); nan where nothing is relevant.

    Examples
    --------
    >>> average_precision_of(np.array([[True, False, True], [False, False, False]])).round(4)
    array([0.8333,    nan])
    """
    found = relevant.cumsum(axis=1)
    precision = found / np.arange(1, relevant.shape[1] + 1)
    total = found[:, -1]
    mean = np.full(total.size, np.nan)
    np.divide((precision * relevant).sum(axis=1), total, out=mean, where=total > 0)
    return mean


def enough_read(recall: Floats, wanted: float) -> NDArray[np.bool_]:
    """
    Return where a recall is the wanted one or more, up to rounding of its quotient.

    Examples
    --------
    >>> enough_read(np.array([0.7, 0.1 + 0.7]), 0.8).tolist()
    [False, True]
    """
    reached: NDArray[np.bool_] = recall >= wanted - ROUNDING
    return reached


def stopping_rank(relevant: NDArray[np.bool_], recall: float, probability: float) -> int:
    """
    Return the first rank by which the wanted recall is reached with the wanted probability.

    Parameters
    ----------
    relevant : array of shape (draws, documents) of bool
        Which documents are relevant, by `draw_relevance`.
    recall : float
        The share of relevant documents to be read.
    probability : float
        The share of draws in which that is so.

    Returns
    -------
    int
        0 where even the empty list has enough, as nothing is relevant in so many draws; at most the
        number of documents, whose recall is 1.

    Examples
    --------
    >>> relevant = np.array([[True, True, False], [True, False, False], [True, False, True]])
    >>> stopping_rank(relevant, recall=0.5, probability=0.9)
    1
    >>> stopping_rank(relevant, recall=1.0, probability=0.6)
    2
    """
    nothing = ~relevant.any(axis=1)
    reached = enough_read(recall_by_rank(relevant), recall).mean(axis=0)
    enough = np.concatenate([[nothing.mean()], reached]) >= probability - ROUNDING
    return int(enough.argmax())
