"""What the studies of unseen data sets read off their rows: means, comparisons, coverage."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

SAME, LATER = "same", "later"
CELL = ["kind", "time", "n"]
PROBLEM = ["class", "classifier"]
LOSSES = ["bits", "brier"]
COVERAGES = ["coverage", "coverage, positives", "coverage, others"]
# Data sets of a cell, or problems of a data set: fewer have no standard error to speak of.
LEAST = 3
EVERY_KIND = "all kinds"
ERRORS = 2.0


def in_order(found: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the rows as tables have them: by kind, the same time first, by size and method."""
    place = found["method"].map(list(methods).index)
    rows = found.assign(place=place).sort_values(
        [*CELL, "place"], ascending=[True, False, True, True], kind="stable"
    )
    return rows.drop(columns="place")


def by_data_set(found: pd.DataFrame) -> pd.DataFrame:
    """Return means over the problems of each data set, by kind of classifier, time and size."""
    grouped = found.groupby([*CELL, "data_set", "method"], sort=False)
    return grouped[LOSSES + COVERAGES].mean().reset_index()


def compare(
    rows: pd.DataFrame, by: list[str], unit: list[str], loss: str, ours: Sequence[str]
) -> pd.DataFrame:
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
    ours : sequence of str
        Methods that are nobody's peers.
    """
    cells = {
        values: against_best(part.pivot_table(loss, unit, "method", sort=False), ours)
        for values, part in rows.groupby(by, sort=False)
    }
    return pd.concat(cells, names=by).reset_index()


def against_best(losses: pd.DataFrame, ours: Sequence[str]) -> pd.DataFrame:
    """
    Return how each method does against the peer of the lowest mean loss.

    Parameters
    ----------
    losses : pandas.DataFrame
        A row for each data set or problem, a column for each method; methods that were not for all
        of them are left out.
    ours : sequence of str
        Columns that are no peers.

    Returns
    -------
    pandas.DataFrame
        By method: its mean; the peer, and its mean (theirs); the mean difference, and its standard
        error, taken row by row; of how many rows.
    """
    complete = losses.dropna(axis="columns")
    peer = complete.drop(columns=list(ours), errors="ignore").mean().idxmin()
    difference = complete.sub(complete[peer], axis="index")
    table = {"mean": complete.mean(), "peer": peer, "theirs": complete[peer].mean()}
    table |= {"difference": difference.mean(), "difference error": difference.sem()}
    return pd.DataFrame(table | {"units": len(complete)})


def of_kinds(rows: pd.DataFrame, ours: Sequence[str], loss: str = "bits") -> pd.DataFrame:
    """Return `compare` over data sets, of each kind of classifiers and of all kinds together."""
    each = by_data_set(rows)
    every = by_data_set(each.assign(kind=EVERY_KIND))
    return compare(pd.concat([every, each]), CELL, ["data_set"], loss, ours)


def coverage(each: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return means over data sets of a coverage, and their errors, by cell and method."""
    grouped = each.dropna(subset=measure).groupby([*CELL, "method"], sort=False)[measure]
    return grouped.agg(mean="mean", error="sem", units="size").reset_index()


def largest_excess(found: pd.DataFrame, ours: Sequence[str]) -> pd.DataFrame:
    """
    Return by data set the cells with the largest excess of our first method over its best peer.

    One row a data set: `excess` and its `error` as shares of the peer's loss, and the largest
    excess `beyond` two errors, with the time, the size and the peer of each (`at`, `beyond at`).
    """
    table = compare(found, ["data_set", "time", "n"], PROBLEM, "bits", ours)
    table = table[(table["method"] == ours[0]) & (table["units"] >= LEAST)]
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
