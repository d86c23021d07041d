"""Whether probabilities are right as far as held-out labels can tell, how far off, what to do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.metrics.inputs import Outcomes, read_outcomes
from bayescal.metrics.linear_change import LinearChange
from bayescal.metrics.smooth_calibration_error import smooth_calibration_error
from bayescal.validation import Floats, check_fraction

RIGHT = np.array([0.0, 1.0])  # intercept and slope
SAMPLES = 999
# Documents whose log-odds round to the same multiple of this are drawn together.
STEP = 0.02
POWER = 0.8
# Documents that would miss odds off by this factor tell next to nothing.
TELLS_NOTHING = 100.0


@dataclass(frozen=True)
class CalibrationVerdict:
    """
    What held-out labels say of probabilities.

    Attributes
    ----------
    documents : float
        The number of documents, or the sum of their weights.
    observed, expected : float
        The number of positives, and the sum of the probabilities.
    lower, upper : float
        The interval in which the number of positives lies with probability `level` if the
        probabilities are right.
    pvalue : float
        The p-value of the test that the probabilities are right.
    level : float
        One minus the probability with which right probabilities are said to be off.
    intercept, slope : float
        The likeliest change of the log-odds, intercept + slope log-odds, under a prior around
        (0, 1) worth one document.
    shift : float
        The likeliest change that adds the same to all log-odds.
    cause : {"none", "base rate", "slope"}
        What is off: nothing as far as can be told; all log-odds by the same amount, as when the
        base rate changes; or their slope.
    error : float
        The smooth calibration error; see `smooth_calibration_error`.
    detectable : float
        The factor by which all odds would have to be off for the test to find it with probability
        .8; infinite where the documents tell next to nothing.
    """

    documents: float
    observed: float
    expected: float
    lower: float
    upper: float
    pvalue: float
    level: float
    intercept: float
    slope: float
    shift: float
    cause: str
    error: float
    detectable: float

    @property
    def calibrated(self) -> bool:
        """Return whether the test finds nothing wrong."""
        return self.cause == "none"

    @property
    def text(self) -> str:
        """Return the verdict in words: the test, what is found, what to do."""
        return " ".join(part for part in (self.test, self.finding, self.advice) if part)

    @property
    def test(self) -> str:
        """Return the test and its numbers in words."""
        found = "no sign that they are off" if self.calibrated else "they are off"
        return (
            f"Probabilities against held-out labels: {found} (p {_p(self.pvalue)}, tested at"
            f" {100.0 * (1.0 - self.level):.3g} %). {_counted(self.observed, 'positive')} of"
            f" {_counted(self.documents, 'document')} where {_count(self.expected)} were expected,"
            f" {_count(self.lower)} to {_count(self.upper)} with probability {self.level:g} if the"
            f" probabilities are right; smooth calibration error {self.error:.2g}."
        )

    @property
    def finding(self) -> str:
        """Return what is off and how far; where nothing is, what would have been noticed."""
        if self.cause == "none":
            return self._blind_spot()
        if self.cause == "base rate":
            size, factor = "small" if self.shift > 0.0 else "large", math.exp(abs(self.shift))
            return (
                f"All odds are too {size} by about the same factor, {factor:.3g}, as when the base"
                " rate changes."
            )
        how = "far apart" if self.slope < 1.0 else "close together"
        return (
            f"The log-odds are too {how}: slope {self.slope:.3g}, intercept {self.intercept:.3g} in"
            " place of 1 and 0."
        )

    @property
    def advice(self) -> str:
        """Return what to do; nothing where nothing is off."""
        if self.cause == "none":
            return ""
        share = self.observed / self.documents
        if self.cause == "slope" or not 0.0 < share < 1.0:
            return "Fit again on documents like these."
        return (
            f"If the base rate changed, predict with prior={share:.3g}, the share of positives"
            " here; if it did not, or of pooled topics, fit again with more labels."
        )

    def _blind_spot(self) -> str:
        if self.detectable > TELLS_NOTHING:
            return "So few documents can tell next to nothing."
        return (
            f"Had all odds been off by a factor of {self.detectable:.3g}, these documents would"
            " have shown it four times in five."
        )


def calibration_verdict(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    level: float = 0.95,
    sample_weight: ArrayLike | None = None,
) -> CalibrationVerdict:
    """
    Say whether probabilities are right as far as held-out labels can tell, and what to do.

    The test is Rao's score test of Cox's two numbers, intercept 0 and slope 1 in logit P(y = 1) =
    intercept + slope logit(p): with U = sum (y - p) (1, logit p) and I its covariance if p is
    right, the statistic U' I^-1 U. Its p-value is the share of 999 samples of labels drawn from p
    that reach it, with a fixed seed, so that it holds for few and rare positives too. Where it is
    below 1 - level, the slope is tested alone, given the best intercept: if nothing is wrong with
    it, the base rate alone has changed.

    Parameters
    ----------
    y_true, y_prob : array-like of shape (n,)
        See `log_loss`. The documents must be ones that neither the classifier nor the calibrator
        was fitted to.
    level : float
        See `CalibrationVerdict`.
    sample_weight : array-like of shape (n,), optional
        How many documents each counts for; p-value and interval are then those of many documents,
        chi-squared and normal.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Notes
    -----
    The test does not see what leaves intercept and slope as they are, such as a curve that bends;
    for that look at `smooth_calibration_error` and a reliability diagram. The interval and the test
    take p for certain, so that they tell whether these probabilities are right, not whether the fit
    was a good one given its few labels.

    References
    ----------
    D. R. Cox, *Two further applications of a model for binary regression*, Biometrika 1958.
    M. E. Miller, S. L. Hui and W. M. Tierney, *Validation techniques for logistic regression
    models*, Statistics in Medicine 1991.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.linspace(0.01, 0.5, 400)
    >>> y = np.random.default_rng(0).random(400) < p
    >>> calibration_verdict(y, p).cause
    'none'
    >>> rare = calibration_verdict(y, p / (p + 3.0 * (1.0 - p)))  # fitted where positives are rarer
    >>> rare.cause, round(rare.shift, 1)
    ('base rate', 1.0)
    """
    check_fraction(level=level)
    outcomes = read_outcomes(y_true, y_prob, sample_weight)
    test = _ScoreTest(outcomes)
    pvalue, (lower, upper) = test.limit(level) if outcomes.weight is not None else test.draw(level)
    change = LinearChange(outcomes)
    intercept, slope = change.maximise(change.unit_information())
    shift = test.shift()
    return CalibrationVerdict(
        documents=float(outcomes.counts.sum()),
        observed=float(outcomes.counts @ outcomes.truth),
        expected=float(outcomes.counts @ outcomes.p),
        lower=lower,
        upper=upper,
        pvalue=pvalue,
        level=level,
        intercept=float(intercept),
        slope=float(slope),
        shift=shift,
        cause=_cause(pvalue, test.pvalue_of_slope(shift), level),
        error=smooth_calibration_error(y_true, y_prob, sample_weight=sample_weight),
        detectable=test.detectable(level),
    )


def _cause(pvalue: float, pvalue_of_slope: float, level: float) -> str:
    if pvalue > 1.0 - level:
        return "none"
    return "slope" if pvalue_of_slope < 1.0 - level else "base rate"


class _ScoreTest:
    """Rao's test that the probabilities are right, against a linear change of their log-odds."""

    def __init__(self, outcomes: Outcomes) -> None:
        self.change = LinearChange(outcomes)
        self.truth, self.weight, self.p = outcomes.truth, outcomes.counts, outcomes.p
        self.directions = np.stack([np.ones(self.p.size), self.change.log_odds], axis=1)
        information = self.change.information(RIGHT)
        self.variance = float(information[0, 0])
        # Equal probabilities have no slope: there is one direction to test.
        self.freedom = int(np.linalg.matrix_rank(information, hermitian=True))
        self.inverse = np.linalg.pinv(information, hermitian=True)

    @cached_property
    def statistic(self) -> float:
        """Return U' I^-1 U."""
        score = (self.weight * (self.truth - self.p)) @ self.directions
        return float(score @ self.inverse @ score)

    def limit(self, level: float) -> tuple[float, tuple[float, float]]:
        """Return p-value and interval of the number of positives as of many documents."""
        half = float(special.ndtri(0.5 + level / 2.0)) * math.sqrt(self.variance)
        expected = float(self.weight @ self.p)
        pvalue = float(special.chdtrc(max(self.freedom, 1), self.statistic))
        return pvalue, (max(expected - half, 0.0), expected + half)

    @cached_property
    def groups(self) -> tuple[Floats, Floats, Floats]:
        """Return groups of documents alike: their weight, mean probability, mean log-odds."""
        code = np.rint(self.change.log_odds / STEP)
        _, group = np.unique(code, return_inverse=True)
        size = np.bincount(group, self.weight)
        some = np.where(size > 0.0, size, 1.0)
        p = np.bincount(group, self.weight * self.p) / some
        log_odds = np.bincount(group, self.weight * self.change.log_odds) / some
        return np.asarray(size, dtype=np.float64), p, log_odds

    def draw(self, level: float) -> tuple[float, tuple[float, float]]:
        """Return p-value and interval of the number of positives from labels drawn from p."""
        size, p, log_odds = self.groups
        positives = np.random.default_rng(0).binomial(size.astype(np.intp), p, (SAMPLES, size.size))
        scores = (positives - size * p) @ np.stack([np.ones(size.size), log_odds], axis=1)
        statistics = ((scores @ self.inverse) * scores).sum(axis=1)
        reached = int((statistics >= self.statistic * (1.0 - 1e-9)).sum())
        tails = [0.5 - level / 2.0, 0.5 + level / 2.0]
        lower, upper = np.quantile(positives.sum(axis=1), tails, method="inverted_cdf")
        return (1.0 + reached) / (SAMPLES + 1.0), (float(lower), float(upper))

    def shift(self) -> float:
        """Return what added to all log-odds makes as many positives expected as there are."""
        # Losses, which fits tell, need none of scipy.optimize, whose import takes as long as a fit.
        from scipy import optimize

        size, _, log_odds = self.groups
        total, found = float(size.sum()), float(self.weight @ self.truth)
        # Half a document keeps it finite where there are no positives, or nothing else.
        half = min(0.5, 0.5 * total)
        target = min(max(found, half), total - half)

        def excess(shift: float) -> float:
            return float(size @ special.expit(log_odds + shift)) - target

        return float(optimize.brentq(excess, -80.0, 80.0))

    def pvalue_of_slope(self, shift: float) -> float:
        """Return the p-value of slope 1 given the best intercept, chi-squared."""
        at = np.array([shift, 1.0])
        (first, cross), (_, second) = self.change.information(at)
        variance = second - cross**2 / first if first > 0.0 else 0.0
        if self.freedom < 2 or variance <= 1e-9 * second:
            return 1.0
        residual = self.truth - special.expit(self.change.log_odds + shift)
        # The score of the slope, less what the intercept explains of it.
        slope = (self.weight * residual) @ (self.change.log_odds - cross / first)
        return float(special.chdtrc(1, slope**2 / variance))

    def detectable(self, level: float) -> float:
        """Return the odds ratio at which the test has power POWER, by its limit distribution."""
        freedom = max(self.freedom, 1)
        limit = special.chdtri(freedom, 1.0 - level)
        noncentrality = float(special.chndtrinc(limit, freedom, 1.0 - POWER))
        shift = math.sqrt(noncentrality / self.variance) if self.variance > 0.0 else math.inf
        return math.exp(shift) if shift < 50.0 else math.inf


def _count(value: float) -> str:
    """Return a number of documents for readers."""
    if value >= 99.95 or value == round(value):
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _counted(value: float, noun: str) -> str:
    return f"{_count(value)} {noun}{'' if value == 1.0 else 's'}"


def _p(pvalue: float) -> str:
    return "= 0.001 or less" if pvalue <= 0.001 else f"= {pvalue:.2g}"
