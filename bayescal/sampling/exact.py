"""Limits without a model: counts in finite collections, sums over strata, and shares of these.

If k of n documents, drawn at random from N, are positive, the exact limits of the number K of
positives are by the hypergeometric distribution: all K with P(k or more) and P(k or fewer) above
(1 - level)/2. If reviewers err at known rates, k is the sum of two binomial counts given the
positives in the sample, noticed positives and mistaken negatives. Intervals of independent counts
are combined by MOVER (G. Y. Zou and A. Donner, *Construction of confidence limits about effect
measures*, Statistics in Medicine 27, 2008), which adds the squared distances of limits from their
estimates.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special, stats

from bayescal.support import validation
from bayescal.support.intervals import Interval
from bayescal.support.validation import Floats, as_reals

MOST_DOCUMENTS = 10**9  # tails of the hypergeometric distribution take time in proportion

# The share of positives that reviewers label negative, and of negatives that they label positive.
ReviewerError = tuple[float, float]
NO_ERROR: ReviewerError = (0.0, 0.0)


def count_limits(
    positives: int,
    sampled: int,
    documents: int,
    level: float = 0.9,
    *,
    sequential: bool = False,
    reviewer_error: ReviewerError = NO_ERROR,
) -> Interval:
    """Return limits of the number of positives among documents, from a simple random sample.

    Parameters
    ----------
    positives, sampled, documents : int
        Documents labelled positive k, among n sampled ones, out of N.
    level : float
        The coverage of the interval is at least this for every N, n and true count; each end alone
        fails with probability (1 - level)/2 at most.
    sequential : bool
        Whether the limits hold after all numbers of labels at once, so that the sample may grow.
        They are the counts K with (n + 1) p(k | K) > 1 - level, the ratio of a uniform prior's
        posterior to the prior. They need labels without error.
    reviewer_error : (float, float)
        The share of positives that reviewers label negative, and the share of negatives that they
        label positive, taken as known, with independent errors. The limits are of the true count.

    References
    ----------
    I. Waudby-Smith and A. Ramdas, *Confidence sequences for sampling without replacement*, NeurIPS
    2020, equation 5.

    Examples
    --------
    >>> count_limits(2, 600, 28_000)
    Interval(value=93.33333333333333, lower=17.0, upper=290.0, level=0.9)
    >>> count_limits(2, 600, 28_000, sequential=True).upper
    603.0
    >>> count_limits(2, 600, 28_000, reviewer_error=(0.2, 0.0)).upper
    363.0
    """
    check_counts(positives, sampled, documents)
    validation.check_fraction(level=level)
    validation.check_flag(sequential=sequential)
    missed, mistaken = as_reviewer_error(reviewer_error)
    errs = (missed, mistaken) != NO_ERROR
    if errs and sequential:
        raise ValueError("sequential limits need labels without error: leave out reviewer_error.")
    if sampled == 0:
        return Interval(documents / 2.0, 0.0, float(documents), level)
    value = (positives - mistaken * sampled) * documents / (sampled * (1.0 - missed - mistaken))
    if sequential:
        # p(k | K) rises in K up to the likeliest count, and falls beyond.
        mode = min(positives * (documents + 1) // sampled, documents - sampled + positives)
        least = math.log1p(-level) - math.log(sampled + 1)

        def inside(count: int) -> bool:
            chance = stats.hypergeom.logpmf(positives, documents, count, sampled)
            return bool(chance > least)

        lower = _first(mode, lambda count: count == mode or inside(count))
        upper = documents - _first(documents - mode, lambda less: inside(documents - less))
        return Interval(value, float(lower), float(upper), level)
    tail = (1.0 - level) / 2.0
    if errs:
        at_least, at_most = _erring_tails(positives, sampled, documents, missed, mistaken)
    else:
        at_least = partial(_tail, stats.hypergeom.sf, positives - 1, sampled, documents)
        at_most = partial(_tail, stats.hypergeom.cdf, positives, sampled, documents)
    lower = _first(documents, lambda count: tail < at_least(count))
    upper = documents - _first(documents, lambda less: tail < at_most(documents - less))
    return Interval(float(min(max(value, lower), upper)), float(lower), float(upper), level)


def as_reviewer_error(reviewer_error: ReviewerError) -> ReviewerError:
    """Return the checked shares of missed positives and of mistaken negatives."""
    pair = as_reals(reviewer_error, "reviewer_error")
    if pair.shape != (2,) or not ((pair >= 0.0).all() and pair.sum() < 1.0):
        raise ValueError(
            "reviewer_error must be the share of positives that reviewers label negative, and of"
            f" negatives that they label positive, from 0 on and below 1 together, got"
            f" {reviewer_error!r}."
        )
    return float(pair[0]), float(pair[1])


def _erring_tails(
    positives: int, sampled: int, documents: int, missed: float, mistaken: float
) -> tuple[Callable[[int], float], Callable[[int], float]]:
    """Return P(as many positive labels or more) and P(as many or fewer) as functions of K."""
    drawn = np.arange(sampled + 1)  # true positives in the sample
    noticed = np.arange(positives + 1)[:, None]
    p = stats.binom.pmf(noticed, drawn, 1.0 - missed)
    rest = positives - noticed
    most, fewer = (
        np.sum(p * stats.binom.cdf(up_to, sampled - drawn, mistaken), axis=0)
        for up_to in (rest, rest - 1)
    )

    def log_choose(n: int, k: NDArray[np.intp]) -> Floats:
        """Return log binomial coefficients, -inf outside of 0 to n: `hypergeom.pmf` is slow."""
        inside = (k >= 0) & (k <= n)
        k = np.where(inside, k, 0)
        log = special.gammaln(n + 1) - special.gammaln(k + 1) - special.gammaln(n - k + 1)
        return np.where(inside, log, -np.inf)

    def given(count: int) -> Floats:
        log = log_choose(count, drawn) + log_choose(documents - count, sampled - drawn)
        return np.asarray(special.softmax(log))

    return lambda count: float(given(count) @ (1.0 - fewer)), lambda count: float(
        given(count) @ most
    )


def check_whole(**numbers: Any) -> None:
    """Raise ValueError unless every named number is a whole one from 0 on."""
    for name, value in numbers.items():
        whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
        if not whole or not 0 <= value <= MOST_DOCUMENTS:
            raise ValueError(
                f"{name} must be a whole number from 0 to {MOST_DOCUMENTS:,}, got {value!r}."
            )


def check_counts(positives: int, sampled: int, documents: int) -> None:
    """Raise ValueError unless 0 <= positives <= sampled <= documents, all whole numbers."""
    check_whole(positives=positives, sampled=sampled, documents=documents)
    if not positives <= sampled <= documents:
        raise ValueError(
            "positives must be at most sampled, and sampled at most documents, got positives"
            f" {positives}, sampled {sampled} and documents {documents}."
        )


def _tail(tail: Any, positives: int, sampled: int, documents: int, count: int) -> float:
    """Return a tail probability of the positives in a sample, given those among all documents."""
    return float(tail(positives, documents, count, sampled))


def _first(most: int, holds: Callable[[int], bool]) -> int:
    """Return the smallest number from 0 to `most` for which a monotone condition holds."""
    return bisect_left(range(most), True, key=holds)


def sum_limits(parts: Sequence[Interval]) -> Interval:
    """Return the limits of a sum of independent counts, by MOVER; exact for a single one."""
    value = math.fsum(part.value for part in parts)
    below = math.sqrt(math.fsum((part.value - part.lower) ** 2 for part in parts))
    above = math.sqrt(math.fsum((part.upper - part.value) ** 2 for part in parts))
    if len(parts) == 1:
        return parts[0]
    least, most = (
        math.fsum(ends) for ends in zip(*((p.lower, p.upper) for p in parts), strict=True)
    )
    level = parts[0].level if parts else math.nan
    return Interval(value, max(value - below, least), min(value + above, most), level)


def share_limits(part: Interval, rest: Interval) -> Interval:
    """Return the limits of a share a / (a + b) from the limits of two independent counts, by MOVER.

    At its lower and upper limit q, (1 - q) a - q b has the lower and the upper limit 0.
    """
    a, b = part.value, rest.value
    if part.upper + rest.upper <= 0.0 or a + b <= 0.0:
        return Interval(math.nan, 0.0, 1.0, part.level)

    def low(q: float) -> float:
        away = math.hypot((1.0 - q) * (a - part.lower), q * (rest.upper - b))
        return (1.0 - q) * a - q * b - away

    def high(q: float) -> float:
        away = math.hypot((1.0 - q) * (part.upper - a), q * (b - rest.lower))
        return (1.0 - q) * a - q * b + away

    value = a / (a + b)
    lower = _root(low, 0.0, value) if low(0.0) > 0.0 else 0.0
    upper = _root(high, value, 1.0) if high(1.0) < 0.0 else 1.0
    return Interval(value, lower, upper, part.level)


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Return the root of a falling function, or an end if rounding hides the change of sign."""
    if function(high) >= 0.0:
        return high
    if function(low) <= 0.0:
        return low
    return float(optimize.brentq(function, low, high, xtol=1e-12))


