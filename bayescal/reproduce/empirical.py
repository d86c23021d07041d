"""What scores say by themselves: the share of positives in bins."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.validation import Floats

BINS = 24
# Half a document of each class keeps the log-odds of a pure bin finite (Haldane and Anscombe).
HALF = 0.5


@dataclass(frozen=True)
class LogOddsBins:
    """
    Empirical log-odds of bins of scores.

    Attributes
    ----------
    score : array of shape (bins,)
        The bins' mean scores.
    log_odds : array of shape (bins,)
        ln((n_+ + 1/2)/(n_- + 1/2)).
    error : array of shape (bins,)
        Its standard error, the root of 1/(n_+ + 1/2) + 1/(n_- + 1/2).
    """

    score: Floats
    log_odds: Floats
    error: Floats


def binned_log_odds(scores: Floats, positive: NDArray[np.bool_], bins: int = BINS) -> LogOddsBins:
    """
    Return empirical log-odds of bins that hold equally much of both classes together.

    Each class weighs one half, so that the few positives of a topic get half of the bins.

    Parameters
    ----------
    scores : array of shape (n,)
        Raw scores.
    positive : array of shape (n,) of bool
        The classes, both present.
    bins : int
        At most so many.

    Examples
    --------
    >>> found = binned_log_odds(np.arange(8.0), np.arange(8) > 3, bins=2)
    >>> found.score, found.log_odds.round(2)
    (array([1.5, 5.5]), array([-2.2,  2.2]))
    """
    order = np.argsort(scores, kind="stable")
    ordered, truth = scores[order], positive[order]
    share = np.where(truth, 0.5 / positive.sum(), 0.5 / (~positive).sum())
    # From the middle of each document's share: rounding must not empty the last bin.
    place = np.cumsum(share) - 0.5 * share
    code = np.minimum((place * bins).astype(np.int64), bins - 1)
    code = np.unique(code, return_inverse=True)[1]
    n_positive = np.bincount(code, truth)
    n_all = np.bincount(code)
    n_negative = n_all - n_positive
    return LogOddsBins(
        score=np.bincount(code, ordered) / n_all,
        log_odds=np.log((n_positive + HALF) / (n_negative + HALF)),
        error=np.sqrt(1.0 / (n_positive + HALF) + 1.0 / (n_negative + HALF)),
    )
