"""Input of every engine: validated scores, labels and weights of one binary problem."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.fitting.covariates import Covariates
from bayescal.support import validation, weighting
from bayescal.support.labels import encode_labels, in_order, match_labels
from bayescal.support.numerics import bulk_width, rounding, units_of
from bayescal.support.score_checks import Direction, direction, warn_of_scores
from bayescal.support.validation import PROBABILITY_ENDS, Floats, Integers
from bayescal.support.weighting import chosen_by_score, sampled

# The dimension "klass" of every result, in this order.
KLASS = ("negative", "positive")


@dataclass(frozen=True)
class BinaryScores:
    """Scores of one binary problem, both classes present unless it is one of many topics."""

    score: Floats  # (n,): raw scores, finite
    positive: NDArray[np.bool_]  # (n,): true for documents of the positive class
    weight: Floats | None = None  # (n,): non-negative weights; None for 1 each
    # Meaning of the user's scores; of "probabilities" `score` holds the log-odds
    scores_are: str = "scores"
    name: str = "score"  # name of the scores, for labels
    # Centre and spread as units of priors; None for those of the scores. They stay fixed in updates
    units: tuple[float, float] | None = None
    ends: tuple[float, float] = PROBABILITY_ENDS  # probabilities that replace 0 and 1
    # Parameters of the beta of P(+) in a collection sampled with unequal probabilities; None if the
    # documents' own share estimates P(+)
    base_rate: tuple[float, float] | None = None
    by_score: bool = False  # whether inclusion probabilities depend on the scores alone
    covariates: Covariates | None = None  # further columns, for programs that take them
    factor: float = 1.0  # the design effect of clusters that weights were divided by
    cluster: NDArray[np.str_] | None = None  # (n,): names of clusters, for updates
    document: NDArray[Any] | None = None  # (n,): identifiers that the user gave

    def divided_by(self, factor: float) -> BinaryScores:
        """Return documents that count as 1 / factor each, in P(+) too."""
        rate = self.base_rate
        if rate is not None:
            rate = 1.0 + (rate[0] - 1.0) / factor, 1.0 + (rate[1] - 1.0) / factor
        return replace(self, weight=self.weights / factor, base_rate=rate, factor=factor)

    @property
    def given_scores(self) -> BinaryScores:
        """Return the data for models of labels given scores: unweighted if sampled by score."""
        # The design is ignorable (D. B. Rubin, "Inference and missing data", Biometrika 63, 1976).
        if not self.by_score:
            return self
        weight = None if self.factor == 1.0 else np.full(self.score.size, 1.0 / self.factor)
        return replace(self, weight=weight, units=self.centre_and_spread)

    @property
    def weights(self) -> Floats:
        """Return the weight of each document, 1 by default."""
        return np.ones(self.score.size) if self.weight is None else self.weight

    @property
    def rate_counts(self) -> tuple[float, float]:
        """Return the effective numbers of positives and negatives that determine P(+)."""
        if self.by_score and self.base_rate is not None:
            return self.base_rate[0] - 1.0, self.base_rate[1] - 1.0
        return self.total(True), self.total(False)

    def take(self, index: NDArray[np.intp]) -> BinaryScores:
        """Return some documents, in the units of all."""
        return replace(
            self,
            score=self.score[index],
            positive=self.positive[index],
            weight=None if self.weight is None else self.weight[index],
            units=self.centre_and_spread,
            covariates=None if self.covariates is None else self.covariates.take(index),
            cluster=None if self.cluster is None else self.cluster[index],
            document=None if self.document is None else self.document[index],
        )

    @property
    def centre_and_spread(self) -> tuple[float, float]:
        """Return the centre and the spread that are the units of priors."""
        return self.own_units if self.units is None else self.units

    @cached_property
    def own_units(self) -> tuple[float, float]:
        """Return the robust centre and spread of all scores; see `robust.units_of`."""
        return units_of(self.score, self.positive, self.weight)

    @cached_property
    def bulk_width(self) -> float:
        """Return the width of the densest quarter of the scores; see `robust.bulk_width`."""
        return bulk_width(self.score, self.weight)

    @property
    def score_range(self) -> tuple[float, float]:
        """Return the smallest and the largest score; documents of no weight do not count."""
        score = self.score if self.weight is None else self.score[self.weight > 0.0]
        return float(score.min()), float(score.max())

    def of_class(self, positive: bool) -> tuple[Floats, Floats | None]:
        """Return the scores and weights of one class."""
        # Indexing by positions is three times as fast as by a mask.
        mine = np.flatnonzero(self.positive == positive)
        return self.score[mine], None if self.weight is None else self.weight[mine]

    def weighted(self, positive: bool) -> tuple[Floats, Floats]:
        """Return the scores and weights of one class, weights of 1 by default."""
        mine = np.flatnonzero(self.positive == positive)
        return self.score[mine], self.weights[mine]

    def total(self, positive: bool | None = None) -> float:
        """Return the number (or weight) of documents, of all or of one class."""
        if self.weight is None:
            positives = float(np.count_nonzero(self.positive))
            all_of_them = float(self.positive.size)
            return {None: all_of_them, True: positives, False: all_of_them - positives}[positive]
        mask = slice(None) if positive is None else self.positive == positive
        return float(self.weight[mask].sum())


NOTHING = BinaryScores(np.empty(0), np.empty(0, dtype=bool))  # no documents


def together(topics: Sequence[BinaryScores]) -> BinaryScores:
    """Return the documents of several problems as one; all have weights, or none has."""
    weights = [data.weight for data in topics if data.weight is not None]
    return BinaryScores(
        np.concatenate([data.score for data in topics]),
        np.concatenate([data.positive for data in topics]),
        np.concatenate(weights) if weights else None,
    )


def read_binary_scores(
    scores: ArrayLike,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    scores_are: str = "scores",
    positive: Any = None,
    inclusion: ArrayLike | None = None,
    *,
    by_part: bool = True,
) -> tuple[BinaryScores, NDArray[Any]]:
    """Return the checked data and classes of one problem; `by_part` if parts differ in it."""
    if y is None:
        raise ValueError(
            "y must hold the labels: a calibrator requires y to be passed, but the target y is"
            " None. Of a table pass two columns, fit(table['score'], table['label'])."
        )
    ends = validation.probability_ends(validation.as_scores(scores), scores_are)
    values = validation.as_scores_of(scores, scores_are, ends=ends)
    validation.check_same_length("scores", values.size, "y", len(validation.as_array(y, "y")))
    weight, base_rate = weighting.either_weights(sample_weight, inclusion, values.size), None
    by_score = False
    classes, is_positive = encode_labels(y, weight, positive=positive, scores=values)
    if weight is not None and inclusion is not None:
        by_score = by_part and chosen_by_score(weight, is_positive, values)
        weight, (positives, negatives) = sampled(weight, is_positive, values, by_score=by_score)
        base_rate = 1.0 + positives, 1.0 + negatives
    elif weight is not None:
        weighting.warn_unless_counts(weight)
    data = BinaryScores(values, is_positive, weight, scores_are, validation.name_of(scores))
    data = replace(data, document=validation.identifiers_of(scores, values.size))
    score = within_reach(values, *data.own_units)
    return replace(data, score=score, ends=ends, base_rate=base_rate, by_score=by_score), classes


# In spreads from the centre: beyond, fourth powers in Gaussian log-odds would overflow.
FARTHEST = 1e25
# Slopes between smaller scores would overflow.
SMALLEST = 1e-290


def within_reach(score: Floats, centre: float, spread: float) -> Floats:
    """Return scores that are 0 or not tiny, within 1e25 spreads of the centre, else refuse."""
    validation.check_spread("scores", spread)
    size = np.abs(score)
    tiny = (size < SMALLEST) & (size > 0.0)
    if tiny.any():
        # A single value is a rounding error of 0.
        if np.unique(score[tiny]).size > 1:
            warn_of_scores(
                f"{np.count_nonzero(tiny)} scores are closer to 0 than {SMALLEST:g} and count"
                " as 0: to tell them apart, pass logarithms"
            )
        score = np.where(tiny, 0.0, score)
    # Arrays within reach, the usual case, are not copied.
    reach = FARTHEST * min(spread, 1e150 / FARTHEST)
    low, high = centre - reach, centre + reach
    inside = low <= score.min() and score.max() <= high
    return score if inside else np.clip(score, low, high)


# Scores of many topics: long arrays, tables with columns, documents x topics.

COLUMNS = ("score", "label", "topic")
# Multiple of the topics' median spread beyond which the spread of all scores is not used as unit.
MOST_SPREADS = 100.0


@dataclass(frozen=True)
class Cells:
    """Scores with their topics, in long form."""

    score: Floats  # (n,): raw scores
    names: NDArray[Any]  # (topics,): sorted, all strings or all whole numbers
    code: NDArray[np.intp]  # (n,): the topic of each score, a position in `names`
    shape: tuple[int, ...]  # shape of the user's arrays: (n,), or (documents, topics)

    @property
    def topic(self) -> NDArray[Any]:
        """Return the topic of each score."""
        return np.asarray(self.names[self.code])

    def rows(self) -> list[NDArray[np.intp]]:
        """Return the positions of each topic's scores, in the order of `names`."""
        return rows_of(self.code, self.names.size)


