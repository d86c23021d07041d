"""Pages, tables and figures of the studies of data sets that no default was tuned on."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from bayescal.support.intervals import percent
from studies.papers.sigir2003.figures import lines
from studies.peers import DEFAULT, OURS, PEERS, PLAIN, POOLED, VAGUE
from studies.reporting import (
    Bar,
    by_column,
    fill,
    in_percent,
    with_error,
    write_bars,
    write_figure,
    write_page,
    write_table,
)

SAME, LATER = "same", "later"
CELL = ["kind", "time", "n"]
PROBLEM = ["class", "classifier"]
LOSSES = ["bits", "brier"]
COVERAGES = ["coverage", "coverage, positives", "coverage, others"]
# Fewest data sets of a cell, or problems of a data set, for a useful standard error.
LEAST = 3
EVERY_KIND = "all kinds"
FEW = 10
ERRORS = 2.0


def in_order(results: pd.DataFrame, methods: Sequence[str]) -> pd.DataFrame:
    """Return the rows in the order of tables: kind, time (same first), size, method."""
    place = results["method"].map(list(methods).index)
    rows = results.assign(place=place).sort_values(
        [*CELL, "place"], ascending=[True, False, True, True], kind="stable"
    )
    return rows.drop(columns="place")


def by_data_set(results: pd.DataFrame) -> pd.DataFrame:
    """Return means over the problems of each data set, by kind of classifier, time and size."""
    grouped = results.groupby([*CELL, "data_set", "method"], sort=False)
    return grouped[LOSSES + COVERAGES].mean().reset_index()


def compare(
    rows: pd.DataFrame, by: list[str], unit: list[str], loss: str, ours: Sequence[str]
) -> pd.DataFrame:
    """Return all methods against the best peer of each cell, a row for each cell and method.

    Parameters
    ----------
    rows : pandas.DataFrame
        A row for each cell, unit and method.
    by : list of str
        Columns whose values make the cells.
    unit : list of str
        Columns of the units that means are taken over: data sets, or problems.
    loss : str
        The column of losses.
    ours : sequence of str
        Methods that are no peers.
    """
    cells = {
        values: against_best(part.pivot_table(loss, unit, "method", sort=False), ours)
        for values, part in rows.groupby(by, sort=False)
    }
    return pd.concat(cells, names=by).reset_index()


def against_best(losses: pd.DataFrame, ours: Sequence[str]) -> pd.DataFrame:
    """Return each method's difference from the peer with the lowest mean loss.

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
    """Return `compare` over data sets, for each kind of classifier and for all kinds."""
    each = by_data_set(rows)
    every = by_data_set(each.assign(kind=EVERY_KIND))
    return compare(pd.concat([every, each]), CELL, ["data_set"], loss, ours)


def coverage(each: pd.DataFrame, measure: str) -> pd.DataFrame:
    """Return means over data sets of a coverage, and their errors, by cell and method."""
    grouped = each.dropna(subset=measure).groupby([*CELL, "method"], sort=False)[measure]
    return grouped.agg(mean="mean", error="sem", units="size").reset_index()


def largest_excess(results: pd.DataFrame, ours: Sequence[str]) -> pd.DataFrame:
    """Return by data set the cells with the largest excess of our first method over its best peer.

    One row a data set: `excess` and its `error` as shares of the peer's loss, and the largest
    excess `beyond` two errors, with the time, the size and the peer of each (`at`, `beyond at`).
    """
    table = compare(results, ["data_set", "time", "n"], PROBLEM, "bits", ours)
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


# Bars allow this share of the best peer's loss, and for one data set this share beyond errors.
SHARE, SHARE_OF_ONE = 0.02, 0.05
COVERAGE = (0.86, 0.96)


def write_comparison(
    name: str,
    out: Path,
    results: pd.DataFrame,
    rivals: pd.DataFrame,
    *,
    ours: Sequence[str],
    peer: str,
    shown: Sequence[str],
) -> None:
    """Write the tables and bars that all these studies have, and their figure.

    Parameters
    ----------
    name : str
        Name of the study.
    out : Path
        Folder to write to.
    results : pandas.DataFrame
        Losses and coverage of every method: see `write_report`.
    rivals : pandas.DataFrame
        Rows of the methods that are compared on each data set by itself.
    ours : sequence of str
        Methods that are not peers; the bars judge the first one.
    peer : str
        Description of the rivals for the bars.
    shown : sequence of str
        Methods in the figure.
    """
    each, method = by_data_set(results), ours[0]
    losses = {loss: compare(each, CELL, ["data_set"], loss, ours) for loss in LOSSES}
    bands = {band: coverage(each, band) for band in COVERAGES}
    worst = largest_excess(rivals, ours)
    together = [table.assign(measure=measure) for measure, table in (losses | bands).items()]
    write_table(pd.concat(together), out, name)
    write_table(by_excess(worst), out, f"{name}_data_sets")
    write_bars(bars(losses["bits"], worst, bands["coverage"], method, peer), out, name)
    write_figure(relative_losses(each, shown), out, name)


