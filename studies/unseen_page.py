"""What the studies of unseen data sets write alike: a page with bars and tables, and a figure."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from studies import figures
from studies.reporting import (
    Bar,
    by_column,
    markdown,
    with_error,
    write_figure,
    write_page,
    write_table,
)
from studies.unseen_methods import DEFAULT
from studies.unseen_tables import (
    CELL,
    COVERAGES,
    ERRORS,
    LATER,
    LEAST,
    LOSSES,
    SAME,
    by_data_set,
    compare,
    coverage,
    largest_excess,
)

# No worse than the best peer by more than a share of its loss, or errors; no data set by more than
# a share beyond the errors.
SHARE, SHARE_OF_ONE = 0.02, 0.05
COVERAGE = (0.86, 0.96)


def write_comparison(
    name: str,
    out: Path,
    found: pd.DataFrame,
    rivals: pd.DataFrame,
    *,
    ours: Sequence[str],
    peer: str,
    shown: Sequence[str],
    **sections: str,
) -> None:
    """
    Write a study's page, its table in CSV and its figure.

    Parameters
    ----------
    name : str
        Of the files.
    out : Path
        The folder to write to.
    found : pandas.DataFrame
        Losses and coverage of every method, as of `studies.unseen_report.write_report`.
    rivals : pandas.DataFrame
        The rows of those methods that data sets are looked at one by one for.
    ours : sequence of str
        Methods that are not peers; the first is judged.
    peer : str
        Who rivals are, in words.
    shown : sequence of str
        Methods in the figure.
    **sections
        What the page has besides.
    """
    each, method = by_data_set(found), ours[0]
    losses = {loss: compare(each, CELL, ["data_set"], loss, ours) for loss in LOSSES}
    bands = {band: coverage(each, band) for band in COVERAGES}
    worst = largest_excess(rivals, ours)
    together = [table.assign(measure=measure) for measure, table in (losses | bands).items()]
    write_table(pd.concat(together), out, name)
    write_figure(relative_losses(each, shown), out, name)
    write_page(
        name,
        out,
        bars(losses["bits"], worst, bands["coverage"], method, peer),
        excess=excesses(losses["bits"], method),
        brier=excesses(losses["brier"], method),
        data_sets=markdown(by_excess(worst)),
        coverages=coverages(bands["coverage"]),
        positives=coverages(bands["coverage, positives"]),
        others=coverages(bands["coverage, others"]),
        same=every_method(losses["bits"], SAME),
        later=every_method(losses["bits"], LATER),
        **sections,
    )


def bars(
    bits: pd.DataFrame, worst: pd.DataFrame, bands: pd.DataFrame, method: str, peer: str
) -> list[Bar]:
    """
    Return: no cell worse than its best peer, no data set much worse; coverage of each cell.

    Parameters
    ----------
    bits, worst, bands : pandas.DataFrame
        What `compare`, `largest_excess` and `coverage` return.
    method : str
        The one that is judged.
    peer : str
        Against whom, in words, data sets are looked at one by one.
    """
    ours, covered = (
        table[(table["method"] == method) & (table["units"] >= LEAST)].to_dict("records")
        for table in (bits, bands)
    )
    return [
        *(_against_best(row) for row in ours),
        *(_data_set(row, f"{method} against {peer}") for row in worst.to_dict("records")),
        *(_coverage(row) for row in covered),
    ]


def _against_best(row: dict[Hashable, Any]) -> Bar:
    excess, error = (row[name] / row["theirs"] for name in ("difference", "difference error"))
    allowed = max(SHARE, ERRORS * error)
    return Bar(
        claim=f"{row['kind']}, n+ = {row['n']}, {row['time']}:"
        f" {row['method']} against {row['peer']}",
        measured=f"{in_percent(excess, error)} more bits",
        limit=f"≤ {allowed:.1%}",
        holds=bool(excess <= allowed),
    )


def _data_set(row: dict[Hashable, Any], compared: str) -> Bar:
    return Bar(
        claim=f"{row['data_set']}: {compared}, beyond two errors",
        measured=f"{row['beyond']:.1%} ({row['beyond at']})",
        limit=f"≤ {SHARE_OF_ONE:.0%}",
        holds=bool(row["beyond"] <= SHARE_OF_ONE),
    )


def _coverage(row: dict[Hashable, Any]) -> Bar:
    least, most = COVERAGE
    return Bar(
        claim=f"{row['kind']}, n+ = {row['n']}: 90 % band",
        measured=with_error(row["mean"], row["error"], 3),
        limit=f"{least:.0%} to {most:.0%}",
        holds=bool(least <= row["mean"] <= most),
    )


def in_percent(share: float, error: float) -> str:
    """
    Return a share and its standard error in percent, with its sign.

    Examples
    --------
    >>> in_percent(0.0213, 0.004)
    '+2.1 ± 0.4 %'
    """
    return f"{100 * share:+.1f} ± {100 * error:.1f} %"


def excesses(table: pd.DataFrame, method: str, rows: Sequence[str] = ("kind", "time")) -> str:
    """Return a method's excess over the best peer by size."""
    shown = table[table["method"] == method]
    return by_column(shown.assign(text=shares(shown)), "text", list(rows), "n")


