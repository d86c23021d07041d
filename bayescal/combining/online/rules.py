"""Advice of experts, and the rules that update the experts' weights round by round."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from bayescal.support.validation import Floats, Integers


@dataclass(frozen=True)
class Advice:
    """Experts' probabilities for n documents; document t is round t of the online game."""

    probabilities: Floats  # (n, experts, classes): zeros where an expert sleeps
    awake: NDArray[np.bool_]  # (n, experts): at least one a document
    indicators: Floats  # (n, indicators): in [0, 1], at least one above 0 a document

    def of_labels(self, label: Integers) -> Floats:
        """Return each expert's probability of the true class, (n, experts)."""
        return np.asarray(self.probabilities[np.arange(label.size), :, label])

    def mixture(self, shares: Floats) -> Floats:
        """Return probabilities of all classes, experts weighed by shares; shape (n, classes)."""
        return np.asarray(np.matmul(shares[:, None, :], self.probabilities)[:, 0, :])


def squared_error(of_labels: Floats) -> Floats:
    """Return (1 - P(label))^2, the loss of experts and mixtures; in [0, 1]."""
    return np.asarray((1.0 - of_labels) ** 2)


def blocks(n: int, log_beta: float) -> Iterator[slice]:
    """Yield runs of rounds in which no weight changes by more than a factor of e^600."""
    size = int(np.clip(300.0 / -log_beta, 1.0, 256.0))
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


@dataclass(frozen=True)
class Run:
    """The result of n rounds."""

    log_weights: Floats  # (experts, indicators): after the last round
    shares: Floats  # (n, experts): before the round's label was known
    updated: NDArray[np.bool_]  # (n,): whether the round changed weights


class Rule(ABC):
    """An update rule."""

    takes_indicators: ClassVar[bool] = False  # whether each indicator has weights of its own
    lets_sleep: ClassVar[bool] = False  # whether experts may leave documents out

    def shares(self, log_weights: Floats, advice: Advice) -> Floats:
        """Return the experts' shares of the mixture for each document, (n, experts)."""
        if self.takes_indicators:
            return shares_by_indicators(log_weights, advice.indicators)
        return shares_of_awake(log_weights[:, 0], advice.awake)

    @abstractmethod
    def run(self, log_weights: Floats, advice: Advice, label: Integers, beta: float) -> Run:
        """Play n rounds: predict, observe the label, update the weights."""


def shares_of_awake(log_weights: Floats, awake: NDArray[np.bool_]) -> Floats:
    """Return p_e = A_e w_e / sum of A w, the shares of the awake experts."""
    return np.asarray(softmax(np.where(awake, log_weights, -np.inf), axis=1))


def shares_by_indicators(log_weights: Floats, indicators: Floats) -> Floats:
    """Return p_e, proportional to the sum over indicators of I w_{e,I}, summing to 1."""
    level = log_weights.max(axis=0)
    of_experts = on_scale(indicators, level) @ np.exp(log_weights - level).T
    return np.asarray(of_experts / of_experts.sum(axis=1, keepdims=True))


def on_scale(indicators: Floats, level: Floats) -> Floats:
    """Return I e^level, scaled to a maximum of 1 in each document; shape (n, indicators)."""
    with np.errstate(divide="ignore"):
        exponents = np.log(indicators) + level
    return np.asarray(np.exp(exponents - exponents.max(axis=1, keepdims=True)))


@dataclass(frozen=True)
class BlumMansour(Rule):
    """BMX and variants (Blum and Mansour 2005): experts gain under indicators by losing less."""

    # w_{e,I} <- w_{e,I} beta^(I (L_e - beta L_H)) with squared errors L_e and L_H = sum_e p_e L_e;
    # dissertation, algorithms 9.4.5 to 9.4.7, where W must be the sum of all w'_e.

    takes_indicators: ClassVar[bool] = True
    # BMXmod: indicators are divided by their sum, and L_H is the squared error of the mixture.
    modified: bool = False
    margin: float = np.inf  # rounds with larger log-odds of the right class change no weights

    def run(self, log_weights: Floats, advice: Advice, label: Integers, beta: float) -> Run:
        """Play the rounds in their order."""
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


@dataclass(frozen=True)
class ExponentiatedGradient(Rule):
    """Exponentiated gradient, whose bound is against the best fixed mixture of experts."""

    # Indicators have experts' weights of sum 1, mixed by q_I = I / sum of I: p_e = sum_I q_I
    # w_{e,I}.
    #     w_{e,I} <- w_{e,I} beta^g / Z_I,  g = dL/dw_{e,I} = -2 (1 - pi_H[y]) q_I pi_e[y].
    # Without indicators, EG of Kivinen and Warmuth 1997 with the learning rate ln(1/beta).

    takes_indicators: ClassVar[bool] = True

    def run(self, log_weights: Floats, advice: Advice, label: Integers, beta: float) -> Run:
        """Play the rounds in their order."""
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


@dataclass(frozen=True)
class WeightedMajority(Rule):
    """WMG on squared differences, w_e <- w_e beta^((pi_e[y] - 1)^2): algorithms 9.4.1 and 9.4.2."""

    def run(self, log_weights: Floats, advice: Advice, label: Integers, beta: float) -> Run:
        """Return all rounds at once: no update depends on the mixture."""
        loss = squared_error(advice.of_labels(label))
        after = log_weights[:, 0] + np.log(beta) * np.cumsum(loss, axis=0)
        before = np.concatenate([log_weights.T, after[:-1]])
        return Run(
            after[-1][:, None],
            shares_of_awake(before, advice.awake),
            np.ones(label.size, dtype=np.bool_),
        )


@dataclass(frozen=True)
class Winnow(Rule):
    """Winnow with experts that may sleep: algorithms 9.4.3 and 9.4.4 of the dissertation."""

    # Only if the mixture's likeliest class is wrong: w_e / beta for awake experts whose own is
    # right, w_e beta for the other awake ones, rescaled to their earlier sum (Blum 1997; Freund et
    # al. 1997).

    lets_sleep: ClassVar[bool] = True

    def run(self, log_weights: Floats, advice: Advice, label: Integers, beta: float) -> Run:
        """Play the rounds in their order."""
        own = log_weights[:, 0].copy()
        asleep = np.where(advice.awake, 0.0, -np.inf)
        wrong = advice.probabilities.argmax(axis=2) != label[:, None]
        steps = np.where(wrong, 1.0, -1.0) * np.log(beta)
        factors = np.exp(steps)
        shares = np.empty(advice.awake.shape)
        updated = np.zeros(label.size, dtype=np.bool_)
        for t, probabilities in enumerate(advice.probabilities):
            weight = own + asleep[t]
            weight -= weight.max()
            np.exp(weight, out=weight)
            share = weight / weight.sum()
            shares[t] = share
            if (share @ probabilities).argmax() != label[t]:
                updated[t] = True
                # Shares of experts that sleep are 0: the sum is that of the awake ones.
                rescaled = steps[t] - np.log(share @ factors[t])
                own += np.where(advice.awake[t], rescaled, 0.0)
        return Run(own[:, None], shares, updated)


# The values of `rule`, by the names of the dissertation's chapter 9.
RULES: dict[str, Rule] = {
    "wma": WeightedMajority(),
    "winnow": Winnow(),
    "bmx": BlumMansour(),
    "bmxmod": BlumMansour(modified=True),
    "winbmx": BlumMansour(margin=1.0),
    "winbmxmod": BlumMansour(modified=True, margin=1.0),
    "eg": ExponentiatedGradient(),
}
