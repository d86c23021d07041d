"""The page, tables and figure of the study of data sets that no default was tuned on."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from studies import figures
from studies.peers import PEERS
from studies.reporting import (
    Bar,
    by_column,
    markdown,
    with_error,
    write_figure,
    write_page,
    write_table,
)
from studies.unseen_methods import DEFAULT, OURS, PLAIN

SAME, LATER = "same", "later"
CELL = ["kind", "time", "n"]
PROBLEM = ["class", "classifier"]
LOSSES, COVERAGES = ["bits", "brier"], ["coverage", "coverage, positives"]
SHOWN = ("Platt", "isotonic", "beta", "Venn-Abers", "Bayes logistic")
# Data sets of a cell, or problems of a data set: fewer have no standard error to speak of.
LEAST = 3
# No worse than the best peer by more than a share of its loss, or errors; no data set by more than
# a share beyond the errors.
SHARE, ERRORS, SHARE_OF_ONE = 0.02, 2.0, 0.05
COVERAGE = (0.86, 0.96)


def write_report(found: pd.DataFrame, out: Path) -> None:
    """
    Write unseen.md, a table in CSV and a figure.

    Parameters
    ----------
    found : pandas.DataFrame
        Columns data_set, class, classifier, kind, time, n (expected positives), method, bits,
        brier, coverage, "coverage, positives": what `studies.unseen.measure` returns.
    out : Path
        The folder to write to.
    """
    found = in_order(found)
    each = by_data_set(found)
    losses = {name: compare(each, CELL, ["data_set"], name) for name in LOSSES}
    bands = {name: coverage(each, name) for name in COVERAGES}
    worst = largest_excess(found)
    together = [table.assign(measure=name) for name, table in (losses | bands).items()]
    write_table(pd.concat(together), out, "unseen")
    write_figure(_figure(each), out, "unseen")
    samples = found[(found["time"] == SAME) & (found["method"] == DEFAULT)]
    write_page(
        "unseen",
        out,
        bars(losses["bits"], worst, bands["coverage"]),
        problems=str(len(samples.drop_duplicates(["data_set", *PROBLEM]))),
        sets=str(samples["data_set"].nunique()),
        samples=", ".join(
            f"{count} with n+ = {n}" for n, count in samples["n"].value_counts(sort=False).items()
        ),
        excess=_excess(losses["bits"]),
        brier=_excess(losses["brier"]),
        data_sets=markdown(_in_words(worst)),
        coverages=_coverages(bands["coverage"]),
        positives=_coverages(bands["coverage, positives"]),
        same=_every_method(losses["bits"], SAME),
        later=_every_method(losses["bits"], LATER),
    )


def in_order(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows as tables have them: by kind, the same time first, by size and method."""
    place = found["method"].map([*OURS, *PEERS, PLAIN].index)
    rows = found.assign(place=place).sort_values(
        [*CELL, "place"], ascending=[True, False, True, True], kind="stable"
    )
    return rows.drop(columns="place")


def by_data_set(found: pd.DataFrame) -> pd.DataFrame:
    """Return means over the problems of each data set, by kind of classifier, time and size."""
    grouped = found.groupby([*CELL, "data_set", "method"], sort=False)
    return grouped[LOSSES + COVERAGES].mean().reset_index()


def compare(rows: pd.DataFrame, by: list[str], unit: list[str], loss: str) -> pd.DataFrame:
    """
    Return all methods against the best peer of each cell, a row for each cell and method.

    Parameters
    ----------
    rows : pandas.DataFrame
        A row for each cell, unit and method.
    by : list of str
        Columns whose values make the cells.
    unit : list of str
        Columns that name what means are taken over: data sets, or problems.
    loss : str
        The column of losses.
    """
    cells = {
        values: against_best(part.pivot_table(loss, unit, "method", sort=False))
        for values, part in rows.groupby(by, sort=False)
    }
    return pd.concat(cells, names=by).reset_index()


def against_best(losses: pd.DataFrame) -> pd.DataFrame:
    """
    Return how each method does against the peer of the lowest mean loss.

    Parameters
    ----------
    losses : pandas.DataFrame
        A row for each data set or problem, a column for each method; methods that were not for all
        of them are left out.

    Returns
    -------
    pandas.DataFrame
        By method: its mean; the peer, and its mean (theirs); the mean difference, and its standard
        error, taken row by row; of how many rows.
    """
    complete = losses.dropna(axis="columns")
    peer = complete.drop(columns=list(OURS), errors="ignore").mean().idxmin()
    difference = complete.sub(complete[peer], axis="index")
    table = {"mean": complete.mean(), "peer": peer, "theirs": complete[peer].mean()}
    table |= {"difference": difference.mean(), "difference error": difference.sem()}
    return pd.DataFrame(table | {"units": len(complete)})


