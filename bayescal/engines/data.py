"""What every engine gets: scores, labels and weights of one binary problem, validated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.labels import encode_labels
from bayescal.robust import bulk_width, units_of
from bayescal.validation import Floats, as_scores_of, as_weights, check_same_length, name_of

# The dimension "klass" of every result, in this order.
KLASS = ("negative", "positive")


@dataclass(frozen=True)
class BinaryScores:
    """
    Scores of one binary problem, both classes present unless it is one of many topics.

    Attributes
    ----------
    score : array of shape (n,)
        Raw scores, finite.
    positive : array of shape (n,) of bool
        True for documents of the positive class.
    weight : array of shape (n,) or None
        Non-negative weights; None for 1 each.
    scores_are : str
        What they were to the user: scores, log-odds, or probabilities, of which `score` holds the
        log-odds.
    name : str
        What the data call the scores, for labels.
    units : tuple of float or None
        The centre and the spread that priors are in units of; None for those of the scores. A
        prior must not look at documents that came after it was stated.
    """

    score: Floats
    positive: NDArray[np.bool_]
    weight: Floats | None = None
    scores_are: str = "scores"
    name: str = "score"
    units: tuple[float, float] | None = None

    @property
    def centre_and_spread(self) -> tuple[float, float]:
        """Return the centre and the spread that priors are in units of."""
        return self.own_units if self.units is None else self.units

    @cached_property
    def own_units(self) -> tuple[float, float]:
        """Return the robust centre and spread of all scores; see `robust.units_of`."""
        return units_of(self.score, self.positive, self.weight)

    @cached_property
    def bulk_width(self) -> float:
        """Return how far a quarter of the scores reach; see `robust.bulk_width`."""
        return bulk_width(self.score, self.weight)

    @property
    def score_range(self) -> tuple[float, float]:
        """Return the smallest and the largest score; documents of no weight do not count."""
        score = self.score if self.weight is None else self.score[self.weight > 0.0]
        return float(score.min()), float(score.max())

    def of_class(self, positive: bool) -> tuple[Floats, Floats | None]:
        """Return the scores and weights of one class."""
        # Of many documents positions are picked three times as fast as by a mask.
        mine = np.flatnonzero(self.positive == positive)
        return self.score[mine], None if self.weight is None else self.weight[mine]

    def total(self, positive: bool | None = None) -> float:
        """Return the number (or weight) of documents, of all or of one class."""
        if self.weight is None:
            positives = float(np.count_nonzero(self.positive))
            all_of_them = float(self.positive.size)
            return {None: all_of_them, True: positives, False: all_of_them - positives}[positive]
        mask = slice(None) if positive is None else self.positive == positive
        return float(self.weight[mask].sum())


def together(topics: Sequence[BinaryScores]) -> BinaryScores:
    """Return the documents of several problems as those of one; all have weights, or none has."""
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
) -> tuple[BinaryScores, NDArray[Any]]:
    """
    Return the checked data of one problem, and its negative and positive class.

    Raises
    ------
    ValueError
        If scores, labels or weights are not legal, or do not belong together.
    """
    if y is None:
        raise ValueError(
            "y must hold the labels: a calibrator requires y to be passed, but the target y is"
            " None. Of a table pass two columns, fit(table['score'], table['label'])."
        )
    values = as_scores_of(scores, scores_are)
    check_same_length("scores", values.size, "y", len(np.asarray(y)))
    weight = as_weights(sample_weight, values.size)
    classes, is_positive = encode_labels(y, weight, positive=positive)
    return BinaryScores(values, is_positive, weight, scores_are, name_of(scores)), classes
