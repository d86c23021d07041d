"""The threshold on the score for a wanted precision or recall, and what it will give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.decisions.cuts import Cuts, cuts_of
from bayescal.validation import Floats, check_fraction

ROUNDING = 1e-12


@dataclass(frozen=True)
class Threshold:
    """
    A threshold: documents of this score and above are taken.

    Attributes
    ----------
    threshold : float
        The threshold, in score units.
    lower, upper : float
        Credible interval of the threshold that would do if the truth were known; infinite where
        none would.
    achieved : float
        Posterior mean of the precision or recall at `threshold`.
    achieved_lower, achieved_upper : float
        Credible interval of the precision or recall at `threshold`.
    probability : float
        Posterior probability that it is at least the wanted one.
    selected : int
        Number of documents taken.
    level : float
        Probability of the intervals.
    """

    threshold: float
    lower: float
    upper: float
    achieved: float
    achieved_lower: float
    achieved_upper: float
    probability: float
    selected: int
    level: float


def threshold_for_precision(
    scores: ArrayLike,
    draws: ArrayLike,
    precision: float,
    *,
    assurance: float | None = None,
    of: str = "documents",
    level: float = 0.9,
    rng: Any = None,
) -> Threshold:
    """
    Return the lowest threshold at which precision is as wanted.

    Parameters
    ----------
    scores : array-like of shape (documents,)
        Raw scores, larger for likelier positives.
    draws : array-like of shape (draws, documents)
        Posterior draws of their P(+).
    precision : float
        Share of positives wanted among the documents taken.
    assurance : float, optional
        With which posterior probability the precision is to be reached. By default its posterior
        mean is to reach it.
    of : {"documents", "population"}
        "documents" is the precision among these documents, whose labels are drawn as well;
        "population" that of a population of which they are a large sample.
    level : float
        Probability of the intervals.
    rng : int, Generator, RandomState or None
        Seeds the drawing of labels.

    Raises
    ------
    ValueError
        If an argument is not as described, or no threshold will do; the message says the best.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.tile([0.1, 0.5, 0.9], (400, 1))
    >>> found = threshold_for_precision([1.0, 2.0, 3.0], p, 0.7, of="population")
    >>> found.threshold, round(found.achieved, 2)
    (2.0, 0.7)
    """
    check_fraction(precision=precision)
    cuts = cuts_of(scores, draws, of, rng)
    return _choose(cuts, cuts.precision, "precision", precision, assurance, level)


def threshold_for_recall(
    scores: ArrayLike,
    draws: ArrayLike,
    recall: float,
    *,
    assurance: float | None = None,
    of: str = "documents",
    level: float = 0.9,
    rng: Any = None,
) -> Threshold:
    """
    Return the highest threshold at which recall is as wanted.

    Parameters
    ----------
    scores, draws, assurance, of, level, rng
        See `threshold_for_precision`.
    recall : float
        Share of the positives that is to be taken; 1 where a draw has none.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.tile([0.1, 0.5, 0.9], (400, 1))
    >>> threshold_for_recall([1.0, 2.0, 3.0], p, 0.9, of="population").threshold
    2.0
    """
    return of_recall(cuts_of(scores, draws, of, rng), recall, assurance, level)


def of_recall(cuts: Cuts, recall: float, assurance: float | None, level: float) -> Threshold:
    """Return the highest of some thresholds at which recall is as wanted."""
    check_fraction(recall=recall)
    return _choose(cuts, cuts.recall, "recall", recall, assurance, level)


def _choose(
    cuts: Cuts, measure: Floats, name: str, wanted: float, assurance: float | None, level: float
) -> Threshold:
    check_fraction(level=level)
    # Sums of probabilities meet a round number only up to rounding.
    reached = measure >= wanted - ROUNDING
    criterion, bar = measure.mean(axis=0), wanted
    if assurance is not None:
        check_fraction(assurance=assurance)
        criterion, bar = reached.mean(axis=0), assurance
    good = np.flatnonzero(criterion >= bar - ROUNDING)
    if not good.size:
        best = int(criterion.argmax())
        what = f"{name} {wanted}" + ("" if assurance is None else f" with assurance {assurance}")
        raise ValueError(
            f"no threshold reaches {what}: the best is {criterion[best]:.3g}, at"
            f" {cuts.score[best]:.6g}."
        )
    # Precision wants as many documents as it can have, recall as few.
    take_last = name == "precision"
    at = int(good[-1] if take_last else good[0])
    some = reached.any(axis=1)
    of_draw = (
        (reached.shape[1] - 1 - reached[:, ::-1].argmax(axis=1))
        if take_last
        else (reached.argmax(axis=1))
    )
    thresholds = np.where(some, cuts.score[of_draw], np.inf)
    tails = [0.5 - level / 2.0, 0.5 + level / 2.0]
    lower, upper = np.quantile(thresholds, tails, method="nearest")
    own_lower, own_upper = np.quantile(measure[:, at], tails)
    return Threshold(
        threshold=float(cuts.score[at]),
        lower=float(lower),
        upper=float(upper),
        achieved=float(measure[:, at].mean()),
        achieved_lower=float(own_lower),
        achieved_upper=float(own_upper),
        probability=float(reached[:, at].mean()),
        selected=int(cuts.selected[at]),
        level=level,
    )
