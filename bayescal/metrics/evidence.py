"""Tests of calibration, and the evidence for it."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.inference.design_effect import DesignEffect, design_effect
from bayescal.inference.newton import LogisticLikelihood
from bayescal.metrics.changes import (
    AS_IS,
    KINDS,
    PRIOR,
    SLOPE,
    LogOddsCells,
    clipped_log_odds,
    fit_changes,
)
from bayescal.metrics.inputs import Forecasts, read_outcomes
from bayescal.support.intervals import readable
from bayescal.support.validation import Floats, Integers, as_scores_of, check_choice, check_fraction
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
            "uncertain": "they are off, but the right ones may lie within the bands",
            "off": "they are off" + ", and right ones lie outside the bands" * self.with_bands,
        }[self.outcome]


def sign_test(
    a_wins: int, b_wins: int, alternative: Literal["two-sided", "greater"] = "two-sided"
) -> float:
    """Return the p-value of the exact sign test on the decisions that two methods differ on."""
    from scipy.stats import binomtest

    n = int(a_wins + b_wins)
    return float(binomtest(int(a_wins), n, alternative=alternative).pvalue) if n else 1.0


AVERAGE, BIC = METHODS = ("average", "bic")


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
            " calibration_evidence."
        )
    z = float(weight @ ((outcomes.truth - p) * (1.0 - 2.0 * p))) / math.sqrt(variance)
    return SpiegelhalterTest(z, float(2.0 * special.ndtr(-abs(z))))


@dataclass(frozen=True)
class CalibrationEvidence:
    """Evidence for and against calibration, from outcomes.

    Attributes
    ----------
    probability : float
        Posterior probability that the probabilities are calibrated; 0 if a document's class had
        probability 0.
    log_bayes_factor : float
        Natural log evidence for calibration minus log evidence for a change; -inf in that case.
    model_probability : dict of str to float
        Posterior probabilities of "as is", "shift", "slope" and "full"; for "bic" of "as is" and
        "slope".
    intercept, slope : float
        The likeliest linear change, intercept + slope log-odds.
    method : str
        "average" or "bic".
    """

    probability: float
    log_bayes_factor: float
    model_probability: dict[str, float]
    intercept: float
    slope: float
    method: str


def calibration_evidence(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    method: str = AVERAGE,
    prior: float = PRIOR[AS_IS],
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
) -> CalibrationEvidence:
    """Weigh "the probabilities are calibrated" against "their log-odds need a change".

    If `probability` is high, a change would only add noise.

    Parameters
    ----------
    y_true, y_prob, sample_weight, inclusion : array-like of shape (n,)
        As in `log_loss`. Log-odds are clipped to -20 and 20.
    method : {"average", "bic"}
        "average" compares no change, a shift, shift and slope, and these with a bend, under normal
        priors of several scales, by Laplace's approximation; see
        `bayescal.monitoring.Recalibrator`. "bic" compares no change with intercept and slope by
        BIC, as Guthrie and Franck, for hundreds of documents.
    prior : float
        Prior probability of calibration. The other models share the rest in the ratio 3 : 2 : 1.
    clusters : array-like of shape (n,), optional
        The cluster of each document, as in `calibration_verdict`.

    References
    ----------
    A. P. Guthrie and C. T. Franck, *Boldness-recalibration for binary event predictions*, The
    American Statistician 2024.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.linspace(0.02, 0.98, 500)
    >>> y = np.random.default_rng(0).random(500) < p
    >>> calibration_evidence(y, p).probability > 0.7 > calibration_evidence(y, p**3).probability
    True
    """
    check_choice("method", method, METHODS)
    check_fraction(prior=prior)
    outcomes = read_outcomes(y_true, y_prob, sample_weight, inclusion, as_evidence=True)
    outcomes = with_clusters(outcomes, clusters)
    line = LinearChange.of(outcomes)
    best = line.maximise(np.zeros((2, 2)))
    if method == BIC:
        unchanged, changed = line.log_likelihood(np.stack([UNCHANGED, best]))
        changed -= math.log(line.total)
        others, log_bayes_factor = {SLOPE: 1.0}, float(unchanged - changed)
    else:
        others, log_bayes_factor = _average(outcomes)
    if outcomes.impossible.size:
        log_bayes_factor = -math.inf
    posterior = float(special.expit(log_bayes_factor + special.logit(prior)))
    models = {AS_IS: posterior} | {name: (1.0 - posterior) * w for name, w in others.items()}
    intercept, slope = best.tolist()
    return CalibrationEvidence(posterior, log_bayes_factor, models, intercept, slope, method)


def _average(outcomes: Forecasts) -> tuple[dict[str, float], float]:
    """Return probabilities of the models with a change, and the log Bayes factor against them."""
    cells = LogOddsCells.of(clipped_log_odds(outcomes.p), outcomes.truth, outcomes.effective)
    posterior = fit_changes(cells, kinds=tuple(kind for kind in KINDS if kind != AS_IS))
    changed = posterior.log_evidence - math.log(1.0 - PRIOR[AS_IS])
    others = {name: w for name, w in posterior.probability.items() if name != AS_IS}
    return others, cells.log_likelihood(cells.log_odds) - changed
