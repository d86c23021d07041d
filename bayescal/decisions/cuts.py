"""Documents in the order of their scores, cut at every threshold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.decisions.draws import BLOCK_ELEMENTS, as_binary_draws
from bayescal.randomness import generator
from bayescal.validation import Floats, as_scores, check_choice, check_same_length

OF = ("documents", "population")
# From positions of documents to posterior draws of their P(+).
Sample = Callable[[NDArray[np.intp]], Floats]


@dataclass(frozen=True)
class Cuts:
    """
    Thresholds from the highest on: documents taken, and positives among them by draw.

    Attributes
    ----------
    score : array of shape (cuts,)
        The thresholds, each a score; documents of that score and above are taken.
    selected : integer array of shape (cuts,)
        Documents taken.
    positives : array of shape (draws, cuts)
        Positives among them.
    """

    score: Floats
    selected: NDArray[np.intp]
    positives: Floats

    @property
    def precision(self) -> Floats:
        """Return the share of positives among the documents taken, (draws, cuts)."""
        return self.positives / self.selected

    @property
    def recall(self) -> Floats:
        """Return the share of positives that are taken; 1 where a draw has none, (draws, cuts)."""
        all_of_them = self.positives[:, -1:]
        none = all_of_them == 0.0
        return np.where(none, 1.0, self.positives / np.where(none, 1.0, all_of_them))


def cuts_of(scores: ArrayLike, draws: ArrayLike, of: str, rng: Any) -> Cuts:
    """
    Return all thresholds that differ in what they take.

    Parameters
    ----------
    scores, draws, of, rng
        See `bayescal.decisions.threshold_for_precision`.
    """
    check_choice("of", of, OF)
    values, p = as_scores(scores), as_binary_draws(draws)
    check_same_length("scores", values.size, "documents of draws", p.shape[1])
    order, ends = ranked(values)
    return cuts_at(values, order, ends, lambda rows: p[:, rows], p.shape[0], of, rng)


def ranked(values: Floats) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """
    Return documents in the order of their scores, the largest first, and where ties end.

    Parameters
    ----------
    values : array of shape (documents,)
        Scores.

    Returns
    -------
    tuple of integer arrays of shape (documents,) and (cuts,)
        The order; how many documents each threshold takes: those that tie are taken together.
    """
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
    """
    Return some thresholds, with so few draws in memory at a time that many documents fit.

    Parameters
    ----------
    values : array of shape (documents,)
        Scores.
    order : integer array of shape (documents,)
        The documents, those that are taken first before the others.
    ends : integer array of shape (cuts,)
        How many documents each threshold takes, rising; the last is all of them.
    sample : callable
        From positions of k documents to posterior draws of their P(+), shape (draws, k).
    draws : int
        How many draws there are.
    of, rng
        See `bayescal.decisions.threshold_for_precision`.
    """
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
