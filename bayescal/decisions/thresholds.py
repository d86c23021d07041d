"""The threshold on the score for a wanted precision or recall, and what it achieves."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.decisions.draws import BLOCK_ELEMENTS, as_binary_draws, as_counts
from bayescal.support import validation
from bayescal.support.intervals import Interval, tails
from bayescal.support.validation import Floats, generator

OF = ("documents", "population")
Sample = Callable[[NDArray[np.intp]], Floats]  # positions of documents -> draws of P(+)


@dataclass(frozen=True)
class Cuts:
    """Thresholds from the highest on: documents taken, and positives among them by draw."""

    score: Floats  # (cuts,): thresholds, at or above which documents are taken
    selected: NDArray[np.intp]  # (cuts,): documents taken
    positives: Floats  # (draws, cuts): positives among them

    def measure(self, name: str) -> Floats:
        """Return precision, or recall, which is 1 where a draw has no positive; (draws, cuts)."""
        if name == "precision":
            return self.positives / self.selected
        return share_so_far(self.positives)


def cuts_of(
    scores: ArrayLike, draws: ArrayLike, sample_weight: ArrayLike | None, of: str, rng: Any
) -> Cuts:
    """Return all thresholds that take different documents."""
    validation.check_choice("of", of, OF)
    values, p = validation.as_scores(scores), as_binary_draws(draws)
    validation.check_same_length("scores", values.size, "documents of draws", p.shape[1])
    counts = as_counts(sample_weight, values.size)
    if counts is not None and not counts.all():
        values, p, counts = values[counts > 0], p[:, counts > 0], counts[counts > 0]
    order, ends = ranked(values)
    return cuts_at(values, order, ends, lambda rows: p[:, rows], p.shape[0], of, rng, counts)


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
    counts: NDArray[np.intp] | None = None,
) -> Cuts:
    """Return some thresholds, with at most BLOCK_ELEMENTS draws in memory at a time."""
    random = generator(rng)
    group = np.searchsorted(ends, np.arange(order.size), side="right")
    positives = np.zeros((draws, ends.size))
    width = max(1, BLOCK_ELEMENTS // draws)
    for start in range(0, order.size, width):
        block = slice(start, start + width)
        p = sample(order[block])
        counted: NDArray[Any]
        if counts is None:
            counted = p if of == "population" else random.random(p.shape) < p
        else:
            size = counts[order[block]]
            counted = size * p if of == "population" else random.binomial(size, p)
        here, first = np.unique(group[block], return_index=True)
        positives[:, here] += np.add.reduceat(counted, first, axis=1, dtype=np.float64)
    selected = ends if counts is None else np.cumsum(counts[order])[ends - 1]
    return Cuts(values[order[ends - 1]], selected, np.cumsum(positives, axis=1))


ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True)
class Threshold(Interval):
    """A threshold, in score units: documents of this score and above are taken.

    Attributes
    ----------
    value, lower, upper, level
        The threshold, and the credible interval of the threshold that would suffice if the truth
        were known; infinite if none would.
    achieved : Interval
        Precision or recall at the threshold.
    probability : float
        Posterior probability that the wanted precision or recall is reached.
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
    sample_weight: ArrayLike | None = None,
    of: str = "documents",
    level: float = 0.9,
    rng: Any = None,
) -> Threshold:
    """Return the lowest threshold with a wanted precision.

    Parameters
    ----------
    scores : array-like of shape (documents,)
        Raw scores, larger for likelier positives.
    draws : array-like of shape (draws, documents)
        Posterior draws of P(+), such as `ScoreCalibrator.sample_proba` returns.
    precision : float
        Wanted share of positives among the documents taken.
    assurance : float, optional
        Posterior probability of reaching it. By default its posterior mean must reach it.
    sample_weight : array-like of shape (documents,), optional
        How many documents each counts for, whole numbers, such as the `counts` of
        `bayescal.condense`.
    of : {"documents", "population"}
        Precision among these documents, whose labels are drawn as well, or in a population of which
        they are a large sample.
    level : float
        Probability of the intervals.
    rng : int, Generator, RandomState or None
        Seeds drawn labels.

    Raises
    ------
    ValueError
        If an argument is not as described, or no threshold suffices; the message has the best.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.tile([0.1, 0.5, 0.9], (400, 1))
    >>> found = threshold_for_precision([1.0, 2.0, 3.0], p, 0.7, of="population")
    >>> found.threshold, round(found.achieved.value, 2)
    (2.0, 0.7)
    """
    return choose(
        cuts_of(scores, draws, sample_weight, of, rng), "precision", precision, assurance, level
    )


def threshold_for_recall(
    scores: ArrayLike,
    draws: ArrayLike,
    recall: float,
    *,
    assurance: float | None = None,
    sample_weight: ArrayLike | None = None,
    of: str = "documents",
    level: float = 0.9,
    rng: Any = None,
) -> Threshold:
    """Return the highest threshold with a wanted recall.

    It assumes that P(positive | score) is as the calibrator models it, so that no positives hide
    among low scores, and draws the labels of all documents, also of labelled ones. For recall from
    a random sample see `bayescal.sampling.estimate_recall`.

    Parameters
    ----------
    scores, draws, assurance, sample_weight, of, level, rng
        As in `threshold_for_precision`.
    recall : float
        Wanted share of the positives; it is 1 where a draw has none.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.tile([0.1, 0.5, 0.9], (400, 1))
    >>> threshold_for_recall([1.0, 2.0, 3.0], p, 0.9, of="population").threshold
    2.0
    """
    return choose(
        cuts_of(scores, draws, sample_weight, of, rng), "recall", recall, assurance, level
    )


