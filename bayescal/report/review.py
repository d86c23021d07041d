"""The report of a review: its design, what was labelled, recall by four intervals, assumptions."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.fitting.results.tree import versions
from bayescal.report.answer import Answer
from bayescal.report.rendering import count, percent, short, write_page
from bayescal.sampling import ReviewEstimate, SamplePlan
from bayescal.sampling.design import as_partial_labels
from bayescal.sampling.exact import NO_ERROR
from bayescal.sampling.four_intervals import CONFLICT, DESIGN
from bayescal.sampling.plans import Design, as_design, hash_of
from bayescal.support import validation
from bayescal.support.files import check_target
from bayescal.support.validation import Floats

INTERVALS = {
    "design_based": (
        "From the random draw alone",
        "The design was followed; labels are right, or wrong as often as stated. No model. Limits"
        " in each stratum are exact, their combination (MOVER) is approximate.",
    ),
    "robust": (
        "Hull of the next two",
        "One of the next two holds. Each of them gives this interval at least the stated"
        " probability.",
    ),
    "without_hidden": (
        "Curve, no positives hidden",
        "The probability of a positive is a curve along the score, which rises except at the top.",
    ),
    "with_hidden": (
        "Curve, some positives hidden",
        "As before, but an unknown share of the positives has scores like those of negatives.",
    ),
}


def assumptions_of(result: ReviewEstimate) -> tuple[str, ...]:
    """Return the assumptions of the intervals."""
    missed, mistaken = result.reviewer_error
    if result.reviewer_error == NO_ERROR:
        labels = "Each label is right. Otherwise the result is for what reviewers label positive."
    else:
        labels = (
            f"Reviewers label {percent(missed)} of positives negative and {percent(mistaken)} of"
            " negatives positive, independently of each other and of the score. These two shares"
            " are taken as known."
        )
    if result.simultaneous:
        threshold = "The threshold may have been chosen after the labels: intervals allow for all."
    else:
        threshold = "The threshold was fixed before anybody saw the labels."
    return (
        labels,
        "All documents that were drawn were labelled, and nobody chose among them.",
        threshold,
        "Every document counts once, or every group if groups were stated. The curves take labels"
        " for independent: near duplicates outside of groups make their intervals too narrow. The"
        " interval from the draw alone holds with them.",
        "The curves need scores from a classifier that was not trained on the labelled documents."
        " The interval from the draw alone does not.",
    )


def write_review_report(
    path: str | Path,
    result: ReviewEstimate,
    scores: ArrayLike,
    labels: ArrayLike,
    design: Design = (),
    *,
    title: str | None = None,
) -> Path:
    """
    Write the report of a review: one HTML file that needs no network.

    Parameters
    ----------
    path : str or Path
        Where to write the file, whose folder must exist; a file that is there is replaced.
    result : ReviewEstimate
        The result of `bayescal.sampling.estimate_recall`.
    scores, labels, design
        The arguments it was computed from; see `estimate_recall`.
    title : str, optional
        Title of the page.

    Returns
    -------
    Path
        Path of the file.

    Raises
    ------
    ValueError
        If a plan is of other scores; nothing is written then.
    FileNotFoundError, OSError
        If there is no such folder, or the file cannot be written.
    """
    target = check_target(path)
    values = validation.as_scores(scores)
    known = as_partial_labels(labels, values.size)
    plans, inclusion = as_design(design, values)
    labelled = int(np.count_nonzero(~np.isnan(known)))
    return write_page(
        target,
        "review",
        {},
        title=title,
        level=result.level,
        result=result,
        documents=values.size,
        labelled=labelled,
        answer=_answer(result),
        facts=_facts(result, values, labelled),
        intervals=[
            (words, limits, assumed)
            for name, (words, assumed) in INTERVALS.items()
            if (limits := getattr(result, name)) is not None
        ],
        rounds=[_round(plan, known) for plan in plans],
        strata=[] if inclusion is None else _strata(inclusion, known),
        assumptions=assumptions_of(result),
        run={
            "Data": {
                "Scores, first digits of their SHA-256": hash_of(values),
                "Labels, first digits of their SHA-256": hash_of(known),
            },
            "Versions": versions(),
        },
    )


def _answer(result: ReviewEstimate) -> Answer:
    """Return the interval to state first, in per cent and in words."""
    value = "" if math.isnan(result.value) else f"{percent(result.value)}, "
    ends = f"{percent(result.lower)} to {percent(result.upper)}"
    level = percent(result.level)
    if result.method == DESIGN:
        kind = f"{level} confidence interval"
        text = (
            "The interval rests on the random draw alone, whatever the scores are worth: about"
            f" {level} or more of intervals made like this one contain the truth."
        )
    else:
        kind = f"{level} posterior interval"
        text = (
            "The interval rests on a curve along the score, with and without hidden positives:"
            " there is no design from which an interval without a model could be computed."
        )
    refuted = result.conflict < CONFLICT
    if refuted:
        text += (
            " Deep in the ranking there are more positives than a curve without hidden ones"
            f" explains (probability {short(result.conflict)})."
        )
    headline = f"{result.of.capitalize()}: {value}{kind} {ends}"
    return Answer("warning" if refuted or result.method != DESIGN else "good", headline, text)


def _facts(result: ReviewEstimate, scores: Floats, labelled: int) -> dict[str, str]:
    facts = {"Documents": f"{scores.size:,}", "Labelled": f"{labelled:,}"}
    if result.threshold is not None:
        taken = int(np.count_nonzero(scores >= result.threshold))
        facts["Threshold"] = f"score {short(result.threshold)} and above"
        facts["Documents taken"] = f"{taken:,} ({percent(taken / scores.size)})"
    facts["Positives labelled"] = f"{result.found:,}"
    if result.reviewer_error != NO_ERROR:
        missed, mistaken = map(percent, result.reviewer_error)
        facts["Reviewer error"] = f"{missed} of positives missed, {mistaken} of negatives mistaken"
    facts["Positives in the collection, by the curves"] = count(result.positives.value)
    return facts


def _round(plan: SamplePlan, labels: Floats) -> dict[str, Any]:
    """Return a round for the page: its strata, and the positives among the documents drawn."""
    stratum = plan.stratum[plan.documents]
    positives = np.bincount(
        stratum, np.nan_to_num(labels[plan.documents]), minlength=len(plan.strata)
    )
    rows = [
        {**asdict(each), "positives": int(found)}
        for each, found in zip(plan.strata, positives, strict=True)
    ]
    sampled = plan.documents.size
    return {"number": plan.round, "seed": plan.seed, "sampled": sampled, "strata": rows}


def _strata(inclusion: Floats, labels: Floats) -> list[dict[str, Any]]:
    """Return the documents of each inclusion probability for the page."""
    return [
        {
            "probability": float(p),
            "documents": int(own.sum()),
            "sampled": int((own & ~np.isnan(labels)).sum()),
            "positives": int((own & (labels == 1.0)).sum()),
        }
        for p in np.unique(inclusion)
        for own in [inclusion == p]
    ]
