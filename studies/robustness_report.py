"""The page, table and figure of the study of robustness."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from studies import figures
from studies.reporting import Bar, markdown, with_error, write_figure, write_page, write_table
from studies.shapes import GAUSSIAN

CELL = ["shape", "n"]
SHOWN = ["default", "Platt", "isotonic", "beta", "Venn-Abers"]
# No worse than Platt: by a share of his divergence, by errors, or by thousandths of a nat.
SHARE, ERRORS, SLACK = 0.05, 2.0, 2.0
COVERAGE = (0.80, 0.99)
# Methods that need many positives, and should pay where there are many.
DATA_HUNGRY = ("isotonic", "beta")


def write_report(found: pd.DataFrame, out: Path) -> None:
    """
    Write robustness.md, a table in CSV and a figure.

    Parameters
    ----------
    found : pandas.DataFrame
        Columns shape, n (positives), repeat, method, kl (thousandths of a nat), coverage, width,
        seconds: what `studies.robustness.measure` returns.
    out : Path
        The folder to write to.
    """
    table = summarise(found)
    default, banded = table[table["method"] == "default"], table.dropna(subset="coverage")
    counts = default.groupby("n", sort=False)["sets"].first()
    write_table(table, out, "robustness")
    write_figure(_figure(table), out, "robustness")
    write_page(
        "robustness",
        out,
        bars(found),
        ratios=_by_size(table.assign(ratio=np.log(table["kl"] / table["peer"])), "ratio", np.exp),
        differences=_with_errors(default, "difference", ["shape"], "n", 1),
        coverages=_with_errors(default, "coverage", ["shape"], "n", 2),
        mean_coverages=_by_size(banded, "coverage"),
        widths=_by_size(banded, "width"),
        seconds=_by_size(table, "seconds"),
        divergences=_with_errors(table[table["method"].isin(SHOWN)], "kl", CELL, "method", 1),
        sets=", ".join(f"{sets} at n+ = {n}" for n, sets in counts.items()),
        without_slack=str(int((default["difference"] > allowance(default, slack=0.0)).sum())),
        with_slack=str(int((default["difference"] > allowance(default)).sum())),
        cells=str(len(default)),
    )


def summarise(found: pd.DataFrame) -> pd.DataFrame:
    """
    Return one row a shape, number of positives and method.

    Divergence and its standard error; `versus` Platt; coverage and its error; width; median
    seconds; sets.
    """
    grouped = found.groupby([*CELL, "method"], sort=False)
    measures = grouped[["kl", "coverage"]]
    out = measures.mean().join(measures.sem().add_suffix(" error"))
    out = out.join(versus(found, "Platt")).join(grouped["width"].mean())
    return out.assign(seconds=grouped["seconds"].median(), sets=grouped.size()).reset_index()


def versus(found: pd.DataFrame, peer: str) -> pd.DataFrame:
    """
    Return by shape, n and method: the difference of divergence to a peer's, and its error.

    Taken data set by data set; the column `peer` is the peer's mean over the same data sets.
    """
    key = [*CELL, "repeat"]
    theirs = found[found["method"] == peer].set_index(key)["kl"].rename("peer")
    rows = found.join(theirs, on=key)
    rows["difference"] = rows["kl"] - rows["peer"]
    grouped = rows.groupby([*CELL, "method"], sort=False)
    errors = grouped["difference"].sem().rename("difference error")
    return grouped[["peer", "difference"]].mean().join(errors)


def allowance(rows: pd.DataFrame, slack: float = SLACK) -> pd.Series[float]:
    """Return by how much each row of `versus` may be worse, in thousandths of a nat."""
    limits = [SHARE * rows["peer"], ERRORS * rows["difference error"]]
    return pd.concat(limits, axis=1).max(axis=1).clip(lower=slack)


def bars(found: pd.DataFrame) -> list[Bar]:
    """Return: no worse than Platt; than isotonic and beta with most positives; coverage."""
    table = summarise(found)
    default = table[table["method"] == "default"]
    parts = dict(iter(default.groupby("shape", sort=False)))
    out = [_against_platt(str(shape), part) for shape, part in parts.items()]
    for peer in DATA_HUNGRY:
        excess = versus(found, peer).xs("default", level="method")
        last = excess.xs(excess.index.get_level_values("n").max(), level="n", drop_level=False)
        out += [_at_most(peer, *row) for row in last.itertuples() if row.Index[0] not in GAUSSIAN]
    for shape, part in parts.items():
        out += _coverage(str(shape), part)
    return out


def _against_platt(shape: str, default: pd.DataFrame) -> Bar:
    rows = default.assign(allowed=allowance(default))
    over = rows["difference"] - rows["allowed"]
    worst = rows.loc[over.idxmax()]
    return Bar(
        claim=f"{shape}: default against Platt, worst size (n+ = {worst['n']})",
        measured=f"{with_error(worst['difference'], worst['difference error'], 1)} more"
        f" ({(over > 0).sum()} of {len(over)} sizes over)",
        limit=f"≤ {worst['allowed']:.1f}",
        holds=not (over > 0).any(),
    )


def _at_most(peer: str, cell: tuple[str, int], mean: float, difference: float, error: float) -> Bar:
    return Bar(
        claim=f"{cell[0]}: default against {peer}, n+ = {cell[1]}",
        measured=f"{with_error(difference, error, 1)} more than {mean:.1f}",
        limit="≤ 0, two errors allowed",
        holds=difference <= ERRORS * error,
    )


def _coverage(shape: str, default: pd.DataFrame) -> list[Bar]:
    least, most = COVERAGE
    limit = f"{least:.0%} to {most:.0%}"
    mean = default["coverage"].mean()
    error = np.linalg.norm(default["coverage error"]) / len(default)
    outside = ~default["coverage"].between(least, most)
    worst = default.loc[(default["coverage"] - np.mean(COVERAGE)).abs().idxmax()]
    return [
        Bar(
            claim=f"{shape}: 90 % band, mean over sizes",
            measured=with_error(mean, float(error), 3),
            limit=limit,
            holds=least <= mean <= most,
        ),
        Bar(
            claim=f"{shape}: 90 % band, worst size (n+ = {worst['n']})",
            measured=f"{with_error(worst['coverage'], worst['coverage error'], 3)}"
            f" ({outside.sum()} of {len(default)} sizes outside)",
            limit=limit,
            holds=not outside.any(),
        ),
    ]


def _figure(table: pd.DataFrame) -> Figure:
    rows = table[table["method"].isin(SHOWN)].rename(columns={"kl": "mean", "kl error": "error"})
    # The default first: it gets the first colour.
    rows = rows.sort_values("method", key=lambda names: names.map(SHOWN.index), kind="stable")
    labels = ("positives", "mean KL (0.001 nats)")
    figure = figures.lines(rows, "n", "method", "shape", labels, columns=4)
    for ax in figure.axes:
        ax.set_yscale("log")
    return figure


def _with_errors(
    rows: pd.DataFrame, value: str, index: list[str], columns: str, digits: int
) -> str:
    """Return a table of means and errors, by shape and another column across."""
    pairs = zip(rows[value], rows[f"{value} error"], strict=True)
    texts = rows.assign(text=[with_error(mean, error, digits) for mean, error in pairs])
    return _wide(texts, "text", index, columns)


def _by_size(rows: pd.DataFrame, value: str, change: np.ufunc = np.positive) -> str:
    """Return a table of means over shapes, methods by number of positives."""
    mean = rows.groupby(["method", "n"], sort=False)[value].mean()
    texts = change(mean).map("{:.3f}".format).rename("text").reset_index()
    return _wide(texts, "text", ["method"], "n")


def _wide(rows: pd.DataFrame, value: str, index: list[str], columns: str) -> str:
    order = list(dict.fromkeys(rows[columns]))
    wide = rows.pivot_table(index=index, columns=columns, values=value, aggfunc="first", sort=False)
    wide = wide[order].reset_index()
    if columns == "n":
        wide.columns = [f"n+ = {name}" if name in order else name for name in wide.columns]
    return markdown(wide)
