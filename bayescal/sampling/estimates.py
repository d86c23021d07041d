"""Recall, precision and the share of positives of a collection of which a sample is labelled.

Each estimate has an interval that needs no model, from the random draw alone, and three that rest
on a curve along the score. All count a finite collection: known labels are not drawn again.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.sampling.design import (
    SamplingUnits,
    as_partial_labels,
    as_threshold,
    warn_of_direction,
)
from bayescal.sampling.exact import NO_ERROR, ReviewerError, as_reviewer_error
from bayescal.sampling.hidden import (
    HiddenCurves,
    as_beta,
    hull_of,
    shared_limits,
    simultaneous_level,
)
from bayescal.sampling.plans import (
    Design,
    SamplePlan,
    as_design,
    draw_of_plans,
    draw_of_probabilities,
    inclusion_of,
)
from bayescal.support import validation
from bayescal.support.intervals import Interval
from bayescal.support.validation import Floats

MISSING = ("error", "bounds")
DOCUMENTS, GROUPS = "documents", "groups"  # what is counted
DESIGN, HULL = "design", "hull"
BESIDE = ("precision", "elusion")  # stated beside recall
CONFLICT = 0.05  # smaller probabilities of the elusion positives have a note
DEPTHS = 30  # evenly spaced in the ranking, and as many at its top, whose recall is stated
TIED = 0.01  # larger shares of tied documents have a note


@dataclass(frozen=True, kw_only=True)
class ReviewEstimate(Interval):
    """Recall, precision or the share of positives, with four intervals.

    Attributes
    ----------
    of : {"recall", "precision", "prevalence"}
        The estimated measure.
    value, lower, upper, level
        The answer to state first: `design_based` if there is a design, else `robust`.
    method : {"design", "hull"}
        The interval of this answer.
    design_based : Interval or None
        From the random draw alone: exact limits in each stratum, combined by MOVER; None without a
        design. It assumes correct labels, or errors at the stated rates.
    robust : Interval
        The hull of two central intervals, one of each posterior below, both of the lowest level at
        which each posterior gives the hull `level` or more; the value is the latter's mean.
    without_hidden : Interval
        Posterior if no positives are hidden: P(positive | score) rises with the score, except at
        the very top.
    with_hidden : Interval
        Posterior if an unknown share of positives has scores like negatives.
    positives, missed : Interval
        Positives in the collection, and below the threshold, by the hull.
    hidden : Interval
        Share of positives that are hidden, by `with_hidden`.
    found : int
        Labelled positives.
    unit : {"documents", "groups"}
        What all these numbers count.
    conflict : float
        P(as many positives among the labelled documents of the lowest 70 %, or more) by a curve
        without hidden positives, fitted to all other labels; nan if none of them is labelled, or if
        they are of groups that were drawn whole. Below .05 doubt such a curve.
    threshold, simultaneous, reviewer_error
        As in `estimate_recall`.
    hidden_prior : (float, float) or None
        The beta of the share of hidden positives in `with_hidden`; None if none is hidden.
    notes : tuple of str
        Remarks for the reader of the numbers.
    precision, elusion : Interval or None
        Beside recall at one threshold: the shares of positives among the units at or above it, and
        below it, each by the same method; None if there are no such units.
    by_depth : dict of int to Interval
        Beside recall: recall by the hull if that many units with the highest scores are taken, each
        interval by itself.
    """

    of: str
    design_based: Interval | None
    robust: Interval
    without_hidden: Interval
    with_hidden: Interval
    positives: Interval
    missed: Interval
    hidden: Interval
    found: int
    unit: str
    conflict: float
    threshold: float | None
    simultaneous: bool
    reviewer_error: ReviewerError
    hidden_prior: tuple[float, float] | None
    notes: tuple[str, ...]
    precision: Interval | None = None
    elusion: Interval | None = None
    by_depth: dict[int, Interval] = field(repr=False)


@dataclass(frozen=True)
class EstimateOptions:
    """Options that all estimates share; see `estimate_recall`."""

    design: Design
    level: float
    hidden: Any
    groups: ArrayLike | None
    of: str
    out_of_sample: bool
    missing: str
    simultaneous: bool
    reviewer_error: ReviewerError
    random_state: Any


def estimate_recall(
    scores: ArrayLike,
    labels: ArrayLike,
    threshold: float,
    *,
    design: Design = (),
    level: float = 0.9,
    hidden: Any = "vague",
    groups: ArrayLike | None = None,
    of: str = DOCUMENTS,
    out_of_sample: bool = True,
    missing: str = "error",
    simultaneous: bool = False,
    reviewer_error: ReviewerError = NO_ERROR,
    random_state: Any = 0,
) -> ReviewEstimate:
    """Return the share of a collection's positives at or above a threshold.

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
    design : SamplePlan, several, "random", or array-like of shape (documents,)
        The plans of the labels; labels in no plan are counted as known, and left out of the
        likelihood. Or, for a design without plans, each document's probability to be drawn:
        documents of one probability form a stratum. "random" means a simple random sample. Without
        a design there is no design-based interval, and the curve is fitted to all labels, which
        must be chosen by score or at random.
    level : float
        Level of the intervals.
    hidden : {"vague", "learned", 0} or (a, b)
        The prior of the share of hidden positives: "vague" is Beta(1, 2), "learned" Beta(1, 52),
        learned from Reuters-21578; a pair is another beta, as from `learn_hidden`; 0 means that
        none are hidden.
    groups : array-like of shape (documents,), optional
        The groups, such as families of near duplicates or threads of messages, that were drawn and
        labelled whole. Leave them out if documents were drawn one by one: the design-based interval
        then holds whatever depends on what.
    of : {"documents", "groups"}
        What to count. Documents of a group count by their design effect in the design-based
        interval, and by their design effect and probability to be drawn in the curves. A group is
        one unit, positive if a document of it is, with its highest score.
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
    measured = design, level, hidden, groups, of, out_of_sample, missing
    options = EstimateOptions(*measured, simultaneous, reviewer_error, random_state)
    return _estimate("recall", scores, labels, threshold, options)


