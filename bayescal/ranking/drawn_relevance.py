"""Recall, precision and stopping rank of a ranking, from draws of P(relevant).

Probabilities are of one query's documents, first the one that stands highest. Given a draw of the
probabilities documents are relevant independently of one another; that draws differ is what one
does not know about the query.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.support.validation import Floats

# Shares are quotients of whole numbers: 0.8 of 5 documents is 4 of them.
ROUNDING = 1e-9


def draw_relevance(probability: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Draw relevance of the documents, once for each draw of their probabilities."""
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


# What a calibrator of relevance says of the ranking of one query, read off one set of draws.

# Long rankings list the first ranks one by one, later ones at growing distances.
MOST_RANKS = 240


@dataclass(frozen=True)
class Estimate:
    """
    A number with its equal-tailed posterior interval.

    Attributes
    ----------
    value, lower, upper : float
        Posterior mean and ends of the interval; nan where undefined.
    """

    value: float
    lower: float
    upper: float


def estimate(draws: Floats, level: float) -> Estimate:
    """
    Return mean and interval of draws, those that are nan left out; nan if all are.

    The ends are draws themselves, so that those of counts are whole numbers.

    Examples
    --------
    >>> estimate(np.array([0.0, 1.0, 3.0, np.nan]), level=0.9)
    Estimate(value=1.3333333333333333, lower=0.0, upper=3.0)
    """
    known = draws[~np.isnan(draws)]
    if not known.size:
        return Estimate(np.nan, np.nan, np.nan)
    lower, upper = np.quantile(known, [0.5 - level / 2.0, 0.5 + level / 2.0], method="inverted_cdf")
    return Estimate(float(known.mean()), float(lower), float(upper))


@dataclass(frozen=True)
class Wanted:
    """The requested recall and its probability, and the level of all intervals."""

    # The share of a query's relevant documents to be read
    recall: float
    # The posterior probability of having read so many
    probability: float
    # Posterior probability of intervals
    level: float


@dataclass(frozen=True)
class Reading:
    """
    What is known of the ranking of one query.

    Attributes
    ----------
    document : array of shape (documents,) of int
        Positions of the query's documents among those given, the best one first.
    stop : int
        How many to read, from the top.
    relevant, missed, average_precision : Estimate
        Of all documents the relevant ones, of those below the stop, and the ranking's average
        precision, given that something is relevant.
    rank : array of shape (ranks,) of int
        The ranks that follow, the first one 1 and the last one the number of documents.
    probability, lower, upper : array of shape (ranks,)
        P(relevant) of the document at each rank, and its interval.
    recall, recall_lower, recall_upper : array of shape (ranks,)
        The share of relevant documents at this rank or above.
    reached : array of shape (ranks,)
        Probability that this share is the wanted one or more.
    """

    document: NDArray[np.intp]
    stop: int
    relevant: Estimate
    missed: Estimate
    average_precision: Estimate
    rank: NDArray[np.intp]
    probability: Floats
    lower: Floats
    upper: Floats
    recall: Floats
    recall_lower: Floats
    recall_upper: Floats
    reached: Floats


def read_ranking(
    document: NDArray[np.intp],
    point: Floats,
    interval: Floats,
    relevant: NDArray[np.bool_],
    wanted: Wanted,
) -> Reading:
    """Return the posterior summary of a ranking."""
    stop = stopping_rank(relevant, wanted.recall, wanted.probability)
    rank = told_ranks(document.size)
    at = rank - 1
    by_rank = recall_by_rank(relevant)[:, at]
    tails = [0.5 - wanted.level / 2.0, 0.5 + wanted.level / 2.0]
    recall_lower, recall_upper = np.quantile(by_rank, tails, axis=0)
    counts = relevant.sum(axis=1).astype(float)
    return Reading(
        document=document,
        stop=stop,
        relevant=estimate(counts, wanted.level),
        missed=estimate(relevant[:, stop:].sum(axis=1).astype(float), wanted.level),
        average_precision=estimate(average_precision_of(relevant), wanted.level),
        rank=rank,
        probability=point[at],
        lower=interval[at, 0],
        upper=interval[at, 1],
        recall=by_rank.mean(axis=0),
        recall_lower=recall_lower,
        recall_upper=recall_upper,
        reached=enough_read(by_rank, wanted.recall).mean(axis=0),
    )


def told_ranks(documents: int) -> NDArray[np.intp]:
    """
    Return at most `MOST_RANKS` ranks, all of a short ranking, denser at the top of a long one.

    Examples
    --------
    >>> told_ranks(4)
    array([1, 2, 3, 4])
    >>> ranks = told_ranks(100_000)
    >>> ranks.size <= MOST_RANKS, ranks[:3].tolist(), int(ranks[-1])
    (True, [1, 2, 3], 100000)
    """
    if documents <= MOST_RANKS:
        return np.arange(1, documents + 1)
    spaced = np.geomspace(1.0, documents, MOST_RANKS)
    return np.unique(np.round(spaced).astype(np.intp))
