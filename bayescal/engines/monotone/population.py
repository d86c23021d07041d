"""Monotone log-odds around those of problems met before: of one population out of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bayescal.engines.monotone.basis import Pieces
from bayescal.engines.monotone.density import Prior
from bayescal.engines.monotone.engine import LogOddsFit, draw_base, draw_likeliest
from bayescal.engines.monotone.outlines import Outlines
from bayescal.engines.monotone.posterior import Outline
from bayescal.validation import Floats
from bayescal.warps import unwarp


@dataclass(frozen=True)
class LogOddsPopulation:
    """
    What the log-odds of one kind of classifier's scores are like, from problem to problem.

    Unlike other priors it is stated in raw scores: that a margin of an SVM is 1 away from the
    hyperplane, or that a score is a logarithm of odds already, is what it knows.

    Attributes
    ----------
    name : str
        Of the kind of classifiers.
    scores_are : tuple of str
        What scores it is for, as `ScoreCalibrator` says; of probabilities it is that of their
        log-odds.
    centre, spread, asinh_scale : float
        Of the standardisation, and of the warp, in score units.
    pieces : Pieces
        Where slopes change, and the reference, in standardised warped scores.
    prior : Prior
        Of intercept and slopes; its locations and scales are the population's, the uncertainty
        about these included.
    """

    name: str
    scores_are: tuple[str, ...]
    centre: float
    spread: float
    asinh_scale: float
    pieces: Pieces
    prior: Prior

    @property
    def reference_score(self) -> float:
        """Return the score where the intercept is the log-odds."""
        warped = self.centre + self.spread * self.pieces.reference
        return float(unwarp(np.array([warped]), self.centre, self.asinh_scale)[0])

    @property
    def usual_slope(self) -> float:
        """Return the median of slopes there, in log-odds a unit of the score."""
        bent = math.hypot(1.0, (self.reference_score - self.centre) / self.asinh_scale)
        return math.exp(self.prior.slope_location) / self.spread / bent


def log_evidence_around(outlines: Outlines, populations: Sequence[LogOddsPopulation]) -> Floats:
    """
    Return the natural log of p(labels | scores, population), shape (populations,).

    It is Laplace's approximation, see `Outline.log_evidence`.
    """
    return np.array([_around(each, outlines).log_evidence for each in populations])


def fit_around(
    outlines: Outlines,
    rng: np.random.Generator,
    *,
    draws: int,
    populations: Sequence[LogOddsPopulation],
) -> LogOddsFit:
    """
    Draw from the posterior of monotone log-odds around the population that the labels favour.

    Parameters
    ----------
    outlines : Outlines
        Of the documents.
    rng : numpy.random.Generator
        Source of randomness.
    draws : int
        How many.
    populations : sequence of LogOddsPopulation
        Equally probable before the labels.
    """
    of_each = [_around(each, outlines) for each in populations]
    best, posterior, evidence = draw_likeliest(of_each, draws, rng)
    likeliest = populations[best]
    return LogOddsFit(
        posterior=posterior,
        prior=likeliest.prior,
        data=outlines.data,
        asinh_scale=likeliest.asinh_scale,
        centre=likeliest.centre,
        spread=likeliest.spread,
        log_evidence=evidence[best : best + 1],
        asinh_scales=np.array([likeliest.asinh_scale]),
        base=draw_base(outlines.data, rng, draws),
    )


def _around(known: LogOddsPopulation, outlines: Outlines) -> Outline:
    return outlines.of(
        known.centre, known.spread, known.asinh_scale, known.prior, pieces=known.pieces
    )
