"""From weights to how much each expert counts for a document."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from bayescal.validation import Floats


def shares_of_awake(log_weights: Floats, awake: NDArray[np.bool_]) -> Floats:
    """
    Return p_e = A_e w_e / sum of A w: the weights of the experts that are awake, summing to 1.

    Parameters
    ----------
    log_weights : array of shape (experts,) or (n, experts)
        Natural logarithms of the weights, the same for all documents or those of each.
    awake : array of shape (n, experts) of bool
        At least one of each document.

    Examples
    --------
    >>> awake = np.array([[True, True, True], [True, True, False]])
    >>> shares_of_awake(np.log([1.0, 1.0, 2.0]), awake)
    array([[0.25, 0.25, 0.5 ],
           [0.5 , 0.5 , 0.  ]])
    """
    return np.asarray(softmax(np.where(awake, log_weights, -np.inf), axis=1))


def shares_by_indicators(log_weights: Floats, indicators: Floats) -> Floats:
    """
    Return p_e, proportional to the sum over indicators of I w_{e,I}, summing to 1.

    Parameters
    ----------
    log_weights : array of shape (experts, indicators)
        Natural logarithms of the weights.
    indicators : array of shape (n, indicators)
        In [0, 1], not all 0.

    Examples
    --------
    >>> log_weights = np.log([[1.0, 3.0], [1.0, 1.0]])
    >>> shares_by_indicators(log_weights, np.array([[1.0, 0.0], [0.0, 0.5]]))
    array([[0.5 , 0.5 ],
           [0.75, 0.25]])
    """
    level = log_weights.max(axis=0)
    of_experts = on_scale(indicators, level) @ np.exp(log_weights - level).T
    return np.asarray(of_experts / of_experts.sum(axis=1, keepdims=True))


def on_scale(indicators: Floats, level: Floats) -> Floats:
    """
    Return I e^level of each document but for a factor, the largest being 1; shape (n, indicators).

    What the largest weight of an indicator was divided by comes back here, where it cannot
    underflow: an indicator that is on alone counts fully however small its weights are.

    Examples
    --------
    >>> on_scale(np.array([[1.0, 0.0], [0.5, 0.5]]), np.array([-1000.0, 0.0])).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    with np.errstate(divide="ignore"):
        exponents = np.log(indicators) + level
    return np.asarray(np.exp(exponents - exponents.max(axis=1, keepdims=True)))
