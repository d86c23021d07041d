"""What fitted problems say at some scores: log-odds, and probabilities with a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats

if TYPE_CHECKING:
    from bayescal.fitted.problem import FittedProblem


@dataclass(frozen=True)
class Curve:
    """
    Calibrated answers at some scores.

    Attributes
    ----------
    log_odds : array of shape (n,)
        Natural log-odds of the positive class.
    band : array of shape (n, 2), or None
        Lower and upper end of the band of its probability; None without a posterior.
    """

    log_odds: Floats
    band: Floats | None = None

    @property
    def probability(self) -> Floats:
        """Return the probabilities of the positive class."""
        from bayescal.bayes import probability

        return probability(self.log_odds)

    @property
    def width(self) -> float | None:
        """Return the mean width of the band, if there is one."""
        return None if self.band is None else float((self.band[:, 1] - self.band[:, 0]).mean())


def curve_at(
    fitted: FittedProblem,
    scores: Floats,
    level: float,
    *,
    band: str = "pointwise",
    prior: float | None = None,
) -> Curve:
    """Return what a fitted problem says of users' scores; see `Calibration.interval`."""
    values, calibration = fitted.read(scores), fitted.calibration
    log_odds = fitted.log_odds(values, prior)
    if not fitted.has_posterior:
        return Curve(log_odds)
    return Curve(log_odds, calibration.with_prior(prior).interval(values, level, band))


def log_odds_at(fitted: FittedProblem, scores: Floats) -> Floats:
    """Return the log-odds that a fitted problem gives users' scores."""
    return fitted.log_odds(fitted.read(scores))


def mle_log_odds(fitted: FittedProblem, scores: Floats) -> Floats:
    """Return what maximum likelihood says at users' scores."""
    calibration = fitted.calibration
    return calibration.fits.log_odds(calibration.read(fitted.read(scores)))


def merge_curves(rows: Sequence[NDArray[np.intp]], curves: Sequence[Curve], n: int) -> Curve:
    """
    Return the curve of a table of n rows from those of parts of it.

    Parameters
    ----------
    rows : sequence of array of int
        The rows of each part, each row once at most; others of the table become nan.
    curves : sequence of Curve
        At those rows. The result has a band if all of them have one.
    n : int
        Rows of the table.
    """
    log_odds, band = np.full(n, np.nan), np.full((n, 2), np.nan)
    banded = all(curve.band is not None for curve in curves)
    for where, curve in zip(rows, curves, strict=True):
        log_odds[where] = curve.log_odds
        if banded:
            band[where] = curve.band
    return Curve(log_odds, band if banded else None)