@dataclass(frozen=True)
class TopicScores:
    """Labelled scores of every topic."""

    names: NDArray[Any]  # (topics,): in sorted order
    code: NDArray[np.intp]  # (n,): the topic of each score, a position in `names`
    score: Floats  # (n,): raw scores
    positive: NDArray[np.bool_]  # (n,): their labels
    classes: NDArray[Any]  # (2,): the negative and the positive class
    weight: Floats | None = None  # (n,): positive weights; None for 1 each
    ends: tuple[float, float] = PROBABILITY_ENDS  # probabilities that replace 0 and 1
    # (topics, 2): effective positives and negatives that determine P(+), with inclusion
    rate_counts: Floats | None = None
    cluster: Integers | None = None  # (n,): the cluster of each score, within its topic

    def divided_by(self, factor: float) -> TopicScores:
        """Return documents that count as 1 / factor each, in P(+) too."""
        weight = np.ones(self.score.size) if self.weight is None else self.weight
        counts = None if self.rate_counts is None else self.rate_counts / factor
        return replace(self, weight=weight / factor, rate_counts=counts)

    def as_sampled(self) -> TopicScores:
        """Return the documents, with weights 1 / inclusion as `sampled` scales them."""
        inverse = np.ones(self.score.size) if self.weight is None else self.weight
        weight, counts = np.ones(self.score.size), np.zeros((self.names.size, 2))
        for k, rows in enumerate(self.rows()):
            if rows.size:
                own = self.positive[rows], self.score[rows]
                weight[rows], counts[k] = sampled(inverse[rows], *own)
        return replace(self, weight=weight, rate_counts=counts)

    def rows(self) -> list[NDArray[np.intp]]:
        """Return the positions of each topic's documents, negatives first, ordered as `names`."""
        classes = rows_of(2 * self.code + self.positive, 2 * self.names.size)
        return [np.concatenate(pair) for pair in zip(classes[::2], classes[1::2], strict=True)]

    def constant(self) -> NDArray[np.bool_]:
        """Return the topics whose several scores are all equal up to rounding."""
        low, high = self.range()
        several = self.counts() > 1
        same = high - low <= rounding(np.maximum(np.abs(low), np.abs(high)))
        return np.asarray(several & same, dtype=np.bool_)

    def range(self) -> tuple[Floats, Floats]:
        """Return each topic's smallest and largest score; nan without scores."""
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
            cluster=None if self.cluster is None else self.cluster[documents],
        )

    def units(self) -> tuple[float, float]:
        """Return the centre and the spread that standardise the scores of all topics."""
        # If the spread of all scores is more than a hundred times the topics' median one, a topic
        # of scores of -1e9 would shrink the others to a point: medians of topics' centres and
        # spreads replace both.
        centre, spread = units_of(self.score, self.positive, self.weight)
        own = [
            each.own_units
            for each, constant in zip(self.topics(), self.constant(), strict=True)
            if each.score.size > 1 and not constant
        ]
        usual = np.median(own, axis=0) if own else np.array([centre, spread])
        if spread <= MOST_SPREADS * usual[1]:
            return centre, spread
        return float(usual[0]), float(usual[1])

    def topics(self) -> list[BinaryScores]:
        """Return the documents of each topic, in the order of `names`."""
        weight = self.weight
        return [
            BinaryScores(
                self.score[rows], self.positive[rows], None if weight is None else weight[rows]
            )
            for rows in self.rows()
        ]

    def directions(self) -> list[Direction | None]:
        """Return the direction of each topic's scores, in the order of `names`."""
        return [direction(each.score, each.positive, each.weight) for each in self.topics()]

    def counts(self, positive: bool | None = None) -> NDArray[Any]:
        """Return each topic's number (or weight) of documents, of all or of one class."""
        mine = slice(None) if positive is None else self.positive == positive
        weight = None if self.weight is None else self.weight[mine]
        return np.bincount(self.code[mine], weight, self.names.size)


