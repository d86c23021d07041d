"""Diagnostic tests: likelihood ratios of a positive and of a negative result, with bands."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from bayescal.fitting.problems.problem import Calibrator, problem_of
from bayescal.likelihood_ratio.measures import LN10
from bayescal.likelihood_ratio.ratios import shown
from bayescal.support.intervals import Interval, percent
from bayescal.support.validation import Floats, as_scores, check_fraction, generator

METHOD = "posterior and Bayesian bootstrap"


@dataclass(frozen=True)
class DiagnosticRatios:
    """A test that is positive from a threshold on; made by `diagnostic_ratios`.

    Attributes
    ----------
    threshold : float
        Smallest score of a positive result.
    sensitivity, specificity : Interval
        P(score >= threshold | positive) and P(score < threshold | negative).
    log10_positive, log10_negative : Interval
        log10 of LR+ = sensitivity / (1 - specificity) for a positive result, and of LR- =
        (1 - sensitivity) / specificity for a negative one.
    level : float
        Probability of the intervals.
    """

    threshold: float
    sensitivity: Interval
    specificity: Interval
    log10_positive: Interval
    log10_negative: Interval
    level: float

    @property
    def text(self) -> str:
        """Return the likelihood ratios in sentences."""
        level = percent(self.level)
        lines = [
            f"{name}: LR {shown(each.value)} ({level} {shown(each.lower)} to {shown(each.upper)})"
            for name, each in (
                (f"Result of {self.threshold:g} or more", self.log10_positive),
                (f"Result below {self.threshold:g}", self.log10_negative),
            )
        ]
        return "\n".join(lines)

    def post_test(self, prevalence: float) -> Floats:
        """Return P(positive | result) with its band, from the prevalence odds times LR.

        Parameters
        ----------
        prevalence : float
            P(positive) before the test.

        Returns
        -------
        array of shape (2, 3)
            Point, lower and upper end after a positive result, and after a negative one.
        """
        check_fraction(prevalence=prevalence)
        rows = [
            (each.value, each.lower, each.upper)
            for each in (self.log10_positive, self.log10_negative)
        ]
        return np.asarray(special.expit(special.logit(prevalence) + LN10 * np.array(rows)))


def diagnostic_ratios(
    calibrator: Calibrator, threshold: float, *, level: float = 0.9, topic: Any = None, rng: Any = 0
) -> DiagnosticRatios:
    """Return the likelihood ratios of a positive and of a negative test result.

    Each posterior draw gives the sensitivity sum_i w_i p_i [s_i >= threshold] / sum_i w_i p_i over
    the scores fitted, with p_i its P(positive | s_i) and w_i from a Bayesian bootstrap of the
    scores, and likewise the specificity. LR+ and LR- are ratios of the mean rates.

    Parameters
    ----------
    calibrator : fitted calibrator
        With scores of the documents fitted, and a posterior.
    threshold : float
        Smallest score of a positive result; scores on both sides must have been fitted.
    level : float
        Probability of the intervals.
    topic : str, optional
        A topic of a calibrator of several.
    rng : int, Generator, RandomState or None
        Seeds the bootstrap.

    References
    ----------
    J. J. Deeks and D. G. Altman, *Diagnostic tests 4: likelihood ratios*, BMJ 329, 2004.

    Examples
    --------
    >>> from bayescal import ScoreCalibrator
    >>> rng = np.random.default_rng(0)
    >>> ill = np.repeat([True, False], [20, 60])
    >>> calibrator = ScoreCalibrator(random_state=0).fit(3.0 * ill + rng.normal(size=80), ill)
    >>> positive, negative = diagnostic_ratios(calibrator, 1.5).post_test(0.1)[:, 0]
    >>> bool(negative < 0.1 < positive)
    True
    """
    check_fraction(level=level)
    problem = problem_of(calibrator, topic, new=True)
    documents = problem.documents
    if not documents.score.size or not problem.has_posterior:
        raise ValueError(
            "diagnostic ratios need the scores fitted and posterior draws: fit a ScoreCalibrator"
            " with inference='exact'."
        )
    at = float(problem.read(as_scores([threshold], "threshold"), "threshold")[0])
    above = documents.score >= at
    if above.all() or not above.any():
        low, high = problem.shown(np.array([documents.score.min(), documents.score.max()]))
        raise ValueError(
            f"threshold must lie within the scores fitted, {low:g} to {high:g}, got {threshold!r}:"
            " both results must occur."
        )
    p = problem.calibration.sample(documents.score)
    weight = generator(rng).standard_gamma(documents.weights, size=p.shape)
    positive, negative = weight * p, weight * (1.0 - p)
    true_positive = positive @ above / positive.sum(axis=1)
    true_negative = negative @ ~above / negative.sum(axis=1)
    sensitivity, specificity = float(true_positive.mean()), float(true_negative.mean())

    def interval(value: float, draws: Floats) -> Interval:
        return Interval.of_draws(draws, level, value, method=METHOD, draws=draws)

    return DiagnosticRatios(
        threshold=float(threshold),
        sensitivity=interval(sensitivity, true_positive),
        specificity=interval(specificity, true_negative),
        log10_positive=interval(
            float(np.log10(sensitivity / (1.0 - specificity))),
            np.log10(true_positive / (1.0 - true_negative)),
        ),
        log10_negative=interval(
            float(np.log10((1.0 - sensitivity) / specificity)),
            np.log10((1.0 - true_positive) / true_negative),
        ),
        level=level,
    )
