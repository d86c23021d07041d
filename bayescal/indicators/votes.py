"""How many classifiers take a document for positive, and how many agree with the best (Type 4).

Bennett's dissertation, section 5.2.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bayescal.indicators.kind import Indicator
from bayescal.validation import Floats


@dataclass(frozen=True)
class Votes:
    """
    Decisions of classifiers.

    Attributes
    ----------
    positive : array of shape (documents, classifiers) of bool
        Which documents each takes for positive.
    best : int
        The classifier that was best on the training documents.
    """

    positive: NDArray[np.bool_]
    best: int


def share_positive(votes: Votes) -> Floats:
    """Return the share of classifiers that take a document for positive."""
    return np.asarray(votes.positive.mean(axis=1))


def share_agreeing(votes: Votes) -> Floats:
    """Return the share of classifiers that decide as the best one does, which is one of them."""
    best = votes.positive[:, [votes.best]]
    return np.asarray((votes.positive == best).mean(axis=1))


INDICATORS: Mapping[str, Indicator] = {
    "PercentPredictingPositive": share_positive,
    "PercentAgreeWBest": share_agreeing,
}
