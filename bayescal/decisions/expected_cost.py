"""Decisions of the least expected cost, and how sure they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.decisions.costs import as_costs, with_abstention
from bayescal.decisions.draws import as_draws, blocks, number_of_classes, of_all_classes
from bayescal.validation import Floats, check_same_length

ABSTAIN = -1


@dataclass(frozen=True)
class Decisions:
    """
    A decision for each document.

    Attributes
    ----------
    decision : integer array of shape (documents,)
        The row of the costs: the position of a class, or of another decision; ABSTAIN = -1 where
        abstaining is cheaper.
    expected_cost : array of shape (documents,)
        Posterior expected cost of the decision.
    probability_optimal : array of shape (documents,)
        Posterior probability that no other decision has a lower expected cost, were the
        probabilities known.
    expected_regret : array of shape (documents,)
        What knowing the probabilities, but not the label, would save: the most that labels of
        other documents can be worth to this one.
    """

    decision: NDArray[np.intp]
    expected_cost: Floats
    probability_optimal: Floats
    expected_regret: Floats


def expected_costs(draws: ArrayLike, costs: ArrayLike) -> Floats:
    """
    Return the posterior expected cost of every decision, shape (documents, decisions).

    sum_c costs[d, c] mean_k P_k(c).

    Parameters
    ----------
    draws : array-like of shape (draws, documents) or (draws, documents, classes)
        See `bayescal.decisions`.
    costs : array-like of shape (decisions, classes) or (documents, decisions, classes)
        costs[d, c] is the cost of decision d where the class is c.

    Raises
    ------
    ValueError
        If an argument is not as described; see `as_costs`.

    Examples
    --------
    >>> expected_costs([[0.1, 0.6], [0.3, 0.8]], [[0, 5], [1, 0]]).round(2).tolist()
    [[1.0, 0.8], [3.5, 0.3]]
    """
    p = as_draws(draws)
    prices = as_costs(costs, p.shape[1], number_of_classes(p))
    expected: Floats = np.einsum("nc,ndc->nd", of_all_classes(p.mean(axis=0)[None])[0], prices)
    return expected


def decide(
    draws: ArrayLike, costs: ArrayLike, *, abstain_cost: ArrayLike | None = None
) -> Decisions:
    """
    Return the decision of the least posterior expected cost for each document.

    Parameters
    ----------
    draws : array-like of shape (draws, documents) or (draws, documents, classes)
        See `bayescal.decisions`.
    costs : array-like of shape (decisions, classes) or (documents, decisions, classes)
        costs[d, c] is the cost of decision d where the class is c. The first rows are the classes,
        in their order. Of equally cheap decisions the first is taken.
    abstain_cost : float or array-like of shape (documents,), optional
        The cost of not deciding, if that is one of the decisions.

    Raises
    ------
    ValueError
        If an argument is not as described; see `as_costs`.

    References
    ----------
    C. K. Chow, *On optimum recognition error and reject tradeoff*, IEEE Transactions on Information
    Theory 1970 (abstention). C. Elkan, IJCAI 2001.

    Examples
    --------
    >>> found = decide([[0.1, 0.6], [0.3, 0.8]], [[0, 5], [1, 0]], abstain_cost=0.5)
    >>> found.decision.tolist(), found.expected_cost.round(2).tolist()
    ([-1, 1], [0.5, 0.3])
    """
    p = as_draws(draws)
    documents, classes = p.shape[1], number_of_classes(p)
    prices = as_costs(costs, documents, classes)
    if abstain_cost is not None:
        if np.ndim(abstain_cost):
            check_same_length("abstain_cost", np.size(abstain_cost), "documents", documents)
        prices = with_abstention(prices[0] if len(prices) == 1 else prices, abstain_cost)
    prices = np.broadcast_to(prices, (documents, *prices.shape[-2:]))
    expected = np.einsum("nc,ndc->nd", of_all_classes(p.mean(axis=0)[None])[0], prices)
    decision = expected.argmin(axis=1)
    optimal, least = np.empty(documents), np.empty(documents)
    for part in blocks(p):
        of_draw = np.einsum("knc,ndc->knd", of_all_classes(p[:, part]), prices[part])
        cheapest = of_draw.min(axis=2)
        own = np.take_along_axis(of_draw, decision[None, part, None], axis=2)[:, :, 0]
        optimal[part] = (own <= cheapest).mean(axis=0)
        least[part] = cheapest.mean(axis=0)
    cost = np.take_along_axis(expected, decision[:, None], axis=1)[:, 0]
    if abstain_cost is not None:
        decision[decision == prices.shape[1] - 1] = ABSTAIN
    # Means of sums and sums of means differ by rounding: regret is not negative.
    return Decisions(decision, cost, optimal, np.maximum(cost - least, 0.0))
