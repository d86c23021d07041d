"""Inputs of every metric: outcomes, probabilities of the positive class or of all, weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.inference.design_effect import DesignEffect
from bayescal.support import validation, weighting
from bayescal.support.labels import as_labels, check_no_dates, in_order, names_of_columns
from bayescal.support.validation import Floats

MOST_NAMED = 5  # documents with an impossible outcome in a message
SUM_TOLERANCE = 1e-3  # of the sum of probabilities over classes


def by_position(position: int) -> str:
    """Return the name of a document in messages."""
    return f"document {position} (counted from 0)"


class Forecasts(NamedTuple):
    """Checked input: labels, P(+) and weights."""

    truth: NDArray[np.bool_]
    p: Floats
    weight: Floats | None
    sampled: bool = False  # whether weights are 1 / inclusion
    position: NDArray[np.intp] | None = None  # in the user's arrays; None if all are here
    naming: Callable[[int], str] = by_position  # from this position, for messages
    effect: DesignEffect | None = None  # of clusters; None for independent documents

    @property
    def counts(self) -> Floats:
        """Return the weights; 1 each without."""
        return np.ones(self.truth.size) if self.weight is None else self.weight

    @property
    def documents(self) -> Floats:
        """Return the number of documents that each row counts; 1 if weights are 1 / inclusion."""
        return np.ones(self.truth.size) if self.sampled else self.counts

    @property
    def odds(self) -> float:
        """Return the ratio of weights of positives and negatives with the same probability."""
        return weighting.ratio_of_weights(self.counts, self.truth, self.p) if self.sampled else 1.0

    @property
    def by_class(self) -> tuple[Floats, Floats]:
        """Return each document's weight if it were positive and if it were negative."""
        own, odds = self.counts, self.odds
        return np.where(self.truth, own, own * odds), np.where(self.truth, own / odds, own)

    @property
    def variance(self) -> Floats:
        """Return the variance of each document's weight (y - p) if the probabilities are right."""
        one, other = self.by_class
        # A positive document adds (1 - p) / P(included), a negative one subtracts p / P(included).
        return (one * other if self.sampled else one) * self.p * (1.0 - self.p)

    @property
    def factor(self) -> float:
        """Return the design effect of clusters, 1 for independent documents."""
        return 1.0 if self.effect is None else self.effect.factor

    @property
    def independent(self) -> Forecasts:
        """Return the outcomes with as much weight as independent documents would need."""
        if self.factor == 1.0:
            return self
        return self._replace(weight=self.effective, sampled=False, effect=None)

    @property
    def effective(self) -> Floats:
        """Return weights scaled to the size of an equally informative simple random sample."""
        # Without influence of class or probability, Kish's size (Rao and Scott's first correction).
        variance = float(self.variance.sum())
        if not self.sampled or variance == 0.0:
            return self.counts / self.factor
        size = float(self.counts @ (self.p * (1.0 - self.p)))
        return self.counts * size / (variance * self.factor)

    @property
    def impossible(self) -> NDArray[np.intp]:
        """Return the positions of documents whose class had probability 0."""
        happened = np.where(self.truth, self.p, 1.0 - self.p)
        return np.flatnonzero((happened == 0.0) & (self.counts > 0.0))

    def take(self, index: NDArray[np.intp]) -> Forecasts:
        """Return the documents at some positions."""
        weight = None if self.weight is None else self.weight[index]
        position = index if self.position is None else self.position[index]
        return self._replace(
            truth=self.truth[index], p=self.p[index], weight=weight, position=position
        )

    def counted(self) -> Forecasts:
        """Return the documents with positive weights."""
        return self if self.weight is None else self.take(np.flatnonzero(self.weight > 0.0))


def read_outcomes(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
    *,
    as_evidence: bool = False,
    names: tuple[str, str] = ("y_true", "y_prob"),
) -> Forecasts:
    """Return checked outcomes; as evidence, weights must count documents."""
    truth, p = as_truth(y_true, names[0]), as_probabilities(y_prob, names[1])
    validation.check_same_length(names[0], truth.size, names[1], p.size)
    weight = weighting.either_weights(sample_weight, inclusion, p.size, as_evidence=as_evidence)
    return Forecasts(truth, p, weight, inclusion is not None)


def read_rows(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
    *,
    as_evidence: bool = False,
) -> Forecasts:
    """Return unchecked labels and rows of probabilities, for a metric that checks them."""
    p, truth = validation.as_reals(y_prob, "y_prob"), validation.as_array(y_true, "y_true")
    validation.check_same_length("y_true", len(truth), "y_prob", len(p))
    weight = weighting.either_weights(sample_weight, inclusion, len(p), as_evidence=as_evidence)
    return Forecasts(truth, p, weight, inclusion is not None)


