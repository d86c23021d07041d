"""Recall by rank: how far down a ranking to read, from draws of the positives along it."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.support.validation import Floats

# Shares are quotients of whole numbers: 0.8 of 5 documents is 4 of them.
ROUNDING = 1e-9


def recall_by_rank(positives: ArrayLike) -> Floats:
    """
    Return the share of positives up to each step down a ranking, 1 where a draw has none.

    `positives`, (draws, steps), are the positives of each step: of one document, or of several.
    """
    return share_so_far(np.cumsum(np.asarray(positives), axis=1))


def share_so_far(hits: Floats) -> Floats:
    """Return each column's share of the last column, 1 where that is 0; (draws, steps)."""
    total = hits[:, -1:]
    return np.asarray(np.where(total > 0, hits / np.where(total > 0, total, 1), 1.0))


def enough_read(recall: Floats, wanted: float) -> NDArray[np.bool_]:
    """Return where a recall is the wanted one or more, up to rounding of its quotient."""
    reached: NDArray[np.bool_] = recall >= wanted - ROUNDING
    return reached


def probability_reached(positives: ArrayLike, recall: float) -> Floats:
    """Return the probability that a recall is reached before the first step, and after each."""
    counts = np.asarray(positives)
    nothing = ~counts.any(axis=1)
    reached = enough_read(recall_by_rank(counts), recall).mean(axis=0)
    return np.asarray(np.r_[nothing.mean(), reached])


def stopping_rank(positives: ArrayLike, recall: float, probability: float) -> int:
    """Return the first step by which the wanted recall is reached with the wanted probability."""
    enough = probability_reached(positives, recall) >= probability - ROUNDING
    return int(enough.argmax())
