"""The draw that labels come from: that of plans, or of stated inclusion probabilities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayescal.sampling.design import StratifiedDraw
from bayescal.sampling.planning import LEAST
from bayescal.sampling.plans import SamplePlan, as_plans
from bayescal.sampling.units import SamplingUnits
from bayescal.support import validation, weighting
from bayescal.support.validation import Floats

Design = SamplePlan | Iterable[SamplePlan] | ArrayLike


def as_design(design: Any, scores: Floats) -> tuple[tuple[SamplePlan, ...], Floats | None]:
    """Return plans, or the probability of each document to be drawn."""
    if isinstance(design, SamplePlan):
        return as_plans(design, scores), None
    if not isinstance(design, Iterable):
        design = validation.as_array(design, "design")
    several = design if isinstance(design, np.ndarray) else tuple(design)
    if len(several) == 0 or any(isinstance(each, SamplePlan) for each in several):
        return as_plans(several, scores), None
    if np.shape(several) != scores.shape:
        raise ValueError(
            "design must be what plan_sample or read_plan returned, or an inclusion probability of"
            f" each of {scores.size:,} documents, got {type(design).__name__} of shape"
            f" {np.shape(several)}."
        )
    return (), weighting.as_inclusion(several, scores.size)


def draw_of_plans(units: SamplingUnits, plans: tuple[SamplePlan, ...]) -> StratifiedDraw | None:
    """Return the draw of the plan with the most labels; None if other labels do not fit it."""
    main = max(plans, key=lambda plan: (plan.documents.size, plan.round))
    stratum = np.zeros(units.scores.size, dtype=np.intp)
    stratum[units.of_document] = main.stratum
    before = _labelled_before(main, units, plans, stratum)
    if before is None:
        return None
    return StratifiedDraw(stratum, units.mask(main.documents), before)


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


def draw_of_probabilities(units: SamplingUnits, inclusion: Floats) -> StratifiedDraw:
    """
    Return the draw whose strata are the units of one inclusion probability.

    Given how many of them were drawn, they are a simple random sample if each was drawn with that
    probability independently of its label.
    """
    lowest, highest = np.full(units.scores.size, np.inf), np.full(units.scores.size, -np.inf)
    np.minimum.at(lowest, units.of_document, inclusion)
    np.maximum.at(highest, units.of_document, inclusion)
    if (lowest < highest).any():
        raise ValueError("design must hold one inclusion probability for all documents of a group.")
    sampled = ~np.isnan(units.labels)
    unlabelled = int(np.count_nonzero((highest == 1.0) & ~sampled))
    if unlabelled:
        raise ValueError(
            f"labels must hold a label of each document whose inclusion probability is 1,"
            f" {unlabelled:,} have none."
        )
    found, stratum = np.unique(highest, return_inverse=True)
    if found.size > 1 and found.size * LEAST > np.count_nonzero(sampled):
        raise ValueError(
            f"design must hold few different inclusion probabilities, got {found.size:,} for"
            f" {int(sampled.sum()):,} labels: documents of one probability form a stratum. Pass the"
            " plans of plan_sample, or no design for the curves alone."
        )
    return StratifiedDraw(stratum, sampled, np.zeros_like(sampled))
