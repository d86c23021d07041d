"""The page, table and figure of the study of robustness."""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from studies import figures
from studies.reporting import (
    Bar,
    by_column,
    with_error,
    write_figure,
    write_page,
    write_table,
)
from studies.shapes import GAUSSIAN

CELL = ["shape", "n"]
SHOWN = ["default", "Platt", "isotonic", "beta", "Venn-Abers"]
# No worse than Platt: by a share of his divergence, by errors, or by thousandths of a nat.
SHARE, ERRORS, SLACK = 0.05, 2.0, 2.0
COVERAGE = (0.80, 0.99)
# Methods that need many positives, and should pay where there are many.
DATA_HUNGRY = ("isotonic", "beta")
# The shape whose scores are probabilities, and the default told so, as beta calibration is.
PROBABILITIES, TOLD_NAME = "probabilities", "default, told"


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
        of_vague=_with_errors(against_vague(found), "change", ["against"], "n", 1),
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


def against_vague(found: pd.DataFrame) -> pd.DataFrame:
    """
    Return by n how much larger the default's divergence is than with vague priors, in per cent.

    The mean over shapes of log(mean divergence / mean divergence with vague priors), and its
    standard error by the delta method, data set by data set.
    """
    both = found[found["method"].isin(["default", "vague"])]
    each = both.pivot(index=[*CELL, "repeat"], columns="method", values="kl")
    cells = each.groupby(CELL, sort=False)
    mean, relative = cells.mean(), each / cells.transform("mean")
    change = np.log(mean["default"] / mean["vague"])
    error = (relative["default"] - relative["vague"]).groupby(CELL, sort=False).sem()
    table = 100.0 * pd.DataFrame({"change": change, "change error": error})
    by_size = table.groupby("n", sort=False)
    shapes = by_size.size()
    out = pd.DataFrame(
        {
            "change": by_size["change"].mean(),
            "change error": by_size["change error"].agg(np.linalg.norm) / shapes,
        }
    )
    return out.reset_index().assign(against="vague")


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
        excess = versus(found, peer).reset_index()
        told = (excess["shape"] == PROBABILITIES) & (peer == "beta")
        ours = excess["method"] == np.where(told, TOLD_NAME, "default")
        most = excess["n"] == excess["n"].max()
        last = excess[ours & most & ~excess["shape"].isin(GAUSSIAN)]
        out += [_at_most(peer, row) for row in last.to_dict("records")]
    for shape, part in parts.items():
        out += _coverage(str(shape), part)
    return out


def _against_platt(shape: str, default: pd.DataFrame) -> Bar:
    rows = default.assign(allowed=allowance(default))
    over = (rows["difference"] - rows["allowed"]).to_numpy()
    worst = rows.to_dict("records")[over.argmax()]
    return Bar(
        claim=f"{shape}: default minus Platt, worst size (n+ = {worst['n']})",
        measured=f"{with_error(worst['difference'], worst['difference error'], 1)}"
        f" ({(over > 0).sum()} of {over.size} sizes over)",
        limit=f"≤ {worst['allowed']:.1f}",
        holds=not (over > 0).any(),
    )


def _at_most(peer: str, row: dict[Hashable, Any]) -> Bar:
    limit = ERRORS * row["difference error"]
    return Bar(
        claim=f"{row['shape']}: {row['method']} minus {peer}, n+ = {row['n']}",
        measured=f"{with_error(row['difference'], row['difference error'], 2)}"
        f" ({peer} {row['peer']:.2f})",
        limit=f"≤ {limit:.2f}, two errors",
        holds=row["difference"] <= limit,
    )


def _coverage(shape: str, default: pd.DataFrame) -> list[Bar]:
    least, most = COVERAGE
    limit = f"{least:.0%} to {most:.0%}"
    each, error = default["coverage"].to_numpy(), default["coverage error"].to_numpy()
    outside = (each < least) | (each > most)
    worst = np.abs(each - np.mean(COVERAGE)).argmax()
    return [
        Bar(
            claim=f"{shape}: 90 % band, mean over sizes",
            measured=with_error(each.mean(), float(np.linalg.norm(error)) / each.size, 3),
            limit=limit,
            holds=bool(least <= each.mean() <= most),
        ),
        Bar(
            claim=f"{shape}: 90 % band, worst size (n+ = {default['n'].to_numpy()[worst]})",
            measured=f"{with_error(each[worst], error[worst], 3)}"
            f" ({outside.sum()} of {each.size} sizes outside)",
            limit=limit,
            holds=not outside.any(),
        ),
    ]


def _figure(table: pd.DataFrame) -> Figure:
    rows = table[table["method"].isin(SHOWN)].rename(columns={"kl": "mean", "kl error": "error"})
    # The default first: it gets the first colour.
    rows = rows.sort_values("method", key=lambda names: names.map(SHOWN.index), kind="stable")
    labels = ("positives", "mean KL (0.001 nats)")
    return figures.lines(rows, "n", "method", "shape", labels, columns=4, log=True)


def _with_errors(
    rows: pd.DataFrame, value: str, index: list[str], columns: str, digits: int
) -> str:
    """Return a table of means and errors, by shape and another column across."""
    pairs = zip(rows[value], rows[f"{value} error"], strict=True)
    texts = rows.assign(text=[with_error(mean, error, digits) for mean, error in pairs])
    return by_column(texts, "text", index, columns)


def _by_size(rows: pd.DataFrame, value: str, change: np.ufunc = np.positive) -> str:
    """Return a table of means over shapes, methods by number of positives."""
    mean = rows.groupby(["method", "n"], sort=False)[value].mean()
    texts = change(mean).map("{:.3f}".format).rename("text").reset_index()
    return by_column(texts, "text", ["method"], "n")
