"""Weighted majority: an expert's weight falls by its squared error, in every round."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from bayescal.experts.advice import Advice, squared_error
from bayescal.experts.rules.rule import Rule, Run
from bayescal.experts.shares import shares_of_awake
from bayescal.validation import Floats, Integers


@dataclass(frozen=True)
class WeightedMajority(Rule):
    """
    The weighted majority algorithm WMG, on squared differences.

    w_e <- w_e beta^((pi_e[y] - 1)^2), Littlestone and Warmuth 1994 with squared in place of
    absolute differences: dissertation, algorithms 9.4.1 and 9.4.2.
    """

    def shares(self, log_weights: Floats, advice: Advice) -> Floats:
        """Return the weights, summing to 1."""
        return shares_of_awake(log_weights[:, 0], advice.awake)

    def run(self, log_weights: Floats, advice: Advice, label: Integers, beta: float) -> Run:
        """Return all rounds at once: no update depends on what the combiner said."""
        loss = squared_error(advice.of_labels(label))
        after = log_weights[:, 0] + np.log(beta) * np.cumsum(loss, axis=0)
        before = np.concatenate([log_weights.T, after[:-1]])
        return Run(
            after[-1][:, None],
            shares_of_awake(before, advice.awake),
            np.ones(label.size, dtype=np.bool_),
        )
