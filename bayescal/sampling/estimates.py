"""Recall, precision and the share of positives of a collection of which a sample is labelled.

Each estimate has an interval that needs no model, from the random draw alone, and three that rest
on a curve along the score. All count a finite collection: known labels are not drawn again.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.sampling.design import as_partial_labels, as_threshold
from bayescal.sampling.exact import NO_ERROR, ReviewerError, as_reviewer_error
from bayescal.sampling.four_intervals import EstimateOptions, ReviewEstimate, estimate_of_labels
from bayescal.sampling.hidden import hull_of
from bayescal.sampling.plans import Design, as_design
from bayescal.support import validation
from bayescal.support.intervals import Interval

MISSING = ("error", "bounds")


def estimate_recall(
    scores: ArrayLike,
    labels: ArrayLike,
    threshold: float,
    *,
    design: Design = (),
    level: float = 0.9,
    hidden: Any = "vague",
    groups: ArrayLike | None = None,
    out_of_sample: bool = True,
    missing: str = "error",
    simultaneous: bool = False,
    reviewer_error: ReviewerError = NO_ERROR,
    random_state: Any = 0,
) -> ReviewEstimate:
    """
    Return the share of a collection's positives at or above a threshold.

    The design-based interval is that of the plan with the most labels, given earlier labels and
    without later ones. `count_limits` has exact limits in each stratum, above and below the
    threshold. For a plan with one stratum, no earlier label and no reviewer error, k of m labelled
    positives above the threshold have Clopper-Pearson limits.

    Parameters
    ----------
    scores : array-like of shape (documents,)
        Raw scores of the whole collection, larger for likelier positives.
    labels : array-like of shape (documents,)
        1, 0, or nan where missing.
    threshold : float
        Documents of this score and above are taken.
    design : SamplePlan, several, or array-like of shape (documents,)
        The plans of the labels; labels in no plan are counted as known, and left out of the
        likelihood. Or, for a design without plans, each document's probability to be drawn:
        documents of one probability form a stratum. Without a design there is no design-based
        interval, and the curve is fitted to all labels, which must be chosen by score or at random.
    level : float
        Level of the intervals.
    hidden : {"vague", "learned", 0} or (a, b)
        The prior of the share of hidden positives: "vague" is Beta(1, 2), "learned" Beta(1, 52),
        learned from Reuters-21578; a pair is another beta, as from `learn_hidden`; 0 means that
        none are hidden.
    groups : array-like of shape (documents,), optional
        Families of near duplicates, which count as one, positive if one of them is.
    out_of_sample : bool
        False if the classifier was trained on the labelled documents. Their labels are then counted
        as known, but no curve is fitted to them.
    missing : {"error", "bounds"}
        Planned documents without a label are an error, or each interval is the hull of two, with
        all of them positive and all negative.
    simultaneous : bool
        Whether the intervals hold for all thresholds at once, so that the threshold may be chosen
        after the labels.
    reviewer_error : (float, float)
        The share of positives that reviewers label negative, and of negatives that they label
        positive, taken as known. Recall is of true positives.
    random_state : int, Generator, RandomState or None
        Seeds the posterior draws.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.sampling import plan_sample
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(2_000) < 0.1
    >>> scores = rng.normal(size=2_000) + 2.5 * positive
    >>> plan = plan_sample(scores, 300, threshold=1.5, random_state=7)
    >>> labels = np.where(np.isin(np.arange(2_000), plan.documents), positive, np.nan)
    >>> result = estimate_recall(scores, labels, 1.5, design=plan)
    >>> result.method, bool(result.lower < np.mean(scores[positive] >= 1.5) < result.upper)
    ('design', True)
    """
    at = as_threshold(threshold, needed=True)
    error = as_reviewer_error(reviewer_error)
    options = EstimateOptions(
        design, level, hidden, groups, out_of_sample, missing, simultaneous, error, random_state
    )
    return _estimate("recall", scores, labels, at, options)


def estimate_precision(
    scores: ArrayLike,
    labels: ArrayLike,
    threshold: float,
    *,
    design: Design = (),
    level: float = 0.9,
    hidden: Any = "vague",
    groups: ArrayLike | None = None,
    out_of_sample: bool = True,
    missing: str = "error",
    simultaneous: bool = False,
    reviewer_error: ReviewerError = NO_ERROR,
    random_state: Any = 0,
) -> ReviewEstimate:
    """
    Return the share of positives among documents at or above a threshold.

    Parameters
    ----------
    scores, labels, threshold, design, level, hidden, groups, out_of_sample, missing
        As in `estimate_recall`; the threshold must take a document.
    simultaneous, reviewer_error, random_state
        As in `estimate_recall`.
    """
    at = as_threshold(threshold, needed=True)
    error = as_reviewer_error(reviewer_error)
    options = EstimateOptions(
        design, level, hidden, groups, out_of_sample, missing, simultaneous, error, random_state
    )
    return _estimate("precision", scores, labels, at, options)


def estimate_prevalence(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    design: Design = (),
    level: float = 0.9,
    hidden: Any = "vague",
    groups: ArrayLike | None = None,
    out_of_sample: bool = True,
    missing: str = "error",
    reviewer_error: ReviewerError = NO_ERROR,
    random_state: Any = 0,
) -> ReviewEstimate:
    """
    Return the share of positives in the collection.

    Parameters
    ----------
    scores, labels, design, level, hidden, groups, out_of_sample, missing
        As in `estimate_recall`.
    reviewer_error, random_state
        As in `estimate_recall`.
    """
    error = as_reviewer_error(reviewer_error)
    options = EstimateOptions(
        design, level, hidden, groups, out_of_sample, missing, False, error, random_state
    )
    return _estimate("prevalence", scores, labels, None, options)


def _estimate(
    of: str, scores: ArrayLike, labels: ArrayLike, threshold: float | None, options: EstimateOptions
) -> ReviewEstimate:
    values = validation.as_scores(scores)
    known = as_partial_labels(labels, values.size)
    validation.check_fraction(level=options.level)
    validation.check_choice("missing", options.missing, MISSING)
    validation.check_flag(out_of_sample=options.out_of_sample, simultaneous=options.simultaneous)
    plans, inclusion = as_design(options.design, values)
    planned = np.concatenate([plan.documents for plan in plans] or [np.empty(0, np.intp)])
    unlabelled = planned[np.isnan(known[planned])]
    if unlabelled.size and options.missing == "error":
        raise ValueError(
            f"labels must hold a label of each planned document, {unlabelled.size:,} of"
            f" {planned.size:,} have none: label them, or pass missing='bounds' (in a shell"
            " --missing-bounds) to take all of them for positive and for negative."
        )
    results = []
    for filling in (0.0, 1.0) if unlabelled.size else (0.0,):
        filled = known.copy()
        filled[unlabelled] = filling
        results.append(estimate_of_labels(of, values, filled, threshold, plans, inclusion, options))
    low, high = results[0], results[-1]
    if low is high:
        return low
    note = f"{unlabelled.size:,} planned documents have no label: intervals are hulls."
    hulls: dict[str, Any] = {"design_based": None} | {
        name: hull_of(one, other)
        for name, other in vars(high).items()
        if isinstance(other, Interval) and (one := getattr(low, name)) is not None
    }
    first = hulls["design_based"] or hulls["robust"]
    ends = {"value": first.value, "lower": first.lower, "upper": first.upper}
    return replace(high, **ends, **hulls, notes=(*high.notes, note))
