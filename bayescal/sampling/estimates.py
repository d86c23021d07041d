"""Recall, precision and the share of positives of a collection of which a sample is labelled.

Each estimate has an interval that needs no model, from the random draw alone, and three that rest
on a curve along the score. All count a finite collection: known labels are not drawn again.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from bayescal.sampling.exact import Limits, count_limits, share_limits, sum_limits
from bayescal.sampling.hidden import HiddenCurves, hull_of, posterior_limits
from bayescal.sampling.plans import (
    SamplePlan,
    SamplingUnits,
    as_partial_labels,
    as_plans,
    as_threshold,
)
from bayescal.support import score_checks, validation
from bayescal.support.validation import Floats

DESIGN, HULL = "design", "hull"
CONFLICT = 0.05  # a probability of the elusion positives that is worth a note
MISSING = ("error", "bounds")


@dataclass(frozen=True)
class ReviewEstimate:
    """
    Recall, precision or the share of positives, with four intervals.

    Attributes
    ----------
    of : {"recall", "precision", "prevalence"}
        What is estimated.
    value, lower, upper : float
        The answer to state first: `design_based` if the labels are of a plan, else `robust`.
    method : {"design", "hull"}
        Which of the two that is.
    level : float
        Level of all intervals.
    design_based : Limits or None
        From the random draw alone: exact limits in each stratum, combined by MOVER; None without a
        plan. It assumes that the plan was followed and the labels are right.
    robust : Limits
        The outer ends of `without_hidden` and `with_hidden`; the value is the latter's mean.
    without_hidden : Limits
        Posterior if no positives are hidden: P(positive | score) rises with the score, except at
        the very top.
    with_hidden : Limits
        Posterior if a share of positives, unknown before the labels, has scores like negatives.
    positives : Limits
        Positives in the collection, by the hull.
    missed : Limits
        Positives below the threshold, by the hull.
    hidden : Limits
        Share of positives that are hidden, by `with_hidden`.
    found : int
        Positives that are labelled.
    conflict : float
        P(as many positives among the labelled documents of the lowest 70 %, or more) by a curve
        without hidden positives, fitted to all other labels; nan if none of them is labelled. Below
        .05 doubt such a curve.
    threshold : float or None
        Documents of this score and above are taken.
    notes : tuple of str
        What the reader of the numbers should know.
    """

    of: str
    value: float
    lower: float
    upper: float
    method: str
    level: float
    design_based: Limits | None
    robust: Limits
    without_hidden: Limits
    with_hidden: Limits
    positives: Limits
    missed: Limits
    hidden: Limits
    found: int
    conflict: float
    threshold: float | None
    notes: tuple[str, ...]


def estimate_recall(
    scores: ArrayLike,
    labels: ArrayLike,
    threshold: float,
    *,
    design: SamplePlan | Iterable[SamplePlan] = (),
    level: float = 0.9,
    hidden: Any = "vague",
    groups: ArrayLike | None = None,
    out_of_sample: bool = True,
    missing: str = "error",
    looked_at: int = 1,
    random_state: Any = 0,
) -> ReviewEstimate:
    """
    Return the share of a collection's positives that have a score or a larger one.

    Parameters
    ----------
    scores : array-like of shape (documents,)
        Raw scores of the whole collection, larger for likelier positives.
    labels : array-like of shape (documents,)
        1 or 0, nan where there is no label.
    threshold : float
        Documents of this score and above are taken.
    design : SamplePlan or several
        The plans of the labels. Documents with a label that are in no plan are counted as known,
        and left out of the likelihood. Without plans the curve is fitted to all labels, which has
        to mean that they were chosen by score or at random, and there is no design-based interval.
    level : float
        Level of the intervals.
    hidden : {"vague", 0} or (a, b)
        The prior of the share of hidden positives: "vague" is Beta(1, 2); a pair is another beta,
        such as one that you know from earlier reviews; 0 means that none are hidden.
    groups : array-like of shape (documents,), optional
        Families of near duplicates, which count as one, positive if one of them is.
    out_of_sample : bool
        False if the classifier was trained on the labelled documents. Their labels are then known
        and counted, but no curve is fitted to them, and the hull is that of no labels.
    missing : {"error", "bounds"}
        Planned documents without a label are an error, or each interval is the hull of two, with
        all of them positive and all negative.
    looked_at : int
        How many thresholds were looked at with these labels: each interval's error is divided by
        that number (Bonferroni), so that all of them hold at once.
    random_state : int, Generator, RandomState or None
        Seeds the posterior draws.

    Raises
    ------
    ValueError
        If an argument is not as described, or a plan is of other scores.

    Notes
    -----
    The design-based interval is that of the plan with the most labels. Earlier labels are known;
    those of later plans do not count, because the plan did not draw them. In each stratum, above
    and below the threshold, `count_limits` gives exact limits. For a plan with one stratum and no
    earlier label, k of m labelled positives above the threshold give Clopper-Pearson limits.

    Examples
    --------
    >>> import numpy as np
    >>> from bayescal.sampling import plan_sample
    >>> rng = np.random.default_rng(0)
    >>> positive = rng.random(2_000) < 0.1
    >>> scores = rng.normal(size=2_000) + 2.5 * positive
    >>> plan = plan_sample(scores, 300, threshold=1.5, random_state=7)
    >>> labels = np.full(2_000, np.nan)
    >>> labels[plan.documents] = positive[plan.documents]
    >>> result = estimate_recall(scores, labels, 1.5, design=plan)
    >>> result.method, bool(result.lower < np.mean(scores[positive] >= 1.5) < result.upper)
    ('design', True)
    """
    at = as_threshold(threshold, needed=True)
    options = EstimateOptions(
        design, level, hidden, groups, out_of_sample, missing, looked_at, random_state
    )
    return _estimate("recall", scores, labels, at, options)


def estimate_precision(
    scores: ArrayLike,
    labels: ArrayLike,
    threshold: float,
    *,
    design: SamplePlan | Iterable[SamplePlan] = (),
    level: float = 0.9,
    hidden: Any = "vague",
    groups: ArrayLike | None = None,
    out_of_sample: bool = True,
    missing: str = "error",
    looked_at: int = 1,
    random_state: Any = 0,
) -> ReviewEstimate:
    """
    Return the share of positives among documents of a score and above.

    Parameters
    ----------
    scores, labels, threshold, design, level, hidden, groups, out_of_sample, missing, looked_at
        See `estimate_recall`.
    random_state
        See `estimate_recall`.

    Raises
    ------
    ValueError
        If an argument is not as described, a plan is of other scores, or no document is taken.
    """
    at = as_threshold(threshold, needed=True)
    options = EstimateOptions(
        design, level, hidden, groups, out_of_sample, missing, looked_at, random_state
    )
    return _estimate("precision", scores, labels, at, options)


def estimate_prevalence(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    design: SamplePlan | Iterable[SamplePlan] = (),
    level: float = 0.9,
    hidden: Any = "vague",
    groups: ArrayLike | None = None,
    out_of_sample: bool = True,
    missing: str = "error",
    random_state: Any = 0,
) -> ReviewEstimate:
    """
    Return the share of positives in the collection.

    Parameters
    ----------
    scores, labels, design, level, hidden, groups, out_of_sample, missing, random_state
        See `estimate_recall`.

    Raises
    ------
    ValueError
        If an argument is not as described, or a plan is of other scores.
    """
    options = EstimateOptions(
        design, level, hidden, groups, out_of_sample, missing, 1, random_state
    )
    return _estimate("prevalence", scores, labels, None, options)


@dataclass(frozen=True)
class EstimateOptions:
    """Options that all estimates share; see `estimate_recall`."""

    design: SamplePlan | Iterable[SamplePlan]
    level: float
    hidden: Any
    groups: ArrayLike | None
    out_of_sample: bool
    missing: str
    looked_at: int
    random_state: Any


def _estimate(
    of: str, scores: ArrayLike, labels: ArrayLike, threshold: float | None, options: EstimateOptions
) -> ReviewEstimate:
    values = validation.as_scores(scores)
    known = as_partial_labels(labels, values.size)
    validation.check_fraction(level=options.level)
    validation.check_count("looked_at", options.looked_at)
    validation.check_choice("missing", options.missing, MISSING)
    validation.check_flag(out_of_sample=options.out_of_sample)
    plans = as_plans(options.design, values)
    planned = np.concatenate([plan.documents for plan in plans] or [np.empty(0, np.intp)])
    unlabelled = planned[np.isnan(known[planned])]
    if unlabelled.size and options.missing == "error":
        raise ValueError(
            f"labels must hold a label of each planned document, {unlabelled.size:,} of"
            f" {planned.size:,} have none: label them, or pass missing='bounds' for the hull of all"
            " positive and all negative."
        )
    fillings = (0.0, 1.0) if unlabelled.size else (0.0,)
    results = []
    for filling in fillings:
        filled = known.copy()
        filled[unlabelled] = filling
        results.append(_of_labels(of, values, filled, threshold, plans, options))
    low, high = results[0], results[-1]
    if low is high:
        return low
    note = f"{unlabelled.size:,} planned documents have no label: intervals are hulls."
    design_based = None
    if low.design_based is not None and high.design_based is not None:
        design_based = hull_of(low.design_based, high.design_based)
    robust = hull_of(low.robust, high.robust)
    first = robust if design_based is None else design_based
    return replace(
        high,
        value=first.value,
        lower=first.lower,
        upper=first.upper,
        design_based=design_based,
        robust=robust,
        without_hidden=hull_of(low.without_hidden, high.without_hidden),
        with_hidden=hull_of(low.with_hidden, high.with_hidden),
        positives=hull_of(low.positives, high.positives),
        missed=hull_of(low.missed, high.missed),
        hidden=hull_of(low.hidden, high.hidden),
        notes=(*high.notes, note),
    )


def _of_labels(
    of: str,
    scores: Floats,
    labels: Floats,
    threshold: float | None,
    plans: tuple[SamplePlan, ...],
    options: EstimateOptions,
) -> ReviewEstimate:
    """Return the estimate where every planned document has a label."""
    units = SamplingUnits.of(scores, labels, options.groups)
    level = 1.0 - (1.0 - options.level) / options.looked_at
    above = units.scores >= (-math.inf if threshold is None else threshold)
    if of == "precision" and not above.any():
        raise ValueError(f"threshold must take a document, got {threshold:g}, above all scores.")
    of_plans = np.zeros(units.scores.size, dtype=bool)
    for plan in plans:
        of_plans |= units.mask(plan.documents)
    usable = of_plans if plans else ~np.isnan(units.labels)
    usable = usable & options.out_of_sample
    fitted = np.where(usable, units.labels, np.nan)
    _warn_of_direction(units.scores, fitted)
    rng = validation.generator(options.random_state)
    curves = HiddenCurves.of(units.scores, units.labels, fitted, above, options.hidden, rng)
    measure = MEASURES[of]
    without, with_hidden = (
        posterior_limits(measure(positives, missed, above), level)
        for positives, missed in (curves.without_hidden, curves.with_hidden)
    )
    exact, notes = None, _notes(units, above, of_plans, plans, threshold)
    if plans:
        exact = design_limits(of, units, above, plans, level)
        if exact is None:
            notes.append(
                "The labels do not fit the plan: some documents that no plan names were labelled"
                " before it and some after. There is no design-based interval."
            )
    hull = hull_of(without, with_hidden)
    first = hull if exact is None else exact
    conflict = curves.conflict
    if conflict < CONFLICT:
        notes.append(
            "Deep in the ranking there are more positives than a curve without hidden ones explains"
            f" (probability {conflict:.2g}): rely on the design-based interval."
        )
    return ReviewEstimate(
        of=of,
        value=first.value,
        lower=first.lower,
        upper=first.upper,
        method=HULL if exact is None else DESIGN,
        level=options.level,
        design_based=exact,
        robust=hull,
        without_hidden=without,
        with_hidden=with_hidden,
        positives=curves.hull(1, level),
        missed=curves.hull(0, level),
        hidden=posterior_limits(curves.share_hidden, level),
        found=int(np.count_nonzero(units.labels == 1.0)),
        conflict=conflict,
        threshold=threshold,
        notes=tuple(notes),
    )


def _recall(above: Floats, below: Floats, taken: NDArray[np.bool_]) -> Floats:
    """Return the share of positives that are taken, 1 where there are none."""
    total = above + below
    return np.where(total > 0, above / np.maximum(total, 1), 1.0)


def _precision(above: Floats, below: Floats, taken: NDArray[np.bool_]) -> Floats:
    """Return the share of the documents taken that are positive."""
    return above / np.count_nonzero(taken)


def _prevalence(above: Floats, below: Floats, taken: NDArray[np.bool_]) -> Floats:
    """Return the share of all documents that are positive."""
    return (above + below) / taken.size


MEASURES = {"recall": _recall, "precision": _precision, "prevalence": _prevalence}


def design_limits(
    of: str,
    units: SamplingUnits,
    above: NDArray[np.bool_],
    plans: tuple[SamplePlan, ...],
    level: float,
) -> Limits | None:
    """Return the design-based interval; None if labels outside of the plans do not fit it."""
    main = max(plans, key=lambda plan: (plan.documents.size, plan.round))
    stratum = np.zeros(units.scores.size, dtype=np.intp)
    stratum[units.of_document] = main.stratum
    before = _labelled_before(main, units, plans, stratum)
    if before is None:
        return None
    sampled, positive = units.mask(main.documents), units.labels == 1.0
    if of == "recall" and len(main.strata) == 1 and not before.any():
        own = positive & sampled
        return _clopper_pearson(int((own & above).sum()), int(own.sum()), level)
    sides = []
    for mine in (above, ~above):
        known = float(np.count_nonzero(positive & before & mine))
        parts = [Limits(known, known, known)]
        for h in range(len(main.strata)):
            cell = mine & (stratum == h) & ~before
            own = cell & sampled
            if cell.any():
                found, drawn = int((positive & own).sum()), int(own.sum())
                parts.append(count_limits(found, drawn, int(cell.sum()), level))
        sides.append(sum_limits(parts))
    if of == "recall":
        return share_limits(*sides)
    total = sides[0] if of == "precision" else sum_limits(sides)
    size = int(above.sum()) if of == "precision" else above.size
    return Limits(total.value / size, total.lower / size, total.upper / size)


def _labelled_before(
    main: SamplePlan, units: SamplingUnits, plans: tuple[SamplePlan, ...], stratum: NDArray[np.intp]
) -> NDArray[np.bool_] | None:
    """Return the mask of units labelled before the plan, from the sizes of its strata."""
    sizes = [each.documents for each in main.strata]
    earlier, of_plans = (np.zeros(units.scores.size, dtype=bool) for _ in range(2))
    for plan in plans:
        of_plans |= units.mask(plan.documents)
        if plan.round < main.round:
            earlier |= units.mask(plan.documents)
    # Labels of no plan were there before the plan, or came after it.
    others = ~np.isnan(units.labels) & ~of_plans
    for before in (earlier | others, earlier):
        if np.bincount(stratum[~before], minlength=len(sizes)).tolist() == sizes:
            return np.asarray(before)
    return None


def _clopper_pearson(part: int, total: int, level: float) -> Limits:
    if total == 0:
        return Limits(math.nan, 0.0, 1.0)
    ends = stats.binomtest(part, total).proportion_ci(level, method="exact")
    return Limits(part / total, float(ends.low), float(ends.high))


def _warn_of_direction(scores: Floats, labels: Floats) -> None:
    """Warn if positives have the lower scores."""
    known = ~np.isnan(labels)
    if not known.any():
        return
    found = score_checks.direction(scores[known], labels[known] == 1.0)
    if found is not None and found.probability_below > score_checks.SURE:
        score_checks.warn_of_scores(
            (
                f"positives have lower scores than negatives (AUC {found.auc:.2f}): negate the"
                " scores if larger ones stand for negatives; the ranking finds no positives",
            )
        )


def _notes(
    units: SamplingUnits,
    above: NDArray[np.bool_],
    of_plans: NDArray[np.bool_],
    plans: tuple[SamplePlan, ...],
    threshold: float | None,
) -> list[str]:
    notes = []
    known = int(np.count_nonzero(~np.isnan(units.labels) & ~of_plans))
    if plans and known:
        notes.append(f"{known:,} labels are in no plan: they count as known and fit no curve.")
    stated = {plan.threshold for plan in plans if plan.threshold is not None}
    if stated and threshold is not None and threshold not in stated:
        named = ", ".join(f"{each:g}" for each in sorted(stated))
        notes.append(
            f"The plan was for the threshold {named}. If {threshold:g} was chosen after seeing the"
            " labels, set looked_at to the number of thresholds that were looked at."
        )
    if not (units.labels == 1.0).any():
        notes.append("No positive is labelled: nearly every recall is possible.")
    return notes
