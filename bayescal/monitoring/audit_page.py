"""The report of an audit: the advice first, then numbers, curves, sites and provenance."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from bayescal.fitting.results.tree import versions
from bayescal.metrics.inputs import Forecasts
from bayescal.report.answer import Answer
from bayescal.report.rendering import Cell, Row, short, write_page
from bayescal.report.rendering import numbers as rounded
from bayescal.support.validation import Floats

MOST_TICKS = 300  # outcomes of each class that the curve marks
SITE_COLUMNS = ("Documents", "Observed", "Expected", "Shift", "Slope")


def write_audit_report(
    path: Path,
    *,
    title: str | None,
    level: float,
    threshold: float | None,
    text: str,
    right: bool,
    more_labels: str,
    outcomes: Forecasts,
    numbers: Mapping[str, Any],
    model_probability: Mapping[str, float],
    curve: xr.Dataset,
    net_benefit: xr.Dataset,
    sites: xr.Dataset | None,
) -> Path:
    """Write the report of an audit; `right` says that the probabilities need no recalibration."""
    advice, *lines = text.splitlines()
    p, truth, counts = outcomes.p, outcomes.truth, outcomes.counts
    digest = hashlib.sha256(p.astype("<f8").tobytes() + truth.astype(np.uint8).tobytes())
    facts = {
        "Documents": f"{counts.sum():,.6g}",
        "Positives": f"{counts @ truth:,.6g}",
        "Positives expected": f"{counts @ p:,.4g}",
    }
    if threshold is not None:
        facts["Threshold"] = short(threshold)
    if sites is not None:
        facts["Sites"] = f"{sites.sizes['site']:,}"
    data = {
        "level": level,
        "threshold": threshold,
        "curve": _curve(curve),
        "benefit": _benefit(net_benefit),
        "explanations": {
            "name": list(model_probability),
            "probability": rounded(list(model_probability.values())),
        },
        "positives": rounded(_some(p[truth])),
        "negatives": rounded(_some(p[~truth])),
    }
    if sites is not None:
        data["sites"] = {name: _forest(sites, name) for name in ("shift", "slope")}
    return write_page(
        path,
        "audit",
        data,
        title=title,
        level=level,
        run={"Versions": versions(), "Data": {"SHA-256 of p and y": digest.hexdigest()}},
        answer=Answer("good" if right else "warning", advice, ""),
        answer_lines=lines,
        more_labels=more_labels,
        facts=facts,
        numbers=[
            Row(name, [Cell.of(each)])
            for name, each in numbers.items()
            if math.isfinite(each.value)
        ],
        sites=None if sites is None else _site_rows(sites),
        site_columns=SITE_COLUMNS,
    )


def _curve(curve: xr.Dataset) -> dict[str, Any]:
    pointwise, whole = curve.sel(kind="pointwise"), curve.sel(kind="simultaneous")
    return {
        "probability": rounded(curve["probability"].values),
        "mean": rounded(curve["mean"].values),
        "lower": rounded(pointwise["lower"].values),
        "upper": rounded(pointwise["upper"].values),
        "outerLower": rounded(whole["lower"].values),
        "outerUpper": rounded(whole["upper"].values),
    }


def _benefit(benefit: xr.Dataset) -> dict[str, Any]:
    as_is = benefit.sel(strategy="as is")
    return {
        "threshold": rounded(benefit["threshold"].values),
        "asIs": rounded(as_is["mean"].values),
        "lower": rounded(as_is["lower"].values),
        "upper": rounded(as_is["upper"].values),
        "again": rounded(benefit["mean"].sel(strategy="recalibrated").values),
        "all": rounded(benefit["mean"].sel(strategy="all").values),
    }


def _some(values: Floats) -> Floats:
    """Return sorted values, at most MOST_TICKS, evenly chosen."""
    ordered = np.sort(values)
    kept = np.linspace(0, ordered.size - 1, min(ordered.size, MOST_TICKS))
    return ordered[kept.astype(np.intp)]


def _forest(sites: xr.Dataset, name: str) -> dict[str, Any]:
    own = sites.sel(number=name)
    return {"name": [*map(str, sites["site"].values), "new site"]} | {
        which: rounded([*own[which].values.tolist(), float(own[f"new_{which}"])])
        for which in ("mean", "lower", "upper")
    }


def _site_rows(sites: xr.Dataset) -> list[Row]:
    """Return a row for each site, and one for a new site."""

    def changes(own: xr.Dataset, prefix: str = "") -> list[Cell]:
        ends = (own[f"{prefix}{each}"].values.tolist() for each in ("mean", "lower", "upper"))
        return [Cell(*each) for each in zip(*ends, strict=True)]

    rows = []
    for name in sites["site"].values.tolist():
        own = sites.sel(site=name)
        counts = [Cell(float(own[each])) for each in ("documents", "observed", "expected")]
        rows.append(Row(str(name), [*counts, *changes(own)]))
    return [*rows, Row("new site", [*3 * [Cell(None)], *changes(sites, "new_")])]
