"""Are probabilities calibrated as they are? Spiegelhalter's test, and what the evidence says."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.metrics.inputs import read_outcomes
from bayescal.metrics.linear_change import LinearChange
from bayescal.validation import check_choice, check_fraction

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
