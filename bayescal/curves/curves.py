"""From draws of a curve of log-odds to what users see: points and intervals.

Scores are taken in blocks, so that memory never holds draws x scores for more than one block.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import special

from bayescal.bayes import probability
from bayescal.curves.intervals import quantiles
from bayescal.engines.data import BinaryScores
from bayescal.log_sum import log_sum_exp
from bayescal.validation import Floats

if TYPE_CHECKING:
    from bayescal.curves.class_draws import ClassDraws

BLOCK_ELEMENTS = 1 << 22
NOT_FINITE = "hold values that are not finite"


class DrawnCurves(Protocol):
    """Draws of log-odds as a function of one number."""

    @property
    def size(self) -> int:
        """Return the number of draws."""
        ...

    def take(self, index: NDArray[np.intp]) -> Self:
        """Return the draws at some positions."""
        ...

    def log_odds(self, scores: Floats) -> Floats:
        """Return log-odds of shape (draws, scores)."""
        ...


class Curves(DrawnCurves, Protocol):
    """Posterior draws of log-odds as a function of the raw score."""

    @property
    def prior(self) -> Floats:
        """Return the draws of P(+) of the population fitted, shape (draws,)."""
        ...

    @property
    def densities(self) -> ClassDraws | None:
        """Return the draws of class densities among them; None where there are none."""
        ...

    def with_prior(self, prior: Floats) -> Self:
        """Return the same draws for a class prior of shape (draws,)."""
        ...

    def predictive(self, scores: Floats) -> Floats:
        """Return the log-odds of P(+ | s, data), shape (scores,)."""
        ...


class PartCurves(Curves, Protocol):
    """The curves of one part, which also says what it was fitted to."""

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds of the documents fitted, as the part saw them; (draws, documents)."""
        ...

    def seen(self, data: BinaryScores, log_score: Floats) -> Floats | None:
        """
        Return what each draw's posterior holds of each document: a log likelihood.

        Parameters
        ----------
        data : BinaryScores
            The documents fitted.
        log_score : array of shape (draws, documents)
            Log P_k(y_i | s_i) by `label_log_odds`.

        Returns
        -------
        array of shape (draws, documents), or None where nothing was fitted.
        """
        ...


class LogOddsCurves:
    """What curves share that were fitted to labels given scores: a part's class may extend it."""

    @property
    def densities(self) -> ClassDraws | None:
        """Return None: there are no class densities."""
        return None

    def log_odds(self, scores: Floats) -> Floats:
        """Return log-odds of shape (draws, scores)."""
        raise NotImplementedError

    def predictive(self, scores: Floats) -> Floats:
        """Return the log-odds of P(+ | s, data), the mean over draws of P_k(+|s)."""
        return log_odds_of_mean(self.log_odds(scores))

    def label_log_odds(self, data: BinaryScores) -> Floats:
        """Return log-odds of the documents fitted; (draws, documents)."""
        return self.log_odds(data.score)

    def seen(self, data: BinaryScores, log_score: Floats) -> Floats | None:
        """Return the log likelihood of each document's label, all that was fitted to."""
        return log_score


def check_finite(whose: str, *values: Floats) -> None:
    """
    Refuse draws that no curve can be read from.

    Raises
    ------
    ValueError
        If a value is nan or infinite.
    """
    if not all(np.isfinite(each).all() for each in values):
        raise ValueError(f"the draws of {whose} {NOT_FINITE}: fit again.")


def predictive_log_odds(draws: Curves, scores: Floats) -> Floats:
    """Return the log-odds of P(+ | s, data); shape (scores,)."""
    out = np.empty_like(scores)
    for part in blocks(draws.size, scores.size):
        out[part] = draws.predictive(scores[part])
    return out


def mean_log_odds(draws: Curves, scores: Floats) -> Floats:
    """Return the log-odds of the mean over draws of P_k(+|s); shape (scores,)."""
    out = np.empty_like(scores)
    for part in blocks(draws.size, scores.size):
        out[part] = log_odds_of_mean(draws.log_odds(scores[part]))
    return out


def log_odds_of_mean(curves: Floats) -> Floats:
    """
    Return the log-odds of the mean over draws of the probability; shape (scores,).

    Computed as log mean P_k(+) - log mean P_k(-), which stays finite where the mean rounds to 1.

    Parameters
    ----------
    curves : array of shape (draws, scores)
        Natural log-odds.
    """
    positive = probability(curves).mean(axis=0)
    negative = 1.0 - positive
    # Where the difference cancels, the other mean by itself.
    near_one = np.flatnonzero(negative < 0.1)
    negative[near_one] = probability(-curves[:, near_one]).mean(axis=0)
    # Beyond log-odds of 700 a probability underflows: those few columns by logarithms.
    far = np.flatnonzero(np.minimum(positive, negative) < 1e-290)
    with np.errstate(divide="ignore"):
        out: Floats = np.log(positive) - np.log(negative)
    if far.size:
        log_p = special.log_expit(curves[:, far]), special.log_expit(-curves[:, far])
        out[far] = log_sum_exp(log_p[0], axis=0) - log_sum_exp(log_p[1], axis=0)
    return out


def median_log_odds(draws: Curves, scores: Floats) -> Floats:
    """Return the median over draws of the log-odds; shape (scores,)."""
    median: Floats = quantiles_of_log_odds(draws, scores, np.array([0.5]))[0]
    return median


def quantiles_of_log_odds(draws: Curves, scores: Floats, levels: Floats) -> Floats:
    """Return pointwise quantiles over draws of the log-odds, shape (levels, scores)."""
    out = np.empty((levels.size, scores.size))
    for part in blocks(draws.size, scores.size):
        out[:, part] = quantiles(draws.log_odds(scores[part]), levels)
    return out


def blocks(draws: int, scores: int) -> Iterator[slice]:
    """Yield slices of the scores, so few that draws x scores fit into a block of memory."""
    width = max(1, BLOCK_ELEMENTS // draws)
    for start in range(0, scores, width):
        yield slice(start, min(start + width, scores))
