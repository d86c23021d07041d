"""Exponentiated gradient: weights follow the squared error of the mixture itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import logsumexp

from bayescal.experts.advice import Advice, blocks
from bayescal.experts.rules.rule import Rule, Run
from bayescal.experts.shares import shares_by_indicators
from bayescal.validation import Floats, Integers


@dataclass(frozen=True)
class ExponentiatedGradient(Rule):
    """
    Exponentiated gradient, whose bound is against the best fixed mixture, not the best expert.

    Each indicator has experts' weights that sum to 1, and the mixture takes them by the
    indicators' share q_I = I / sum of I: p_e = sum_I q_I w_{e,I}. In every round

        w_{e,I} <- w_{e,I} beta^g / Z_I,  g = dL/dw_{e,I} = -2 (1 - pi_H[y]) q_I pi_e[y],

    with L = (1 - pi_H[y])^2. Without indicators it is the EG of Kivinen and Warmuth 1997 with the
    learning rate ln(1/beta). Bounds for averaged predictions, with indicators, are what section
    9.5 of the dissertation asks for.
    """

    takes_indicators: ClassVar[bool] = True

    def shares(self, log_weights: Floats, advice: Advice) -> Floats:
        """Return the experts' weights under the indicators that are on, summing to 1."""
        return shares_by_indicators(log_weights, advice.indicators)

    def run(self, log_weights: Floats, advice: Advice, label: Integers, beta: float) -> Run:
        """Return what comes of the rounds, one after the other."""
        own, log_beta = _normalised(log_weights), np.log(beta)
        indicators = advice.indicators / advice.indicators.sum(axis=1, keepdims=True)
        of_labels = advice.of_labels(label)
        slopes = -2.0 * log_beta * of_labels
        shares = np.empty(of_labels.shape)
        for rows in blocks(label.size, log_beta):
            own = _normalised(own)
            weights = np.exp(own)
            for t in range(rows.start, rows.stop):
                share = weights @ (indicators[t] / weights.sum(axis=0))
                shares[t] = share
                right = share @ of_labels[t]
                step = np.multiply.outer((1.0 - right) * slopes[t], indicators[t])
                own += step
                weights *= np.exp(step, out=step)
        return Run(_normalised(own), shares, np.ones(label.size, dtype=np.bool_))


def _normalised(log_weights: Floats) -> Floats:
    return np.asarray(log_weights - logsumexp(log_weights, axis=0))
