"""Measures of likelihood ratios against the truth: Cllr, its parts, devPAV, cross-entropy."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.metrics.inputs import as_truth
from bayescal.metrics.reliability import recalibrate
from bayescal.support.validation import Floats, as_reals, check_same_length, warn_user
from bayescal.support.weighting import as_weights

LN10 = float(np.log(10.0))
NATURAL_GAIN = 0.05  # drop of Cllr that suggests natural logarithms
MOST_LR, MOST_ODDS = 1e100, 300.0  # largest log10s without overflow, of LRs and of odds


@dataclass(frozen=True)
class Comparisons:
    """Log10 likelihood ratios of comparisons whose truth is known, with a weight each."""

    positive: NDArray[np.bool_]  # (n,): whether the positive proposition holds
    log10_lr: Floats  # (n,): may be infinite
    weight: Floats  # (n,)

    def weighted(self, weight: Floats) -> Comparisons:
        """Return the same comparisons with other weights."""
        return Comparisons(self.positive, self.log10_lr, weight)

    def clipped(self, low: float, high: float) -> Comparisons:
        """Return the comparisons with log10 LRs within bounds."""
        return Comparisons(self.positive, np.clip(self.log10_lr, low, high), self.weight)

    @cached_property
    def share(self) -> Floats:
        """Return weights that sum to 1 within each class."""
        totals = [self.weight[self.positive == each].sum() for each in (False, True)]
        return np.asarray(self.weight / np.where(self.positive, totals[1], totals[0]))

    @property
    def losses(self) -> Floats:
        """Return log2(1 + 1/LR) of positives and log2(1 + LR) of negatives; (n,), in bits."""
        return self.losses_at(0.0)

    def losses_at(self, log10_odds: float) -> Floats:
        """Return losses of posterior odds at some prior odds; (n,), in bits."""
        log_odds = np.log2(10.0) * (self.log10_lr + log10_odds)
        return np.asarray(np.logaddexp2(0.0, np.where(self.positive, -log_odds, log_odds)))

    def cllr(self) -> float:
        """Return Cllr in bits."""
        return _half_sum(self.share, self.losses)

    @cached_property
    def recalibrated(self) -> Comparisons:
        """Return the comparisons with the log10 LRs of isotonic regression (PAV)."""
        order = np.argsort(self.log10_lr, kind="stable")
        values, group = np.unique(self.log10_lr[order], return_inverse=True)
        share, positive = self.share[order], self.positive[order]
        total = np.asarray(np.bincount(group, share, values.size), dtype=np.float64)
        kept = total > 0.0
        truth = np.bincount(group, share * positive, values.size)[kept] / total[kept]
        p = np.full(values.size, 0.5)  # comparisons of weight 0 keep it
        p[kept] = recalibrate(truth, total[kept])
        with np.errstate(divide="ignore"):
            pav = np.log10(p) - np.log10(1.0 - p)
        log10_lr = np.empty(order.size)
        log10_lr[order] = pav[group]
        return Comparisons(self.positive, log10_lr, self.weight)

    def min_cllr(self) -> float:
        """Return Cllr after isotonic regression."""
        best = self.recalibrated
        return _half_sum(best.share, best.losses)

    def devpav(self) -> float:
        """Return the mean distance of the PAV curve from the identity; see `devpav`."""
        pav = self.recalibrated.log10_lr
        order = np.unique(self.log10_lr[self.weight > 0.0], return_index=True)[1]
        kept = np.flatnonzero(self.weight > 0.0)[order]
        x, y = self.log10_lr[kept], pav[kept]
        finite = np.isfinite(y)
        x, y = x[finite], y[finite]
        if not x.size:
            return float("nan")
        if not np.isfinite(x).all():
            return float("inf")
        if x.size == 1:
            return float(abs(y[0] - x[0]))
        return _mean_distance(x, y - x)


def _half_sum(share: Floats, losses: Floats) -> float:
    """Return half the sum of both classes' mean losses; weights of 0 leave losses out."""
    kept = share > 0.0
    return 0.5 * float(share[kept] @ losses[kept])