def coverage(each: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return means over data sets of a coverage, and their errors, by cell and method."""
    grouped = each.dropna(subset=measure).groupby([*CELL, "method"], sort=False)[measure]
    return grouped.agg(mean="mean", error="sem", units="size").reset_index()


def largest_excess(found: pd.DataFrame) -> pd.DataFrame:
    """
    Return by data set the cells with the largest excess of the default over its best peer.

    One row a data set: `excess` and its `error` as shares of the peer's loss, and the largest
    excess `beyond` two errors, with the time, the size and the peer of each (`at`, `beyond at`).
    """
    table = compare(found, ["data_set", "time", "n"], PROBLEM, "bits")
    table = table[(table["method"] == DEFAULT) & (table["units"] >= LEAST)]
    table = table.assign(
        excess=table["difference"] / table["theirs"],
        error=table["difference error"] / table["theirs"],
        at=[f"{row.n}, {row.time}, {row.peer}" for row in table.itertuples()],
    )
    table["beyond"] = table["excess"] - ERRORS * table["error"]
    by_set = table.groupby("data_set")
    largest = table.loc[by_set["excess"].idxmax(), ["data_set", "units", "excess", "error", "at"]]
    surest = table.loc[by_set["beyond"].idxmax(), ["data_set", "beyond", "at"]]
    return largest.merge(surest.rename(columns={"at": "beyond at"}), on="data_set")


def bars(bits: pd.DataFrame, worst: pd.DataFrame, bands: pd.DataFrame) -> list[Bar]:
    """Return: no cell worse than its best peer, no data set much worse; coverage of each cell."""
    ours = bits[(bits["method"] == DEFAULT) & (bits["units"] >= LEAST)]
    covered = bands[(bands["method"] == DEFAULT) & (bands["units"] >= LEAST)]
    return [
        *(_against_best(row) for row in ours.to_dict("records")),
        *(_data_set(row) for row in worst.to_dict("records")),
        *(_coverage(row) for row in covered.to_dict("records")),
    ]


def _against_best(row: dict[Hashable, Any]) -> Bar:
    excess, error = (row[name] / row["theirs"] for name in ("difference", "difference error"))
    allowed = max(SHARE, ERRORS * error)
    return Bar(
        claim=f"{row['kind']}, n+ = {row['n']}, {row['time']}: default against {row['peer']}",
        measured=f"{in_percent(excess, error)} more bits",
        limit=f"≤ {allowed:.1%}",
        holds=bool(excess <= allowed),
    )


def _data_set(row: dict[Hashable, Any]) -> Bar:
    return Bar(
        claim=f"{row['data_set']}: default against the best peer, beyond two errors",
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


def _excess(table: pd.DataFrame) -> str:
    """Return the default's excess over the best peer, kinds and times by size."""
    rows = table[table["method"] == DEFAULT]
    return by_column(rows.assign(text=_shares(rows)), "text", ["kind", "time"], "n")


def _shares(rows: pd.DataFrame) -> list[str]:
    columns = (rows[name] / rows["theirs"] for name in ("difference", "difference error"))
    return [in_percent(*each) for each in zip(*columns, strict=True)]


def _every_method(table: pd.DataFrame, time: str) -> str:
    """Return mean losses of all methods at a time, with the difference to the best peer."""
    rows = table[table["time"] == time]
    texts = [
        f"**{row['mean']:.4f}**"
        if row["method"] == row["peer"]
        else f"{row['mean']:.4f} ({row['difference']:+.4f} ± {row['difference error']:.4f})"
        for row in rows.to_dict("records")
    ]
    return by_column(rows.assign(text=texts), "text", ["kind", "method"], "n")


def _coverages(table: pd.DataFrame) -> str:
    texts = [with_error(*each, 3) for each in zip(table["mean"], table["error"], strict=True)]
    return by_column(table.assign(text=texts), "text", ["kind", "method"], "n")


def _in_words(worst: pd.DataFrame) -> pd.DataFrame:
    """Return the table of data sets as the page shows it."""
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


def _figure(each: pd.DataFrame) -> Figure:
    """Return losses of peers relative to the default's, a panel for each kind and time."""
    key = [*CELL, "data_set"]
    default = each[each["method"] == DEFAULT].set_index(key)["bits"].rename("default")
    rows = each[each["method"].isin(SHOWN)].join(default, on=key)
    rows["ratio"] = np.log(rows["bits"] / rows["default"])
    table = rows.groupby([*CELL, "method"], sort=False)["ratio"].agg(["mean", "sem"]).reset_index()
    table["mean"] = 100.0 * np.exp(table["mean"])
    table["error"] = table["mean"] * table["sem"]
    table["panel"] = table["kind"] + ", " + table["time"]
    labels = ("expected positives", "log-loss, the default's = 100")
    return figures.lines(table, "n", "method", "panel", labels, columns=4, level=100.0, log=True)
