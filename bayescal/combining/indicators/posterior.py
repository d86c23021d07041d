"""Indicators of a calibration's posterior: uncertain log-odds, and conflicts of two classifiers.

They go beyond Bennett's dissertation, which has no posterior, and depend on the score alone. The
posterior is wide where few labels support a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from bayescal.combining.indicators.models import Indicator, ratio
from bayescal.fitting.curves.curves import blocks
from bayescal.fitting.posterior import Posterior
from bayescal.support.validation import Floats, check_same_length

if TYPE_CHECKING:
    from bayescal.fitting.problems.problem import Calibrator, FittedProblem

DRAWS = 1000  # evenly spaced; standard deviations are accurate to 2 %
STEP = 0.1  # half the interval of slopes, in spreads of the scores fitted
IRRELEVANT, BETWEEN, RELEVANT = -1.0, 0.0, 1.0


@dataclass(frozen=True)
class ScorePosterior:
    """The posterior of one calibration at n scores, arrays of shape (n,)."""

    mean: Floats  # posterior mean of the natural log-odds lambda(s)
    deviation: Floats
    above: Floats  # P(lambda(s) > 0 | data)
    slope: Floats  # d lambda/ds of the mean, per unit of score, over a fifth of the scores' spread
    # -1 for scores below both classes' maximum-likelihood modes, 0 between them, 1 above them (A, B
    # and C in Bennett's dissertation, section 3.2)
    region: Floats

    @classmethod
    def of(cls, calibrator: Calibrator, scores: ArrayLike, topic: Any = "") -> ScorePosterior:
        """Evaluate a fitted calibrator's posterior at raw scores, of `topic` if it has topics.

        Raises ValueError if there are no posterior draws.
        """
        problem = calibrator.fitted_problems().answering(topic)
        if problem.draws is None:
            raise ValueError(
                "indicators of a posterior need its draws, got a calibrator of"
                f" inference={problem.inference!r}: fit it with inference='exact'."
            )
        values = problem.calibration.read(scores)
        every = np.unique(np.linspace(0, problem.draws.size - 1, DRAWS).astype(np.intp))
        curves = problem.draws.take(every)
        mean, deviation, above, slope = _moments(curves, values, problem.scale[1])
        return cls(mean, deviation, above, slope, _region(problem, values))


def _moments(curves: Posterior, values: Floats, spread: float) -> Floats:
    """Return mean, standard deviation, share above 0 and slope, shape (4, n)."""
    moments = np.empty((4, values.size))
    step = STEP * spread
    for block in blocks(curves.size, values.size):
        draws = curves.log_odds(values[block])
        lower, upper = (curves.log_odds(values[block] + side) for side in (-step, step))
        moments[:, block] = (
            draws.mean(axis=0),
            draws.std(axis=0),
            (draws > 0.0).mean(axis=0),
            (upper - lower).mean(axis=0) / (2.0 * step),
        )
    return moments


def _region(problem: FittedProblem, values: Floats) -> Floats:
    fits = problem.calibration.fits
    # The first parameter of every family is its mode.
    modes = [next(iter(fit.parameters.values())) for fit in (fits.negative, fits.positive)]
    return np.where(
        values < min(modes), IRRELEVANT, np.where(values > max(modes), RELEVANT, BETWEEN)
    )


def entropy(posterior: ScorePosterior) -> Floats:
    """Return the entropy of the label at the posterior mean of the log-odds, in nats."""
    p = special.expit(posterior.mean)
    return np.asarray(special.entr(p) + special.entr(special.expit(-posterior.mean)))


INDICATORS: Mapping[str, Indicator] = {
    "PosteriorMeanLogOdds": attrgetter("mean"),
    "PosteriorStdDevLogOdds": attrgetter("deviation"),
    "PosteriorProbabilityAbove": attrgetter("above"),
    "PosteriorEntropy": entropy,
    "PosteriorSlope": attrgetter("slope"),  # turns shifts of the score into shifts of log-odds
    "PosteriorRegion": attrgetter("region"),
}


def posterior_indicators(
    calibrator: Calibrator, scores: ArrayLike, topic: Any = ""
) -> dict[str, Floats]:
    """Return each posterior indicator of raw scores by its name, arrays of shape (n,).

    Parameters
    ----------
    calibrator : ScoreCalibrator or TopicCalibrator
        Fitted to held-out scores, with a posterior; a ValueError is raised without one.
    scores : array-like of shape (n,) or (n, 1)
        Raw scores.
    topic : label
        Topic of a `TopicCalibrator`.

    Examples
    --------
    >>> from bayescal import ScoreCalibrator
    >>> scores, y = np.linspace(-2.0, 2.0, 30), np.arange(30) % 10 > np.linspace(9.0, 0.0, 30)
    >>> calibrator = ScoreCalibrator("gaussian", random_state=0).fit(scores, y)
    >>> values = posterior_indicators(calibrator, [-3.0, 0.0, 3.0])
    >>> values["PosteriorRegion"].tolist(), values["PosteriorProbabilityAbove"].round(1).tolist()
    ([-1.0, 0.0, 1.0], [0.0, 0.5, 1.0])
    """
    posterior = ScorePosterior.of(calibrator, scores, topic)
    return {name: indicator(posterior) for name, indicator in INDICATORS.items()}


def conflict(first: ScorePosterior, second: ScorePosterior) -> Floats:
    """Return z = (lambda_1 - lambda_2) / sqrt(v_1 + v_2) of n documents by two classifiers, (n,).

    lambda and v are posterior means and variances of the calibrated log-odds; z is 0 where both are
    equal and certain. Raises ValueError if the numbers of documents differ.
    """
    check_same_length("first", first.mean.size, "second", second.mean.size)
    return ratio(first.mean - second.mean, np.hypot(first.deviation, second.deviation))


def conflicts(posteriors: Sequence[ScorePosterior]) -> Floats:
    """Return `conflict` of every pair of classifiers, in order, shape (n, pairs)."""
    pairs = combinations(posteriors, 2)
    return np.stack([conflict(first, second) for first, second in pairs], axis=1)
