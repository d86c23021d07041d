"""Winnow for specialists: when the combiner errs, experts that were right take from the wrong."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from bayescal.experts.advice import Advice
from bayescal.experts.rules.rule import Rule, Run
from bayescal.experts.shares import shares_of_awake
from bayescal.validation import Floats, Integers


@dataclass(frozen=True)
class Winnow(Rule):
    """
    Winnow, with experts that may sleep.

    Only if the mixture's likeliest class is wrong: w_e <- w_e / beta for awake experts whose
    likeliest class is right, w_e beta for the others that are awake; then the awake weights are
    rescaled to the sum that they had. Of classes equally likely the first counts as likeliest.

    Blum 1997, rescaled as Freund, Schapire, Singer and Warmuth 1997 ask: dissertation, algorithms
    9.4.3 and 9.4.4.
    """

    lets_sleep: ClassVar[bool] = True

    def shares(self, log_weights: Floats, advice: Advice) -> Floats:
        """Return the weights of experts that are awake, summing to 1."""
        return shares_of_awake(log_weights[:, 0], advice.awake)

    def run(self, log_weights: Floats, advice: Advice, label: Integers, beta: float) -> Run:
        """Return what comes of the rounds, one after the other."""
        own = log_weights[:, 0].copy()
        asleep = np.where(advice.awake, 0.0, -np.inf)
        wrong = advice.probabilities.argmax(axis=2) != label[:, None]
        steps = np.where(wrong, 1.0, -1.0) * np.log(beta)
        factors = np.exp(steps)
        shares = np.empty(advice.awake.shape)
        updated = np.zeros(label.size, dtype=np.bool_)
        for t, said in enumerate(advice.probabilities):
            weight = own + asleep[t]
            weight -= weight.max()
            np.exp(weight, out=weight)
            share = weight / weight.sum()
            shares[t] = share
            if (share @ said).argmax() != label[t]:
                updated[t] = True
                # Shares of experts that sleep are 0: the sum is that of the awake ones.
                rescaled = steps[t] - np.log(share @ factors[t])
                own += np.where(advice.awake[t], rescaled, 0.0)
        return Run(own[:, None], shares, updated)
