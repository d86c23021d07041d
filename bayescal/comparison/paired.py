"""Paired comparison of the losses of two methods on the same documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from bayescal.randomness import generator
from bayescal.sign_test import sign_test
from bayescal.validation import (
    Floats,
    as_scores,
    as_weights,
    check_count,
    check_fraction,
    check_same_length,
)


class PairedSigns(NamedTuple):
    """On how many documents each method lost less, ties, and the sign test's two-sided p-value."""

    a_wins: int
    b_wins: int
    ties: int
    pvalue: float


def paired_sign_test(
    loss_a: ArrayLike, loss_b: ArrayLike, *, tolerance: float = 0.0
) -> PairedSigns:
    """
    Test whether two methods win equally often, by the documents on which they differ.

    Parameters
    ----------
    loss_a, loss_b : array-like of shape (n,)
        Losses of the same documents, such as `bayescal.metrics.pointwise_losses` gives.
    tolerance : float
        Differences up to this are ties.

    Raises
    ------
    ValueError
        If lengths differ or a loss is not finite.

    References
    ----------
    See `bayescal.sign_test.sign_test`.

    Examples
    --------
    >>> paired_sign_test([0, 0, 1, 0, 0, 0], [1, 1, 1, 1, 1, 1])
    PairedSigns(a_wins=5, b_wins=0, ties=1, pvalue=0.0625)
    """
    if not 0.0 <= tolerance < np.inf:
        raise ValueError(f"tolerance must be finite and not negative, got {tolerance}.")
    difference = _differences(loss_a, loss_b)
    a_wins = int(np.count_nonzero(difference < -tolerance))
    b_wins = int(np.count_nonzero(difference > tolerance))
    ties = difference.size - a_wins - b_wins
    return PairedSigns(a_wins, b_wins, ties, sign_test(a_wins, b_wins))


@dataclass(frozen=True)
class PairedDifference:
    """
    The difference of two mean losses.

    Attributes
    ----------
    difference : float
        Mean loss of A less that of B: negative where A is better.
    lower, upper : float
        Bootstrap interval of the difference.
    level : float
        Probability of the interval.
    share_better : float
        Share of resamples in which A loses less; half of those in which neither does.
    method : str
        "bootstrap of documents" or "bootstrap of groups".
    """

    difference: float
    lower: float
    upper: float
    level: float
    share_better: float
    method: str


def paired_bootstrap(
    loss_a: ArrayLike,
    loss_b: ArrayLike,
    *,
    level: float = 0.9,
    resamples: int = 2000,
    groups: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    rng: Any = None,
) -> PairedDifference:
    """
    Return the difference of the mean losses of two methods, with its bootstrap interval.

    Parameters
    ----------
    loss_a, loss_b : array-like of shape (n,)
        Losses of the same documents.
    level : float
        Between 0 and 1.
    resamples : int
        How often documents are drawn with replacement.
    groups : array-like of shape (n,), optional
        What each loss belongs to, a document with many topics or a topic with many documents:
        groups are drawn whole, for their losses go together.
    sample_weight : array-like of shape (n,), optional
        How many documents each counts for.
    rng : int, Generator, RandomState or None
        Chooses the documents.

    Raises
    ------
    ValueError
        If an argument is not as described, or there are fewer than two groups.

    References
    ----------
    B. Efron and R. J. Tibshirani, *An introduction to the bootstrap*, 1993, chapters 8 and 13.

    Examples
    --------
    >>> found = paired_bootstrap([0.1, 0.2, 0.1, 0.3] * 9, [0.2, 0.4, 0.1, 0.4] * 9, rng=0)
    >>> round(found.difference, 3), found.upper < 0
    (-0.1, True)
    """
    check_fraction(level=level)
    check_count("resamples", resamples)
    difference = _differences(loss_a, loss_b)
    size = difference.size
    weight = as_weights(sample_weight, size)
    weight = np.ones(size) if weight is None else weight
    total = weight * difference
    if groups is not None:
        names = np.asarray(groups)
        check_same_length("groups", names.size, "losses", size)
        _, group = np.unique(names, return_inverse=True)
        total = np.bincount(group, weights=total).astype(np.float64)
        weight = np.bincount(group, weights=weight).astype(np.float64)
    if total.size < 2:
        raise ValueError("a bootstrap needs at least two documents or groups, got one.")
    rng, means = generator(rng), np.empty(resamples)
    for k in range(resamples):
        chosen = _choose(rng, weight)
        means[k] = total[chosen].sum() / weight[chosen].sum()
    lower, upper = np.quantile(means, [0.5 - level / 2.0, 0.5 + level / 2.0])
    return PairedDifference(
        difference=float(total.sum() / weight.sum()),
        lower=float(lower),
        upper=float(upper),
        level=level,
        share_better=float(np.mean(means < 0.0) + 0.5 * np.mean(means == 0.0)),
        method=f"bootstrap of {'documents' if groups is None else 'groups'}",
    )


def _choose(rng: np.random.Generator, weight: Floats) -> Any:
    """Return positions drawn with replacement, some of them of positive weight."""
    while True:
        chosen = rng.integers(weight.size, size=weight.size)
        if weight[chosen].any():
            return chosen


def _differences(loss_a: ArrayLike, loss_b: ArrayLike) -> Floats:
    a, b = as_scores(loss_a, "loss_a"), as_scores(loss_b, "loss_b")
    check_same_length("loss_a", a.size, "loss_b", b.size)
    difference: Floats = a - b
    return difference
