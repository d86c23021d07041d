"""The threshold on the score for a wanted precision or recall, and what it will give."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.decisions.draws import BLOCK_ELEMENTS, as_binary_draws
from bayescal.support import validation
from bayescal.support.intervals import Interval, tails
from bayescal.support.validation import Floats, generator

# Documents in the order of their scores, cut at every threshold.

OF = ("documents", "population")
# From positions of documents to posterior draws of their P(+).
Sample = Callable[[NDArray[np.intp]], Floats]


@dataclass(frozen=True)
class Cuts:
    """Thresholds from the highest on: documents taken, and positives among them by draw."""

    # (cuts,): the thresholds, each a score; documents of that score and above are taken
    score: Floats
    selected: NDArray[np.intp]  # (cuts,): documents taken
    positives: Floats  # (draws, cuts): positives among them

    @property
    def precision(self) -> Floats:
        """Return the share of positives among the documents taken, (draws, cuts)."""
        return self.positives / self.selected

    @property
    def recall(self) -> Floats:
        """Return the share of positives that are taken; 1 where a draw has none, (draws, cuts)."""
        return share_so_far(self.positives)


def cuts_of(scores: ArrayLike, draws: ArrayLike, of: str, rng: Any) -> Cuts:
    """Return all thresholds that differ in what they take."""
    validation.check_choice("of", of, OF)
    values, p = validation.as_scores(scores), as_binary_draws(draws)
    validation.check_same_length("scores", values.size, "documents of draws", p.shape[1])
    order, ends = ranked(values)
    return cuts_at(values, order, ends, lambda rows: p[:, rows], p.shape[0], of, rng)


def ranked(values: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return documents in the order of their scores, the largest first, and where ties end."""
    order = np.argsort(-values, kind="stable")
    falling = values[order]
    return order, np.flatnonzero(np.r_[falling[1:] != falling[:-1], True]) + 1


