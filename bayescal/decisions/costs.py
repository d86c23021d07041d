"""Matrices of costs: what each decision costs where each class is the true one."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from bayescal.validation import Floats


def as_costs(costs: ArrayLike, documents: int, classes: int) -> Floats:
    """
    Return costs as a float64 array of shape (1 or documents, decisions, classes).

    Parameters
    ----------
    costs : array-like of shape (decisions, classes) or (documents, decisions, classes)
        costs[d, c] is the cost of decision d where the class is c, in any unit. Decisions are the
        classes, in their order, then others if there are more rows.
    documents, classes : int
        How many documents and classes the draws have.

    Raises
    ------
    ValueError
        If the shape does not fit, a cost is not finite, a right decision has a negative cost, or
        costs more than a wrong one.

    References
    ----------
    C. Elkan, *The foundations of cost-sensitive learning*, IJCAI 2001 (the reasonableness
    conditions).

    Examples
    --------
    >>> as_costs([[0, 5], [1, 0]], 3, 2).shape
    (1, 2, 2)
    """
    try:
        values = np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"costs must be an array of real numbers, got {costs!r}.") from None
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
    """
    Return costs with one more decision that costs the same whatever the class.

    Parameters
    ----------
    costs : array-like of shape (decisions, classes) or (documents, decisions, classes)
        See `as_costs`.
    abstain_cost : float or array-like of shape (documents,)
        The cost of not deciding, such as that of asking a person.

    Raises
    ------
    ValueError
        If shapes do not fit, or the cost of abstaining is negative or not finite.

    Examples
    --------
    >>> with_abstention([[0, 5], [1, 0]], 0.4).tolist()
    [[0.0, 5.0], [1.0, 0.0], [0.4, 0.4]]
    """
    values, abstain = np.asarray(costs, dtype=np.float64), np.asarray(abstain_cost, np.float64)
    if not (np.isfinite(abstain).all() and (abstain >= 0.0).all()):
        raise ValueError(f"abstain_cost must be finite and not negative, got {abstain_cost!r}.")
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