def rows_of(code: NDArray[np.intp], topics: int) -> list[NDArray[np.intp]]:
    """Return the positions of each code from 0 to topics - 1 in an array of codes."""
    # numpy sorts short integers by radix.
    small = topics <= np.iinfo(np.uint16).max
    order = np.argsort(code.astype(np.uint16) if small else code, kind="stable")
    ends = np.cumsum(np.bincount(code, minlength=topics))
    return np.split(order, ends[:-1])


def read_cells(scores: Any, topics: ArrayLike | None = None) -> Cells:
    """Return scores with their topics."""
    if hasattr(scores, "columns"):
        return _of_table(scores, topics)
    values = validation.as_reals(scores, "scores")
    if values.ndim == 2:
        names = names_of_columns(scores, topics)
        names, rank = np.unique(names, return_inverse=True)
        code = np.tile(rank, values.shape[0])
        return Cells(validation.as_scores(values.ravel(), "scores"), names, code, values.shape)
    long, names = validation.as_scores(values, "scores"), _names(topics_of_long(scores, topics))
    validation.check_same_length("scores", long.size, "topics", names.size)
    return Cells(long, *np.unique(names, return_inverse=True), long.shape)


def topics_of_long(scores: Any, topics: Any = None) -> Any:
    """Return the topics of long scores, or the coordinate "topic" of a DataArray."""
    if topics is None and "topic" in getattr(scores, "coords", ()):
        return scores.coords["topic"]
    if topics is None:
        raise ValueError("topics must hold the topic of each score, got None.")
    return topics


