"""Tests of calibration, and what their verdicts share."""

import math
from abc import ABC, abstractmethod
from typing import ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.inference.design_effect import DesignEffect, design_effect
from bayescal.inference.newton import LogisticLikelihood
from bayescal.metrics.inputs import Forecasts, read_outcomes
from bayescal.support.intervals import readable
from bayescal.support.validation import Floats, Integers, as_scores_of
from bayescal.support.weighting import read_clusters

GOOD_DECREMENT = 1e-12
UNCHANGED = np.array([0.0, 1.0])


class LinearChange(LogisticLikelihood):
    """The likelihood of (intercept, slope) on the log-odds of given probabilities."""

    @classmethod
    def of(cls, outcomes: Forecasts) -> Self:
        """Return the likelihood; probabilities of 0 and 1 stand for 1e-15 and 1 - 1e-15."""
        log_odds = as_scores_of(outcomes.p, "probabilities")
        columns = np.column_stack([np.ones(log_odds.size), log_odds])
        return cls(columns, 0.0, outcomes.truth, outcomes.effective)

    @property
    def total(self) -> float:
        """Return the weight of all documents."""
        return float(self.weight.sum())

    def unit_information(self) -> Floats:
        """Return the mean information of a document if the probabilities are right; (2, 2)."""
        unit = self.information(UNCHANGED) / self.total
        # Equal probabilities do not inform the slope: the prior must not be flat.
        unit += np.eye(2) * 1e-6 * max(float(np.trace(unit)), 1e-12)
        return unit

    def maximise(self, precision: Floats) -> Floats:
        """Return the mode of likelihood times a normal prior around (0, 1)."""
        tolerance = GOOD_DECREMENT * self.total
        return self.mode(UNCHANGED, precision, UNCHANGED, tolerance=tolerance)


def with_clusters(outcomes: Forecasts, clusters: ArrayLike | None) -> Forecasts:
    """Return the outcomes with the design effect of clusters."""
    if clusters is None:
        return outcomes
    _, code = read_clusters(clusters, outcomes.p.size, "outcomes")
    return outcomes._replace(effect=effect_of(outcomes, code))


def effect_of(outcomes: Forecasts, code: Integers) -> DesignEffect:
    """Return the design effect of clusters on probabilities after their likeliest change."""
    line = LinearChange.of(outcomes)
    p = special.expit(line.columns @ line.maximise(line.unit_information()))
    return design_effect(outcomes.truth, p, code, outcomes.weight, sampled=outcomes.sampled)


UNINFORMATIVE = 100.0  # factor of odds that uninformative documents could not detect


class Verdict(ABC):
    """The outcome of a test of probabilities, and its parts in words."""

    pvalue: float
    level: float
    cause: str
    detectable: float
    with_bands: bool
    _if_impossible: ClassVar[str]

    @property
    def outcome(self) -> str:
        """Return "right", "uncertain" (off by more than chance) or "off" (than the bands, too)."""
        if self.pvalue <= 1.0 - self.level:
            return "off"
        return "right" if self.cause == "none" else "uncertain"

    @property
    def calibrated(self) -> bool:
        """Return whether errors are within the bands."""
        return self.outcome != "off"

    @property
    def informative(self) -> bool:
        """Return whether the documents could show odds that are off by a factor of 100."""
        return not self.calibrated or self.detectable <= UNINFORMATIVE

    @property
    def text(self) -> str:
        """Return the verdict in words: the test, its finding, advice."""
        return " ".join(part for part in (self.test, self.finding, self.advice) if part)

    @property
    @abstractmethod
    def test(self) -> str:
        """Return the test and its numbers in words."""

    @property
    @abstractmethod
    def finding(self) -> str:
        """Describe the error and its size; without one, the smallest detectable error."""

    @property
    def advice(self) -> str:
        """Return advice; empty without an error."""
        if self.cause in ("none", "impossible"):
            return self._if_impossible if self.cause == "impossible" else ""
        if self.outcome == "uncertain":
            return "Fit again with more labels: they narrow the bands."
        return self._new_prior or "Fit again on documents like these."

    @property
    @abstractmethod
    def _new_prior(self) -> str:
        """Return advice on new shares of the classes, if they are the error."""

    def _smallest_error(self, odds: str, off: str, few: str = "few") -> str:
        """Describe the smallest error of odds that the documents could show."""
        if self.detectable > UNINFORMATIVE:
            return (
                f"These documents are too {few} to show even {odds} that are off by a factor of"
                f" {UNINFORMATIVE:g}."
            )
        return (
            f"Had all {odds} been {off} by a factor of {readable(self.detectable)}, these documents"
            " would have shown it four times in five."
        )

    @property
    def _outcome_words(self) -> str:
        return {
            "right": "no sign that they are off",
            "uncertain": "single values are off, but the bands around them may hold the right ones",
            "off": "they are off" + ", and right ones lie outside the bands" * self.with_bands,
        }[self.outcome]


class SpiegelhalterTest(NamedTuple):
    """Spiegelhalter's z, standard normal for calibrated probabilities, and its p-value."""

    statistic: float
    pvalue: float


def spiegelhalter_test(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
) -> SpiegelhalterTest:
    """Test that probabilities are calibrated, two-sided.

    z = sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)^2 p (1 - p)): the Brier score less its expectation
    for calibrated probabilities, in standard deviations.

    Parameters
    ----------
    y_true, y_prob, sample_weight, inclusion : array-like of shape (n,)
        As in `log_loss`; not all probabilities may be 0, 1/2 or 1.

    Returns
    -------
    SpiegelhalterTest
        statistic above 0: probabilities too extreme; below: not extreme enough. Infinite, with a
        p-value of 0, if a document's class had probability 0.

    References
    ----------
    D. J. Spiegelhalter, *Probabilistic prediction in patient management and clinical trials*,
    Statistics in Medicine 1986.

    Examples
    --------
    >>> spiegelhalter_test([1, 1, 0, 0], [0.8, 0.7, 0.3, 0.1]).pvalue.__round__(3)
    0.303
    """
    outcomes = read_outcomes(y_true, y_prob, sample_weight, inclusion, as_evidence=True)
    if outcomes.impossible.size:
        return SpiegelhalterTest(math.inf, 0.0)
    p, weight = outcomes.p, outcomes.counts
    variance = float(outcomes.variance @ (1.0 - 2.0 * p) ** 2)
    if variance == 0.0:
        raise ValueError(
            "Spiegelhalter's test needs a probability other than 0, 1/2 and 1: use"
            " calibration_verdict."
        )
    z = float(weight @ ((outcomes.truth - p) * (1.0 - 2.0 * p))) / math.sqrt(variance)
    return SpiegelhalterTest(z, float(2.0 * special.ndtr(-abs(z))))
