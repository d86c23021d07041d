"""Reliability curves: how often documents of a probability are positive, with bands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.metrics.bins import STRATEGIES, Bins, bin_index, summarise
from bayescal.metrics.inputs import Outcomes, read_outcomes
from bayescal.metrics.isotonic import levels_of, recalibrate
from bayescal.randomness import generator
from bayescal.validation import Floats, check_choice, check_count, check_fraction

BANDS = ("consistency", "confidence")
# Maps positives' and all documents' weights, each of shape (n,), to a curve.
Refit = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class ReliabilityCurve:
    """
    A reliability curve.

    Attributes
    ----------
    prob_pred : array of shape (points,)
        Probabilities: the distinct ones for "corp", the bins' means otherwise.
    prob_true : array of shape (points,)
        Estimated P(+) of documents of that probability.
    weight : array of shape (points,)
        How many documents each point stands for.
    lower, upper : array of shape (points,) or None
        The pointwise band.
    method, band : str
        See `reliability_curve`; band may be None.
    level : float
        Probability of the band at each point.
    """

    prob_pred: Floats
    prob_true: Floats
    weight: Floats
    lower: Floats | None
    upper: Floats | None
    method: str
    band: str | None
    level: float


def reliability_curve(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    method: str = "corp",
    n_bins: int = 10,
    band: str | None = "consistency",
    level: float = 0.9,
    resamples: int = 500,
    sample_weight: ArrayLike | None = None,
    rng: Any = None,
) -> ReliabilityCurve:
    """
    Return the reliability curve of probabilities.

    Parameters
    ----------
    y_true, y_prob : array-like of shape (n,)
        See `log_loss`.
    method : {"corp", "uniform", "quantile"}
        "corp" is isotonic regression, which needs no bins; the others are bins of equal width and
        bins with equal numbers of documents, as in scikit-learn's `calibration_curve`.
    n_bins : int
        Number of bins; "corp" has none.
    band : {"consistency", "confidence"} or None
        "consistency" is where the curve would lie, at each point with probability `level`, if the
        probabilities were calibrated (labels are drawn from them); "confidence" is the bootstrap
        interval of the curve (documents are drawn with replacement).
    level : float
        Between 0 and 1.
    resamples : int
        Data sets drawn for the band.
    sample_weight : array-like of shape (n,), optional
        How much each document counts. A weight does not make a document several in the resampling
        of bands, where its label is drawn once: repeat the rows of such documents.
    rng : int, Generator, RandomState or None
        Seeds the band.

    Raises
    ------
    ValueError
        If an argument is not as described.

    References
    ----------
    T. Dimitriadis, T. Gneiting and A. I. Jordan, PNAS 2021 (CORP, both bands). J. Broecker and L.
    A. Smith, *Increasing the reliability of reliability diagrams*, Weather and Forecasting 2007
    (consistency resampling).

    Examples
    --------
    >>> curve = reliability_curve([0, 1, 0, 1], [0.2, 0.4, 0.4, 0.9], band=None)
    >>> curve.prob_pred.tolist(), curve.prob_true.tolist()
    ([0.2, 0.4, 0.9], [0.0, 0.5, 1.0])
    """
    check_choice("method", method, ("corp", *STRATEGIES))
    check_fraction(level=level)
    outcomes = read_outcomes(y_true, y_prob, sample_weight).counted()
    fit = _corp if method == "corp" else _binned
    curve, refit = fit(outcomes, n_bins, method)
    limits: tuple[Floats | None, Floats | None] = (None, None)
    if band is not None:
        check_choice("band", band, BANDS)
        check_count("resamples", resamples)
        limits = _band(outcomes, refit, band, level, resamples, generator(rng))
    return ReliabilityCurve(
        curve.prob_pred, curve.prob_true, curve.weight, *limits, method, band, level
    )


def _corp(outcomes: Outcomes, _: int, __: str) -> tuple[Bins, Refit]:
    levels = levels_of(outcomes)

    def refit(positives: Floats, counts: Floats) -> Floats:
        weight = levels.sums(counts)
        seen = np.flatnonzero(weight > 0.0)
        y = recalibrate(levels.sums(positives)[seen] / weight[seen], weight[seen])
        fitted: Floats = np.interp(levels.p, levels.p[seen], y)
        return fitted

    return Bins(levels.weight, levels.p, recalibrate(levels.y, levels.weight)), refit


def _binned(outcomes: Outcomes, n_bins: int, strategy: str) -> tuple[Bins, Refit]:
    index = bin_index(outcomes, n_bins, strategy)
    full = np.bincount(index) > 0

    def refit(positives: Floats, counts: Floats) -> Floats:
        share = np.bincount(index, weights=positives)[full]
        total = np.bincount(index, weights=counts)[full]
        # A resample without a document of a bin says nothing of it.
        return np.asarray(np.divide(share, total, out=np.full(total.size, np.nan), where=total > 0))

    return summarise(outcomes, index), refit


def _band(
    outcomes: Outcomes,
    refit: Refit,
    band: str,
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    counts, size = outcomes.counts, outcomes.p.size

    def resampled() -> Floats:
        if band == "consistency":
            return refit(counts * (rng.random(size) < outcomes.p), counts)
        drawn = counts * np.bincount(rng.integers(size, size=size), minlength=size)
        return refit(drawn * outcomes.truth, drawn)

    curves = np.stack([resampled() for _ in range(resamples)])
    lower, upper = np.nanquantile(curves, [0.5 - level / 2.0, 0.5 + level / 2.0], axis=0)
    return lower, upper
