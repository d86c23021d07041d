"""The two functions that make a loss of rankings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from bayescal.validation import Floats, Integers


@dataclass(frozen=True)
class RankingLoss:
    """
    A loss of a ranking of P relevant and N non-relevant documents against the perfect ranking.

    Attributes
    ----------
    value : callable
        Takes `nonrelevant_above`, how many non-relevant documents stand above each relevant one
        (P integers, the highest document first), and N. Returns the loss, in [0, 1].
    most_violated : callable
        Takes the scores of the relevant and of the non-relevant documents, each falling. Returns
        `relevant_above`, how many relevant documents stand above each non-relevant one in the
        ranking of the largest loss plus score (N integers that never fall).
    """

    value: Callable[[Integers, int], float]
    most_violated: Callable[[Floats, Floats], Integers]
