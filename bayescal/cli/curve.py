"""What calibrators say at some scores: log-odds, and probabilities with a band."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats

if TYPE_CHECKING:
    from bayescal.score_calibrator import ScoreCalibrator


@dataclass(frozen=True)
class Curve:
    """
    Calibrated answers at some scores.

    Attributes
    ----------
    log_odds : array of shape (n,)
        Natural log-odds of the positive class.
    lower, upper : array of shape (n,), or None
        The band of its probability; None without a posterior.
    """

    log_odds: Floats
    lower: Floats | None
    upper: Floats | None

    @property
    def probability(self) -> Floats:
        """Return the probabilities of the positive class."""
        from bayescal.bayes import probability

        return probability(self.log_odds)


def curve_at(
    calibrator: ScoreCalibrator,
    scores: Floats,
    level: float,
    *,
    band: str = "pointwise",
    prior: float | None = None,
) -> Curve:
    """Return what a calibrator says at some scores; see `ScoreCalibrator.predict_interval`."""
    log_odds = calibrator.decision_function(scores, prior)
    if "posterior" not in calibrator.results_:
        return Curve(log_odds, None, None)
    lower, upper = calibrator.predict_interval(scores, level, band, prior).T
    return Curve(log_odds, lower, upper)


def mle_log_odds(calibrator: ScoreCalibrator, scores: Floats) -> Floats:
    """Return what maximum likelihood says, which every fitted calibrator knows."""
    from bayescal.results.calibration import read_calibration

    calibration = read_calibration(calibrator.results_)
    return calibration.fits.log_odds(calibration.read(scores))


def merge_curves(rows: Sequence[NDArray[np.intp]], curves: Sequence[Curve]) -> Curve:
    """
    Return the curve of a table from those of parts of it.

    Parameters
    ----------
    rows : sequence of array of int
        The rows of each part; together all rows of the table, each once.
    curves : sequence of Curve
        At those rows. The result has a band if all of them have one.
    """
    order = np.argsort(np.concatenate(rows))

    def merged(parts: Sequence[Floats | None]) -> Floats | None:
        known = [part for part in parts if part is not None]
        return np.concatenate(known)[order] if len(known) == len(parts) else None

    log_odds = np.concatenate([curve.log_odds for curve in curves])[order]
    lower, upper = ([getattr(curve, side) for curve in curves] for side in ("lower", "upper"))
    return Curve(log_odds, merged(lower), merged(upper))