def shares(rows: pd.DataFrame) -> list[str]:
    """Return differences to the best peer as shares of its loss, in percent with their errors."""
    columns = (rows[name] / rows["theirs"] for name in ("difference", "difference error"))
    return [in_percent(*each) for each in zip(*columns, strict=True)]


def every_method(table: pd.DataFrame, time: str) -> str:
    """Return mean losses of all methods at a time, with the difference to the best peer."""
    rows = table[table["time"] == time]
    texts = [
        f"**{row['mean']:.4f}**"
        if row["method"] == row["peer"]
        else f"{row['mean']:.4f} ({row['difference']:+.4f} ± {row['difference error']:.4f})"
        for row in rows.to_dict("records")
    ]
    return by_column(rows.assign(text=texts), "text", ["kind", "method"], "n")


def coverages(table: pd.DataFrame) -> str:
    """Return coverage with its error, kinds and methods by size."""
    texts = [with_error(*each, 3) for each in zip(table["mean"], table["error"], strict=True)]
    return by_column(table.assign(text=texts), "text", ["kind", "method"], "n")


def by_excess(worst: pd.DataFrame) -> pd.DataFrame:
    """Return the table of data sets as pages show it, those that do worst first."""
    rows = worst.sort_values("beyond", ascending=False, kind="stable")
    largest = [in_percent(*each) for each in zip(rows["excess"], rows["error"], strict=True)]
    return pd.DataFrame(
        {
            "data set": rows["data_set"],
            "problems": rows["units"],
            "largest excess": largest,
            "at n+, time, against": rows["at"],
            "largest beyond two errors": rows["beyond"].map("{:+.1%}".format),
            "at": rows["beyond at"],
        }
    )


def relative_losses(each: pd.DataFrame, methods: Sequence[str]) -> Figure:
    """Return methods' losses relative to the default's, a panel for each kind and time."""
    key = [*CELL, "data_set"]
    default = each[each["method"] == DEFAULT].set_index(key)["bits"].rename("default")
    rows = each[each["method"].isin(methods)].join(default, on=key)
    rows["ratio"] = np.log(rows["bits"] / rows["default"])
    table = rows.groupby([*CELL, "method"], sort=False)["ratio"].agg(["mean", "sem"]).reset_index()
    table["mean"] = 100.0 * np.exp(table["mean"])
    table["error"] = table["mean"] * table["sem"]
    table["panel"] = table["kind"] + ", " + table["time"]
    labels = ("expected positives", "log-loss, the default's = 100")
    return figures.lines(table, "n", "method", "panel", labels, columns=4, level=100.0, log=True)