def names_of_columns(scores: Any, topics: ArrayLike | None = None) -> NDArray[Any]:
    """Return the topics of the columns of wide scores."""
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
    inclusion: ArrayLike | None = None,
    *,
    clusters: ArrayLike | None = None,
    positive: Any = None,
    classes: NDArray[Any] | None = None,
    scores_are: str = "scores",
    ends: tuple[float, float] | None = None,
) -> TopicScores:
    """Return labelled scores; cells whose label is nan, or whose weight is 0, are left out."""
    if validation.is_lazy(scores, labels, topics):
        raise ValueError(
            "scores, labels and topics to fit must be in memory, got a Dask collection: call"
            " .compute() if they fit, or bayescal.condense for each topic, and fit all its scores,"
            " labels and topics with sample_weight, its counts."
        )
    if hasattr(scores, "columns"):
        _check_columns(scores, COLUMNS)
        if labels is not None:
            raise ValueError("labels must be None with a DataFrame: its column label holds them.")
        labels = scores["label"]
    cells = read_cells(scores, topics)
    flat = _flat_labels(labels, cells)
    known = ~validation.missing(flat)
    if not known.any():
        wanted = "one label of each class" if classes is None else "one label"
        raise ValueError(f"labels must hold at least {wanted}, got none.")
    weighting.check_one_kind(sample_weight, inclusion)
    weight = _weights(sample_weight, cells.shape, "sample_weight")
    inverse = _weights(inclusion, cells.shape, "inclusion")
    if inverse is not None:
        inverse = 1.0 / weighting.as_inclusion(inverse, inverse.size)
    if weight is not None:
        weighting.warn_unless_counts(weight[known])
    weight = weight if inverse is None else inverse
    weight = None if weight is None else weighting.bounded_weights(weight[known])
    if classes is None:
        classes, is_positive = encode_labels(flat[known], weight, "labels", positive)
    else:
        is_positive = match_labels(flat[known], classes, "labels")
    raw = cells.score[known]
    ends = validation.probability_ends(raw, scores_are) if ends is None else ends
    score = validation.as_scores_of(raw, scores_are, ends=ends)
    data = TopicScores(cells.names, cells.code[known], score, is_positive, classes, weight, ends)
    if clusters is not None:
        data = replace(data, cluster=_clusters(clusters, cells)[known])
    if weight is not None:
        # Topics without documents of positive weight remain, and get the population's curve.
        data = data.take(weight > 0.0)
        data = data if inverse is None else data.as_sampled()
        # Unit weights give the same bits as no weights.
        data = replace(data, weight=None) if np.all(data.weight == 1.0) else data
    if not data.score.size:
        return data
    return replace(data, score=within_reach(data.score, *data.units()))


