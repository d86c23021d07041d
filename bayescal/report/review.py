"""The report of a review: design, labels, recall by four intervals, assumptions."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from bayescal.fitting.results.tree import versions
from bayescal.report.rendering import count, percent, series_of, short, write_page
from bayescal.sampling import ReviewEstimate, SamplePlan
from bayescal.sampling.design import SamplingUnits, as_partial_labels
from bayescal.sampling.estimates import CONFLICT, DESIGN, GROUPS
from bayescal.sampling.exact import NO_ERROR
from bayescal.sampling.plans import Design, as_design, hash_of
from bayescal.support import validation
from bayescal.support.files import check_target
from bayescal.support.validation import Floats

INTERVALS = (
    *("design_based", "robust", "without_hidden", "with_hidden"),
    *("precision", "elusion", "positives", "missed", "hidden"),
)


def write_review_report(
    path: str | Path,
    result: ReviewEstimate,
    scores: ArrayLike,
    labels: ArrayLike,
    design: Design = (),
    *,
    positive: str = "1",
    groups: ArrayLike | None = None,
    title: str | None = None,
    run: Mapping[str, Mapping[str, str]] | None = None,
) -> Path:
    """Write the report of a review: one HTML file that needs no network.

    Parameters
    ----------
    path : str or Path
        The file to write or replace, in an existing folder.
    result : ReviewEstimate
        The result of `bayescal.sampling.estimate_recall`.
    scores, labels, design
        The arguments of `estimate_recall`.
    positive : str
        The label of positives in words.
    groups : array-like of shape (documents,), optional
        As in `estimate_recall`.
    title : str, optional
        Title of the page.
    run : mapping of mappings of str, optional
        Further provenance to print, by heading.

    Returns
    -------
    Path
        Path of the file.

    Raises
    ------
    ValueError
        If a plan belongs to other scores; then nothing is written.
    FileNotFoundError, OSError
        If there is no such folder, or the file cannot be written.
    """
    target = check_target(path)
    values = validation.as_scores(scores)
    known = as_partial_labels(labels, values.size)
    plans, inclusion = as_design(design, values, known)
    labelled = int(np.count_nonzero(~np.isnan(known)))
    units = None if groups is None else SamplingUnits.of(values, known, groups)
    counted = units if units and result.unit == GROUPS else SamplingUnits.of(values, known, None)
    # Strata of groups are not those of the documents in them.
    stratified = plans[-1:] if units is None or counted is units else ()
    figures = [_recall_by_depth(result, counted, stratified)] if result.by_depth else []
    return write_page(
        target,
        "review",
        {"level": result.level, "evidence": figures},
        title=title,
        level=result.level,
        result=replace(result, by_depth={}),  # its numbers are those of the figure
        intervals={name: getattr(result, name) for name in INTERVALS},
        documents=values.size,
        labelled=labelled,
        facts=_facts(result, values, labelled, units, positive),
        grouped=units is not None,
        refuted=result.conflict < CONFLICT,
        by_design=result.method == DESIGN,
        no_error=result.reviewer_error == NO_ERROR,
        rounds=[_round(plan, known, units) for plan in plans],
        strata=[] if inclusion is None else _strata(inclusion, known),
        run={
            "Data": {
                "Scores, first digits of their SHA-256": hash_of(values),
                "Labels, first digits of their SHA-256": hash_of(known),
            },
            "Versions": versions(),
            **(run or {}),
        },
    )


def _facts(
    result: ReviewEstimate,
    scores: Floats,
    labelled: int,
    units: SamplingUnits | None,
    positive: str,
) -> dict[str, str]:
    facts = {"Documents": f"{scores.size:,}", "Documents labelled": f"{labelled:,}"}
    if units is not None:
        facts["Groups"] = f"{units.labels.size:,}"
        facts["Groups labelled"] = f"{np.count_nonzero(~np.isnan(units.labels)):,}"
    if result.threshold is not None:
        taken = int(np.count_nonzero(scores >= result.threshold))
        facts["Threshold"] = f"score {short(result.threshold)} and above"
        facts["Documents taken"] = f"{taken:,} ({percent(taken / scores.size)})"
    facts[f"Positive {result.unit} labelled (label {positive})"] = f"{result.found:,}"
    if result.reviewer_error != NO_ERROR:
        missed, mistaken = map(percent, result.reviewer_error)
        facts["Reviewer error"] = f"{missed} of positives missed, {mistaken} of negatives mistaken"
    facts[f"Positive {result.unit} in the collection, by the curves"] = count(
        result.positives.value
    )
    return facts


def _recall_by_depth(
    result: ReviewEstimate, units: SamplingUnits, plans: tuple[SamplePlan, ...]
) -> dict[str, Any]:
    """Return recall by the number of documents taken, with labels, as evidence.js draws it."""
    above = stats.rankdata(-units.scores, method="max")
    taken, limits = list(result.by_depth), list(result.by_depth.values())
    lower, upper, value = np.array([(each.lower, each.upper, each.value) for each in limits]).T
    series = [series_of("band posterior", "hull of both curves", x=taken, lower=lower, upper=upper)]
    for kind, label, y in (("positive", 1.0, 1.03), ("negative", 0.0, -0.03)):
        x = np.unique(above[units.labels == label])
        series.append(series_of(f"dot mode {kind}", f"labelled {kind}", x=x, y=np.full(x.size, y)))
    own = np.count_nonzero(units.above(result.threshold))
    if own:  # a logarithmic axis has no 0
        ends = [result.lower, result.upper]
        series.append(series_of("line empirical", "interval of the summary", x=[own] * 2, y=ends))
    series.append(series_of("line posterior", "recall by the curves", x=taken, y=value))
    lowest = [each.lowest for plan in plans for each in plan.strata[:-1]]
    dashed = " Dashed lines end the strata of the last round." if lowest else ""
    return {
        "title": f"Recall by {result.unit} taken",
        "x": [1, taken[-1]],
        "logarithmic": True,
        "xTicks": [(10**k, count(10**k)) for k in range(len(str(taken[-1])))],
        "y": [-0.06, 1.06],
        "xLabel": f"{result.unit} taken, highest scores first (logarithmic)",
        "yLabel": "recall",
        "at": [int(np.count_nonzero(units.scores >= each)) for each in lowest],
        "note": f"At each depth the band has {percent(result.level)}, under the assumptions of the"
        f" hull.{dashed}",
        "series": series,
    }


def _round(plan: SamplePlan, labels: Floats, units: SamplingUnits | None) -> dict[str, Any]:
    """Return the page's data of a round: strata, and what was drawn from them."""
    own = plan.documents
    stratum, strata = plan.stratum[own], plan.strata
    kind = "Documents" if units is None else "Groups"
    columns = {
        "Score from": [short(each.lowest) for each in strata],
        kind: [count(each.documents) for each in strata],
        f"{kind} drawn": [count(each.sampled) for each in strata],
        "Probability to be drawn": [percent(each.sampled / each.documents) for each in strata],
    }
    counted = {"Positive documents drawn": stratum[labels[own] == 1.0]}
    if units is not None:
        group, first = np.unique(units.of_document[own], return_index=True)
        counted["Positive groups drawn"] = stratum[first[units.labels[group] == 1.0]]
        counted = {"Documents drawn": stratum} | counted
    for head, of in counted.items():
        columns[head] = [count(n) for n in np.bincount(of, minlength=len(strata))]
    rows, own_kind = list(zip(*columns.values(), strict=True)), kind.lower()
    data = {"number": plan.round, "seed": plan.seed, "sampled": own.size, "kind": own_kind}
    return data | {"heads": list(columns), "rows": rows}


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
