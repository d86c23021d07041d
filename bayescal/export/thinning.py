"""Fewer knots for a curve: lines between some of its points that pass close to all others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.validation import Floats

WINDOW = 64  # points tried at first


def thin(score: Floats, log_odds: Floats, tolerance: float) -> NDArray[np.intp]:
    """
    Return the points to keep, so that lines between them pass all points within a tolerance.

    From each point kept the next one is the farthest that a line reaches; the points between two
    of them bound the line's slope from below and from above.

    Parameters
    ----------
    score : array of shape (n,)
        Ascending, all different.
    log_odds : array of shape (n,)
        Of the curve.
    tolerance : float
        In probability.

    Returns
    -------
    array of shape (k,)
        Ascending positions, the first and the last point among them.

    Examples
    --------
    >>> score = np.arange(5.0)
    >>> thin(score, np.array([0.0, 1.0, 2.0, 0.0, 0.0]), 1e-4).tolist()
    [0, 2, 3, 4]
    """
    p = special.expit(log_odds)
    bounds = (
        special.logit(np.maximum(p - tolerance, 0.0)),
        special.logit(np.minimum(p + tolerance, 1.0)),
    )
    kept = [0]
    while kept[-1] < score.size - 1:
        kept.append(_farthest(score, log_odds, bounds, kept[-1]))
    return np.array(kept, dtype=np.intp)


def _farthest(score: Floats, log_odds: Floats, bounds: tuple[Floats, Floats], start: int) -> int:
    """Return the farthest point that a line from `start` reaches; the next one always is."""
    window = WINDOW
    while True:
        ahead = slice(start + 1, start + 1 + window)
        run = score[ahead] - score[start]
        slope, least, most = ((each[ahead] - log_odds[start]) / run for each in (log_odds, *bounds))
        fits = np.maximum.accumulate(least) <= slope
        fits &= slope <= np.minimum.accumulate(most)
        reached = int(np.flatnonzero(fits)[-1])
        if reached < run.size - 1 or run.size < window:
            return start + 1 + reached
        window *= 2