def estimate_precision(
    scores: ArrayLike,
    labels: ArrayLike,
    threshold: float,
    *,
    design: Design = (),
    level: float = 0.9,
    hidden: Any = "vague",
    groups: ArrayLike | None = None,
    of: str = DOCUMENTS,
    out_of_sample: bool = True,
    missing: str = "error",
    simultaneous: bool = False,
    reviewer_error: ReviewerError = NO_ERROR,
    random_state: Any = 0,
) -> ReviewEstimate:
    """Return the share of positives among documents at or above a threshold.

    Parameters
    ----------
    scores, labels, threshold, design, level, hidden, groups, of, out_of_sample, missing
        As in `estimate_recall`; the threshold must take a document.
    simultaneous, reviewer_error, random_state
        As in `estimate_recall`.
    """
    measured = design, level, hidden, groups, of, out_of_sample, missing
    options = EstimateOptions(*measured, simultaneous, reviewer_error, random_state)
    return _estimate("precision", scores, labels, threshold, options)


def estimate_prevalence(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    design: Design = (),
    level: float = 0.9,
    hidden: Any = "vague",
    groups: ArrayLike | None = None,
    of: str = DOCUMENTS,
    out_of_sample: bool = True,
    missing: str = "error",
    reviewer_error: ReviewerError = NO_ERROR,
    random_state: Any = 0,
) -> ReviewEstimate:
    """Return the share of positives in the collection.

    Parameters
    ----------
    scores, labels, design, level, hidden, groups, of, out_of_sample, missing
        As in `estimate_recall`.
    reviewer_error, random_state
        As in `estimate_recall`.
    """
    measured = design, level, hidden, groups, of, out_of_sample, missing
    options = EstimateOptions(*measured, False, reviewer_error, random_state)
    return _estimate("prevalence", scores, labels, None, options)


