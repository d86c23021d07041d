"""Reliability curves: how often documents of a probability are positive, with bands."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from bayescal.metrics.evidence import effect_of
from bayescal.metrics.inputs import Forecasts, given_included, read_outcomes
from bayescal.metrics.scores import Metric, brier_score, check_metric
from bayescal.support.condensing import from_counts
from bayescal.support.intervals import tails
from bayescal.support.validation import (
    Floats,
    Integers,
    check_choice,
    check_count,
    check_fraction,
    generator,
)
from bayescal.support.weighting import read_clusters

STRATEGIES = ("uniform", "quantile")


class Bins(NamedTuple):
    """Weight, effective size, mean probability and share of positives of every occupied bin."""

    weight: Floats
    size: Floats
    prob_pred: Floats
    prob_true: Floats


def bin_outcomes(outcomes: Forecasts, n_bins: int, strategy: str) -> Bins:
    """Return documents in bins, as in scikit-learn's `calibration_curve`."""
    return summarise(outcomes, bin_index(outcomes, n_bins, strategy))


def summarise(outcomes: Forecasts, index: NDArray[np.intp]) -> Bins:
    """Return summaries of documents by the index of their bins."""
    counts = outcomes.counts
    weight, p, positive = (
        _sums(index, each) for each in (counts, counts * outcomes.p, counts * outcomes.truth)
    )
    full = weight > 0.0
    p, positive = p[full] / weight[full], positive[full] / weight[full]
    return Bins(weight[full], _GroupSums.of(outcomes, index, full).size, p, positive)


def bin_index(outcomes: Forecasts, n_bins: int, strategy: str) -> NDArray[np.intp]:
    """Return each document's bin, 0 to n_bins - 1."""
    check_count("n_bins", n_bins)
    check_choice("strategy", strategy, STRATEGIES)
    edges = np.linspace(0.0, 1.0, n_bins + 1)
    if strategy == "quantile":
        edges = quantiles(outcomes, edges)
    return np.searchsorted(edges[1:-1], outcomes.p)


def quantiles(outcomes: Forecasts, levels: Floats) -> Floats:
    """Return quantiles of the probabilities; a document of weight w counts as w documents."""
    values, weight = outcomes.p, outcomes.weight
    if weight is None:
        return np.asarray(np.quantile(values, levels))
    order = np.argsort(values, kind="stable")
    values, weight = values[order], weight[order]
    ends = np.cumsum(weight)
    if outcomes.sampled:
        # Only ratios of sampling weights matter.
        middle = ends - 0.5 * weight
        middle -= middle[0]
        return np.asarray(np.interp(levels * middle[-1], middle, values))
    position = levels * max(ends[-1] - 1.0, 0.0)
    below = np.floor(position)
    last = values.size - 1
    pair = [
        values[np.minimum(np.searchsorted(ends, at, side="right"), last)]
        for at in (below, below + 1.0)
    ]
    return np.asarray(pair[0] + (position - below) * (pair[1] - pair[0]))


class Levels(NamedTuple):
    """The distinct probabilities of a set of documents."""

    p: Floats  # (levels,): ascending
    weight: Floats  # (levels,): of the documents
    y: Floats  # (levels,): weighted share of positives
    of: NDArray[np.intp]  # (documents,): level of each

    def sums(self, values: Floats) -> Floats:
        """Return sums over the documents of each level."""
        return _sums(self.of, values)


def levels_of(outcomes: Forecasts) -> Levels:
    """Return the distinct probabilities of documents."""
    distinct, of = np.unique(outcomes.p, return_inverse=True)
    weight = _sums(of, outcomes.counts)
    return Levels(distinct, weight, _sums(of, outcomes.counts * outcomes.truth) / weight, of)


def recalibrate(y: Floats, weight: Floats) -> Floats:
    """Return the isotonic regression of shares of positives."""
    from sklearn.isotonic import isotonic_regression

    return np.asarray(isotonic_regression(y, sample_weight=weight))


def _sums(of: NDArray[np.intp], values: Floats) -> Floats:
    return np.bincount(of, weights=values).astype(np.float64, copy=False)


