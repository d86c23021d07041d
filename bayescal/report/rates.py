"""The report of a rate or of a difference of rates: intervals, curves, assumptions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from bayescal.fitting.results.tree import versions
from bayescal.report.rendering import Cell, Row, numbers, series_of, write_page
from bayescal.sampling import JudgeAgreement, Rate, RateDifference, RateRanking
from bayescal.sampling.plans import hash_of
from bayescal.support.files import check_target
from bayescal.support.intervals import Interval
from bayescal.support.validation import Floats

BOTH = "labels and scores"
MEASURES = {"sensitivity": "tenths", "specificity": "tenths", "kappa": "decimals"}  # and formats


def write_rate_report(
    path: str | Path,
    result: Rate | RateDifference,
    collections: Mapping[str, tuple[ArrayLike, ArrayLike]],
    slices: RateRanking | None = None,
    agreement: Sequence[JudgeAgreement] = (),
    *,
    positive: str = "1",
    axis: str = "score",
    title: str | None = None,
    run: Mapping[str, Mapping[str, str]] | None = None,
) -> Path:
    """Write the report of a rate: one HTML file that needs no network.

    Parameters
    ----------
    path : str or Path
        The file to write or replace, in an existing folder.
    result : Rate or RateDifference
        The result of `bayescal.sampling.estimate_rate` or `compare_rates`.
    collections : mapping of str to (scores, labels)
        The arguments of these functions: one collection by its name, or A and B.
    slices : RateRanking, optional
        The result of `rates_by_slice` for the first collection.
    agreement : sequence of JudgeAgreement
        The result of `judge_agreement` for each collection, or none.
    positive : str
        The label of positives in words.
    axis : str
        What the scores are, for the axis of figures.
    title : str, optional
        Title of the page.
    run : mapping of mappings of str, optional
        Further provenance by heading, such as the files that were read.

    Returns
    -------
    Path
        Path of the file.

    Raises
    ------
    FileNotFoundError, OSError
        If there is no such folder, or the file cannot be written.
    """
    target = check_target(path)
    intervals: list[tuple[str, Interval, Interval | None]] = []
    if isinstance(result, RateDifference):
        intervals = [("A less B", result, result.classical)]
        rates = {
            f"{k} ({of}): ": rate
            for k, of, rate in zip("AB", collections, (result.first, result.second), strict=True)
        }
    else:
        rates = {"": result}
    intervals += [(f"{of}rate", rate.model, rate.classical) for of, rate in rates.items()]
    if slices is not None:
        intervals += [
            (f"slice {of}", each, slices.rates[of].classical)
            for of, each in slices.intervals.items()
        ]
        intervals += [("all slices", slices.total, None)] if slices.total else []
    rows = [
        Row(name, [source, Cell.of(each, "tenths")])
        for name, joint, alone in intervals
        for source, each in ((BOTH, joint), ("labels alone", alone))
        if each is not None
    ]
    agreed = dict(zip(rates, agreement, strict=False))
    rows += [
        Row(f"{of}{name}", [BOTH, Cell.of(getattr(own, name), shown)])
        for of, own in agreed.items()
        for name, shown in MEASURES.items()
    ]
    figures = [
        _figure(of, rate, np.asarray(scores), np.asarray(labels), axis)
        for (of, rate), (scores, labels) in zip(rates.items(), collections.values(), strict=True)
    ]
    hashes = {
        f"{name} of {of}, first digits of their SHA-256": hash_of(np.asarray(each, np.float64))
        for of, arrays in collections.items()
        for name, each in zip(("Scores", "Labels"), arrays, strict=True)
    }
    return write_page(
        target,
        "rate",
        {"level": result.level, "evidence": figures},
        title=title,
        level=result.level,
        run={"Data": hashes, **(run or {}), "Versions": versions()},
        result=result,
        collections=list(collections),
        known=all(rate.classical is not None for rate in rates.values()),
        positive=positive,
        rows=rows,
        sliced=slices is not None,
        agreement=agreed,
    )


def _figure(name: str, rate: Rate, scores: Floats, labels: Floats, axis: str) -> dict[str, Any]:
    """Return P(positive | score) with its band, and the labels, as evidence.js draws them."""
    curve, known = rate.curve, ~np.isnan(labels)
    low, high = float(scores.min()), float(scores.max())
    margin = 0.03 * (high - low) or 0.5
    return {
        "title": f"{name}P(positive | score)",
        "x": numbers([low - margin, high + margin]),
        "y": [-0.03, 1.03],
        "xLabel": axis,
        "yLabel": "P(positive)",
        "note": "Only the order of the scores was used. A level curve means useless scores.",
        "series": [
            series_of(
                "band posterior", "band", x=curve.score, lower=curve.lower, upper=curve.upper
            ),
            series_of("line posterior", "P(positive | score)", x=curve.score, y=curve.probability),
            series_of("dot empirical", "labels", x=scores[known], y=labels[known]),
        ],
    }