def _mean_distance(x: Floats, gap: Floats) -> float:
    """Return the mean over x of the absolute value of a function in straight pieces."""
    left, right = np.abs(gap[:-1]), np.abs(gap[1:])
    total = left + right
    apart = gap[:-1] * gap[1:] < 0.0
    # Where the sign changes the area is that of two triangles.
    crossed = np.divide(left**2 + right**2, total, out=np.zeros_like(total), where=total > 0.0)
    height = 0.5 * np.where(apart, crossed, total)
    return float(np.diff(x) @ height / (x[-1] - x[0]))


def read_comparisons(
    y_true: ArrayLike, log10_lr: ArrayLike, sample_weight: ArrayLike | None = None
) -> Comparisons:
    """Return checked comparisons of both classes."""
    positive = as_truth(y_true)
    values = as_reals(log10_lr, "log10_lr")
    if values.ndim != 1:
        raise ValueError(
            f"log10_lr must have shape (n,), one log10 LR a comparison, got {values.shape}."
        )
    check_same_length("y_true", positive.size, "log10_lr", values.size)
    if np.isnan(values).any():
        row = int(np.flatnonzero(np.isnan(values))[0])
        raise ValueError(
            f"log10_lr must hold numbers or infinities, got nan at position {row}: leave out"
            " comparisons without an LR."
        )
    large = np.isfinite(values) & (np.abs(values) > MOST_LR)
    if large.any():
        raise ValueError(
            f"log10_lr must lie within {MOST_LR:g} of 0 or be infinite, got {values[large][0]:g}:"
            " pass base-10 logarithms of LRs."
        )
    weight = as_weights(sample_weight, values.size)
    weight = np.ones(values.size) if weight is None else weight
    for each, name in ((True, "positive"), (False, "negative")):
        if not weight[positive == each].any():
            raise ValueError(
                f"y_true must hold comparisons of both classes, got no {name} one: measures of LRs"
                " compare the two."
            )
    return Comparisons(positive, values, weight)


def warn_of_other_units(compared: Comparisons) -> None:
    """Warn of LRs that are no logarithms, and of numbers that are better as natural logarithms."""
    if compared.log10_lr.min() >= 0.0 and compared.log10_lr.max() > 0.0:
        warn_user(
            "log10_lr holds no negative number, so that no LR supports the negative proposition:"
            " pass numpy.log10 of LRs."
        )
        return
    as_natural = Comparisons(compared.positive, compared.log10_lr / LN10, compared.weight)
    before, after = compared.cllr(), as_natural.cllr()
    if before - after > NATURAL_GAIN:
        warn_user(
            f"log10_lr may hold natural logarithms: Cllr is {before:.4g}, and {after:.4g} if they"
            " are. Divide them by numpy.log(10) if so."
        )


