"""Decisions of the least expected cost, and how sure they are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.decisions.draws import BLOCK_ELEMENTS, as_draws, number_of_classes, of_all_classes
from bayescal.support.intervals import tails
from bayescal.support.lazy import BAND, ROW, rowwise
from bayescal.support.numerics import blocks_of
from bayescal.support.validation import Floats, as_reals, check_fraction, check_same_length


def as_costs(costs: ArrayLike, documents: int, classes: int) -> Floats:
    """Return costs as a float64 array of shape (1 or documents, decisions, classes)."""
    values = as_reals(costs, "costs")
    shape = values.shape
    values = values[None] if values.ndim == 2 else values
    fits = values.ndim == 3 and values.shape[0] in ((1,) if len(shape) == 2 else (documents,))
    if not fits or values.shape[2] != classes or values.shape[1] < classes:
        raise ValueError(
            f"costs must have shape (decisions, {classes}) or ({documents}, decisions, {classes}),"
            f" with at least {classes} decisions, one a class, got {shape}."
        )
    if not np.isfinite(values).all():
        raise ValueError("costs must be finite, got nan or infinity.")
    _check_right_decisions(values[:, :classes])
    return values


def _check_right_decisions(square: Floats) -> None:
    right = np.diagonal(square, axis1=1, axis2=2)
    if right.min() < 0.0:
        raise ValueError(
            f"costs of right decisions (the diagonal) must not be negative, got {right.min():g}:"
            " write a gain as the cost of missing it, by adding it to its class's column."
        )
    if (right > square.min(axis=1)).any():
        raise ValueError(
            "costs must not be smaller for a wrong decision than for the right one: costs[d, c] is"
            " that of decision d where the class is c; transpose the matrix if it is the other way."
        )


def with_abstention(costs: ArrayLike, abstain_cost: ArrayLike) -> Floats:
    """Return costs with one more decision, which costs the same whatever the class.

    Parameters
    ----------
    costs : array-like of shape (decisions, classes) or (documents, decisions, classes)
        See `bayescal.decisions`.
    abstain_cost : float or array-like of shape (documents,)
        The cost of not deciding, such as of asking a person; not negative.

    Examples
    --------
    >>> with_abstention([[0, 5], [1, 0]], 0.4).tolist()
    [[0.0, 5.0], [1.0, 0.0], [0.4, 0.4]]
    """
    values, abstain = as_reals(costs, "costs"), as_reals(abstain_cost, "abstain_cost")
    if not (np.isfinite(abstain).all() and (abstain >= 0.0).all()):
        raise ValueError(f"abstain_cost must be finite and not negative, got {abstain_cost!r}.")
    if not np.isfinite(values).all():
        raise ValueError("costs must be finite, got nan or infinity.")
    if abstain.ndim == 1 and values.ndim == 2:
        values = np.broadcast_to(values, (abstain.size, *values.shape))
    if values.ndim not in (2, 3) or abstain.ndim > 1 or abstain.shape not in ((), values.shape[:1]):
        raise ValueError(
            "abstain_cost must be a number or one a document, for costs of shape (decisions,"
            f" classes) or (documents, decisions, classes), got {abstain.shape} and {values.shape}."
        )
    if abstain.ndim == 1:
        abstain = abstain[:, None, None]
    row = np.broadcast_to(abstain, (*values.shape[:-2], 1, values.shape[-1]))
    return np.concatenate([values, row], axis=-2)


ABSTAIN = -1
DECISION = "decision"  # a dimension


@dataclass(frozen=True)
class Decisions:
    """A decision for each document.

    Attributes
    ----------
    decision : integer array of shape (documents,)
        Row of the costs, such as the position of a class; ABSTAIN = -1 for no decision.
    expected_cost : array of shape (documents,)
        Posterior expected cost of the decision.
    cost_interval : array of shape (documents, 2)
        Equal-tailed posterior interval of the decision's expected cost given the probabilities.
    probability_optimal : array of shape (documents,)
        Posterior probability that no other decision has a lower expected cost.
    expected_regret : array of shape (documents,)
        Saving from known probabilities without the label: an upper bound on the value of other
        documents' labels for this decision.
    """

    decision: NDArray[np.intp]
    expected_cost: Floats
    cost_interval: Floats
    probability_optimal: Floats
    expected_regret: Floats


@rowwise(ROW, DECISION, argument=0, axis=1)
def expected_costs(draws: ArrayLike, costs: ArrayLike) -> Floats:
    """Return posterior expected costs sum_c costs[d, c] mean_k P_k(c), (documents, decisions).

    Parameters
    ----------
    draws : array-like of shape (draws, documents) or (draws, documents, classes)
        See `bayescal.decisions`.
    costs : array-like of shape (decisions, classes) or (documents, decisions, classes)
        See `bayescal.decisions`.

    Examples
    --------
    >>> expected_costs([[0.1, 0.6], [0.3, 0.8]], [[0, 5], [1, 0]]).round(2).tolist()
    [[1.0, 0.8], [3.5, 0.3]]
    """
    p = as_draws(draws)
    prices = as_costs(costs, p.shape[1], number_of_classes(p))
    return np.asarray(np.einsum("nc,ndc->nd", of_all_classes(p.mean(axis=0)[None])[0], prices))


@rowwise(ROW, BAND, argument=0, axis=1)
def decide(
    draws: ArrayLike, costs: ArrayLike, *, abstain_cost: ArrayLike | None = None, level: float = 0.9
) -> Decisions:
    """Return the decision with the least posterior expected cost for each document.

    Parameters
    ----------
    draws, costs
        As in `expected_costs`. Of equally cheap decisions the first is taken.
    abstain_cost : float or array-like of shape (documents,), optional
        The cost of not deciding, if that is allowed.
    level : float
        Posterior probability of `cost_interval`.

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
    check_fraction(level=level)
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
    optimal, least, interval = np.empty(documents), np.empty(documents), np.empty((documents, 2))
    for part in blocks_of(max(1, BLOCK_ELEMENTS // (len(p) * classes)), documents):
        of_draw = np.einsum("knc,ndc->knd", of_all_classes(p[:, part]), prices[part])
        cheapest = of_draw.min(axis=2)
        own = np.take_along_axis(of_draw, decision[None, part, None], axis=2)[:, :, 0]
        optimal[part] = (own <= cheapest).mean(axis=0)
        least[part] = cheapest.mean(axis=0)
        interval[part] = np.quantile(own, tails(level), axis=0).T
    cost = np.take_along_axis(expected, decision[:, None], axis=1)[:, 0]
    if abstain_cost is not None:
        decision[decision == prices.shape[1] - 1] = ABSTAIN
    # Rounding may make the difference negative.
    return Decisions(decision, cost, interval, optimal, np.maximum(cost - least, 0.0))


def value_of_label(
    draws: ArrayLike, costs: ArrayLike, *, candidates: ArrayLike | None = None
) -> Floats:
    """Return the expected saving in all decisions from each document's label; shape (documents,).

    The label y of document i weighs the draws by P_k(y|i) and shifts the probabilities of all
    documents. With costs L(j, d, c) and E the mean over draws, the expected value of sample
    information is

        V(i) = sum_j min_d E[sum_c L(j, d, c) P(c|j)]
               - sum_y sum_j min_d E[P(y|i) sum_c L(j, d, c) P(c|j)],

    where for j = i, whose class is then known to be y, the last term is min_d L(i, d, y) E[P(y|i)].
    It is never negative, and exact for the draws. Values of several labels do not add up, as
    documents with similar scores are alike: label a few, fit again.

    Parameters
    ----------
    draws, costs
        As in `expected_costs`. A few hundred draws suffice; time is in proportion to draws x
        documents x candidates.
    candidates : array-like of shape (draws, others) or (draws, others, classes), optional
        The same draws at other documents that could be labelled, without decisions of their own.
        By default the documents themselves.

    Returns
    -------
    array of shape (documents,) or (others,)
        The saving, in units of the costs. Labelling pays while the largest value is above the cost
        of a label.

    References
    ----------
    H. Raiffa and R. Schlaifer, *Applied statistical decision theory*, 1961, section 4.5 (expected
    value of sample information). A. Kapoor, E. Horvitz and S. Basu, *Selective supervision*, IJCAI
    2007 (for choosing what to label).

    Examples
    --------
    >>> value_of_label([[0.2, 0.9], [0.6, 0.9]], [[0, 1], [1, 0]]).round(2).tolist()
    [0.4, 0.1]
    """
    targets = of_all_classes(as_draws(draws))
    size, documents, classes = targets.shape
    prices = as_costs(costs, documents, classes)
    asked = targets if candidates is None else _as_candidates(candidates, size, classes)
    now = np.einsum("nc,ndc->nd", targets.mean(axis=0), prices).min(axis=1).sum()
    after = np.zeros(asked.shape[1])
    flat = targets.reshape(size, documents * classes)
    width = max(1, BLOCK_ELEMENTS // (documents * prices.shape[1]))
    for part in blocks_of(width, after.size):
        for label in range(classes):
            # E[P(label|i) P(c|j)] of candidates i, documents j and classes c.
            joint = (asked[:, part, label].T @ flat / size).reshape(-1, documents, classes)
            least = np.einsum("inc,ndc->ind", joint, prices).min(axis=2)
            if candidates is None:
                own = np.arange(part.start, part.stop)
                known = prices[own if prices.shape[0] > 1 else 0, :, label].min(axis=-1)
                least[own - part.start, own] = known * asked[:, part, label].mean(axis=0)
            after[part] += least.sum(axis=1)
    # Rounding may make the difference negative.
    return np.asarray(np.maximum(now - after, 0.0))


def _as_candidates(candidates: ArrayLike, size: int, classes: int) -> Floats:
    asked = as_draws(candidates, "candidates")
    if asked.shape[0] != size or number_of_classes(asked) != classes:
        raise ValueError(
            f"candidates must hold the same {size} draws of {classes} classes as draws, got shape"
            f" {asked.shape}."
        )
    return of_all_classes(asked)


def information_gain(draws: ArrayLike) -> Floats:
    """Return the information gain about the calibration from each document's label, in bits.

    The mutual information of label and draw: entropy of the mean probability less mean entropy. It
    needs no costs, and is 0 where the draws agree, however uncertain the label.

    Parameters
    ----------
    draws : array-like of shape (draws, documents) or (draws, documents, classes)
        See `bayescal.decisions`.

    References
    ----------
    N. Houlsby et al., *Bayesian active learning for classification and preference learning*,
    arXiv:1112.5745, 2011.

    Examples
    --------
    >>> information_gain([[0.0, 0.5], [1.0, 0.5]]).tolist()
    [1.0, 0.0]
    """
    p = of_all_classes(as_draws(draws))
    whole = special.entr(p.mean(axis=0)).sum(axis=-1)
    each = special.entr(p).sum(axis=-1).mean(axis=0)
    return np.asarray(np.maximum(whole - each, 0.0) / np.log(2.0))
