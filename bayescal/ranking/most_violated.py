"""The ranking of one query that violates its constraint most, as coefficients of its documents.

The joint feature map is Psi(y) = 1/(P N) sum over pairs of y_ij (x_i - x_j), with y_ij = 1 where
the relevant document i stands above the non-relevant j and -1 where it stands below. Psi is a sum
over documents, sum_d c_d x_d, so that pairs are never made.
"""

from __future__ import annotations

import numpy as np

from bayescal.ranking.losses import RankingLoss
from bayescal.validation import Floats


def most_violated(scores: Floats, n_relevant: int, loss: RankingLoss) -> tuple[Floats, float]:
    """
    Return the ranking y that maximises Delta(y) + w.Psi(y) - w.Psi(y*), and its loss Delta.

    Parameters
    ----------
    scores : array of shape (documents,)
        w.x of each document: P relevant ones first, then N non-relevant ones.
    n_relevant : int
        P.
    loss : RankingLoss
        Which loss Delta is.

    Returns
    -------
    coefficients : array of shape (documents,)
        c of Psi(y*) - Psi(y) = sum_d c_d x_d, where y* is the perfect ranking: 2 A_i / (P N) of a
        relevant document below A_i non-relevant ones, -2 B_j / (P N) of a non-relevant document
        above B_j relevant ones. Their sum is 0.
    loss : float
        Delta(y).

    References
    ----------
    Yue, Finley, Radlinski and Joachims, SIGIR 2007, Algorithm 2.

    Examples
    --------
    >>> from bayescal.ranking.losses import LOSSES
    >>> most_violated(np.array([1.0, 0.9]), 1, LOSSES["roc"])
    (array([ 2., -2.]), 1.0)
    """
    n_nonrelevant = scores.size - n_relevant
    first = np.argsort(-scores[:n_relevant], kind="stable")
    second = np.argsort(-scores[n_relevant:], kind="stable") + n_relevant
    relevant_above = loss.most_violated(scores[first], scores[second])
    nonrelevant_above = np.searchsorted(relevant_above, np.arange(n_relevant), side="right")
    coefficients = np.empty(scores.size)
    coefficients[first] = nonrelevant_above
    coefficients[second] = relevant_above - n_relevant
    coefficients *= 2.0 / (n_relevant * n_nonrelevant)
    return coefficients, loss.value(nonrelevant_above, n_nonrelevant)
