"""Bounds on the squared errors of rules, for any sequence of documents.

Sums are over rounds, errors are squared errors (1 - P(label))^2, logarithms natural. A bound holds
for one pass, from equal weights, with one `beta`. Counts and losses of experts include constant
experts. Every function raises a ValueError if an argument is not as described.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from bayescal.combining.online.reading import read_classes, read_inputs, read_labels
from bayescal.combining.online.rules import squared_error
from bayescal.support.validation import Floats, as_reals, check_count, check_fraction


def weighted_majority_loss(expert_losses: ArrayLike, beta: float = 0.5) -> float:
    """Bound the sum of squared errors of rule "wma".

        L_H <= min_i (ln n + L_i ln(1/beta)) / (1 - beta).

    It bounds the loss of choosing an expert by its share; the mixture's is no larger (Jensen).

    Parameters
    ----------
    expert_losses : array-like of shape (experts,)
        Sum of squared errors of each expert.
    beta : float
        The rule's parameter, between 0 and 1.

    References
    ----------
    Freund and Schapire, A decision-theoretic generalization of on-line learning, 1997, theorem 2.

    Examples
    --------
    >>> round(weighted_majority_loss([10.0, 40.0]), 2)
    15.25
    """
    losses = _losses("expert_losses", expert_losses, beta)
    credit = np.log(losses.size) + losses.min() * -np.log(beta)
    return float(credit / (1.0 - beta))


def exponentiated_gradient_loss(
    mixture_loss: float, n_experts: int, beta: float = 0.5, *, n_indicators: int = 1
) -> float:
    """Bound the sum of squared errors of rule "eg".

        L_H <= L_u / (1 - eta/2) + m ln(n) / eta,  eta = ln(1/beta) < 2,

    for every fixed mixture u of n experts with the sum of squared errors L_u. With m indicators u
    has a mixture for each, taken by the indicators' shares.

    Parameters
    ----------
    mixture_loss : float
        L_u.
    n_experts : int
        Number of experts, n.
    beta : float
        The rule's parameter; above e^-2, about 0.135.
    n_indicators : int
        Number of indicators, m.

    References
    ----------
    Kivinen and Warmuth, Exponentiated gradient versus gradient descent for linear predictors, 1997,
    for m = 1. With indicators the sum of relative entropies to u falls in a round by at least
    2 eta a (a - b) - eta^2 a^2 / 2, where a and b are 1 - P(label) of H and of u: Hoeffding's lemma
    holds for each indicator, and squares of their shares sum to at most 1.

    Examples
    --------
    >>> round(exponentiated_gradient_loss(8.0, 2), 2)
    13.24
    """
    check_fraction(beta=beta)
    check_count("n_experts", n_experts)
    check_count("n_indicators", n_indicators)
    rate = -np.log(beta)
    if rate >= 2.0:
        raise ValueError(f"beta must be above exp(-2), about 0.135, for a bound, got {beta}.")
    start = n_indicators * np.log(n_experts) / rate
    return float(_losses("mixture_loss", mixture_loss, beta) / (1.0 - rate / 2.0) + start)


def _losses(name: str, losses: ArrayLike, beta: float) -> Floats:
    """Return sums of errors, checked with the rule's beta."""
    check_fraction(beta=beta)
    values = as_reals(losses, name)
    if values.size == 0 or not np.isfinite(values).all() or values.min() < 0.0:
        raise ValueError(f"{name} must be finite and at least 0, got {losses!r}.")
    return values


class Mixture(NamedTuple):
    """Experts mixed by the same shares in all rounds.

    Attributes
    ----------
    shares : array of shape (experts,)
        At least 0, with sum 1; constant experts last.
    loss : float
        Sum of squared errors (1 - P(label))^2.
    """

    shares: Floats
    loss: float


def best_mixture(
    P: ArrayLike,  # noqa: N803
    y: ArrayLike,
    *,
    classes: ArrayLike | None = None,
    constant_experts: bool = True,
) -> Mixture:
    """Return the mixture that is best for documents whose labels are all known.

    It minimises |A u|^2 over shares u, where A has 1 - P(label) of each document and expert.
    `exponentiated_gradient_loss` bounds how much more rule "eg" loses.

    Parameters
    ----------
    P, y, classes, constant_experts
        As in `OnlineCombiner` and its `fit`; all experts must be awake.

    Examples
    --------
    >>> best = best_mixture([[0.4, 0.9], [0.1, 0.6]], [1, 0], constant_experts=False)
    >>> best.shares.round(2), round(best.loss, 3)
    (array([0.5, 0.5]), 0.245)
    """
    known = read_classes(y, "y") if classes is None else read_classes(classes)
    inputs = read_inputs(P, known.size, None, None, rule="eg", constant_experts=constant_experts)
    advice = inputs.advice
    of_labels = advice.of_labels(read_labels(y, known, len(advice.awake)))
    # Without the constraint sum u = 1: at z = s u the minimum over s of s^2 |A u|^2 + (s - 1)^2 is
    # |A u|^2 / (1 + |A u|^2), which increases with |A u|^2.
    rows = np.vstack([1.0 - of_labels, np.ones(of_labels.shape[1])])
    unscaled, _ = nnls(rows, np.append(np.zeros(len(of_labels)), 1.0))
    shares = unscaled / unscaled.sum()
    return Mixture(shares, float(squared_error(of_labels @ shares).sum()))
