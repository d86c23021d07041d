"""Queries as the topics of a TopicCalibrator: which calibrators answer for new ones, and draws."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from bayescal.ranking.drawn_relevance import draw_relevance
from bayescal.ranking.queries import Queries
from bayescal.topic_calibrator import TopicCalibrator
from bayescal.validation import Floats, Integers

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
        If it is another calibrator, or has no population for new topics.
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
    unfitted: TopicCalibrator = clone(calibrator)
    return unfitted


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
