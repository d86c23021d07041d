r"""Draws of documents' log-odds, averaged to curves of one score.

A model may use more of a document than its score. In draw k a document x has log-odds l_k(x), and
the share of positives among documents of score s is

    P_k(+ | s) = E[ sigmoid(l_k(x)) | s(x) = s ]

The expectation is over documents near s, by a Gaussian kernel with a fixed number of neighbours.
The score itself is log-odds, and the curve is the score plus the deviation between the kernel means
of sigmoid(l_k) and of sigmoid(s), so that the kernel blurs the deviation only.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.fitting.posterior import Posterior
from bayescal.fitting.scores import BinaryScores
from bayescal.support.validation import Floats

# Knots of the deviation: half evenly spaced, half at quantiles of the documents.
KNOTS = 40
LEAST_NEAR = 10


@dataclass(frozen=True)
class AveragedDraws(Posterior):
    """Curves that are a score, log-odds, plus a deviation in straight pieces."""

    knots: Floats  # (knots,): ascending scores
    deviation: Floats  # (draws, knots): each draw's deviation, constant beyond the ends
    prior: Floats  # (draws,): P(+) of the documents fitted
    shift: Floats  # (draws,): change of log-odds by a new prior

    drawn: ClassVar = ("deviation", "prior", "shift")

    def log_odds(self, scores: Floats) -> Floats:
        """Return the scores plus each draw's deviation, shape (draws, scores)."""
        inside = np.clip(scores, self.knots[0], self.knots[-1])
        right = np.clip(np.searchsorted(self.knots, inside), 1, self.knots.size - 1)
        share = (inside - self.knots[right - 1]) / (self.knots[right] - self.knots[right - 1])
        added = self.deviation[:, right - 1] * (1.0 - share) + self.deviation[:, right] * share
        return np.asarray(scores + added + self.shift[:, None])

    def predictive(self, scores: Floats) -> Floats:
        """Return the scores plus the mean shift."""
        return np.asarray(scores + self.shift.mean())

    def seen(self, data: BinaryScores, log_score: Floats) -> None:
        """Return None: labels were fitted by the model behind the score."""
        return


def average(
    score: Floats, log_odds: Floats, prior: float, weight: Floats | None = None
) -> AveragedDraws:
    """Return the curves of documents' draws."""
    knots = _knots(score)
    kernel = _kernel(score, knots, np.ones(score.size) if weight is None else weight)
    # Both sides of the odds separately, since 1 - p would cancel.
    drawn = np.log(special.expit(log_odds) @ kernel) - np.log(special.expit(-log_odds) @ kernel)
    own = np.log(special.expit(score) @ kernel) - np.log(special.expit(-score) @ kernel)
    draws = len(log_odds)
    return AveragedDraws(knots, drawn - own, np.full(draws, prior), np.zeros(draws))


def spread_over_scores(score: Floats, most: int) -> NDArray[np.intp]:
    """
    Return positions of documents, half at even ranks of the score and half at even distances.

    The choice depends on scores only, so that documents of one score remain a random sample.
    """
    if score.size <= most:
        return np.arange(score.size)
    order = np.argsort(score, kind="stable")
    ranks = np.linspace(0, score.size - 1, most // 2).astype(np.intp)
    targets = np.linspace(score[order[0]], score[order[-1]], most - most // 2)
    nearest = np.minimum(np.searchsorted(score[order], targets), score.size - 1)
    return np.asarray(order[np.union1d(ranks, nearest)])


def _knots(score: Floats) -> Floats:
    low, high = float(score.min()), float(score.max())
    if low == high:  # a constant deviation
        return np.array([low - 0.5, low + 0.5])
    even = np.linspace(low, high, KNOTS - KNOTS // 2)
    placed = np.quantile(score, (np.arange(KNOTS // 2) + 0.5) / (KNOTS // 2))
    knots = np.unique(np.r_[even, placed])
    # Drop knots too close to their neighbour.
    apart = np.r_[True, np.diff(knots) > (knots[-1] - knots[0]) / (10.0 * KNOTS)]
    return np.asarray(knots[apart])


def _kernel(score: Floats, knots: Floats, counts: Floats) -> Floats:
    """Return weights of documents at knots, shape (n, knots), which sum to one over documents."""
    near = min(max(LEAST_NEAR, round(np.sqrt(score.size))), score.size)
    distance = np.abs(score[:, None] - knots)
    width = np.partition(distance, near - 1, axis=0)[near - 1]
    # Ties with a knot would make the width zero.
    width = np.maximum(width, 1e-6 * (knots[-1] - knots[0]))
    weight = counts[:, None] * np.exp(-0.5 * (distance / width) ** 2)
    return np.asarray(weight / weight.sum(axis=0))
