"""Data and rows of the page of an audit."""

from typing import Any

import xarray as xr

from bayescal.report.rendering import Cell, Row
from bayescal.report.rendering import numbers as rounded
from bayescal.support.condensing import documents_of
from bayescal.support.validation import Floats

MOST_TICKS = 300  # outcomes of each class that the curve marks
SITE_COLUMNS = ("Observed", "Expected", "Shift", "Slope")


def curve_data(curve: xr.Dataset) -> dict[str, Any]:
    """Return the calibration curve with both bands."""
    pointwise, whole = curve.sel(kind="pointwise"), curve.sel(kind="simultaneous")
    return {
        "probability": rounded(curve["probability"].values),
        "mean": rounded(curve["mean"].values),
        "lower": rounded(pointwise["lower"].values),
        "upper": rounded(pointwise["upper"].values),
        "outerLower": rounded(whole["lower"].values),
        "outerUpper": rounded(whole["upper"].values),
    }


def benefit_data(benefit: xr.Dataset) -> dict[str, Any]:
    """Return net benefit by threshold."""
    as_is = benefit.sel(strategy="as is")
    return {
        "threshold": rounded(benefit["threshold"].values),
        "asIs": rounded(as_is["mean"].values),
        "lower": rounded(as_is["lower"].values),
        "upper": rounded(as_is["upper"].values),
        "counted": rounded(as_is["counted"].values),
        "again": rounded(benefit["mean"].sel(strategy="recalibrated").values),
        "all": rounded(benefit["mean"].sel(strategy="all").values),
    }


def ticks(values: Floats, counts: Floats) -> Any:
    """Return sorted values of documents, at most MOST_TICKS, evenly chosen."""
    return rounded(documents_of(values, counts, MOST_TICKS))


def site_changes(sites: xr.Dataset, name: str) -> dict[str, Any]:
    """Return the shift or the slope of each site, and of a new one."""
    own = sites.sel(number=name)
    return {"name": [*map(str, sites["site"].values), "new site"]} | {
        which: rounded([*own[which].values.tolist(), float(own[f"new_{which}"])])
        for which in ("mean", "lower", "upper")
    }


def site_rows(sites: xr.Dataset) -> list[Row]:
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
