"""Whether probabilities are right as far as held-out labels can tell, how far off, what to do."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.metrics.calibration_error import smooth_calibration_error
from bayescal.metrics.inputs import Outcomes, read_outcomes
from bayescal.support.newton import climb
from bayescal.support.validation import Floats, as_scores_of, check_choice, check_fraction

# A linear change of the log-odds of given probabilities: its likelihood, mode and evidence.

GOOD_DECREMENT = 1e-12
# Many documents leave a posterior so nearly normal that a few nodes a dimension are exact.
NODES, NODES_OF_MANY, MANY = 32, 8, 20_000


class LinearChange:
    """
    The likelihood of (intercept, slope) on the log-odds of given probabilities.

    Parameters
    ----------
    outcomes : Outcomes
        Probabilities of 0 and 1 stand for 1e-15 and 1 - 1e-15.
    """

    def __init__(self, outcomes: Outcomes) -> None:
        self.sign = np.where(outcomes.truth, 1.0, -1.0)
        self.log_odds = as_scores_of(outcomes.p, "probabilities")
        self.weight = outcomes.counts
        self.total = float(self.weight.sum())

    def log_likelihood(self, theta: Floats) -> Floats:
        """Return the log likelihood of theta (2, points); shape (points,)."""
        return np.array(
            [
                self.weight @ special.log_expit(self.sign * (a + b * self.log_odds))
                for a, b in theta.T
            ]
        )

    def information(self, theta: Floats) -> Floats:
        """Return the information of all documents at theta; shape (2, 2)."""
        p = special.expit(theta[0] + theta[1] * self.log_odds)
        w = self.weight * p * (1.0 - p)
        wl = w * self.log_odds
        cross = wl.sum()
        return np.array([[w.sum(), cross], [cross, wl @ self.log_odds]])

    def unit_information(self) -> Floats:
        """Return the mean information of a document if the probabilities are right; (2, 2)."""
        unit = self.information(np.array([0.0, 1.0])) / self.total
        # Equal probabilities do not inform a direction: there the prior is worth a little instead.
        unit += np.eye(2) * 1e-6 * max(float(np.trace(unit)), 1e-12)
        return unit

    def maximise(self, precision: Floats) -> Floats:
        """Return the mode of likelihood times a normal prior around (0, 1), by Newton's method."""
        null = np.array([0.0, 1.0])

        def value(theta: Floats) -> float:
            away = theta - null
            return float(self.log_likelihood(theta[:, None])[0] - 0.5 * away @ precision @ away)

        def newton(theta: Floats) -> tuple[Floats, float]:
            p = special.expit(-self.sign * (theta[0] + theta[1] * self.log_odds))
            pull = self.weight * self.sign * p
            gradient = np.array([pull.sum(), pull @ self.log_odds]) - precision @ (theta - null)
            # Equal probabilities leave the slope undetermined: the shortest step.
            step = np.linalg.pinv(self.information(theta) + precision, hermitian=True) @ gradient
            return step, float(gradient @ step)

        tolerance = GOOD_DECREMENT * self.total
        return climb(null, value, newton, tolerance=tolerance, rise=0.0)

    def log_evidence(self) -> float:
        """Return the log evidence under the unit-information prior, by Gauss-Hermite quadrature."""
        null, unit = np.array([0.0, 1.0]), self.unit_information()
        mode = self.maximise(unit)
        root = np.linalg.cholesky(np.linalg.inv(self.information(mode) + unit))
        x, w = np.polynomial.hermite_e.hermegauss(NODES_OF_MANY if self.sign.size > MANY else NODES)
        z = np.stack(np.meshgrid(x, x, indexing="ij")).reshape(2, -1)
        log_w = np.log(np.outer(w, w).ravel()) + 0.5 * (z**2).sum(axis=0)
        theta = mode[:, None] + root @ z
        away = theta - null[:, None]
        log_prior = 0.5 * np.linalg.slogdet(unit)[1] - math.log(2.0 * math.pi)
        log_prior -= 0.5 * np.einsum("ik,ij,jk->k", away, unit, away)
        terms = log_w + log_prior + self.log_likelihood(theta)
        return float(special.logsumexp(terms) + np.linalg.slogdet(root)[1])


RIGHT = np.array([0.0, 1.0])  # intercept and slope
SAMPLES = 999
# Documents whose log-odds round to the same multiple of this are drawn together.
STEP = 0.02
POWER = 0.8
# Documents that would miss odds off by this factor are uninformative.
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
        One minus the probability of rejecting right probabilities.
    intercept, slope : float
        The likeliest change of the log-odds, intercept + slope log-odds, under a prior around
        (0, 1) worth one document.
    shift : float
        The likeliest change that adds the same to all log-odds.
    cause : {"none", "base rate", "slope"}
        The detected error: none; all log-odds by the same amount, as when the
        base rate changes; or their slope.
    error : float
        The smooth calibration error; see `smooth_calibration_error`.
    detectable : float
        The factor by which all odds would have to be off for the test to find it with probability
        .8; infinite where the documents are uninformative.
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
        """Describe the error and its size; without one, the smallest detectable error."""
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
        """Return advice; empty without an error."""
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
        """Return the shift of all log-odds at which the expected number of positives is right."""
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


