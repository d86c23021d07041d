"""Agreement of two reviewers of the same documents, and of a judge's scores with people."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.sampling.design import SamplingUnits, as_partial_labels, as_threshold
from bayescal.sampling.rank_curve import DRAWS
from bayescal.sampling.rates import read_labels, spread_of_labels
from bayescal.support import validation
from bayescal.support.intervals import Interval, percent
from bayescal.support.validation import Floats

STRATA, STEPS, RESAMPLES = 4, 300, 200  # groups of scores, steps of EM, bootstrap resamples
FEWEST, PRIOR = 20, 0.25  # documents with two labels; further ones in each cell of the bootstrap


@dataclass(frozen=True)
class ReviewerAgreement:
    """The agreement of two reviewers.

    Attributes
    ----------
    both : int
        Documents with a label of each.
    conflicts : array of int
        Positions of the documents on which they differ.
    kappa : float
        Cohen's kappa.
    missed, mistaken : Interval
        The share of positives that the first reviewer labels negative, and of negatives that the
        first one labels positive, for `reviewer_error` of `estimate_recall`.
    """

    both: int
    conflicts: NDArray[np.intp]
    kappa: float
    missed: Interval
    mistaken: Interval

    @property
    def text(self) -> str:
        """Return the agreement and the errors in words."""
        return (
            f"The reviewers differ on {self.conflicts.size:,} of {self.both:,} documents, Cohen's"
            f" kappa {self.kappa:.2f}. The first one misses {self.missed:.1%} of positives and"
            f" mistakes {self.mistaken:.1%} of negatives, if the two err independently and as often"
            " at all scores."
        )


def compare_reviewers(
    scores: ArrayLike,
    first: ArrayLike,
    second: ArrayLike,
    *,
    level: float = 0.9,
    random_state: Any = 0,
) -> ReviewerAgreement:
    """Return the agreement of two reviewers, and the errors of the first, without a third opinion.

    Reviewers err independently of each other, and equally often at all scores. In four groups of
    scores, each with a share of positives of its own, their answers then determine the errors of
    both (Hui and Walter 1980). Estimates are of maximum likelihood, intervals from a Bayesian
    bootstrap that adds a quarter of a document to each pair of answers in each group.

    Parameters
    ----------
    scores : array-like of shape (documents,)
        Raw scores.
    first, second : array-like of shape (documents,)
        Labels of either reviewer: 1, 0, or nan where there is none.
    level : float
        Level of the intervals.
    random_state : int, Generator, RandomState or None
        Seeds the bootstrap.

    Raises
    ------
    ValueError
        If fewer than 20 documents have two labels.

    References
    ----------
    S. L. Hui and S. D. Walter, *Estimating the error rates of diagnostic tests*, Biometrics 1980.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(5_000) < 0.3
    >>> first, second = (np.where(rng.random(5_000) < 0.1, ~positive, positive) for _ in range(2))
    >>> found = compare_reviewers(positive + rng.normal(size=5_000), first, second)
    >>> print(f"{found.missed:.2f}")
    0.08 (0.05 to 0.11)
    """
    validation.check_fraction(level=level)
    values = validation.as_scores(scores)
    labels = [
        as_partial_labels(each, values.size, name)
        for each, name in ((first, "first"), (second, "second"))
    ]
    rows = np.flatnonzero(~np.isnan(labels[0] + labels[1]))
    if rows.size < FEWEST:
        raise ValueError(
            f"first and second must share {FEWEST} labelled documents or more, got {rows.size}."
        )
    from sklearn.metrics import cohen_kappa_score

    one, two = (each[rows].astype(np.intp) for each in labels)
    edges = np.quantile(values[rows], np.arange(1, STRATA) / STRATA)
    stratum = np.searchsorted(edges, values[rows], side="right")
    cells = np.bincount(4 * stratum + 2 * one + two, minlength=4 * STRATA)
    rng = validation.generator(random_state)
    # Reviewers who never differ among few documents may differ among others.
    draws = _errors(rng.standard_gamma(cells + PRIOR, (RESAMPLES, cells.size)))
    missed, mistaken = (
        Interval.of_draws(drawn, level, value)
        for drawn, value in zip(draws, _errors(cells).tolist(), strict=True)
    )
    kappa = 1.0 if (one == two).all() else float(cohen_kappa_score(one, two))
    return ReviewerAgreement(rows.size, rows[one != two], kappa, missed, mistaken)


def _errors(cells: NDArray[Any]) -> Floats:
    """Return the shares missed and mistaken by the first, (2, ...), of counts by EM."""
    # Resamples come last, where sums over the short axes before them are fast.
    counts = np.ascontiguousarray(cells.reshape(-1, STRATA, 2, 2).transpose(1, 2, 3, 0)) + 1e-9
    truth = np.array([[0.01, 0.5], [0.5, 0.99]])[..., None]  # P(positive | answers)
    for _ in range(STEPS):
        positive = counts * truth
        each = np.stack([counts - positive, positive])  # (truth, stratum, answers, resample)
        one, two = each.sum((1, 3)), each.sum((1, 2))
        total = one.sum(1, keepdims=True)
        one, two = one / total, two / total
        joint = each.sum((2, 3))[:, :, None, None] * one[:, None, :, None] * two[:, None, None]
        truth = joint[1] / joint.sum(0)
    return np.stack([one[1, 0], one[0, 1]]).reshape(2, *cells.shape[:-1])


@dataclass(frozen=True)
class JudgeAgreement:
    """The agreement of a judge's verdicts with people's labels, on the whole collection.

    Attributes
    ----------
    called : float
        Share of the documents that the judge calls positive.
    sensitivity, specificity : Interval
        The share of positives that the judge calls positive, and of negatives that it calls
        negative.
    kappa : Interval
        Cohen's kappa of verdicts and labels.
    """

    called: float
    sensitivity: Interval
    specificity: Interval
    kappa: Interval

    @property
    def text(self) -> str:
        """Return the agreement in words."""
        return (
            f"The judge calls {percent(self.called, 1)} of the documents positive, among them"
            f" {self.sensitivity:.1%} of the positives (sensitivity), and calls"
            f" {self.specificity:.1%} of the negatives negative (specificity). Cohen's kappa is"
            f" {self.kappa:.3f}."
        )


def judge_agreement(
    scores: ArrayLike,
    labels: ArrayLike,
    threshold: float,
    *,
    clusters: ArrayLike | None = None,
    level: float = 0.9,
    random_state: Any = 0,
) -> JudgeAgreement:
    """Return the agreement of a judge's verdicts with people's labels.

    The shares of positives among documents that the judge calls positive and negative have
    Jeffreys' posteriors. With the verdicts on all documents they give the measures of the whole
    collection: values are posterior medians. People's labels count as right.

    Parameters
    ----------
    scores, labels, clusters
        As in `estimate_rate`; labels are 1, 0 or nan. The labelled documents must be a simple
        random sample, or one of each verdict.
    threshold : float
        The judge calls documents of at least this score positive: 1 if its scores are labels.
    level : float
        Probability of the intervals.
    random_state : int, Generator, RandomState or None
        Seeds the posterior draws.

    Raises
    ------
    ValueError
        If an argument is not as described, or all documents have the same verdict.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(2)
    >>> good = rng.random(5_000) < 0.7
    >>> points = rng.binomial(10, np.where(good, 0.8, 0.5))
    >>> labels = np.where(np.arange(5_000) < 200, good, np.nan)
    >>> found = judge_agreement(points, labels, 7)
    >>> print(f"{found.sensitivity:.2f}; {np.mean(points[good] >= 7):.2f}")
    0.87 (0.82 to 0.90); 0.88
    """
    validation.check_fraction(level=level)
    values, known, cluster = read_labels(scores, labels, clusters)
    as_partial_labels(labels, values.size)
    units = SamplingUnits.of(values, known, None)
    positive = units.above(as_threshold(threshold, needed=True))
    called = float(positive.mean())
    if called in (0.0, 1.0):
        raise ValueError(
            f"threshold must divide the scores, which go from {values.min():g} to"
            f" {values.max():g}, got {threshold!r}."
        )
    own = np.flatnonzero(~np.isnan(known))
    y, verdict = known[own], positive[own].astype(np.intp)
    n, k = np.bincount(verdict, minlength=2), np.bincount(verdict, y, 2)
    expected = ((k + 0.5) / (n + 1.0))[verdict]
    factor, _ = spread_of_labels(y, expected[None], cluster[own])
    rng = validation.generator(random_state)
    p = rng.beta(k / factor + 0.5, (n - k) / factor + 0.5, (DRAWS, 2))
    # Shares of all documents: positives that the judge calls negative, and positive.
    missed, found = (p * [1.0 - called, called]).T
    rate = missed + found
    chance = rate * called + (1.0 - rate) * (1.0 - called)
    drawn = (
        found / rate,
        1.0 - (called - found) / (1.0 - rate),
        (1.0 - called - missed + found - chance) / (1.0 - chance),
    )
    intervals = [Interval.of_draws(each, level, float(np.median(each))) for each in drawn]
    return JudgeAgreement(called, *intervals)
