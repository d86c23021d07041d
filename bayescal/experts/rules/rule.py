"""What an update rule is: from advice and labels to weights, a round after another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from bayescal.experts.advice import Advice
from bayescal.validation import Floats, Integers


@dataclass(frozen=True)
class Run:
    """
    What a rule did in n rounds.

    Attributes
    ----------
    log_weights : array of shape (experts, indicators)
        After the last round.
    shares : array of shape (n, experts)
        How much each expert counted in each round, before its label was told.
    updated : array of shape (n,) of bool
        In which rounds the weights were changed.
    """

    log_weights: Floats
    shares: Floats
    updated: NDArray[np.bool_]


class Rule(ABC):
    """
    An update rule.

    Attributes
    ----------
    takes_indicators : bool
        Whether there is a weight for each expert and indicator; else one for each expert.
    lets_sleep : bool
        Whether experts may leave documents out.
    """

    takes_indicators: ClassVar[bool] = False
    lets_sleep: ClassVar[bool] = False

    @abstractmethod
    def shares(self, log_weights: Floats, advice: Advice) -> Floats:
        """Return how much each expert counts for each document, shape (n, experts)."""

    @abstractmethod
    def run(self, log_weights: Floats, advice: Advice, label: Integers, beta: float) -> Run:
        """
        Return what comes of n rounds: predict, hear the label, update.

        Parameters
        ----------
        log_weights : array of shape (experts, indicators)
            Before the first round; left as they are.
        advice : Advice
            Of n documents.
        label : array of shape (n,) of int
            Which class each is of.
        beta : float
            In (0, 1): the smaller, the more a round changes.
        """