def choose(
    cuts: Cuts, name: str, wanted: float, assurance: float | None, level: float
) -> Threshold:
    """Return the lowest threshold with a wanted precision, or the highest with a wanted recall."""
    validation.check_fraction(**{name: wanted}, level=level)
    measure = cuts.measure(name)
    # Sums of probabilities are rounded.
    reached = measure >= wanted - ROUNDING
    criterion, bar = measure.mean(axis=0), wanted
    if assurance is not None:
        validation.check_fraction(assurance=assurance)
        criterion, bar = reached.mean(axis=0), assurance
    good = np.flatnonzero(criterion >= bar - ROUNDING)
    if not good.size:
        best = int(criterion.argmax())
        what, kind = f"{name} {wanted}", ""
        if assurance is not None:
            what, kind = f"{what} with assurance {assurance}", "assurance "
        raise ValueError(
            f"no threshold reaches {what}: the best is {kind}{criterion[best]:.3g}, at"
            f" {cuts.score[best]:.6g}."
        )
    take_last = name == "precision"
    at = int(good[-1] if take_last else good[0])
    some = reached.any(axis=1)
    of_draw = reached.argmax(axis=1)
    if take_last:
        of_draw = reached.shape[1] - 1 - reached[:, ::-1].argmax(axis=1)
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


@dataclass(frozen=True, kw_only=True)
class AtThreshold(Interval):
    """Precision or recall at a threshold.

    Attributes
    ----------
    value, lower, upper, level
        Posterior mean and equal-tailed credible interval; nan for the precision of no document.
    selected : int
        Number of documents taken.
    """

    selected: int


def precision_at(
    threshold: float,
    scores: ArrayLike,
    draws: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    of: str = "documents",
    level: float = 0.9,
    rng: Any = None,
) -> AtThreshold:
    """Return the share of positives among documents at or above a threshold, with its interval.

    Parameters
    ----------
    threshold : float
        The threshold, in score units.
    scores, draws, sample_weight, of, level, rng
        As in `threshold_for_precision`.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.tile([0.1, 0.5, 0.9], (400, 1))
    >>> found = precision_at(2.0, [1.0, 2.0, 3.0], p, of="population")
    >>> round(found.value, 2), found.selected
    (0.7, 2)
    """
    return at_threshold(
        "precision", threshold, cuts_of(scores, draws, sample_weight, of, rng), level
    )


def recall_at(
    threshold: float,
    scores: ArrayLike,
    draws: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    of: str = "documents",
    level: float = 0.9,
    rng: Any = None,
) -> AtThreshold:
    """Return the share of all positives at or above a threshold, with its interval.

    Parameters
    ----------
    threshold, scores, draws, sample_weight, of, level, rng
        As in `precision_at`; `threshold_for_recall` has the assumptions.

    Examples
    --------
    >>> import numpy as np
    >>> p = np.tile([0.1, 0.5, 0.9], (400, 1))
    >>> round(recall_at(2.0, [1.0, 2.0, 3.0], p, of="population").value, 2)
    0.93
    """
    return at_threshold("recall", threshold, cuts_of(scores, draws, sample_weight, of, rng), level)


def check_threshold(threshold: float | None) -> None:
    """Raise ValueError unless a threshold is a finite number."""
    if not isinstance(threshold, int | float | np.number) or not np.isfinite(threshold):
        raise ValueError(f"threshold must be a finite number, got {threshold!r}.")


def at_threshold(name: str, threshold: float, cuts: Cuts, level: float) -> AtThreshold:
    """Return precision or recall at a threshold among some cuts."""
    validation.check_fraction(level=level)
    check_threshold(threshold)
    # Scores of cuts are in falling order.
    taken = int(np.count_nonzero(cuts.score >= threshold))
    if not taken:
        of_none = np.nan if name == "precision" else 0.0
        return AtThreshold(of_none, of_none, of_none, level, selected=0)
    selected = int(cuts.selected[taken - 1])
    return AtThreshold.of_draws(cuts.measure(name)[:, taken - 1], level, selected=selected)


SHARE_ROUNDING = 1e-9  # in quotients of whole numbers: 0.8 of 5 documents is 4


def recall_by_rank(positives: ArrayLike) -> Floats:
    """Return the share of positives up to each step down a ranking; both (draws, steps)."""
    return share_so_far(np.cumsum(np.asarray(positives), axis=1))


def share_so_far(hits: Floats) -> Floats:
    """Return each column's share of the last column, 1 where that is 0; (draws, steps)."""
    total = hits[:, -1:]
    return np.asarray(np.where(total > 0, hits / np.where(total > 0, total, 1), 1.0))


def enough_read(recall: Floats, wanted: float) -> NDArray[np.bool_]:
    """Return the mask of recalls at or above the wanted one, up to rounding."""
    return np.asarray(recall >= wanted - SHARE_ROUNDING)


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
