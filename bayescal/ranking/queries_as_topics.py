"""Queries as the topics of a TopicCalibrator: which calibrators answer for new ones, and draws."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bayescal.ranking.drawn_relevance import draw_relevance
from bayescal.ranking.queries import Queries
from bayescal.score_checks import SAY_WHAT_THEY_ARE, direction, pooled_direction, topic_problems
from bayescal.topic_calibrator import TopicCalibrator
from bayescal.validation import Floats, Integers, first_of

# Draws of a whole query: its labels are drawn once for each.
DRAWS = 2000
MOST_ELEMENTS = 1 << 24  # draws x documents at once
FEWEST_DRAWS = 200
NEW = -1  # no query fitted has this name


def read_calibrator(calibrator: TopicCalibrator | None, random_state: Any) -> TopicCalibrator:
    """
    Return an unfitted calibrator whose population answers for new queries.

    Parameters
    ----------
    calibrator : TopicCalibrator or None
        Of which a copy is returned; None is the default one.
    random_state : int, Generator, RandomState or None
        Seeds the default one.

    Raises
    ------
    ValueError
        If it is another calibrator, has no population for new topics, or takes documents for
        positive that are not relevant.
    """
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
    """
    Return what is wrong with the scores of judged queries, and what to do.

    Parameters
    ----------
    calibrator : TopicCalibrator
        Fitted to them. Its own warnings are of topics, and advise what is to be done to itself.
    values : array of shape (documents,)
        Scores in the units that were fitted.
    relevant : array of shape (documents,) of bool
        Which documents are relevant.
    queries : Queries
        Which documents are of which query.
    """
    directions = [direction(values[own], relevant[own]) for own in queries.documents]
    together, alone = topic_problems(queries.names, directions, (False, True))
    problems = []
    if together:
        pooled = pooled_direction(each for each in directions if each is not None)
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
    if SAY_WHAT_THEY_ARE in calibrator.score_problems_:
        problems.append(f"{SAY_WHAT_THEY_ARE}, to the TopicCalibrator that calibrator= takes")
    return tuple(problems)


def lone_documents(queries: Queries) -> tuple[str, ...]:
    """
    Return what is wrong where each of several queries has one document: nothing is in its units.

    Examples
    --------
    >>> one_each = Queries(["a", "b"], [np.array([0]), np.array([1])])
    >>> len(lone_documents(one_each)), lone_documents(Queries(["a"], [np.array([0])]))
    (1, ())
    """
    if len(queries.names) < 2 or any(each.size > 1 for each in queries.documents):
        return ()
    return (
        f"each of {len(queries.names)} queries has a single document, whose score says nothing"
        " without those of other documents of its query: give all documents that are ranked for"
        " each query, and see whether scores and qid are exchanged",
    )


def new_topics(n: int) -> Integers:
    """Return the topics of n documents of queries that were not fitted."""
    return np.full(n, NEW)


def drawn_queries(
    calibrator: TopicCalibrator, values: Floats, queries: Queries, rng: np.random.Generator
) -> Iterator[tuple[Hashable, Integers, NDArray[np.bool_]]]:
    """
    Give each new query, its documents, best first, and draws of which of these are relevant.

    Parameters
    ----------
    calibrator : TopicCalibrator
        Fitted.
    values : array of shape (documents,)
        Scores in the units that were fitted.
    queries : Queries
        Which documents are of which query.
    rng : numpy.random.Generator
        Source of randomness.
    """
    for name, documents in zip(queries.names, queries.documents, strict=True):
        best_first = documents[np.argsort(-values[documents], kind="stable")]
        most = max(MOST_ELEMENTS // documents.size, FEWEST_DRAWS)
        draws = min(DRAWS, most, calibrator.draws * calibrator.chains)
        new = new_topics(documents.size)
        probability = calibrator.sample_proba(values[best_first], new, draws, rng)
        yield name, best_first, draw_relevance(probability, rng)