def given_included(p: Floats, one: Floats, other: Floats) -> Floats:
    """Return P(positive | included) if inclusion probabilities of the two classes differ."""
    positive = p * other
    total = positive + (1.0 - p) * one
    return np.divide(positive, total, out=np.zeros_like(p), where=total > 0.0)


def name_impossible(outcomes: Forecasts) -> str:
    """Return a sentence that names the documents whose class had probability 0."""
    rows, position = outcomes.impossible, outcomes.position
    named = [
        f"{outcomes.naming(row if position is None else int(position[row]))} is"
        f" {'positive' if outcomes.truth[row] else 'negative'}"
        f" and had probability {outcomes.p[row]:g}"
        for row in rows[:MOST_NAMED].tolist()
    ]
    more = f"; so are {rows.size - MOST_NAMED:,} more" if rows.size > MOST_NAMED else ""
    text = "; ".join(named) + more
    return text and f"{text[0].upper()}{text[1:]}."


def as_truth(y_true: ArrayLike, name: str = "y_true") -> NDArray[np.bool_]:
    """Return whether each document is positive."""
    values = validation.as_array(y_true, name)
    if values.dtype.kind not in "biu":
        values = as_labels(values, name)
    if values.ndim != 1:
        raise ValueError(
            f"{name} must have shape (n,), one outcome a document, got {values.shape}."
        )
    if values.dtype == bool:
        return values
    check_no_dates(values, name)
    positive: NDArray[np.bool_] = np.asarray(values == 1)
    if any((positive | np.asarray(values == negative)).all() for negative in (0, -1)):
        return positive
    odd = values[~np.isin(values, (0, 1))] if values.dtype.kind in "iuf" else values
    raise ValueError(
        f"{name} must hold booleans, 0 and 1, or -1 and 1, got {odd.tolist()[0]!r}:"
        " pass y == positive label."
    )


def as_probabilities(y_prob: ArrayLike, name: str = "y_prob") -> Floats:
    """Return probabilities of the positive class as a float64 array of shape (n,)."""
    p = validation.as_scores(y_prob, name)
    if p.min() < 0.0 or p.max() > 1.0:
        outside = p[(p < 0.0) | (p > 1.0)]
        advice = "if these are scores, ScoreCalibrator turns them into probabilities"
        if 2 * outside.size < p.size:
            advice = f"correct the values that do not; {advice}"
        elif p.min() >= 0.0 and p.max() <= 100.0:
            advice = "they look like per cent: divide by 100"
        raise ValueError(f"{name} must lie between 0 and 1, got {outside[0]:g}: {advice}.")
    return p


def has_classes(y_prob: ArrayLike, classes: ArrayLike | None = None) -> bool:
    """Return whether probabilities have two dimensions; only these have names of classes."""
    shape = validation.as_reals(y_prob, "y_prob").shape
    if len(shape) != 2 and classes is not None:
        raise ValueError(
            f"classes must be None unless y_prob has shape (n, classes), got shape {shape}."
        )
    return len(shape) == 2


def as_rows(y_prob: ArrayLike, tolerance: float | None = None) -> Floats:
    """Return probabilities of several classes, (n, K)."""
    p = validation.probabilities_of_shape(y_prob, "y_prob", "n", "classes", tolerance=tolerance)
    # Rounding of sums depends on the order in memory, which differs for a DataFrame.
    return np.ascontiguousarray(p, dtype=np.float64)


def read_class_outcomes(
    y_true: ArrayLike, y_prob: ArrayLike, classes: ArrayLike | None
) -> tuple[NDArray[np.intp], Floats, NDArray[np.object_]]:
    """Return positions of labels, probabilities of shape (n, K) and names of the columns."""
    p = as_rows(y_prob, SUM_TOLERANCE)
    names = names_of_columns(classes, p.shape[1], "y_prob")
    p = in_order(p, y_prob, names, "y_prob")
    y = as_labels(y_true, "y_true")
    validation.check_same_length("y_true", y.shape[0] if y.ndim == 1 else -1, "y_prob", len(p))
    position = {name: k for k, name in enumerate(names.tolist())}
    label = np.array([position.get(each, -1) for each in y.tolist()], dtype=np.intp)
    if (label < 0).any():
        raise ValueError(
            f"y_true must hold classes, {validation.first_of(names.tolist())}; got"
            f" {y.tolist()[int(np.argmin(label))]!r}."
        )
    return label, p, names.astype(object)