def _estimate(
    of: str, scores: ArrayLike, labels: ArrayLike, threshold: float | None, options: EstimateOptions
) -> ReviewEstimate:
    threshold = as_threshold(threshold, needed=of != "prevalence")
    options = replace(options, reviewer_error=as_reviewer_error(options.reviewer_error))
    values = validation.as_scores(scores)
    known = as_partial_labels(labels, values.size)
    validation.check_fraction(level=options.level)
    validation.check_choice("missing", options.missing, MISSING)
    validation.check_choice("of", options.of, (DOCUMENTS, GROUPS))
    if options.of == GROUPS and options.groups is None:
        raise ValueError("groups must name the group of each document for of='groups', got None.")
    validation.check_flag(out_of_sample=options.out_of_sample, simultaneous=options.simultaneous)
    plans, inclusion = as_design(options.design, values, known)
    planned = np.concatenate([plan.documents for plan in plans] or [np.empty(0, np.intp)])
    unlabelled = planned[np.isnan(known[planned])]
    if unlabelled.size and options.missing == "error":
        raise ValueError(
            f"labels must hold a label of each planned document, {unlabelled.size:,} of"
            f" {planned.size:,} have none: label them, or pass missing='bounds' (in a shell"
            " --missing-bounds) to take all of them for positive and for negative."
        )
    if np.isnan(known).all() and not unlabelled.size:
        raise ValueError("labels must hold at least one label, got none: label a sample first.")
    results = []
    for filling in (0.0, 1.0) if unlabelled.size else (0.0,):
        filled = known.copy()
        filled[unlabelled] = filling
        results.append(
            _estimate_of_labels(of, values, filled, threshold, plans, inclusion, options)
        )
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
    by_depth = {n: hull_of(low.by_depth[n], each) for n, each in high.by_depth.items()}
    return replace(high, **ends, **hulls, by_depth=by_depth, notes=(*high.notes, note))


def _estimate_of_labels(
    of: str,
    scores: Floats,
    labels: Floats,
    threshold: float | None,
    plans: tuple[SamplePlan, ...],
    inclusion: Floats | None,
    options: EstimateOptions,
) -> ReviewEstimate:
    """Return the estimate from labels of all planned documents."""
    drawn_units = SamplingUnits.of(scores, labels, options.groups)
    by_document = options.of == DOCUMENTS and options.groups is not None
    units = SamplingUnits.of(scores, labels, None) if by_document else drawn_units
    level = options.level
    above = units.above(threshold)
    if of == "precision" and not above.any():
        raise ValueError(f"threshold must take a document, got {threshold:g}, above all scores.")
    of_plans = np.zeros(units.scores.size, dtype=bool)
    for plan in plans:
        of_plans |= units.mask(plan.documents)
    usable = of_plans if plans else ~np.isnan(units.labels)
    usable = usable & options.out_of_sample
    fitted = np.where(usable, units.labels, np.nan)
    warn_of_direction(units.scores, fitted)
    share = inclusion_of(plans, scores) if plans else inclusion
    curves = HiddenCurves.of(
        units.scores,
        units.labels,
        fitted,
        above,
        options.hidden,
        options.reviewer_error,
        validation.generator(options.random_state),
        (share, drawn_units.of_document) if by_document else None,
    )
    without, with_hidden, robust = _of_curves(of, curves, above, level, options.simultaneous)
    notes = _notes(units, of_plans, plans, threshold, options)
    exact, drawn, error = None, None, options.reviewer_error
    if plans:
        drawn = draw_of_plans(drawn_units, plans)
        if drawn is None:
            notes.append(
                "The labels do not fit the strata of the plan: give the plans and labels of all"
                " rounds, and of documents in no plan only labels that all were there before the"
                " plan or all came after it; groups only if they were drawn whole. There is no"
                " design-based interval."
            )
    elif inclusion is not None:
        drawn = draw_of_probabilities(drawn_units, inclusion)
    if drawn is not None and by_document:
        drawn = drawn.by_document(units)
    if drawn is not None and threshold is not None and options.simultaneous:
        fixed = tuple(plan.threshold for plan in plans if plan.threshold is not None)
        exact = drawn.simultaneous_limits(of, threshold, level, error, fixed)
    elif drawn is not None:
        exact = drawn.limits(of, above, level, error)
    first = robust if exact is None else exact
    beside: dict[str, Any] = {}
    for name, own in zip(BESIDE, (above, ~above), strict=True):
        if of == "recall" and own.any() and not options.simultaneous:
            limits = None if drawn is None else drawn.limits(name, above, level, error)
            beside[name] = limits or _of_curves(name, curves, above, level, False)[2]
    conflict = curves.conflict
    if conflict < CONFLICT:
        notes.append(
            "Deep in the ranking there are more positives than a curve without hidden ones explains"
            f" (probability {conflict:.2g}): rely on the design-based interval"
            f"{'.' if exact is not None else ', for which there has to be a plan.'}"
        )
    return ReviewEstimate(
        of=of,
        value=first.value,
        lower=first.lower,
        upper=first.upper,
        method=HULL if exact is None else DESIGN,
        level=level,
        design_based=exact,
        robust=robust,
        without_hidden=without,
        with_hidden=with_hidden,
        positives=curves.hull(1, level),
        missed=curves.hull(0, level),
        hidden=Interval.of_draws(curves.share_hidden, level),
        found=int(np.count_nonzero(units.labels == 1.0)),
        unit=options.of,
        conflict=conflict,
        threshold=threshold,
        simultaneous=options.simultaneous,
        reviewer_error=options.reviewer_error,
        hidden_prior=as_beta(options.hidden),
        notes=tuple(notes),
        by_depth=_by_depth(curves, level) if of == "recall" else {},
        **beside,
    )