def cuts_at(
    values: Floats,
    order: NDArray[np.intp],
    ends: NDArray[np.intp],
    sample: Sample,
    draws: int,
    of: str,
    rng: Any,
) -> Cuts:
    """Return some thresholds, with so few draws in memory at a time that many documents fit."""
    random = generator(rng)
    group = np.searchsorted(ends, np.arange(order.size), side="right")
    positives = np.zeros((draws, ends.size))
    width = max(1, BLOCK_ELEMENTS // draws)
    for start in range(0, order.size, width):
        block = slice(start, start + width)
        p = sample(order[block])
        counted = p if of == "population" else random.random(p.shape) < p
        here, first = np.unique(group[block], return_index=True)
        positives[:, here] += np.add.reduceat(counted, first, axis=1, dtype=np.float64)
    return Cuts(values[order[ends - 1]], ends, np.cumsum(positives, axis=1))


ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Threshold(Interval):
    """
    A threshold, in score units: documents of this score and above are taken.

    Attributes
    ----------
    value, lower, upper, level
        The threshold, and the credible interval of the threshold that would do if the truth were
        known; infinite where none would.
    achieved : Interval
        Precision or recall at the threshold.
    probability : float
        Posterior probability that it is at least the wanted one.
    selected : int
        Number of documents taken.
    """

    achieved: Interval
    probability: float
    selected: int

    @property
    def threshold(self) -> float:
        """Return the threshold, which is `value`."""
        return self.value


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
    >>> found.threshold, round(found.achieved.value, 2)
    (2.0, 0.7)
    """
    validation.check_fraction(precision=precision)
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

    Notes
    -----
    This is a statement of one posterior, not of a design. It assumes that P(positive | score) is
    as the calibrator models it, so that no positives hide among low scores, and draws the labels of
    all documents, also of those whose labels are known. A statement of recall that rests on a
    random sample is `bayescal.sampling.estimate_recall`.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.tile([0.1, 0.5, 0.9], (400, 1))
    >>> threshold_for_recall([1.0, 2.0, 3.0], p, 0.9, of="population").threshold
    2.0
    """
    return threshold_of_recall(cuts_of(scores, draws, of, rng), recall, assurance, level)


def threshold_of_recall(
    cuts: Cuts, recall: float, assurance: float | None, level: float
) -> Threshold:
    """Return the highest of some thresholds at which recall is as wanted."""
    validation.check_fraction(recall=recall)
    return _choose(cuts, cuts.recall, "recall", recall, assurance, level)


def _choose(
    cuts: Cuts, measure: Floats, name: str, wanted: float, assurance: float | None, level: float
) -> Threshold:
    validation.check_fraction(level=level)
    # Sums of probabilities meet a round number only up to rounding.
    reached = measure >= wanted - ROUNDING
    criterion, bar = measure.mean(axis=0), wanted
    if assurance is not None:
        validation.check_fraction(assurance=assurance)
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
    lower, upper = np.quantile(thresholds, tails(level), method="nearest")
    return Threshold(
        value=float(cuts.score[at]),
        lower=float(lower),
        upper=float(upper),
        level=level,
        achieved=Interval.of_draws(measure[:, at], level),
        probability=float(reached[:, at].mean()),
        selected=int(cuts.selected[at]),
    )


# Precision and recall at a given threshold.


@dataclass(frozen=True, kw_only=True)
class AtThreshold(Interval):
    """
    Precision or recall at a threshold.

    Attributes
    ----------
    value, lower, upper, level
        Posterior mean and equal-tailed credible interval; nan for the precision where no document
        is taken.
    selected : int
        Number of documents taken, which have this score or a larger one.
    """

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

    Notes
    -----
    See `threshold_for_recall` for what this assumes.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.tile([0.1, 0.5, 0.9], (400, 1))
    >>> found = precision_at(2.0, [1.0, 2.0, 3.0], p, of="population")
    >>> round(found.value, 2), found.selected
    (0.7, 2)
    """
    cuts = cuts_of(scores, draws, of, rng)
    return precision_of_cut(threshold, cuts, level)


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

    Notes
    -----
    See `threshold_for_recall` for what this assumes.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.tile([0.1, 0.5, 0.9], (400, 1))
    >>> round(recall_at(2.0, [1.0, 2.0, 3.0], p, of="population").value, 2)
    0.93
    """
    cuts = cuts_of(scores, draws, of, rng)
    return recall_of_cut(threshold, cuts, level)


def precision_of_cut(threshold: float, cuts: Cuts, level: float) -> AtThreshold:
    """Return the precision at a threshold among some cuts."""
    return _at(threshold, cuts, cuts.precision, np.nan, level)


def recall_of_cut(threshold: float, cuts: Cuts, level: float) -> AtThreshold:
    """Return the recall at a threshold among some cuts."""
    return _at(threshold, cuts, cuts.recall, 0.0, level)


def check_threshold(threshold: float | None) -> None:
    """Raise ValueError unless a threshold is a finite number."""
    if not isinstance(threshold, int | float | np.number) or not np.isfinite(threshold):
        raise ValueError(f"threshold must be a finite number, got {threshold!r}.")


def _at(threshold: float, cuts: Cuts, measure: Floats, of_none: float, level: float) -> AtThreshold:
    validation.check_fraction(level=level)
    check_threshold(threshold)
    # Scores of cuts fall: so many of them are taken.
    taken = int(np.count_nonzero(cuts.score >= threshold))
    if not taken:
        return AtThreshold(of_none, of_none, of_none, level, selected=0)
    selected = int(cuts.selected[taken - 1])
    return AtThreshold.of_draws(measure[:, taken - 1], level, selected=selected)


# Recall by rank: how far down a ranking to read, from draws of the positives along it.

# Shares are quotients of whole numbers: 0.8 of 5 documents is 4 of them.
SHARE_ROUNDING = 1e-9


def recall_by_rank(positives: ArrayLike) -> Floats:
    """
    Return the share of positives up to each step down a ranking, 1 where a draw has none.

    `positives`, (draws, steps), are the positives of each step: of one document, or of several.
    """
    return share_so_far(np.cumsum(np.asarray(positives), axis=1))


def share_so_far(hits: Floats) -> Floats:
    """Return each column's share of the last column, 1 where that is 0; (draws, steps)."""
    total = hits[:, -1:]
    return np.asarray(np.where(total > 0, hits / np.where(total > 0, total, 1), 1.0))


def enough_read(recall: Floats, wanted: float) -> NDArray[np.bool_]:
    """Return where a recall is the wanted one or more, up to rounding of its quotient."""
    reached: NDArray[np.bool_] = recall >= wanted - SHARE_ROUNDING
    return reached


def probability_reached(positives: ArrayLike, recall: float) -> Floats:
    """Return the probability that a recall is reached before the first step, and after each."""
    counts = np.asarray(positives)
    nothing = ~counts.any(axis=1)
    reached = enough_read(recall_by_rank(counts), recall).mean(axis=0)
    return np.asarray(np.r_[nothing.mean(), reached])


def stopping_rank(positives: ArrayLike, recall: float, probability: float) -> int:
    """Return the first step by which the wanted recall is reached with the wanted probability."""
    enough = probability_reached(positives, recall) >= probability - SHARE_ROUNDING
    return int(enough.argmax())