# Are probabilities calibrated as they are? Spiegelhalter's test, and what the evidence says.

METHODS = ("unit_information", "bic")


class SpiegelhalterTest(NamedTuple):
    """Spiegelhalter's z, standard normal for calibrated probabilities, and the p-value of it."""

    statistic: float
    pvalue: float


def spiegelhalter_test(
    y_true: ArrayLike, y_prob: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> SpiegelhalterTest:
    """
    Test that probabilities are calibrated, two-sided.

    z = sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)^2 p (1 - p)): the Brier score, less what it is
    expected to be of calibrated probabilities, in standard deviations.

    Parameters
    ----------
    y_true, y_prob, sample_weight : array-like of shape (n,)
        See `log_loss`.

    Returns
    -------
    SpiegelhalterTest
        statistic above 0: probabilities too extreme; below: not extreme enough.

    Raises
    ------
    ValueError
        If an argument is not as described, or every probability is 0, 1/2 or 1, of which the
        statistic has no variance.

    References
    ----------
    D. J. Spiegelhalter, *Probabilistic prediction in patient management and clinical trials*,
    Statistics in Medicine 1986.

    Examples
    --------
    >>> spiegelhalter_test([1, 1, 0, 0], [0.8, 0.7, 0.3, 0.1]).pvalue.__round__(3)
    0.303
    """
    outcomes = read_outcomes(y_true, y_prob, sample_weight)
    p, weight = outcomes.p, outcomes.counts
    variance = float(weight @ ((1.0 - 2.0 * p) ** 2 * p * (1.0 - p)))
    if variance == 0.0:
        raise ValueError(
            "Spiegelhalter's test needs a probability other than 0, 1/2 and 1: use"
            " calibration_evidence."
        )
    z = float(weight @ ((outcomes.truth - p) * (1.0 - 2.0 * p))) / math.sqrt(variance)
    return SpiegelhalterTest(z, float(2.0 * special.ndtr(-abs(z))))


@dataclass(frozen=True)
class CalibrationEvidence:
    """
    What outcomes say for and against calibration.

    Attributes
    ----------
    probability : float
        Posterior probability that the probabilities are calibrated as they are.
    log_bayes_factor : float
        Natural log of the evidence for calibrated over that for a linear change of log-odds.
    intercept, slope : float
        The likeliest change, intercept + slope log-odds; 0 and 1 where none is needed.
    method : str
        How the evidence was worked out.
    """

    probability: float
    log_bayes_factor: float
    intercept: float
    slope: float
    method: str


def calibration_evidence(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    method: str = "unit_information",
    prior: float = 0.5,
    sample_weight: ArrayLike | None = None,
) -> CalibrationEvidence:
    """
    Weigh "the probabilities are calibrated" against "their log-odds need a linear change".

    "Do not calibrate" is an answer: where `probability` is high, changing them would add noise.

    Parameters
    ----------
    y_true, y_prob, sample_weight : array-like of shape (n,)
        See `log_loss`; probabilities of 0 and 1 stand for 1e-15 and 1 - 1e-15.
    method : {"unit_information", "bic"}
        The exact evidence under a normal prior of (intercept, slope) around (0, 1) worth as much as
        one document, by quadrature; or its approximation by BIC, as Guthrie and Franck have it,
        which needs documents in the hundreds.
    prior : float
        Probability, before the outcomes, that they are calibrated.

    Raises
    ------
    ValueError
        If an argument is not as described.

    References
    ----------
    A. P. Guthrie and C. T. Franck, *Boldness-recalibration for binary event predictions*, The
    American Statistician 2024. R. E. Kass and L. Wasserman, *A reference Bayesian test for nested
    hypotheses and its relationship to the Schwarz criterion*, JASA 1995 (the prior).

    Examples
    --------
    >>> import numpy as np
    >>> p = np.linspace(0.02, 0.98, 500)
    >>> y = np.random.default_rng(0).random(500) < p
    >>> calibration_evidence(y, p).probability > 0.95
    True
    >>> calibration_evidence(y, p**3).probability < 0.01
    True
    """
    check_choice("method", method, METHODS)
    check_fraction(prior=prior)
    outcomes = read_outcomes(y_true, y_prob, sample_weight)
    line = LinearChange(outcomes)
    unchanged = line.log_likelihood(np.array([[0.0], [1.0]]))[0]
    best = line.maximise(np.zeros((2, 2)))
    if method == "bic":
        log_evidence = line.log_likelihood(best[:, None])[0] - math.log(line.total)
    else:
        log_evidence = line.log_evidence()
    log_bayes_factor = float(unchanged - log_evidence)
    posterior = float(special.expit(log_bayes_factor + special.logit(prior)))
    return CalibrationEvidence(posterior, log_bayes_factor, float(best[0]), float(best[1]), method)
