"""One minus the area under the ROC curve: the share of pairs in the wrong order."""

from __future__ import annotations

import numpy as np

from bayescal.ranking.losses.loss import RankingLoss
from bayescal.validation import Floats, Integers


def roc_area_loss(nonrelevant_above: Integers, n_nonrelevant: int) -> float:
    """
    Return the share of the P N pairs in which the non-relevant document stands above.

    Examples
    --------
    >>> roc_area_loss(np.array([0, 2]), 4)
    0.25
    """
    return float(nonrelevant_above.sum() / (nonrelevant_above.size * n_nonrelevant))


def most_violated_by_area(relevant: Floats, nonrelevant: Floats) -> Integers:
    """
    Return how many relevant documents stand above each non-relevant one in the worst ranking.

    Loss and score are sums over pairs. To put pair (i, j) in the wrong order gains
    (1 - 2 (s_i - t_j)) / (P N), so that pairs closer than 1/2 are swapped, each for itself.

    Parameters
    ----------
    relevant, nonrelevant : array of shape (P,) and (N,)
        Scores of both classes, falling.

    References
    ----------
    T. Joachims, *A support vector method for multivariate performance measures*, ICML 2005.

    Examples
    --------
    >>> most_violated_by_area(np.array([2.0, 1.0]), np.array([1.2, 0.0])).tolist()
    [1, 2]
    """
    return np.searchsorted(-relevant, -(nonrelevant + 0.5), side="right")


ROC_AREA = RankingLoss(roc_area_loss, most_violated_by_area)
