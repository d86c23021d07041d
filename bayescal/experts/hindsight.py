"""What would have been best: the fixed mixture of experts of the smallest loss."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import nnls

from bayescal.experts.advice import squared_error
from bayescal.experts.classes import read_classes, read_labels
from bayescal.experts.reading import read_given
from bayescal.validation import Floats


class Mixture(NamedTuple):
    """
    Experts mixed by the same shares in all rounds.

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
    """
    Return the mixture that is best for documents whose labels are all known.

    What `OnlineCombiner` with rule "eg" is promised to come near, see
    `exponentiated_gradient_loss`. It minimises |A u|^2 over shares u, where A has 1 - P(label) of
    each document and expert.

    Parameters
    ----------
    P, y, classes, constant_experts
        See `OnlineCombiner` and its `fit`; experts may not sleep.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Examples
    --------
    >>> found = best_mixture([[0.4, 0.9], [0.1, 0.6]], [1, 0], constant_experts=False)
    >>> found.shares.round(2), round(found.loss, 3)
    (array([0.5, 0.5]), 0.245)
    """
    known = read_classes(y if classes is None else classes)
    given = read_given(P, known.size, None, None, rule="eg", constant_experts=constant_experts)
    advice = given.advice
    of_labels = advice.of_labels(read_labels(y, known, len(advice.awake)))
    # Without the constraint on their sum: at z = s u the least of s^2 |A u|^2 + (s - 1)^2 over s is
    # |A u|^2 / (1 + |A u|^2), which is smallest for the same u.
    rows = np.vstack([1.0 - of_labels, np.ones(of_labels.shape[1])])
    found, _ = nnls(rows, np.append(np.zeros(len(of_labels)), 1.0))
    shares = found / found.sum()
    return Mixture(shares, float(squared_error(of_labels @ shares).sum()))
