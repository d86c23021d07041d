"""Scores of many topics: long arrays, tables with columns, documents x topics."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.labels import encode_labels, match_labels
from bayescal.robust import rounding, units_of
from bayescal.score_checks import Direction, direction
from bayescal.validation import (
    Floats,
    as_reals,
    as_scores,
    as_scores_of,
    as_weights,
    check_same_length,
)

COLUMNS = ("score", "label", "topic")
# Of the topics' usual spread, beyond which that of all scores together is no unit for most topics.
MOST_SPREADS = 100.0


@dataclass(frozen=True)
class Cells:
    """
    Scores with their topics, one after the other, whatever form they came in.

    Attributes
    ----------
    score : array of shape (n,)
        Raw scores.
    names : array of shape (topics,)
        The topics in sorted order, as the user names them: all strings or all whole numbers.
    code : integer array of shape (n,)
        The topic of each score, a position in `names`.
    shape : tuple of int
        Of the arrays that they came in: (n,), or (documents, topics).
    """

    score: Floats
    names: NDArray[Any]
    code: NDArray[np.intp]
    shape: tuple[int, ...]

    @property
    def topic(self) -> NDArray[Any]:
        """Return the topic of each score."""
        return np.asarray(self.names[self.code])

    def rows(self) -> list[NDArray[np.intp]]:
        """Return where the scores of each topic are, in the order of `names`."""
        return rows_of(self.code, self.names.size)


@dataclass(frozen=True)
class TopicScores:
    """
    Labelled scores of every topic.

    Attributes
    ----------
    names : array of shape (topics,)
        In sorted order.
    code : integer array of shape (n,)
        The topic of each score, a position in `names`.
    score : array of shape (n,)
        Raw scores.
    positive : array of shape (n,) of bool
        Their labels.
    classes : array of shape (2,)
        The negative and the positive class.
    weight : array of shape (n,) or None
        How many documents each stands for, more than none; None for 1 each.
    """

    names: NDArray[Any]
    code: NDArray[np.intp]
    score: Floats
    positive: NDArray[np.bool_]
    classes: NDArray[Any]
    weight: Floats | None = None

    def rows(self) -> list[NDArray[np.intp]]:
        """Return where each topic's documents are, negatives first, in the order of `names`."""
        classes = rows_of(2 * self.code + self.positive, 2 * self.names.size)
        return [np.concatenate(pair) for pair in zip(classes[::2], classes[1::2], strict=True)]

    def constant(self) -> NDArray[np.bool_]:
        """Return which topics have several scores that are all the same, but for rounding."""
        low, high = self.range()
        several = self.counts() > 1
        same = high - low <= rounding(np.maximum(np.abs(low), np.abs(high)))
        return np.asarray(several & same, dtype=np.bool_)

    def range(self) -> tuple[Floats, Floats]:
        """Return each topic's smallest and largest score; nan where it has none."""
        low, high = np.full(self.names.size, np.nan), np.full(self.names.size, np.nan)
        np.fmin.at(low, self.code, self.score)
        np.fmax.at(high, self.code, self.score)
        return low, high

    def without(self, topics: NDArray[np.bool_]) -> TopicScores:
        """Return the same topics, some of them without scores."""
        return self.take(~topics[self.code])

    def take(self, documents: NDArray[np.bool_]) -> TopicScores:
        """Return the same topics with some of their documents."""
        return replace(
            self,
            code=self.code[documents],
            score=self.score[documents],
            positive=self.positive[documents],
            weight=None if self.weight is None else self.weight[documents],
        )

    def units(self) -> tuple[float, float]:
        """
        Return the centre and the spread that the scores of all topics are standardised by.

        They are those of all scores together, see `robust.units_of`, unless that spread is more
        than a hundred times the median of the topics' own. Then one topic with scores of -1e9, as
        naive Bayes may give a rare class, would leave those of all others as one score, and the
        medians of the topics' own centres and spreads are taken.
        """
        centre, spread = units_of(self.score, self.positive, self.weight)
        own = [
            units_of(*self._of(rows))
            for rows, constant in zip(self.rows(), self.constant(), strict=True)
            if rows.size > 1 and not constant
        ]
        usual = np.median(own, axis=0) if own else np.array([centre, spread])
        if spread <= MOST_SPREADS * usual[1]:
            return centre, spread
        return float(usual[0]), float(usual[1])

    def _of(self, rows: NDArray[np.intp]) -> tuple[Floats, NDArray[np.bool_], Floats | None]:
        """Return some scores, their labels and weights."""
        weight = None if self.weight is None else self.weight[rows]
        return self.score[rows], self.positive[rows], weight

    def directions(self) -> list[Direction | None]:
        """Return what each topic's scores say of their direction, in the order of `names`."""
        return [direction(*self._of(rows)) for rows in self.rows()]

    def counts(self, positive: bool | None = None) -> NDArray[Any]:
        """Return each topic's number (or weight) of documents, of all or of one class."""
        mine = slice(None) if positive is None else self.positive == positive
        weight = None if self.weight is None else self.weight[mine]
        return np.bincount(self.code[mine], weight, self.names.size)