BANDS = ("consistency", "confidence")
GROWTH = 1.3  # of the windows of documents that bound a rising curve
# Maps positives' and all documents' weights, each of shape (n,), to a curve.
Refit = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class ReliabilityCurve:
    """A reliability curve.

    Attributes
    ----------
    prob_pred : array of shape (points,)
        Distinct probabilities for "corp", else the bins' means.
    prob_true : array of shape (points,)
        Estimated P(+) at that probability.
    weight : array of shape (points,)
        Number of documents, or sum of their weights.
    lower, upper : array of shape (points,) or None
        The pointwise band.
    method, band, level
        As in `reliability_curve`.
    """

    prob_pred: Floats
    prob_true: Floats
    weight: Floats
    lower: Floats | None
    upper: Floats | None
    method: str
    band: str | None
    level: float


@from_counts("y_prob", "y_true")
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
    inclusion: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    rng: Any = None,
) -> ReliabilityCurve:
    """Return the reliability curve of probabilities.

    Parameters
    ----------
    y_true, y_prob, sample_weight, inclusion : array-like of shape (n,)
        As in `log_loss`. Inclusion may depend on the score and the class.
    method : {"corp", "uniform", "quantile"}
        "corp" is isotonic regression, without bins; the others are bins of equal width and bins
        with equal numbers of documents, as in scikit-learn's `calibration_curve`.
    n_bins : int
        Number of bins.
    band : {"consistency", "confidence"} or None
        "consistency" is the pointwise range of the curve if the probabilities were calibrated
        (labels are drawn from them); "confidence" is a pointwise interval of P(+).
    level : float
        Pointwise probability of the band.
    resamples : int
        Data sets drawn for the consistency band.
    clusters : array-like of shape (n,), optional
        The cluster of each document, as in `calibration_verdict`. Labels of the consistency band
        correlate within clusters; the confidence band counts documents by their design effect.
    rng : int, Generator, RandomState or None
        Seeds the consistency band.

    Notes
    -----
    The confidence band of bins is Jeffreys' interval, with effective numbers of documents for
    sampling weights; it reaches 0 or 1 where all labels of a bin agree. For "corp" it assumes only
    that P(+) rises with the probability: at each point the shares of positives among the next
    documents above and below bound it. The number of these is chosen by their probabilities alone,
    so that the bounds are tightest if those are right. The band always contains the curve.

    References
    ----------
    T. Dimitriadis, T. Gneiting and A. I. Jordan, PNAS 2021 (CORP, consistency bands). J. Broecker
    and L. A. Smith, *Increasing the reliability of reliability diagrams*, Weather and Forecasting
    2007 (consistency resampling). L. D. Brown, T. T. Cai and A. DasGupta, *Interval estimation for
    a binomial proportion*, Statistical Science 2001 (Jeffreys). T. Dimitriadis, L. Duembgen, A.
    Henzi, M. Puke and J. Ziegel, *Honest calibration assessment for binary outcome predictions*,
    Biometrika 2023 (bounds by monotonicity).

    Examples
    --------
    >>> curve = reliability_curve([0, 1, 0, 1], [0.2, 0.4, 0.4, 0.9], band=None)
    >>> curve.prob_pred.tolist(), curve.prob_true.tolist()
    ([0.2, 0.4, 0.9], [0.0, 0.5, 1.0])
    """
    check_choice("method", method, ("corp", *STRATEGIES))
    check_fraction(level=level)
    given = read_outcomes(y_true, y_prob, sample_weight, inclusion, as_evidence=band is not None)
    code = np.arange(given.p.size)
    if clusters is not None:
        _, code = read_clusters(clusters, given.p.size, "y_true")
        given = given._replace(effect=effect_of(given, code))
    outcomes = given.counted()
    fit = _corp if method == "corp" else _binned
    curve, refit = fit(outcomes, n_bins, method)
    limits: tuple[Floats | None, Floats | None] = (None, None)
    if band is not None:
        check_choice("band", band, BANDS)
        check_count("resamples", resamples)
        if band == "consistency":
            code = code if outcomes.position is None else code[outcomes.position]
            limits = _consistency_band(outcomes, code, refit, level, resamples, generator(rng))
        elif method == "corp":
            limits = _monotone_band(outcomes, curve, tails(level)[1])
        else:
            index = bin_index(outcomes, n_bins, method)
            seen = _GroupSums.of(outcomes, index, np.bincount(index) > 0)
            below, above = tails(level)
            limits = seen.bound(below), seen.bound(above)
    return ReliabilityCurve(
        curve.prob_pred, curve.prob_true, curve.weight, *limits, method, band, level
    )


