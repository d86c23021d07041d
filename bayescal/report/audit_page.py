"""The report of an audit: the advice first, then numbers, curves, sites and provenance."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import xarray as xr

from bayescal.fitting.results.tree import versions
from bayescal.metrics.inputs import Forecasts
from bayescal.report.answer import Answer, Cell
from bayescal.report.rendering import numbers, render, short, write_page
from bayescal.support.validation import Floats

SCRIPTS = ("numbers", "svg", "tables", "figure_element", "appearance", "audit")
TITLE = "Audit of probabilities"
MOST_TICKS = 300  # outcomes of each class that the curve marks
SITE_COLUMNS = ("Documents", "Observed", "Expected", "Shift", "Slope")


class Audited(Protocol):
    """The part of `bayescal.monitoring.Audit` that the page shows."""

    @property
    def documents(self) -> float:
        """Number of documents."""
        ...

    @property
    def level(self) -> float:
        """Posterior probability of intervals."""
        ...

    @property
    def curve(self) -> xr.Dataset:
        """The calibration curve."""
        ...

    @property
    def net_benefit(self) -> xr.Dataset:
        """Net benefit by threshold."""
        ...

    @property
    def sites(self) -> xr.Dataset | None:
        """Shift and slope of each site."""
        ...

    @property
    def threshold(self) -> float | None:
        """The threshold asked for."""
        ...

    @property
    def outcomes(self) -> Forecasts:
        """The checked documents."""
        ...

    @property
    def numbers(self) -> Mapping[str, Any]:
        """Numbers with value, lower and upper, by name."""
        ...

    @property
    def model_probability(self) -> Mapping[str, float]:
        """Probabilities of the four explanations."""
        ...

    @property
    def explanation(self) -> str:
        """The most probable explanation."""
        ...

    @property
    def text(self) -> str:
        """The audit in words, the advice in the first line."""
        ...

    @property
    def more_labels(self) -> str:
        """Numbers of labels for narrower intervals, in words."""
        ...


@dataclass(frozen=True)
class NamedCells:
    """A row of a table: its name and its cells."""

    name: str
    cells: tuple[Cell, ...]

    @property
    def cell(self) -> Cell:
        """Return the first cell."""
        return self.cells[0]


def write_audit_report(audit: Audited, path: str | Path, *, title: str | None = None) -> Path:
    """Write the report of an audit."""
    advice, *lines = audit.text.splitlines()
    text = render(
        "audit",
        SCRIPTS,
        _drawn(audit),
        title=title or TITLE,
        percent=f"{100.0 * audit.level:g}",
        answer=Answer("good" if audit.explanation == "as is" else "warning", advice, ""),
        answer_lines=lines,
        more_labels=audit.more_labels,
        facts=_facts(audit),
        numbers=[
            NamedCells(name, (_cell(each.value, each.lower, each.upper),))
            for name, each in audit.numbers.items()
            if math.isfinite(each.value)
        ],
        sites=None if audit.sites is None else _site_rows(audit.sites),
        site_columns=SITE_COLUMNS,
        run={"Versions": versions(), "Data": {"SHA-256 of p and y": _hash(audit.outcomes)}},
    )
    return write_page(Path(path), text)


def _cell(value: float, lower: float = math.nan, upper: float = math.nan) -> Cell:
    known = math.isfinite(lower)
    return Cell(value, lower if known else None, upper if known else None)


def _hash(outcomes: Forecasts) -> str:
    """Return a hash of probabilities as little-endian float64 and outcomes as bytes."""
    digest = hashlib.sha256(outcomes.p.astype("<f8").tobytes())
    digest.update(outcomes.truth.astype(np.uint8).tobytes())
    return digest.hexdigest()


def _facts(audit: Audited) -> dict[str, str]:
    counts, truth = audit.outcomes.counts, audit.outcomes.truth
    facts = {
        "Documents": f"{audit.documents:,.6g}",
        "Positives": f"{counts @ truth:,.6g}",
        "Positives expected": f"{counts @ audit.outcomes.p:,.4g}",
    }
    if audit.threshold is not None:
        facts["Threshold"] = short(audit.threshold)
    if audit.sites is not None:
        facts["Sites"] = f"{audit.sites.sizes['site']:,}"
    return facts


def _drawn(audit: Audited) -> dict[str, Any]:
    """Return the data of the figures."""
    curve, benefit = audit.curve, audit.net_benefit
    pointwise, whole = curve.sel(kind="pointwise"), curve.sel(kind="simultaneous")
    as_is = benefit.sel(strategy="as is")
    data: dict[str, Any] = {
        "level": audit.level,
        "threshold": audit.threshold,
        "curve": {
            "probability": numbers(curve["probability"].values),
            "mean": numbers(curve["mean"].values),
            "lower": numbers(pointwise["lower"].values),
            "upper": numbers(pointwise["upper"].values),
            "outerLower": numbers(whole["lower"].values),
            "outerUpper": numbers(whole["upper"].values),
        },
        "benefit": {
            "threshold": numbers(benefit["threshold"].values),
            "asIs": numbers(as_is["mean"].values),
            "lower": numbers(as_is["lower"].values),
            "upper": numbers(as_is["upper"].values),
            "again": numbers(benefit["mean"].sel(strategy="recalibrated").values),
            "all": numbers(benefit["mean"].sel(strategy="all").values),
        },
        "explanations": {
            "name": list(audit.model_probability),
            "probability": numbers(list(audit.model_probability.values())),
        },
    }
    for name, side in (("positives", True), ("negatives", False)):
        data[name] = numbers(_some(audit.outcomes.p[audit.outcomes.truth == side]))
    if audit.sites is not None:
        data["sites"] = {name: _forest(audit.sites, name) for name in ("shift", "slope")}
    return data


def _some(values: Floats) -> Floats:
    """Return values, evenly chosen in their order if they are many."""
    ordered = np.sort(values)
    kept = np.linspace(0, ordered.size - 1, min(ordered.size, MOST_TICKS))
    return ordered[kept.astype(np.intp)]


def _forest(sites: xr.Dataset, name: str) -> dict[str, Any]:
    own = sites.sel(number=name)
    return {"name": [*map(str, sites["site"].values), "new site"]} | {
        which: numbers([*own[which].values.tolist(), float(own[f"new_{which}"])])
        for which in ("mean", "lower", "upper")
    }


def _site_rows(sites: xr.Dataset) -> list[NamedCells]:
    """Return a row for each site, and one for a new site."""
    rows = []
    for name in sites["site"].values.tolist():
        own = sites.sel(site=name)
        counts = (Cell(float(own[each])) for each in ("documents", "observed", "expected"))
        ends = ((own[each].values.tolist()) for each in ("mean", "lower", "upper"))
        changes = (Cell(*each) for each in zip(*ends, strict=True))
        rows.append(NamedCells(str(name), (*counts, *changes)))
    ends = (sites[f"new_{each}"].values.tolist() for each in ("mean", "lower", "upper"))
    changes = (Cell(*each) for each in zip(*ends, strict=True))
    rows.append(NamedCells("new site", (Cell(None), Cell(None), Cell(None), *changes)))
    return rows