def cllr(
    y_true: ArrayLike, log10_lr: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the log-likelihood-ratio cost.

    Cllr = 1/2 [mean over positives of log2(1 + 1/LR) + mean over negatives of log2(1 + LR)], in
    bits. It is 1 for LR = 1 always, smaller for LRs that inform, and infinite if an LR of 0 or
    infinity is wrong.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        True for comparisons of the positive proposition, such as "same source"; booleans, 0 and 1,
        or -1 and 1.
    log10_lr : array-like of shape (n,)
        Base-10 logarithms of likelihood ratios, possibly infinite. A warning is shown if no number
        is negative, or if Cllr would fall by more than 0.05 with natural logarithms.
    sample_weight : array-like of shape (n,), optional
        Weights of comparisons within their class.

    References
    ----------
    N. Brümmer and J. du Preez, *Application-independent evaluation of speaker detection*, Computer
    Speech and Language 20, 2006, equation 13.

    Examples
    --------
    >>> cllr([1, 1, 0, 0], [1.0, 2.0, -1.0, -2.0])
    0.0759...
    """
    compared = read_comparisons(y_true, log10_lr, sample_weight)
    warn_of_other_units(compared)
    return compared.cllr()


def min_cllr(
    y_true: ArrayLike, log10_lr: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return Cllr after the best monotone recalibration: the cost of imperfect discrimination.

    Isotonic regression of the labels, with the same total weight for both classes, turns log10_lr
    into other LRs in the same order (pool adjacent violators, PAV). Cllr minus this is the cost of
    imperfect calibration.

    Parameters
    ----------
    y_true, log10_lr, sample_weight
        As in `cllr`, section 8 of whose reference is the source.

    Examples
    --------
    >>> min_cllr([1, 1, 0, 0], [1.0, 2.0, -1.0, -2.0])
    0.0
    """
    return read_comparisons(y_true, log10_lr, sample_weight).min_cllr()


def devpav(
    y_true: ArrayLike, log10_lr: ArrayLike, *, sample_weight: ArrayLike | None = None
) -> float:
    """Return the mean distance between stated LRs and isotonic regression's.

    The mean over x = log10 LR of |PAV(x) - x|, from the first to the last comparison with a finite
    PAV value; PAV is linear between comparisons. It is infinite if PAV is finite where x is
    infinite, and nan if PAV has no finite value (the classes are separate).

    Parameters
    ----------
    y_true, log10_lr, sample_weight
        As in `cllr`.

    References
    ----------
    P. Vergeer, I. Alberink, M. Sjerps and R. Ypma, *Why calibrating LR-systems is best practice*,
    Forensic Science International 321, 2021.

    Examples
    --------
    >>> devpav([1, 0, 1, 0], [2.0, 1.0, -1.0, -2.0])
    0.5
    """
    return read_comparisons(y_true, log10_lr, sample_weight).devpav()


def empirical_cross_entropy(
    y_true: ArrayLike,
    log10_lr: ArrayLike,
    log10_prior_odds: ArrayLike = 0.0,
    *,
    sample_weight: ArrayLike | None = None,
) -> Any:
    """Return the empirical cross-entropy of posterior probabilities at given prior odds, in bits.

    With prior odds 10^t and pi = 10^t / (1 + 10^t) it is pi times the mean over positives of
    log2(1 + 1/(LR 10^t)), plus (1 - pi) times the mean over negatives of log2(1 + LR 10^t). At
    t = 0 it is Cllr.

    Parameters
    ----------
    y_true, log10_lr, sample_weight
        As in `cllr`.
    log10_prior_odds : float or array-like
        t, base-10 logarithms of prior odds of the positive proposition, as many as results.

    References
    ----------
    D. Ramos, J. Gonzalez-Rodriguez, G. Zadora and C. Aitken, *Information-theoretical assessment of
    the performance of likelihood ratio computation methods*, Journal of Forensic Sciences 58, 2013.

    Examples
    --------
    >>> empirical_cross_entropy([1, 1, 0, 0], [0.0, 0.0, 0.0, 0.0])
    1.0
    """
    compared = read_comparisons(y_true, log10_lr, sample_weight)
    odds = read_odds(log10_prior_odds)
    entropy = np.array([cross_entropy(compared, t) for t in odds.ravel().tolist()])
    return float(entropy[0]) if odds.ndim == 0 else entropy.reshape(odds.shape)


def read_odds(log10_prior_odds: ArrayLike) -> Floats:
    """Return checked base-10 logarithms of prior odds."""
    odds = as_reals(log10_prior_odds, "log10_prior_odds")
    # Written so that nan fails too.
    wrong = ~(np.abs(odds) <= MOST_ODDS)
    if wrong.any():
        raise ValueError(
            f"log10_prior_odds must lie within {MOST_ODDS:g} of 0, got {odds[wrong][0]:g}."
        )
    return odds


def cross_entropy(compared: Comparisons, log10_odds: float) -> float:
    """Return the empirical cross-entropy at one prior."""
    prior = 1.0 / (1.0 + 10.0**-log10_odds)
    weight = compared.share * np.where(compared.positive, prior, 1.0 - prior)
    kept = weight > 0.0
    return float(weight[kept] @ compared.losses_at(log10_odds)[kept])
