"""What a threshold that is given takes: its precision, its recall, and how sure those are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.decisions.cuts import Cuts, cuts_of
from bayescal.validation import Floats, check_fraction


@dataclass(frozen=True)
class AtThreshold:
    """
    Precision or recall at a threshold.

    Attributes
    ----------
    mean : float
        Posterior mean; nan for the precision where no document is taken.
    lower, upper : float
        Equal-tailed credible interval.
    level : float
        Probability of the interval.
    selected : int
        Number of documents taken, which have this score or a larger one.
    """

    mean: float
    lower: float
    upper: float
    level: float
    selected: int


def precision_at(
    threshold: float,
    scores: ArrayLike,
    draws: ArrayLike,
    *,
    of: str = "documents",
    level: float = 0.9,
    rng: Any = None,
) -> AtThreshold:
    """
    Return the share of positives among documents of a score and above, with its interval.

    Parameters
    ----------
    threshold : float
        The threshold, in score units.
    scores : array-like of shape (documents,)
        Raw scores, larger for likelier positives; their labels need not be known.
    draws : array-like of shape (draws, documents)
        Posterior draws of their P(+), such as `ScoreCalibrator.sample_proba` returns.
    of : {"documents", "population"}
        See `threshold_for_precision`.
    level : float
        Probability of the interval.
    rng : int, Generator, RandomState or None
        Seeds the drawing of labels.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.tile([0.1, 0.5, 0.9], (400, 1))
    >>> found = precision_at(2.0, [1.0, 2.0, 3.0], p, of="population")
    >>> round(found.mean, 2), found.selected
    (0.7, 2)
    """
    cuts = cuts_of(scores, draws, of, rng)
    return of_precision(threshold, cuts, level)


def recall_at(
    threshold: float,
    scores: ArrayLike,
    draws: ArrayLike,
    *,
    of: str = "documents",
    level: float = 0.9,
    rng: Any = None,
) -> AtThreshold:
    """
    Return the share of all positives that have a score or a larger one, with its interval.

    Parameters
    ----------
    threshold, scores, draws, of, level, rng
        See `precision_at`. A draw without any positive has recall 1.

    Raises
    ------
    ValueError
        If an argument is not as described.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.tile([0.1, 0.5, 0.9], (400, 1))
    >>> round(recall_at(2.0, [1.0, 2.0, 3.0], p, of="population").mean, 2)
    0.93
    """
    cuts = cuts_of(scores, draws, of, rng)
    return of_recall(threshold, cuts, level)


def of_precision(threshold: float, cuts: Cuts, level: float) -> AtThreshold:
    """Return the precision at a threshold among some cuts."""
    return _at(threshold, cuts, cuts.precision, np.nan, level)


def of_recall(threshold: float, cuts: Cuts, level: float) -> AtThreshold:
    """Return the recall at a threshold among some cuts."""
    return _at(threshold, cuts, cuts.recall, 0.0, level)


def check_threshold(threshold: float | None) -> None:
    """Raise ValueError unless a threshold is a finite number."""
    if not isinstance(threshold, int | float | np.number) or not np.isfinite(threshold):
        raise ValueError(f"threshold must be a finite number, got {threshold!r}.")


def _at(threshold: float, cuts: Cuts, measure: Floats, of_none: float, level: float) -> AtThreshold:
    check_fraction(level=level)
    check_threshold(threshold)
    # Scores of cuts fall: so many of them are taken.
    taken = int(np.count_nonzero(cuts.score >= threshold))
    if not taken:
        return AtThreshold(of_none, of_none, of_none, level, 0)
    values = measure[:, taken - 1]
    lower, upper = np.quantile(values, [0.5 - level / 2.0, 0.5 + level / 2.0])
    selected = int(cuts.selected[taken - 1])
    return AtThreshold(float(values.mean()), float(lower), float(upper), level, selected)
