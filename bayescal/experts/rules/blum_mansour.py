"""Blum and Mansour's combiner: a weight for each expert and indicator, and its variants."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayescal.experts.advice import Advice, blocks, squared_error
from bayescal.experts.rules.rule import Rule, Run
from bayescal.experts.shares import on_scale, shares_by_indicators
from bayescal.validation import Floats, Integers


@dataclass(frozen=True)
class BlumMansour(Rule):
    """
    BMX and its variants: an expert gains under an indicator by what it loses less.

    w_{e,I} <- w_{e,I} beta^(I (L_e - beta L_H)) with squared errors L_e of the experts. L_H is
    sum_e p_e L_e, what choosing an expert by its share would lose.

    Blum and Mansour 2005; dissertation, algorithms 9.4.5 to 9.4.7. There p_e is w'_e / W with
    W = sum_e w'_e; as printed W adds up w'_e before it is complete, and shares would not sum to 1.

    Attributes
    ----------
    modified : bool
        BMXmod: indicators are divided by their sum, so that documents count alike however many
        are on, and L_H is the squared error of the mixture.
    margin : float
        Rounds change weights only where the mixture's log-odds of the right class are below it:
        1 in WinBMX, infinite in BMX.
    """

    takes_indicators: ClassVar[bool] = True
    modified: bool = False
    margin: float = np.inf

    def shares(self, log_weights: Floats, advice: Advice) -> Floats:
        """Return the experts' weights under the indicators that are on, summing to 1."""
        return shares_by_indicators(log_weights, advice.indicators)

    def run(self, log_weights: Floats, advice: Advice, label: Integers, beta: float) -> Run:
        """Return what comes of the rounds, one after the other."""
        own, log_beta = log_weights.copy(), np.log(beta)
        indicators = advice.indicators
        if self.modified:
            indicators = indicators / indicators.sum(axis=1, keepdims=True)
        of_labels = advice.of_labels(label)
        losses = squared_error(of_labels)
        enough = 1.0 / (1.0 + np.exp(-self.margin))
        shares = np.empty(of_labels.shape)
        updated = np.zeros(label.size, dtype=np.bool_)
        for rows in blocks(label.size, log_beta):
            level = own.max(axis=0)
            weights = np.exp(own - level)
            on = on_scale(indicators[rows], level)
            for t, on_here in enumerate(on, start=rows.start):
                of_experts = weights @ on_here
                share = of_experts / of_experts.sum()
                shares[t] = share
                right = share @ of_labels[t]
                if right >= enough and self.margin < np.inf:
                    continue
                loss = (1.0 - right) ** 2 if self.modified else share @ losses[t]
                step = np.multiply.outer(log_beta * (losses[t] - beta * loss), indicators[t])
                own += step
                weights *= np.exp(step, out=step)
                updated[t] = True
        return Run(own, shares, updated)
