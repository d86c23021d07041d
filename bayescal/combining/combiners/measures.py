"""Measures of decisions, and the base classes of all combiners.

Costs are written as in the dissertation (section 6.1): C(FP, FN) = FP P(false positive) + FN
P(false negative), with joint probabilities; error is C(1, 1).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bayescal.combining.nested import Inputs, Labelled
from bayescal.support.validation import Floats


@dataclass(frozen=True)
class Measure:
    """A measure of binary decisions."""

    # (true positives, false positives, false negatives, documents) -> loss; arrays of one shape.
    loss: Callable[[Floats, Floats, Floats, float], Floats]
    # Threshold on calibrated log-odds by Bayes' rule; None where it depends on all documents.
    log_odds: float | None = None


def cost(false_positive: float, false_negative: float) -> Measure:
    """Return C(FP, FN), the expected cost of a decision."""

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


def best_threshold(
    measure: str, scores: Floats, positive: NDArray[np.bool_], weight: Floats | None = None
) -> float:
    """Return the best threshold by a measure; documents at or above it are positive."""
    own = np.ones(scores.size) if weight is None else weight
    order = np.argsort(-scores, kind="stable")
    descending = scores[order]
    # Candidate cuts: before the first document, and after each that differs from the next.
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


@dataclass(frozen=True)
class Combined(ABC):
    """A fitted combination of one binary problem."""

    bayes_rule: ClassVar[bool] = False  # whether it decides by log-odds where costs are known
    labelled: Labelled = field(repr=False)  # the documents fitted

    @property
    @abstractmethod
    def held_out(self) -> Floats:
        """Return held-out scores of the documents fitted."""

    @abstractmethod
    def score(self, inputs: Inputs) -> Floats:
        """Return scores of documents, shape (n,); by default positive above 0."""

    @cached_property
    def thresholds(self) -> dict[str, float]:
        """Return the threshold on the score that is best by each measure, or by Bayes' rule."""
        positive, weight = self.labelled.positive, self.labelled.weight
        return {
            name: measure.log_odds
            if self.bayes_rule and measure.log_odds is not None
            else best_threshold(name, self.held_out, positive, weight)
            for name, measure in MEASURES.items()
        }

    def decide(self, inputs: Inputs, measure: str) -> NDArray[np.bool_]:
        """Return decisions by the threshold that is best by a measure, (n,)."""
        return np.asarray(self.score(inputs) >= self.thresholds[measure])


class Combiner(ABC):
    """A way to combine."""

    gives_log_odds: bool = False  # whether scores are log-odds, so that there are probabilities
    takes_weights: bool = True  # whether documents may have weights

    @abstractmethod
    def fit(
        self, problems: Sequence[Labelled], rng: np.random.Generator, n_jobs: int | None
    ) -> Sequence[Combined]:
        """Return the combination of each problem."""