def rows_of(code: NDArray[np.intp], topics: int) -> list[NDArray[np.intp]]:
    """Return where each topic's code, from 0 to topics - 1, stands in an array of codes."""
    # Of short integers numpy makes a radix sort.
    small = topics <= np.iinfo(np.uint16).max
    order = np.argsort(code.astype(np.uint16) if small else code, kind="stable")
    ends = np.cumsum(np.bincount(code, minlength=topics))
    return np.split(order, ends[:-1])


def read_cells(scores: Any, topics: ArrayLike | None = None) -> Cells:
    """
    Return scores with their topics.

    Parameters
    ----------
    scores : array-like of shape (n,) or (documents, topics), DataFrame or DataArray
        Long scores need `topics`; a DataFrame has the columns score and topic; a DataArray of
        (documents, topics) has its topics as second coordinate.
    topics : array-like, optional
        The topic of each long score, or the names of the columns (0, 1, ... by default).

    Raises
    ------
    ValueError
        If shapes do not go together, scores are not finite, or names are of several types.
    """
    if hasattr(scores, "columns"):
        return _of_table(scores, topics)
    values = as_reals(scores, "scores")
    if values.ndim == 2:
        names = names_of_columns(scores, topics)
        names, rank = np.unique(names, return_inverse=True)
        code = np.tile(rank, values.shape[0])
        return Cells(as_scores(values.ravel(), "scores"), names, code, values.shape)
    if topics is None:
        raise ValueError("topics must hold the topic of each score, got None.")
    long, names = as_scores(values, "scores"), _names(topics)
    check_same_length("scores", long.size, "topics", names.size)
    return Cells(long, *np.unique(names, return_inverse=True), long.shape)


def names_of_columns(scores: Any, topics: ArrayLike | None = None) -> NDArray[Any]:
    """
    Return the topics of (documents, topics), each once.

    Parameters
    ----------
    scores : array or DataArray of shape (documents, topics)
        A DataArray may have its topics as second coordinate.
    topics : array-like of shape (topics,), optional
        Their names; 0, 1, ... by default.

    Raises
    ------
    ValueError
        If there are not as many names as columns, or one of them twice.
    """
    columns = scores.shape[1] if hasattr(scores, "shape") else np.shape(scores)[1]
    if topics is None and hasattr(scores, "coords") and scores.dims[1] in scores.coords:
        topics = scores.coords[scores.dims[1]].values
    names = np.arange(columns) if topics is None else _names(topics)
    if names.size != columns:
        raise ValueError(
            f"topics must name the {columns} columns of scores, got {names.size} names."
        )
    if np.unique(names).size != names.size:
        raise ValueError("topics must name each column of scores differently.")
    return names


def read_topics(
    scores: Any,
    labels: Any = None,
    topics: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    positive: Any = None,
    classes: NDArray[Any] | None = None,
    scores_are: str = "scores",
) -> TopicScores:
    """
    Return labelled scores; cells whose label is nan, or whose weight is 0, are left out.

    Parameters
    ----------
    scores : array-like of shape (n,) or (documents, topics), DataFrame or DataArray
        See `read_cells`; a DataFrame has the column label as well.
    labels : array-like of the shape of scores
        Two values; nan for documents without a label. None for a DataFrame.
    topics : array-like, optional
        See `read_cells`.
    sample_weight : array-like of the shape of scores or (documents,), a number, optional
        How many documents each stands for.
    positive : label, optional
        The positive class; by default the second in sorted order.
    classes : array of shape (2,), optional
        The negative and the positive class where they are known: labels may lack one then.
    scores_are : {"scores", "log_odds", "probabilities"}
        What the scores are; of probabilities the log-odds are returned.

    Raises
    ------
    ValueError
        As `read_cells`, and if a document has two rows of one topic, if labels or weights do not
        belong to the scores, or labels are not of two classes over all topics, or of those known.
    """
    if hasattr(scores, "columns"):
        if labels is not None:
            raise ValueError("labels must be None with a DataFrame: its column label holds them.")
        _check_columns(scores, COLUMNS)
        labels = scores["label"]
    cells, given = read_cells(scores, topics), np.asarray(labels)
    if given.shape != cells.shape:
        raise ValueError(f"labels must have the shape of scores, {cells.shape}, got {given.shape}.")
    flat = given.ravel()
    known = ~_missing(flat)
    if not known.any():
        wanted = "one label of each class" if classes is None else "one label"
        raise ValueError(f"labels must hold at least {wanted}, got none.")
    weight = _weights(sample_weight, cells.shape)
    weight = None if weight is None else weight[known]
    if classes is None:
        classes, is_positive = encode_labels(flat[known], weight, "labels", positive)
    else:
        is_positive = match_labels(flat[known], classes, "labels")
    score = as_scores_of(cells.score[known], scores_are)
    data = TopicScores(cells.names, cells.code[known], score, is_positive, classes, weight)
    if weight is None:
        return data
    # Topics without any document that counts stay: the population answers for them.
    counted = data.take(weight > 0.0)
    # Weights that are all 1 are none, to the last bit.
    return replace(counted, weight=None) if np.all(counted.weight == 1.0) else counted