@dataclass(frozen=True)
class Elusion:
    """Intervals of the positives among unread documents, from a random sample of them.

    Attributes
    ----------
    rate, missed : Interval
        The share and the number of positives among the unread documents.
    recall : Interval
        found / (found + missed).
    level : float
        Coverage of each interval.
    """

    rate: Interval
    missed: Interval
    recall: Interval
    level: float


def elusion(
    documents: int,
    sampled: int,
    positives: int,
    found: int,
    level: float = 0.9,
    *,
    sequential: bool = False,
) -> Elusion:
    """Return the elusion rate of unread documents, the positives missed, and recall.

    Parameters
    ----------
    documents, sampled, positives : int
        Unread documents, how many of them were drawn at random and read, and positives among these.
    found : int
        Positives among the documents that the review read.
    level, sequential
        As in `count_limits`, whose limits of the number missed determine all others.

    Examples
    --------
    >>> result = elusion(documents=28_000, sampled=600, positives=2, found=240)
    >>> result.missed.upper, round(result.recall.lower, 3)
    (290.0, 0.453)
    """
    check_whole(found=found)
    if documents == 0:
        raise ValueError("documents must be positive, got 0: all documents are read.")
    missed = count_limits(positives, sampled, documents, level, sequential=sequential)
    recall = Interval(
        found / (found + missed.value) if found + missed.value else math.nan,
        found / (found + missed.upper) if found + missed.upper else 0.0,
        found / (found + missed.lower) if found + missed.lower else 1.0,
        level,
    )
    return Elusion(missed / documents, missed, recall, level)


