"""Measures of decisions, and the threshold on a score that is best by each.

Costs are written as in the dissertation (section 6.1): C(FP, FN) = FP P(false positive) + FN
P(false negative), with joint probabilities; error is C(1, 1).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.support.validation import Floats


@dataclass(frozen=True)
class Measure:
    """A measure of binary decisions."""

    # (true positives, false positives, false negatives, documents) -> loss; arrays of one shape.
    loss: Callable[[Floats, Floats, Floats, float], Floats]
    # Threshold on calibrated log-odds by Bayes' rule; None where it depends on all documents.
    log_odds: float | None = None


def cost(false_positive: float, false_negative: float) -> Measure:
    """
    Return C(FP, FN), the expected cost of a decision.

    Examples
    --------
    >>> measure = cost(1.0, 10.0)
    >>> float(measure.loss(np.array(3.0), np.array(2.0), np.array(1.0), 10.0))
    1.2
    >>> round(measure.log_odds, 3)
    -2.303
    """

    def loss(_: Floats, wrong: Floats, missed: Floats, n: float) -> Floats:
        return (false_positive * wrong + false_negative * missed) / n

    return Measure(loss, float(np.log(false_positive / false_negative)))


def _minus_f1(hits: Floats, wrong: Floats, missed: Floats, _: float) -> Floats:
    # 0/0, without positives and without predicted ones, counts as 0.
    return -2.0 * hits / np.maximum(2.0 * hits + wrong + missed, np.finfo(float).tiny)


MEASURES: dict[str, Measure] = {
    "error": cost(1.0, 1.0),
    "f1": Measure(_minus_f1),
    "cost_1_10": cost(1.0, 10.0),
    "cost_10_1": cost(10.0, 1.0),
}


def loss_of(
    measure: str,
    taken: NDArray[np.bool_],
    positive: NDArray[np.bool_],
    weight: Floats | None = None,
) -> float:
    """
    Return the loss of decisions; of "f1" it is minus F1.

    Examples
    --------
    >>> loss_of("f1", np.array([True, True, False]), np.array([True, False, False]))
    -0.6666666666666666
    """
    own = np.ones(positive.size) if weight is None else weight
    hits, wrong, missed = (
        np.asarray(own[which].sum())
        for which in (taken & positive, taken & ~positive, ~taken & positive)
    )
    return float(MEASURES[measure].loss(hits, wrong, missed, float(own.sum())))


def best_threshold(
    measure: str, scores: Floats, positive: NDArray[np.bool_], weight: Floats | None = None
) -> float:
    """
    Return the threshold that is best by a measure: documents of this score and above are taken.

    It lies in the middle between two scores, or beyond all of them where taking none, or all, is
    best. Of thresholds that are equally good it is the middle one.

    Examples
    --------
    >>> best_threshold("error", np.array([0.0, 1.0, 2.0]), np.array([False, False, True]))
    1.5
    """
    own = np.ones(scores.size) if weight is None else weight
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    # Cuts lie before the first document, and behind each that differs from the next.
    cuts = np.r_[0, np.flatnonzero(np.diff(descending)) + 1, scores.size]
    hits, wrong = (
        np.r_[0.0, np.cumsum(np.where(which, own, 0.0)[order])][cuts]
        for which in (positive, ~positive)
    )
    losses = MEASURES[measure].loss(hits, wrong, hits[-1] - hits, float(own.sum()))
    equal = np.flatnonzero(losses <= losses.min() + 1e-12 * abs(losses.min()))
    cut = cuts[equal[(equal.size - 1) // 2]]
    beyond = 1.0 + abs(descending[0])
    ends = np.r_[descending[0] + beyond, descending, descending[-1] - beyond]
    return float(0.5 * (ends[cut] + ends[cut + 1]))