def _corp(outcomes: Forecasts, _: int, __: str) -> tuple[Bins, Refit]:
    levels = levels_of(outcomes)

    def refit(positives: Floats, counts: Floats) -> Floats:
        weight = levels.sums(counts)
        return recalibrate(levels.sums(positives) / weight, weight)

    curve = recalibrate(levels.y, levels.weight)
    size = _GroupSums.of(outcomes, levels.of).size
    return Bins(levels.weight, size, levels.p, curve), refit


def _binned(outcomes: Forecasts, n_bins: int, strategy: str) -> tuple[Bins, Refit]:
    index = bin_index(outcomes, n_bins, strategy)
    full = np.bincount(index) > 0

    def refit(positives: Floats, counts: Floats) -> Floats:
        share = np.bincount(index, weights=positives)[full]
        return np.asarray(share / np.bincount(index, weights=counts)[full])

    return summarise(outcomes, index), refit


def _consistency_band(
    outcomes: Forecasts,
    cluster: Integers,
    refit: Refit,
    level: float,
    resamples: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    counts, p, (one, other) = outcomes.counts, outcomes.p, outcomes.by_class
    effect = outcomes.effect
    dependent = effect is not None and effect.factor > 1.0
    shared = math.sqrt(effect.correlation) if effect is not None else 0.0
    repeated = not (outcomes.sampled or dependent) and bool((counts == np.rint(counts)).all())
    odds = given_included(p, one, other)

    def resampled() -> Floats:
        if repeated:
            return refit(rng.binomial(counts.astype(np.intp), p).astype(np.float64), counts)
        uniform = rng.random(p.size)
        if dependent:
            # Two documents of a cluster share a number with probability rho.
            of_cluster = rng.random(int(cluster.max()) + 1)[cluster]
            uniform = np.where(rng.random(p.size) < shared, of_cluster, uniform)
        positive = uniform < odds
        weight = np.where(positive, one, other)
        return refit(weight * positive, weight)

    curves = np.stack([resampled() for _ in range(resamples)])
    lower, upper = np.quantile(curves, tails(level), axis=0)
    return lower, upper


class _GroupSums(NamedTuple):
    """Sums over groups of documents that bound P(+) in them; weights as for negatives."""

    weight: Floats  # sums of weights
    square: Floats  # sums of squared weights, or of counts
    positives: Floats  # weight of positives
    expected: Floats  # expected weight of positives if probabilities are right
    odds: float  # weight of a positive relative to a negative

    @classmethod
    def of(
        cls, outcomes: Forecasts, index: NDArray[np.intp], full: Any = slice(None)
    ) -> _GroupSums:
        """Return the sums of the groups that an index names."""
        one, other = outcomes.by_class
        square = outcomes.factor * (other**2 if outcomes.sampled else other)
        share = given_included(outcomes.p, one, other)
        values = (other, square, other * outcomes.truth, other * share)
        weight, squares, positives, expected = (_sums(index, each)[full] for each in values)
        return cls(weight, squares, positives, expected, outcomes.odds)

    @property
    def size(self) -> Floats:
        """Return effective numbers of documents."""
        return self.weight**2 / self.square

    def mirrored(self) -> _GroupSums:
        """Return the sums with the classes exchanged and the groups in reverse order."""
        weight, square, positives, expected = (each[::-1] for each in self[:4])
        return _GroupSums(weight, square, weight - positives, weight - expected, 1.0 / self.odds)

    def windows(self, length: int) -> _GroupSums:
        """Return the sums over each group and the next ones, so many in all."""
        start = np.arange(self.weight.size)
        end = np.minimum(start + length, start.size)
        totals = [np.concatenate([[0.0], np.cumsum(each)]) for each in self[:4]]
        weight, square, positives, expected = (total[end] - total[start] for total in totals)
        return _GroupSums(weight, square, positives, expected, self.odds)

    def bound(self, tail: float, *, expected: bool = False) -> Floats:
        """Return a quantile of P(+) by Jeffreys' prior; 0 or 1 at the end if all labels agree."""
        positives = np.clip(self.expected if expected else self.positives, 0.0, self.weight)
        share = positives / self.weight
        some = share * self.size
        bound = special.betaincinv(some + 0.5, self.size - some + 0.5, tail)
        end = 0.0 if tail < 0.5 else 1.0
        # Sums of weights are rounded.
        bound = np.where(np.abs(share - end) < 1e-9, end, bound)
        return np.asarray(bound * self.odds / (bound * self.odds + (1.0 - bound)))


def _monotone_band(outcomes: Forecasts, curve: Bins, tail: float) -> tuple[Floats, Floats]:
    """Return bounds of a rising P(+) at each level, by the documents below and above."""
    seen = _GroupSums.of(outcomes, levels_of(outcomes).of)
    upper = _bound_above(seen, tail)
    lower = 1.0 - _bound_above(seen.mirrored(), tail)[::-1]
    # If shares fall by chance the two may cross; the band contains both and the curve.
    ends = np.stack([lower, upper, curve.prob_true])
    return ends.min(axis=0), ends.max(axis=0)


def _bound_above(seen: _GroupSums, tail: float) -> Floats:
    """Return upper bounds by the windows of levels above with the tightest expected bounds."""
    levels = seen.weight.size
    tightest, bound = np.full(levels, np.inf), np.ones(levels)
    length = 1.0
    while True:
        window = seen.windows(int(length))
        wish = window.bound(tail, expected=True)
        bound = np.where(wish < tightest, window.bound(tail), bound)
        tightest = np.minimum(wish, tightest)
        if length >= levels:
            return bound
        length *= GROWTH


@dataclass(frozen=True)
class Decomposition:
    """A mean score and its parts: score = miscalibration - discrimination + uncertainty.

    Attributes
    ----------
    score : float
        The mean score of the probabilities.
    miscalibration : float
        Gain by the best monotone recalibration; 0 for calibrated probabilities.
    discrimination : float
        Gain of the recalibrated probabilities over the base rate; larger is better.
    uncertainty : float
        The score of the base rate.
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


@from_counts("y_prob", "y_true")
def score_decomposition(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    score: Metric = brier_score,
    sample_weight: ArrayLike | None = None,
    inclusion: ArrayLike | None = None,
) -> Decomposition:
    """Return the CORP decomposition of a proper score.

    With S(p) the mean score, p* the isotonic regression of the outcomes on p and r the base rate:
    miscalibration S(p) - S(p*), discrimination S(r) - S(p*), uncertainty S(r). In finite samples
    miscalibration is positive even for perfect probabilities, and larger in bootstrap samples: use
    the bands of `reliability_curve`, not a bootstrap interval.

    Parameters
    ----------
    y_true, y_prob, sample_weight, inclusion : array-like of shape (n,)
        As in `log_loss`.
    score : callable
        A proper score: `brier_score`, `log_loss`, or functools.partial(log_loss, base=2).

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
    check_metric(score=score)
    return decomposition_of(read_outcomes(y_true, y_prob, sample_weight, inclusion), score)


def decomposition_of(outcomes: Forecasts, score: Metric) -> Decomposition:
    """Return the decomposition of a score of checked outcomes; see `score_decomposition`."""
    outcomes = outcomes.counted()
    truth, p, weight = outcomes.truth, outcomes.p, outcomes.counts
    levels = levels_of(outcomes)
    best = np.clip(recalibrate(levels.y, levels.weight), 0.0, 1.0)[levels.of]
    base_rate = np.full(p.size, np.average(truth, weights=weight))
    own, recalibrated, uncertainty = (
        float(score(truth, each, sample_weight=weight)) for each in (p, best, base_rate)
    )
    return Decomposition(own, own - recalibrated, uncertainty - recalibrated, uncertainty)