def changes(table: pd.DataFrame, method: str, by: str, measure: str = "bits") -> pd.DataFrame:
    """Return a method's change against the only other method, in percent, as in <name>_gains.csv.

    Parameters
    ----------
    table : pandas.DataFrame
        What `compare` returns, with the column `by`.
    method : str
        Whose change.
    by : str
        Column that names the groups.
    measure : str
        Name of the losses.
    """
    rows = table[table["method"] == method]
    return pd.DataFrame(
        {
            "by": by,
            "measure": measure,
            "group": rows[by],
            "time": rows.get("time", SAME),
            "n": rows["n"],
            "change %": 100.0 * rows["difference"] / rows["theirs"],
            "error %": 100.0 * rows["difference error"] / rows["theirs"],
        }
    )


def changes_of(both: pd.DataFrame, ours: str) -> list[pd.DataFrame]:
    """Return `changes` of rows of two methods: by kind for both losses, and by data set."""
    same = both[both["time"] == SAME]
    of_sets = compare(same, ["data_set", "n"], PROBLEM, "bits", [ours])
    kinds = [changes(of_kinds(both, [ours], loss), ours, "kind", loss) for loss in LOSSES]
    return [*kinds, changes(of_sets.sort_values(["data_set", "n"]), ours, "data_set")]


def bars(
    bits: pd.DataFrame, worst: pd.DataFrame, bands: pd.DataFrame, method: str, peer: str
) -> list[Bar]:
    """Return bars: no cell worse than its best peer, no data set much worse, coverage of each cell.

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
        limit=f"≤ {percent(allowed, 1)}",
        holds=bool(excess <= allowed),
    )


def _data_set(row: dict[Hashable, Any], compared: str) -> Bar:
    return Bar(
        claim=f"{row['data_set']}: {compared}, beyond two errors",
        measured=f"{percent(row['beyond'], 1)} ({row['beyond at']})",
        limit=f"≤ {percent(SHARE_OF_ONE, 0)}",
        holds=bool(row["beyond"] <= SHARE_OF_ONE),
    )


def _coverage(row: dict[Hashable, Any]) -> Bar:
    least, most = COVERAGE
    return Bar(
        claim=f"{row['kind']}, n+ = {row['n']}: 90 % band",
        measured=with_error(row["mean"], row["error"], 3),
        limit=f"{percent(least, 0)} to {percent(most, 0)}",
        holds=bool(least <= row["mean"] <= most),
    )


def excesses(table: pd.DataFrame, method: str, rows: Sequence[str] = ("kind", "time")) -> str:
    """Return a method's excess over the best peer by size."""
    shown = table[table["method"] == method]
    return by_column(shown.assign(text=shares(shown)), "text", list(rows), "n")


def shares(rows: pd.DataFrame) -> list[str]:
    """Return differences to the best peer as shares of its loss, in percent with their errors."""
    columns = (rows[name] / rows["theirs"] for name in ("difference", "difference error"))
    return [in_percent(*each) for each in zip(*columns, strict=True)]


