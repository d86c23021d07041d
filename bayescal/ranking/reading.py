"""What a calibrator of relevance says of the ranking of one query, read off one set of draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.ranking.drawn_relevance import (
    average_precision_of,
    enough_read,
    recall_by_rank,
    stopping_rank,
)
from bayescal.validation import Floats

# Of long rankings the first ranks are told one by one, later ones at growing distances.
MOST_RANKS = 240


@dataclass(frozen=True)
class Estimate:
    """
    A number with its equal-tailed posterior interval.

    Attributes
    ----------
    value, lower, upper : float
        Posterior mean and ends of the interval; nan where nothing can be said.
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
    """
    What is to be read of a ranking, and the level of all intervals.

    Attributes
    ----------
    recall : float
        The share of a query's relevant documents to be read.
    probability : float
        The posterior probability of having read so many.
    level : float
        Posterior probability of intervals.
    """

    recall: float
    probability: float
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
    """
    Return what is known of a ranking.

    Parameters
    ----------
    document : array of shape (documents,) of int
        Positions of the documents, the best one first.
    point : array of shape (documents,)
        P(relevant) of each, in this order.
    interval : array of shape (documents, 2)
        Its interval.
    relevant : array of shape (draws, documents) of bool
        Draws of which documents are relevant, by `draw_relevance`.
    wanted : Wanted
        What is to be read.
    """
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
