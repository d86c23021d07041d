"""Tests and evidence that probabilities are calibrated as they are: Spiegelhalter and Cox."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.metrics.inputs import Forecasts, read_outcomes
from bayescal.support.numerics import climb
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
    outcomes : Forecasts
        Probabilities of 0 and 1 stand for 1e-15 and 1 - 1e-15.
    """

    def __init__(self, outcomes: Forecasts) -> None:
        self.sign = np.where(outcomes.truth, 1.0, -1.0)
        self.log_odds = as_scores_of(outcomes.p, "probabilities")
        self.weight = outcomes.effective
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


# Are probabilities calibrated as they are? Spiegelhalter's test, and what the evidence says.

METHODS = ("unit_information", "bic")


class SpiegelhalterTest(NamedTuple):
    """Spiegelhalter's z, standard normal for calibrated probabilities, and the p-value of it."""

    statistic: float
    pvalue: float


def spiegelhalter_test(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
) -> SpiegelhalterTest:
    """
    Test that probabilities are calibrated, two-sided.

    z = sum (y - p)(1 - 2p) / sqrt(sum (1 - 2p)^2 p (1 - p)): the Brier score, less what it is
    expected to be of calibrated probabilities, in standard deviations.

    Parameters
    ----------
    y_true, y_prob, sample_weight, inclusion : array-like of shape (n,)
        See `log_loss`.

    Returns
    -------
    SpiegelhalterTest
        statistic above 0: probabilities too extreme; below: not extreme enough. Infinite, with a
        p-value of 0, if a document's class had probability 0.

    Raises
    ------
    ValueError
        If an argument is not as described, or every probability is 0, 1/2 or 1, so that the
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

    Notes
    -----
    If a document's class had probability 0, `probability` is 0 and `log_bayes_factor` -inf.
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
    inclusion: ArrayLike | None = None,
) -> CalibrationEvidence:
    """
    Weigh "the probabilities are calibrated" against "their log-odds need a linear change".

    "Do not calibrate" is an answer: where `probability` is high, changing them would add noise.

    Parameters
    ----------
    y_true, y_prob, sample_weight, inclusion : array-like of shape (n,)
        See `log_loss`; for the change, probabilities of 0 and 1 stand for 1e-15 and 1 - 1e-15.
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
    outcomes = read_outcomes(y_true, y_prob, sample_weight, inclusion, as_evidence=True)
    line = LinearChange(outcomes)
    unchanged = line.log_likelihood(np.array([[0.0], [1.0]]))[0]
    best = line.maximise(np.zeros((2, 2)))
    if method == "bic":
        log_evidence = line.log_likelihood(best[:, None])[0] - math.log(line.total)
    else:
        log_evidence = line.log_evidence()
    log_bayes_factor = float(unchanged - log_evidence)
    if outcomes.impossible.size:
        log_bayes_factor = -math.inf
    posterior = float(special.expit(log_bayes_factor + special.logit(prior)))
    return CalibrationEvidence(posterior, log_bayes_factor, float(best[0]), float(best[1]), method)
