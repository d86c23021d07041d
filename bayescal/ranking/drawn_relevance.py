"""Queries as topics; recall, precision and stopping rank of a ranking, from draws of P(relevant).

Probabilities belong to one query's documents, best first. Documents are independent given a draw
of their probabilities; the variation between draws is the uncertainty about the query.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bayescal.calibrators.topic_calibrator import TopicCalibrator
from bayescal.decisions.thresholds import enough_read, recall_by_rank, stopping_rank
from bayescal.ranking.queries import Queries
from bayescal.support import score_checks
from bayescal.support.intervals import Interval, tails
from bayescal.support.validation import Floats, Integers, first_of

DRAWS = 2000  # of a query's probabilities, with one draw of labels for each
MOST_ELEMENTS = 1 << 24  # draws x documents in memory
FEWEST_DRAWS = 200
NEW = -1  # a topic without a fit


def read_calibrator(calibrator: TopicCalibrator | None, random_state: Any) -> TopicCalibrator:
    """Return an unfitted calibrator whose population answers for new queries."""
    if calibrator is None:
        return TopicCalibrator(random_state=random_state)
    if not isinstance(calibrator, TopicCalibrator):
        raise ValueError(
            f"calibrator must be a TopicCalibrator, got {type(calibrator).__name__}: queries are"
            " its topics."
        )
    if (calibrator.pooling, calibrator.new_topics) != ("partial", "population"):
        raise ValueError(
            "calibrator must have pooling='partial' and new_topics='population', which answers"
            f" for new queries, got pooling={calibrator.pooling!r} and"
            f" new_topics={calibrator.new_topics!r}."
        )
    if calibrator.positive not in (None, True):
        raise ValueError(
            f"calibrator must leave positive at None, got positive={calibrator.positive!r}: its"
            " positives are the relevant documents; negate the scores if larger ones stand for less"
            " relevant ones."
        )
    unfitted: TopicCalibrator = clone(calibrator)
    return unfitted


def query_problems(
    calibrator: TopicCalibrator, values: Floats, relevant: NDArray[np.bool_], queries: Queries
) -> tuple[str, ...]:
    """Return problems of the scores of judged queries, with advice."""
    directions = [score_checks.direction(values[own], relevant[own]) for own in queries.documents]
    together, alone = score_checks.topic_problems(queries.names, directions, (False, True))
    problems = []
    if together:
        pooled = score_checks.pooled_direction(each for each in directions if each is not None)
        auc = "" if pooled is None else f" (AUC {pooled.auc:.2f})"
        problems.append(
            f"relevant documents have smaller scores than others of their query{auc}: negate the"
            " scores if larger ones stand for less relevant documents, or look at y"
        )
    if alone:
        problems.append(
            f"relevant documents have smaller scores than others in {len(alone)} of"
            f" {len(queries.names)} queries, unlike in the rest: look at y of {first_of(alone)}"
        )
    if score_checks.SAY_WHAT_THEY_ARE in calibrator.score_problems_:
        problems.append(
            f"{score_checks.SAY_WHAT_THEY_ARE}, to the TopicCalibrator that calibrator= takes"
        )
    return tuple(problems)


def lone_documents(queries: Queries) -> tuple[str, ...]:
    """Return the problem of several queries that all have one document, and so no units."""
    if len(queries.names) < 2 or any(each.size > 1 for each in queries.documents):
        return ()
    return (
        f"each of {len(queries.names)} queries has a single document, whose score says nothing"
        " without those of other documents of its query: give all documents that are ranked for"
        " each query, and see whether scores and qid are exchanged",
    )


def drawn_queries(
    calibrator: TopicCalibrator, values: Floats, queries: Queries, rng: np.random.Generator
) -> Iterator[tuple[Hashable, Integers, NDArray[np.bool_]]]:
    """Yield each new query, its documents, best first, and draws of their relevance."""
    for name, documents in zip(queries.names, queries.documents, strict=True):
        best_first = documents[np.argsort(-values[documents], kind="stable")]
        most = max(MOST_ELEMENTS // documents.size, FEWEST_DRAWS)
        draws = min(DRAWS, most, calibrator.draws * calibrator.chains)
        new = np.full(documents.size, NEW)
        probability = calibrator.sample_proba(values[best_first], new, draws, rng)
        yield name, best_first, draw_relevance(probability, rng)


def draw_relevance(probability: Floats, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Return a draw of the documents' relevance for each draw of their probabilities."""
    return np.asarray(rng.random(probability.shape) < probability)


def average_precision_of(relevant: NDArray[np.bool_]) -> Floats:
    """Return the average precision of each draw, shape (draws,); nan where nothing is relevant."""
    hits = relevant.cumsum(axis=1)
    precision = hits / np.arange(1, relevant.shape[1] + 1)
    total = hits[:, -1]
    mean = np.full(total.size, np.nan)
    np.divide((precision * relevant).sum(axis=1), total, out=mean, where=total > 0)
    return mean


MOST_RANKS = 240  # in a list of ranks


def estimate(drawn: Floats, level: float) -> Interval:
    """Return mean and interval of the draws that are not nan; nan if all are."""
    known = drawn[~np.isnan(drawn)]
    if not known.size:
        return Interval(np.nan)
    lower, upper = np.quantile(known, tails(level), method="inverted_cdf")
    return Interval(float(known.mean()), float(lower), float(upper), level)


@dataclass(frozen=True)
class Wanted:
    """The recall to reach, its posterior probability, and the level of all intervals."""

    recall: float
    probability: float
    level: float


@dataclass(frozen=True)
class RankingSummary:
    """The posterior of the ranking of one query.

    Attributes
    ----------
    document : array of shape (documents,) of int
        Positions of the query's documents in the arrays passed, best first.
    stop : int
        Number of documents to read from the top.
    relevant, missed, average_precision : Interval
        The number of relevant documents, the number below the stop, and the average precision,
        given that some document is relevant.
    rank : array of shape (ranks,) of int
        Ranks of the arrays below, from 1 to the number of documents.
    probability, lower, upper : array of shape (ranks,)
        P(relevant) of the document at each rank, and its interval.
    recall, recall_lower, recall_upper : array of shape (ranks,)
        Recall at each rank, and its interval.
    reached : array of shape (ranks,)
        Posterior probability of the requested recall at each rank.
    """

    document: NDArray[np.intp]
    stop: int
    relevant: Interval
    missed: Interval
    average_precision: Interval
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
) -> RankingSummary:
    """Return the posterior summary of a ranking."""
    stop = stopping_rank(relevant, wanted.recall, wanted.probability)
    rank = shown_ranks(document.size)
    at = rank - 1
    by_rank = recall_by_rank(relevant)[:, at]
    recall_lower, recall_upper = np.quantile(by_rank, tails(wanted.level), axis=0)
    counts = relevant.sum(axis=1).astype(float)
    return RankingSummary(
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


def shown_ranks(documents: int) -> NDArray[np.intp]:
    """Return at most `MOST_RANKS` ranks: all, or of a long ranking more at the top."""
    if documents <= MOST_RANKS:
        return np.arange(1, documents + 1)
    spaced = np.geomspace(1.0, documents, MOST_RANKS)
    return np.unique(np.round(spaced).astype(np.intp))