@dataclass(frozen=True)
class ElusionSize:
    """A sample of unread documents that can certify a recall.

    Attributes
    ----------
    sampled : int
        Documents to draw at random.
    allowed : int
        Largest number of positives among them that certifies the recall.
    most_missed : int
        Largest number of positives among all unread documents at which the recall is reached.
    power : float
        Probability that the sample certifies the recall if `expected` positives were missed, nan
        without.
    """

    sampled: int
    allowed: int
    most_missed: int
    power: float


def elusion_size(
    documents: int,
    found: int,
    recall: float,
    assurance: float = 0.95,
    *,
    expected: int | None = None,
    power: float = 0.8,
) -> ElusionSize:
    """Return the size of a sample of unread documents that can certify a recall.

    The recall is certified if P(k or fewer in the sample | most_missed + 1) <= 1 - assurance, so
    that few positives in the sample are improbable if more were missed than the recall allows.

    Parameters
    ----------
    documents : int
        Unread documents.
    found : int
        Positives that the review found.
    recall : float
        The recall to certify.
    assurance : float
        A recall that was not reached is certified with probability 1 - assurance at most.
    expected : int, optional
        Expected positives among the unread documents. The sample is then the smallest that
        certifies the recall with probability `power` if there are so many. By default it may hold
        no positive.
    power : float
        See `expected`.

    Raises
    ------
    ValueError
        If an argument is not as described, or no sample smaller than all unread documents can
        certify the recall.

    Examples
    --------
    >>> elusion_size(documents=28_000, found=240, recall=0.8).sampled
    1341
    >>> elusion_size(documents=28_000, found=240, recall=0.8, expected=20)
    ElusionSize(sampled=4025, allowed=4, most_missed=60, power=0.8507)
    """
    check_whole(documents=documents, found=found)
    if expected is not None:
        check_whole(expected=expected)
    validation.check_fraction(recall=recall, assurance=assurance, power=power)
    # Shares are quotients of whole numbers: 0.8 of 5 is 4.
    most = math.floor(found / recall - found + 1e-9)
    if most >= documents:
        raise ValueError(
            f"the recall is reached whatever the {documents} unread documents hold: with"
            f" {found} positives found, {most} may be missed."
        )
    if expected is not None and expected > most:
        raise ValueError(
            f"expected must be at most {most}, the positives that a recall of {recall:g} allows to"
            f" be missed with {found} found, got {expected}: read more documents first."
        )
    allowed, risk = 0, 1.0 - assurance
    while True:
        sampled = _smallest_sample(documents, most + 1, allowed, risk)
        if expected is None:
            return ElusionSize(sampled, allowed, most, math.nan)
        reached = _tail(stats.hypergeom.cdf, allowed, sampled, documents, expected)
        if reached >= power:
            return ElusionSize(sampled, allowed, most, round(reached, 4))
        allowed += 1


def _smallest_sample(documents: int, count: int, allowed: int, risk: float) -> int:
    """Return the smallest sample with P(allowed or fewer of `count` positives) <= risk."""
    few = partial(_tail, stats.hypergeom.cdf, allowed)
    return _first(documents, lambda n: few(n, documents, count) <= risk)