def _weights(sample_weight: ArrayLike | None, shape: tuple[int, ...]) -> Floats | None:
    """Return the weight of each cell, one after the other; a document's is that of its cells."""
    if len(shape) == 1 or sample_weight is None:
        return as_weights(sample_weight, math.prod(shape))
    documents, topics = shape
    if np.ndim(sample_weight) == 2:
        if np.shape(sample_weight) != shape:
            raise ValueError(
                f"sample_weight must have shape {shape}, one weight a score, or ({documents},), one"
                f" a document, got {np.shape(sample_weight)}."
            )
        return as_weights(np.asanyarray(sample_weight).ravel(), documents * topics)
    of_documents = as_weights(sample_weight, documents)
    return None if of_documents is None else np.repeat(of_documents, topics)


def _of_table(table: Any, topics: ArrayLike | None) -> Cells:
    if topics is not None:
        raise ValueError("topics must be None with a DataFrame: its column topic holds them.")
    _check_columns(table, ("score", "topic"))
    if "document" in table and table.duplicated(["document", "topic"]).any():
        first = table[table.duplicated(["document", "topic"])].iloc[0]
        raise ValueError(
            "a document may have one row a topic: document"
            f" {first['document']} has two of topic {first['topic']}."
        )
    score = as_scores(table["score"].to_numpy(dtype=np.float64), "score")
    names, code = np.unique(_names(table["topic"]), return_inverse=True)
    return Cells(score, names, code, score.shape)


def _check_columns(table: Any, wanted: tuple[str, ...]) -> None:
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        raise ValueError(
            f"a DataFrame of topics must have the columns {', '.join(wanted)};"
            f" it lacks {', '.join(missing)}."
        )


def _names(topics: ArrayLike) -> NDArray[Any]:
    """Return topic names: all strings or all whole numbers."""
    values = np.asarray(topics)
    if values.ndim != 1:
        raise ValueError(f"topics must have shape (n,), got {values.shape}.")
    if values.size == 0:
        raise ValueError("topics must hold at least one topic, got none.")
    if isinstance(topics, np.ndarray) and topics.dtype.kind in "Uiu":
        return topics
    # As they came: numpy makes text of numbers among text, and floats of some among missing ones.
    kinds = {type(value) for value in np.asarray(topics, dtype=object).tolist()}
    if all(issubclass(each, str) for each in kinds):
        return values if values.dtype.kind == "U" else values.astype(object).astype(str)
    if bool not in kinds and all(issubclass(each, Integral) for each in kinds):
        return values if values.dtype.kind in "iu" else values.astype(np.int64)
    shown = ", ".join(sorted(each.__name__ for each in kinds))
    raise ValueError(f"topics must be all strings or all whole numbers, got {shown}.")


def check_alike(names: NDArray[Any], fitted: NDArray[Any]) -> None:
    """
    Refuse names that can be none of those fitted, for they are of another type.

    Else the population would answer for topic "7" where 7 was fitted.

    Raises
    ------
    ValueError
        If some are strings and the others whole numbers.
    """
    wanted, got = _kind_of(fitted), _kind_of(names)
    if names.size and fitted.size and got != wanted:
        raise ValueError(
            f"topics must be {wanted}, as those fitted are (such as {fitted.tolist()[0]!r}), got"
            f" {got} (such as {names.tolist()[0]!r})."
        )


def _kind_of(names: NDArray[Any]) -> str:
    return "whole numbers" if names.dtype.kind in "iu" else "strings"


def _missing(labels: NDArray[Any]) -> NDArray[np.bool_]:
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels), dtype=np.bool_)
    if labels.dtype.kind == "O":
        return np.array([v is None or (isinstance(v, float) and math.isnan(v)) for v in labels])
    return np.zeros(labels.shape, dtype=np.bool_)
