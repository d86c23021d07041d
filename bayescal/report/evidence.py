"""Weight of evidence: the quality of likelihood ratios, as a section and as a page."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from bayescal.likelihood_ratio import LikelihoodRatios, LikelihoodRatioValidation, curves, validate
from bayescal.likelihood_ratio.measures import read_comparisons
from bayescal.likelihood_ratio.ratios import DATA, RANGE, shown
from bayescal.report.rendering import numbers, series_of, write_page
from bayescal.support.files import check_target
from bayescal.support.validation import Floats

LOG10_LR = "log10 LR"


@dataclass(frozen=True)
class Evidence:
    """Values of the section; its text is in `page/evidence_section.html`."""

    checked: LikelihoodRatioValidation
    ratios: LikelihoodRatios
    figures: list[dict[str, Any]]  # the data of the figures

    @property
    def beyond_scores(self) -> int:
        """Return the number of scores beyond those fitted."""
        return sum(RANGE in each for each in self.ratios.beyond)

    @property
    def beyond_labels(self) -> int:
        """Return the number of LRs larger than the labels could contradict."""
        return sum(DATA in each for each in self.ratios.beyond)

    @staticmethod
    def shown(log10: float) -> str:
        """Return an LR as text."""
        return shown(log10)


def evidence_of(
    y_true: ArrayLike,
    ratios: LikelihoodRatios,
    *,
    sources: tuple[ArrayLike, ArrayLike] | None = None,
    level: float = 0.9,
    rng: Any = 0,
) -> Evidence:
    """Return the weight of evidence of LRs with known truth."""
    compared = read_comparisons(y_true, ratios.log10)
    return Evidence(
        checked=validate(y_true, ratios.log10, sources=sources, level=level, rng=rng),
        ratios=ratios,
        figures=[
            _tippett(curves.tippett(compared, sources, level=level, rng=rng), ratios.classes),
            _pav(curves.pav(compared)),
            _cross_entropy(curves.cross_entropies(compared)),
        ],
    )


def write_validation(
    path: str | Path,
    y_true: ArrayLike,
    ratios: LikelihoodRatios,
    *,
    sources: tuple[ArrayLike, ArrayLike] | None = None,
    level: float = 0.9,
    rng: Any = 0,
    title: str | None = None,
    run: Mapping[str, Mapping[str, str]] | None = None,
) -> Path:
    """Write a validation report of likelihood ratios: one HTML file that needs no network.

    Parameters
    ----------
    path : str or Path
        The file to write or replace, in an existing folder.
    y_true : array-like of shape (n,)
        True for comparisons of the positive proposition.
    ratios : LikelihoodRatios
        Their held-out LRs, such as `bayescal.likelihood_ratio.cross_validated` returns.
    sources : tuple of two array-likes of shape (n,), optional
        The sources of the two items of each comparison.
    level : float
        Probability of the intervals.
    rng : int, Generator, RandomState or None
        As in `bayescal.likelihood_ratio.validate`.
    title : str, optional
        Title of the page.
    run : mapping of mappings of str, optional
        Provenance to print, by heading.

    Returns
    -------
    Path
        Path of the file.

    Raises
    ------
    TypeError
        If `ratios` are no `LikelihoodRatios`.
    ValueError
        If an argument is not as described; then nothing is written.
    FileNotFoundError, OSError
        If the file cannot be written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from bayescal import ScoreCalibrator
    >>> from bayescal.likelihood_ratio import cross_validated
    >>> same = np.repeat([True, False], 40)
    >>> scores = 3.0 * same + np.random.default_rng(0).normal(size=80)
    >>> ratios = cross_validated(ScoreCalibrator(draws=100), scores, same, folds=2, rng=0)
    >>> with TemporaryDirectory() as folder:
    ...     write_validation(f"{folder}/validation.html", same, ratios).name
    'validation.html'
    """
    if not isinstance(ratios, LikelihoodRatios):
        raise TypeError(
            "ratios must be LikelihoodRatios, which cross_validated and likelihood_ratios return,"
            f" got an object of type {type(ratios).__name__}: validate takes arrays of log10 LRs."
        )
    target = check_target(path)
    evidence = evidence_of(y_true, ratios, sources=sources, level=level, rng=rng)
    data = {"evidence": evidence.figures, "level": level}
    return write_page(
        target, "evidence", data, title=title, level=level, run=run or {}, evidence=evidence
    )


# Data of the figures that evidence.js draws.


def _tippett(data: xr.Dataset, classes: tuple[str, str]) -> dict[str, Any]:
    x = data["log10_lr"].values
    series = []
    for name, label in zip(("negative", "positive"), classes, strict=True):
        ends = {end: data[f"{name}_{end}"].values for end in ("lower", "upper")}
        series.append(series_of(f"band {name}", f"{label}, interval", x=x, **ends))
        series.append(series_of(f"line {name}", label, x=x, y=data[name].values))
    return {
        "title": "Shares of larger LRs (Tippett plot)",
        "x": numbers([x[0], x[-1]]),
        "y": [0, 1],
        "xLabel": LOG10_LR,
        "yLabel": "share of larger LRs",
        "at": [0],
        "note": "For each LR, the share of comparisons of either proposition with a larger one."
        " Misleading are those of the negative proposition right of 0, and those of the positive"
        " one left of 0.",
        "series": series,
    }


def _pav(data: xr.Dataset) -> dict[str, Any]:
    x, y = data["log10_lr"].values, data["pav"].values
    finite = np.isfinite(x) & np.isfinite(y)
    ends = np.concatenate([x[np.isfinite(x)], y[np.isfinite(y)], [0.0]])
    low, high = float(ends.min()), float(ends.max())
    margin = 0.06 * (high - low) or 0.5
    series = [
        series_of("line diagonal", "stated = recalibrated", x=[low, high], y=[low, high]),
        series_of("line posterior", "recalibrated (PAV)", x=x[finite], y=y[finite]),
    ]
    edges = (
        ("dot empirical", "recalibrated to LR = 0", -np.inf, low - margin),
        ("dot mle", "recalibrated to infinity", np.inf, high + margin),
    )
    for kind, name, end, height in edges:
        # One dot for dots that would overlap.
        at: Floats = np.unique(np.round(np.clip(x[y == end], low, high) / margin, 1)) * margin
        if at.size:
            series.append(series_of(kind, name, x=at, y=np.full(at.size, height)))
    limits = numbers([low - 2.0 * margin, high + 2.0 * margin])
    return {
        "title": "Stated and recalibrated LRs (PAV)",
        "x": limits,
        "y": limits,
        "xLabel": f"stated {LOG10_LR}",
        "yLabel": f"{LOG10_LR} after PAV",
        "note": "Isotonic regression of the truth on the stated LRs; right ones lie on the line.",
        "series": series,
    }


def _cross_entropy(data: xr.Dataset) -> dict[str, Any]:
    x = data["log10_prior_odds"].values
    finite = data["stated"].values[np.isfinite(data["stated"].values)]
    kinds = (("stated", "posterior"), ("recalibrated", "mle"), ("neutral", "diagonal"))
    names = {"stated": "stated LRs", "recalibrated": "after PAV", "neutral": "LR = 1"}
    return {
        "title": "Empirical cross-entropy by prior odds",
        "x": numbers([x[0], x[-1]]),
        "y": [0.0, numbers(min(1.08 * finite.max(initial=1.0), 2.5))],
        "xLabel": "log10 prior odds",
        "yLabel": "cross-entropy (bits)",
        "at": [0],
        "note": "The mean cost, in bits, of posterior probabilities from these LRs, at every prior;"
        " at prior odds of 1 it is Cllr. Where it exceeds that of LR = 1, the LRs mislead.",
        "series": [series_of(f"line {kind}", names[k], x=x, y=data[k].values) for k, kind in kinds],
    }
