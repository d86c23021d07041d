"""What a threshold takes of one topic: precision and recall; the threshold for a wanted recall."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from bayescal.decisions import precision_at, recall_at, threshold_for_recall
from bayescal.fitted.problem import FittedProblem
from bayescal.report.grid import Size, thinned
from bayescal.report.held_out import HeldOut
from bayescal.report.packing import numbers
from bayescal.validation import Floats

# Draws x documents of a topic: a few hundredths of a second each time they are cut.
MOST_ELEMENTS = 1_000_000
# Enough for a threshold of three digits.
MOST = 5_000
OF = "population"


@dataclass(frozen=True)
class Asked:
    """
    What a report is to say of thresholds.

    Attributes
    ----------
    threshold : float or None
        A score, on the scale that the calibration works on; documents of it and above are taken.
        None for the score at which the probability is one half.
    recall : float
        The share of the positives that is to be taken, between 0 and 1.
    level : float
        Posterior probability of the intervals.
    """

    threshold: float | None
    recall: float
    level: float


def describe_selection(
    problem: FittedProblem, x: Floats, share: Floats, test: HeldOut | None, asked: Asked, size: Size
) -> dict[str, Any]:
    """
    Return precision and recall at a threshold, and the threshold for a recall, with intervals.

    They are those of many documents like the ones fitted: the intervals hold what is not known of
    the curve, not the chance in which labels fall out.

    Parameters
    ----------
    problem : FittedProblem
        The topic.
    x, share : array of shape (nodes,)
        Scores in ascending order and the share of documents at each; see `grid.smooth_shares`.
    test : HeldOut or None
        Held-out documents, on which precision and recall are counted beside.
    asked : Asked
        At which threshold, and for which recall.
    size : Size
        How many draws to take.

    Returns
    -------
    dict
        at, for the threshold asked for, and wanted, for the one with the recall asked for:
        threshold, precision and recall, each as estimate and ends of its interval; selected, the
        share of documents taken; held_out, precision and recall as counted. at is None where no
        probability reaches one half.
    """
    some = None if problem.draws is None else thinned(problem.draws, size.draws)
    drawn = 1 if some is None else some.size
    scores = typical_scores(x, share, min(MOST, MOST_ELEMENTS // drawn))
    p = special.expit(problem.log_odds(scores)[None] if some is None else some.log_odds(scores))

    def taken(threshold: tuple[float, ...]) -> dict[str, Any]:
        precision, recall = (
            measure(threshold[0], scores, p, of=OF, level=asked.level)
            for measure in (precision_at, recall_at)
        )
        return {
            "threshold": numbers(threshold),
            "precision": numbers([precision.mean, precision.lower, precision.upper]),
            "recall": numbers([recall.mean, recall.lower, recall.upper]),
            "selected": numbers(precision.selected / scores.size),
            "held_out": None if test is None else counted(test, threshold[0]),
        }

    given = asked.threshold
    threshold = half_way(x, problem.log_odds(x)) if given is None else given
    found = threshold_for_recall(scores, p, asked.recall, of=OF, level=asked.level)
    return {
        "at": None if threshold is None else taken((threshold,)),
        "wanted": taken((found.threshold, found.lower, found.upper)),
    }


def half_way(x: Floats, log_odds: Floats) -> float | None:
    """
    Return the highest score at which a curve rises through log-odds 0; None where it never does.

    Examples
    --------
    >>> half_way(np.array([0.0, 1.0, 2.0]), np.array([-1.0, -1.0, 3.0]))
    1.25
    """
    above = log_odds > 0.0
    rises = np.flatnonzero(above[1:] & ~above[:-1])
    if rises.size:
        before = int(rises[-1])
        low, high = log_odds[before : before + 2]
        return float(x[before] - low / (high - low) * (x[before + 1] - x[before]))
    return float(x[0]) if above[0] else None


def typical_scores(x: Floats, share: Floats, n: int) -> Floats:
    """
    Return n scores that stand for many documents, each for equally many: quantiles of shares.

    The share at a node lies evenly on the stretches to halfway to the nodes on its two sides, as
    the page has it.

    Parameters
    ----------
    x, share : array of shape (nodes,)
        Scores in ascending order, and the share of documents about each.
    n : int
        How many.

    Examples
    --------
    >>> typical_scores(np.array([0.0, 1.0]), np.array([0.5, 0.5]), 4)
    array([0.125, 0.375, 0.625, 0.875])
    """
    ends = np.sort(np.concatenate([x, 0.5 * (x[1:] + x[:-1])]))
    mass = np.repeat(0.5 * share, 2)[1:-1]
    mass[[0, -1]] *= 2.0
    passed = np.concatenate([[0.0], np.cumsum(mass)])
    scores: Floats = np.interp((np.arange(n) + 0.5) / n * passed[-1], passed, ends)
    return scores


def counted(test: HeldOut, threshold: float) -> dict[str, Any]:
    """Return precision and recall of held-out documents; None where there is nothing to count."""
    taken = test.score >= threshold
    found = int((taken & test.positive).sum())
    return {
        "precision": _share(found, int(taken.sum())),
        "recall": _share(found, int(test.positive.sum())),
    }


def _share(part: int, whole: int) -> float | None:
    return numbers(part / whole) if whole else None