def _flat_labels(labels: Any, cells: Cells) -> NDArray[Any]:
    """Return the label of each cell; columns of labels that are named by topics get their order."""
    label = validation.as_array(labels, "labels")
    if label.shape != cells.shape:
        raise ValueError(f"labels must have the shape of scores, {cells.shape}, got {label.shape}.")
    if label.ndim == 2:
        wanted = cells.names[cells.code[: label.shape[1]]]
        label = in_order(label, labels, wanted, "labels")
    return label.ravel()


def _weights(weight: ArrayLike | None, shape: tuple[int, ...], name: str) -> Floats | None:
    """Return the weight of each cell in long form; a document's weight applies to all its cells."""
    if len(shape) == 1 or weight is None:
        return weighting.as_weights(weight, math.prod(shape), name)
    documents, topics = shape
    given = validation.as_reals(weight, name)
    if given.ndim == 2:
        if given.shape != shape:
            raise ValueError(
                f"{name} must have shape {shape}, one weight a score, or ({documents},), one"
                f" a document, got {given.shape}."
            )
        return weighting.as_weights(given.ravel(), documents * topics, name)
    of_documents = weighting.as_weights(weight, documents, name)
    return None if of_documents is None else np.repeat(of_documents, topics)


def _clusters(clusters: ArrayLike, cells: Cells) -> Integers:
    """Return the cluster of each cell in long form, another one in each topic."""
    _, code = weighting.read_clusters(clusters, cells.shape[0], "scores")
    of_cells = np.repeat(code, cells.score.size // code.size)
    return np.unique(cells.code * (code.max() + 1) + of_cells, return_inverse=True)[1]


def _of_table(table: Any, topics: ArrayLike | None) -> Cells:
    if topics is not None:
        raise ValueError("topics must be None with a DataFrame: its column topic holds them.")
    _check_columns(table, ("score", "topic"))
    score = validation.as_scores(np.asarray(table["score"]), "score")
    names, code = np.unique(_names(table["topic"]), return_inverse=True)
    if "document" in validation.column_names(table):
        pairs = list(zip(np.asarray(table["document"]).tolist(), code.tolist(), strict=True))
        if len(set(pairs)) < len(pairs):
            document, topic = next(each for each, count in Counter(pairs).items() if count > 1)
            raise ValueError(
                f"a document may have one row a topic: document {document} has two of topic"
                f" {names[topic]}."
            )
    return Cells(score, names, code, score.shape)


def _check_columns(table: Any, wanted: tuple[str, ...]) -> None:
    lacking = [name for name in wanted if name not in validation.column_names(table)]
    if lacking:
        raise ValueError(
            f"a DataFrame of topics must have the columns {', '.join(wanted)};"
            f" it lacks {', '.join(lacking)}. If it has a column for each topic, pass scores and"
            " labels as arrays, scores.to_numpy(), with topics=list(scores.columns)."
        )


def _names(topics: ArrayLike) -> NDArray[Any]:
    """Return topic names: all strings or all whole numbers."""
    values = validation.as_array(topics, "topics")
    if values.ndim != 1:
        raise ValueError(f"topics must have shape (n,), got {values.shape}.")
    if values.size == 0:
        raise ValueError("topics must hold at least one topic, got none.")
    if values.dtype.kind in "OU":
        validation.check_names(topics, "topics")
    if isinstance(topics, np.ndarray) and topics.dtype.kind in "Uiu":
        return topics
    # Check the original objects: numpy turns numbers among text into text.
    types = {type(value) for value in np.asarray(topics, dtype=object).tolist()}
    if all(issubclass(each, str) for each in types):
        return values if values.dtype.kind == "U" else values.astype(object).astype(str)
    if bool not in types and all(issubclass(each, Integral) for each in types):
        return values if values.dtype.kind in "iu" else values.astype(np.int64)
    shown = ", ".join(sorted(each.__name__ for each in types))
    raise ValueError(f"topics must be all strings or all whole numbers, got {shown}.")


def check_alike(names: NDArray[Any], fitted: NDArray[Any]) -> None:
    """Raise ValueError for names of another type than fitted: topic "7" would not be found as 7."""
    wanted, got = _kind_of(fitted), _kind_of(names)
    if names.size and fitted.size and got != wanted:
        raise ValueError(
            f"topics must be {wanted}, as those fitted are (such as {fitted.tolist()[0]!r}), got"
            f" {got} (such as {names.tolist()[0]!r})."
        )


def _kind_of(names: NDArray[Any]) -> str:
    return "whole numbers" if names.dtype.kind in "iu" else "strings"