def by_excess(worst: pd.DataFrame) -> pd.DataFrame:
    """Return the table of data sets as text, the worst first."""
    rows = worst.sort_values("beyond", ascending=False, kind="stable")
    largest = [in_percent(*each) for each in zip(rows["excess"], rows["error"], strict=True)]
    return pd.DataFrame(
        {
            "data set": rows["data_set"],
            "problems": rows["units"],
            "largest excess": largest,
            "at n+, time, against": rows["at"],
            "largest beyond two errors": rows["beyond"].map(lambda x: f"{100.0 * x:+.1f} %"),
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
    return lines(table, "n", "method", "panel", labels, columns=4, level=100.0, log=True)


SHOWN = ("Platt", "isotonic", "beta", "Venn-Abers", "Bayes logistic")


def write_report(name: str, results: pd.DataFrame, out: Path) -> None:
    """Write the page, tables, bars and figure of a study of single problems.

    Parameters
    ----------
    name : str
        Name of the study.
    results : pandas.DataFrame
        Columns data_set, class, classifier, kind, time, n (expected positives), method, bits,
        brier, coverage, "coverage, positives", "coverage, others": what `studies.unseen.measure`
        returns.
    out : Path
        Folder to write to.
    """
    results = in_order(results, [*OURS, *PEERS, PLAIN])
    both = results[results["method"].isin([DEFAULT, VAGUE])]
    samples = results[(results["time"] == SAME) & (results["method"] == DEFAULT)]
    counts = samples["n"].value_counts(sort=False).rename_axis("n").rename("problems")
    write_table(counts.reset_index(), out, f"{name}_samples")
    write_table(pd.concat(changes_of(both, DEFAULT)), out, f"{name}_gains")
    peer, shown = "the best peer", (VAGUE, *SHOWN)
    write_comparison(name, out, results, results, ours=list(OURS), peer=peer, shown=shown)
    write_page(name, out, page(out, name))


def page(folder: Path, name: str) -> str:
    """Return the page of a study of single problems: the default's excess over the best peer."""
    table = pd.read_csv(folder / f"{name}.csv")
    samples = pd.read_csv(folder / f"{name}_samples.csv")
    bits = table[table["measure"] == "bits"]
    return fill(
        name,
        folder,
        table=excesses(bits, DEFAULT),
        problems=samples["problems"].max(),
        sets=int(table["units"].max()),
        gains=with_few(pd.read_csv(folder / f"{name}_gains.csv"), SAME),
    )


FIT = ["data_set", "classifier", "n"]
# Log-odds of a factor of four.
FAR = np.log(4.0)
COMMON = {-1: "much rarer than the others", 0: "as common", 1: "much commoner than the others"}


def write_topics_report(name: str, results: pd.DataFrame, out: Path) -> None:
    """Write the page, tables, bars and figure of a study of pooled topics.

    Parameters
    ----------
    name : str
        Name of the study.
    results : pandas.DataFrame
        The columns of `write_report` and share (of positives): what
        `studies.unseen_topics.measure` returns.
    out : Path
        Folder to write to.
    """
    results = in_order(results, (POOLED, DEFAULT, *PEERS, PLAIN))
    alone = against_default(results)
    samples = results[(results["time"] == SAME) & (results["method"] == POOLED)]
    of_size = samples.groupby("n")
    counts = pd.DataFrame(
        {
            "topics": of_size.size(),
            "collections": of_size[["data_set", "classifier"]].apply(
                lambda each: len(each.drop_duplicates())
            ),
        }
    )
    write_table(counts.reset_index(), out, f"{name}_samples")
    gains = [*changes_of(alone, POOLED), by_share(alone)]
    write_table(pd.concat(gains), out, f"{name}_gains")
    peer, shown = "the default", (POOLED, *SHOWN)
    write_comparison(name, out, results, alone, ours=(POOLED,), peer=peer, shown=shown)
    write_page(name, out, topics_page(out, name))


def topics_page(folder: Path, name: str) -> str:
    """Return the page of a study of pooled topics: the change against single topics."""
    gains = pd.read_csv(folder / f"{name}_gains.csv")
    samples = pd.read_csv(folder / f"{name}_samples.csv")
    shown = gains[(gains["by"] == "kind") & (gains["measure"] == "bits")]
    texts = shown.rename(columns={"group": "kind"}).assign(text=_percentages(shown))
    return fill(
        name,
        folder,
        table=by_column(texts, "text", ["kind", "time"], "n"),
        topics=samples["topics"].max(),
        collections=samples["collections"].max(),
        sets=int(pd.read_csv(folder / f"{name}.csv")["units"].max()),
        few_same=with_few(gains, SAME),
        few_later=with_few(gains, LATER),
    )


def against_default(results: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of pooled topics and of single topics by the default."""
    return results[results["method"].isin([POOLED, DEFAULT])]


def with_few(gains: pd.DataFrame, time: str) -> str:
    """Return the change of log-loss over all kinds with few positives, in words."""
    rows = gains[(gains["by"] == "kind") & (gains["measure"] == "bits")]
    rows = rows[(rows["group"] == EVERY_KIND) & (rows["time"] == time) & (rows["n"] <= FEW)]
    return ", ".join(
        f"{text} with {n}" for text, n in zip(_percentages(rows), rows["n"], strict=True)
    )


def _percentages(gains: pd.DataFrame) -> list[str]:
    pairs = zip(gains["change %"] / 100.0, gains["error %"] / 100.0, strict=True)
    return [in_percent(*pair) for pair in pairs]


def by_share(alone: pd.DataFrame) -> pd.DataFrame:
    """Return `changes` of pooled topics on the same time, by how common the topics are."""
    rows = alone[alone["time"] == SAME]
    rows = rows.assign(share=how_common(rows).map(COMMON.__getitem__))
    table = compare(rows, ["share", "n"], ["data_set", *PROBLEM], "bits", [POOLED])
    order = list(COMMON.values())
    return changes(
        table.sort_values(["share", "n"], key=lambda column: column.replace(order, range(3))),
        POOLED,
        "share",
    )


def how_common(rows: pd.DataFrame) -> pd.Series:
    """Return whether the topic of each row is much rarer (-1) or commoner (1) than the others.

    That is -1 or 1, where the odds of its share of positives are less than a quarter of the other
    topics' median, or more than four times as large; 0 in between.
    """
    odds = np.log(rows["share"] / (1.0 - rows["share"]))
    own = rows.assign(odds=odds).groupby([*FIT, "class"], sort=False)["odds"].first().reset_index()
    own["others"] = own.groupby(FIT, sort=False)["odds"].transform(median_of_others)
    apart = own["odds"] - own["others"]
    own["place"] = (apart > FAR).astype(int) - (apart < -FAR).astype(int)
    return rows[[*FIT, "class"]].merge(own, "left").set_axis(rows.index)["place"]


def median_of_others(values: pd.Series) -> pd.Series:
    """Return for each value the median of all others.

    Examples
    --------
    >>> median_of_others(pd.Series([1.0, 2.0, 5.0, 9.0])).tolist()
    [5.0, 5.0, 2.0, 2.0]
    """
    each = values.to_numpy()
    return pd.Series([np.median(np.delete(each, k)) for k in range(each.size)], values.index)