def _of_curves(
    of: str, curves: HiddenCurves, above: NDArray[np.bool_], level: float, simultaneous: bool
) -> tuple[Interval, Interval, Interval]:
    """Return the intervals without hidden positives, with them, and of both."""
    measure = MEASURES[of]
    without, with_hidden = (
        measure(*each, np.count_nonzero(above), above.size)
        for each in (curves.without_hidden, curves.with_hidden)
    )
    if not simultaneous:
        one, other = (Interval.of_draws(each, level) for each in (without, with_hidden))
        return one, other, shared_limits(without, with_hidden, level)
    taken = np.cumsum(curves.collection.size)
    levels = []
    for each in curves.in_bins:
        found = np.cumsum(each, axis=1)
        draws = measure(found, found[:, -1:] - found, taken, above.size)
        levels.append(simultaneous_level(draws, level))
    one, other = map(Interval.of_draws, (without, with_hidden), levels)
    return one, other, hull_of(one, other)


def _by_depth(curves: HiddenCurves, level: float) -> dict[int, Interval]:
    """Return the hull of recall by the number of documents taken, highest scores first."""
    taken = np.cumsum(curves.collection.size)
    depths = [space(1, taken[-1], DEPTHS) for space in (np.linspace, np.geomspace)]
    own = np.unique(np.searchsorted(taken, np.rint(depths)))
    one, other = (
        _recall(found[:, own], found[:, -1:] - found[:, own])
        for found in (np.cumsum(each, axis=1) for each in curves.in_bins)
    )
    return {int(n): shared_limits(one[:, k], other[:, k], level) for k, n in enumerate(taken[own])}


def _recall(above: Floats, below: Floats, *_: Any) -> Floats:
    """Return the share of positives that are taken, 1 where there are none."""
    total = above + below
    return np.where(total > 0, above / np.maximum(total, 1), 1.0)


# (positives above, positives below the threshold, documents taken, documents) -> measure
MEASURES: dict[str, Callable[[Floats, Floats, Any, int], Floats]] = {
    "recall": _recall,
    "precision": lambda above, _, taken, __: np.asarray(above / taken),
    "elusion": lambda _, below, taken, documents: np.asarray(below / (documents - taken)),
    "prevalence": lambda above, below, _, documents: (above + below) / documents,
}


def _notes(
    units: SamplingUnits,
    of_plans: NDArray[np.bool_],
    plans: tuple[SamplePlan, ...],
    threshold: float | None,
    options: EstimateOptions,
) -> list[str]:
    notes = []
    known = int(np.count_nonzero(~np.isnan(units.labels) & ~of_plans))
    if plans and known:
        notes.append(f"{known:,} labels are in no plan: they count as known and fit no curve.")
    stated = {plan.threshold for plan in plans if plan.threshold is not None}
    other = stated and threshold is not None and threshold not in stated
    if other and not options.simultaneous:
        named = ", ".join(f"{each:g}" for each in sorted(stated))
        notes.append(
            f"The plan was for the threshold {named}. If {threshold:g} was chosen after seeing the"
            " labels, ask for simultaneous intervals."
        )
    if options.groups is None:
        notes += _note_of_ties(units.scores)
    if not (units.labels == 1.0).any():
        notes.append("No positive is labelled: nearly every recall is possible.")
    return notes


def _note_of_ties(scores: Floats) -> list[str]:
    """Return a note if more documents share their score than rounding explains."""
    gaps = np.diff(np.sort(scores))
    same, apart = np.count_nonzero(gaps == 0.0), gaps[gaps > 0.0]
    # Rounded scores differ by one rounding step as often as they are equal.
    rounded = np.count_nonzero(apart < 1.5 * apart.min()) if apart.size else same
    if not max(TIED * scores.size, 2.0 * rounded) <= same <= 0.5 * scores.size:
        return []
    return [
        f"{same:,} of {scores.size:,} documents have the same score as another one. If they are"
        " near duplicates that were drawn together, state groups: without them labels are taken for"
        " independent, and intervals are too narrow."
    ]
