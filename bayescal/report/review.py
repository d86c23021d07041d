"""The report of a review: its design, what was labelled, recall by four intervals, assumptions."""

from __future__ import annotations

import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.fitting.results.tree import versions
from bayescal.report.answer import Answer
from bayescal.report.rendering import count, percent, render, short, write_page
from bayescal.sampling import Limits, ReviewEstimate, SamplePlan
from bayescal.sampling.estimates import CONFLICT, DESIGN
from bayescal.sampling.plans import as_partial_labels, as_plans, hash_of
from bayescal.support import validation
from bayescal.support.files import check_target
from bayescal.support.validation import Floats

SCRIPTS = ("numbers", "appearance")
TITLE = "Report of a review"
INTERVALS = {
    "design_based": (
        "From the random draw alone",
        "The plan was followed, and the labels are right. No model.",
    ),
    "robust": ("Hull of the next two", "One of the next two holds, or something between them."),
    "without_hidden": (
        "Curve, no positives hidden",
        "The probability of a positive is a curve along the score, which rises except at the top.",
    ),
    "with_hidden": (
        "Curve, some positives hidden",
        "As before, but an unknown share of the positives has scores like those of negatives.",
    ),
}
ASSUMPTIONS = (
    "Each label is right. If reviewers err, recall is that of what they would label positive.",
    "All documents that a plan drew were labelled, and nobody chose among them.",
    "The threshold was fixed before the labels were seen, or the number of thresholds looked at was"
    " stated.",
    "Documents count one by one, or by the groups that were stated: near duplicates that were not"
    " make intervals too narrow.",
    "The curves need scores from a classifier that was not trained on the labelled documents. The"
    " interval from the draw alone does not.",
)


def write_review_report(
    path: str | Path,
    result: ReviewEstimate,
    scores: ArrayLike,
    labels: ArrayLike,
    design: SamplePlan | Iterable[SamplePlan] = (),
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
        What `bayescal.sampling.estimate_recall` returned.
    scores, labels : array-like of shape (documents,)
        What it was computed from.
    design : SamplePlan or several
        The plans of the labels.
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
    plans = as_plans(design, values)
    labelled = int(np.count_nonzero(~np.isnan(known)))
    text = render(
        "review",
        SCRIPTS,
        {},
        title=title or TITLE,
        percent=f"{100.0 * result.level:g}",
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
        assumptions=ASSUMPTIONS,
        run={
            "Data": {
                "Hash of the scores (SHA-256)": hash_of(values),
                "Hash of the labels (SHA-256)": hash_of(known),
            },
            "Versions": versions(),
        },
    )
    return write_page(target, text)


def _answer(result: ReviewEstimate) -> Answer:
    """Return the interval to state first, in per cent and in words."""
    own = Limits(result.value, result.lower, result.upper)
    value = "" if math.isnan(own.value) else f"{percent(own.value)}, "
    headline = (
        f"{result.of.capitalize()}: {value}{percent(own.lower)} to {percent(own.upper)} with"
        f" {percent(result.level)} confidence"
    )
    if result.method == DESIGN:
        text = (
            "The interval rests on the random draw alone: whatever the scores are worth, intervals"
            f" made like this one contain the truth in about {percent(result.level)} of draws or"
            " more."
        )
    else:
        text = "The interval rests on a curve along the score, with and without hidden positives."
    refuted = result.conflict < CONFLICT
    if refuted:
        text += (
            " Deep in the ranking there are more positives than a curve without hidden ones"
            f" explains (probability {short(result.conflict)})."
        )
    return Answer("warning" if refuted or result.method != DESIGN else "good", headline, text)


def _facts(result: ReviewEstimate, scores: Floats, labelled: int) -> dict[str, str]:
    facts = {"Documents": f"{scores.size:,}", "Labelled": f"{labelled:,}"}
    if result.threshold is not None:
        taken = int(np.count_nonzero(scores >= result.threshold))
        facts["Threshold"] = f"score {short(result.threshold)} and above"
        facts["Documents taken"] = f"{taken:,} ({percent(taken / scores.size)})"
    facts["Positives labelled"] = f"{result.found:,}"
    facts["Positives in the collection, expected"] = count(result.positives.value)
    return facts


def _round(plan: SamplePlan, labels: Floats) -> dict[str, Any]:
    """Return a round for the page: its strata, and the positives among the documents drawn."""
    stratum = plan.stratum[plan.documents]
    positives = np.bincount(
        stratum, np.nan_to_num(labels[plan.documents]), minlength=len(plan.strata)
    )
    rows = [
        {
            "lowest": each.lowest,
            "documents": each.documents,
            "sampled": each.sampled,
            "positives": int(found),
        }
        for each, found in zip(plan.strata, positives, strict=True)
    ]
    sampled = plan.documents.size
    return {"number": plan.round, "seed": plan.seed, "sampled": sampled, "strata": rows}
