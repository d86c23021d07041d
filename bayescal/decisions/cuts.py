"""Documents in the order of their scores, cut at every threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.decisions.draws import as_binary_draws
from bayescal.randomness import generator
from bayescal.validation import Floats, as_scores, check_choice, check_same_length

OF = ("documents", "population")


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
    order = np.argsort(-values, kind="stable")
    values, p = values[order], p[:, order]
    counted = p if of == "population" else generator(rng).random(p.shape) < p
    # Documents that tie in score are taken together.
    last = np.flatnonzero(np.r_[values[1:] != values[:-1], True])
    positives = np.cumsum(counted, axis=1, dtype=np.float64)[:, last]
    return Cuts(values[last], last + 1, positives)
