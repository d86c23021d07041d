"""Reliability curves: how often documents of a probability are positive, with bands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.metrics.inputs import Outcomes, read_outcomes
from bayescal.metrics.scores import Metric, brier_score
from bayescal.support.randomness import generator
from bayescal.support.validation import Floats, check_choice, check_count, check_fraction

# Documents in bins of their probability.

STRATEGIES = ("uniform", "quantile")


class Bins(NamedTuple):
    """Weight, mean probability and weighted share of positives of every occupied bin."""

    weight: Floats
    prob_pred: Floats
    prob_true: Floats


def bin_outcomes(outcomes: Outcomes, n_bins: int, strategy: str) -> Bins:
    """
    Return documents in bins, as scikit-learn's `calibration_curve` makes them.

    Bins are open on the left; with weights, quantiles are those of documents repeated.
    """
    return summarise(outcomes, bin_index(outcomes, n_bins, strategy))


def summarise(outcomes: Outcomes, index: NDArray[np.intp]) -> Bins:
    """Return documents in the bins that an index names."""
    truth, p, own = outcomes
    weight = np.bincount(index, weights=own).astype(np.float64)
    sums = (np.bincount(index, weights=each if own is None else each * own) for each in (p, truth))
    full = weight > 0.0
    return Bins(weight[full], *(each[full] / weight[full] for each in sums))


def bin_index(outcomes: Outcomes, n_bins: int, strategy: str) -> NDArray[np.intp]:
    """Return each document's bin, 0 to n_bins - 1."""
    check_count("n_bins", n_bins)
    check_choice("strategy", strategy, STRATEGIES)
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if strategy == "quantile":
        edges = quantiles(outcomes.p, outcomes.weight, edges)
    return np.searchsorted(edges[1:-1], outcomes.p)


def quantiles(values: Floats, weight: Floats | None, levels: Floats) -> Floats:
    """
    Return quantiles of values, each repeated as often as its weight says.

    Examples
    --------
    >>> quantiles(np.array([1.0, 4.0]), np.array([2.0, 1.0]), np.array([0.5, 0.75]))
    array([1. , 2.5])
    """
    if weight is None:
        return np.asarray(np.quantile(values, levels))
    order = np.argsort(values)
    ends = np.cumsum(weight[order])
    position = levels * max(ends[-1] - 1.0, 0.0)
    below = np.floor(position)
    last = values.size - 1
    pair = [
        values[order[np.minimum(np.searchsorted(ends, at, side="right"), last)]]
        for at in (below, below + 1.0)
    ]
    return np.asarray(pair[0] + (position - below) * (pair[1] - pair[0]))


# The best monotone recalibration of probabilities, by scikit-learn's isotonic regression.


class Levels(NamedTuple):
    """
    The distinct probabilities of a set of documents.

    `p` ascending, the `weight` of the documents at each, their weighted share of positives `y`,
    and which level each document is `of`.
    """

    p: Floats
    weight: Floats
    y: Floats
    of: NDArray[np.intp]

    def sums(self, values: Floats) -> Floats:
        """Return sums over the documents of each level."""
        return _sums(self.of, values)


def levels_of(outcomes: Outcomes) -> Levels:
    """Return the distinct probabilities of documents that count; those that tie are one point."""
    distinct, of = np.unique(outcomes.p, return_inverse=True)
    weight = _sums(of, outcomes.counts)
    return Levels(distinct, weight, _sums(of, outcomes.counts * outcomes.truth) / weight, of)


def recalibrate(y: Floats, weight: Floats) -> Floats:
    """Return the shares of positives that never fall and are nearest to those given."""
    from sklearn.isotonic import isotonic_regression

    fitted: Floats = isotonic_regression(y, sample_weight=weight)
    return fitted


def _sums(of: NDArray[np.intp], values: Floats) -> Floats:
    return np.bincount(of, weights=values).astype(np.float64, copy=False)


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


# What a score is made of: miscalibration, discrimination, uncertainty (CORP).


@dataclass(frozen=True)
class Decomposition:
    """
    A mean score and its parts: score = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    score : float
        The mean score of the probabilities.
    miscalibration : float
        What the best monotone recalibration would gain; 0 for calibrated probabilities.
    discrimination : float
        What the recalibrated probabilities gain over the base rate; larger is better.
    uncertainty : float
        The score of the base rate, a property of the outcomes alone.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


def score_decomposition(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    score: Metric = brier_score,
    sample_weight: ArrayLike | None = None,
) -> Decomposition:
    """
    Return the CORP decomposition of a proper score.

    With S(p) the mean score, p* the isotonic regression of the outcomes on p and r the base rate:
    miscalibration S(p) - S(p*), discrimination S(r) - S(p*), uncertainty S(r).

    Parameters
    ----------
    y_true, y_prob, sample_weight : array-like of shape (n,)
        See `log_loss`.
    score : callable
        A proper score: `brier_score`, `log_loss`, or functools.partial(log_loss, base=2).

    Raises
    ------
    ValueError
        If an argument is not as described.

    Notes
    -----
    Miscalibration is never negative, so that of a finite sample is above 0 even for perfect
    probabilities, and bootstrap samples, which repeat documents, push it up further: give it no
    bootstrap interval; `reliability_curve` has bands that know.

    References
    ----------
    T. Dimitriadis, T. Gneiting and A. I. Jordan, *Stable reliability diagrams for probabilistic
    classifiers*, PNAS 2021, equation 6.

    Examples
    --------
    >>> parts = score_decomposition([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> round(parts.miscalibration, 3), round(parts.discrimination, 3), parts.uncertainty
    (0.06, 0.125, 0.25)
    """
    outcomes = read_outcomes(y_true, y_prob, sample_weight).counted()
    truth, p, weight = outcomes.truth, outcomes.p, outcomes.counts
    levels = levels_of(outcomes)
    best = np.clip(recalibrate(levels.y, levels.weight), 0.0, 1.0)[levels.of]
    base_rate = np.full(p.size, np.average(truth, weights=weight))
    own, recalibrated, uncertainty = (
        float(score(truth, each, sample_weight=weight)) for each in (p, best, base_rate)
    )
    return Decomposition(own, own - recalibrated, uncertainty - recalibrated, uncertainty)
