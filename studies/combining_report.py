"""The page and the table of the study of combined classifiers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from studies.reporting import Bar, by_column, with_error, write_page, write_table

OURS, SINGLE = "bayes", "best classifier, calibrated"
# No worse than another by more than a share of its loss, or than standard errors.
SHARE, ERRORS = 0.02, 2.0


def write_report(found: pd.DataFrame, out: Path) -> None:
    """
    Write combining.md and a table in CSV.

    Parameters
    ----------
    found : pandas.DataFrame
        Columns data_set, class, n (expected positives), method, bits, brier, coverage: what
        `studies.combining.measure` returns.
    out : Path
        The folder to write to.
    """
    each = found.groupby(["n", "data_set", "method"], sort=False)[["bits", "brier", "coverage"]]
    rows = each.mean().reset_index().sort_values("n", kind="stable")
    table = compare(rows)
    write_table(table, out, "combining")
    problems = found.drop_duplicates(["data_set", "class"])
    write_page(
        "combining",
        out,
        bars(table),
        problems=str(len(problems)),
        sets=str(problems["data_set"].nunique()),
        names=", ".join(sorted(set(problems["data_set"]))),
        ratios=_shown(table, "ratio", "ratio error"),
        bits=_shown(table, "bits", None),
        brier=_shown(table, "brier", None),
        coverage=_coverage(rows),
    )


def compare(rows: pd.DataFrame) -> pd.DataFrame:
    """
    Return each method's mean losses by size, and its log-loss as a share of the best classifier's.

    The ratio is the geometric mean over data sets, with the standard error of its logarithm.
    """
    out = []
    for n, part in rows.groupby("n", sort=False):
        wide = part.pivot_table("bits", "data_set", "method", sort=False)
        logs = np.log(wide.div(wide[SINGLE], axis="index"))
        means = part.groupby("method", sort=False)[["bits", "brier"]].mean()
        ratio = pd.DataFrame({"ratio": np.exp(logs.mean()), "ratio error": logs.sem()})
        table = means.join(ratio).assign(n=n, sets=len(wide))
        out.append(table.reset_index())
    return pd.concat(out)


def bars(table: pd.DataFrame) -> list[Bar]:
    """Return, for each size, ours against the best classifier and against each other method."""
    out = []
    for n, part in table.groupby("n", sort=False):
        own = part.set_index("method").loc[OURS]
        limit = 1.0 + max(SHARE, ERRORS * own["ratio error"])
        measured = with_error(own["ratio"], own["ratio error"], 3)
        holds = bool(own["ratio"] <= limit)
        claim = f"n+ = {n}: log-loss as a share of the best classifier's, calibrated"
        out.append(Bar(claim, measured, f"≤ {limit:.3f}", holds))
        others = part[~part["method"].isin([OURS, SINGLE])].set_index("method")["ratio"]
        best = str(others.idxmin())
        out.append(
            Bar(
                f"n+ = {n}: against the best other combiner, {best}",
                f"{own['ratio']:.3f}",
                f"≤ {others[best] * (1.0 + SHARE):.3f}",
                bool(own["ratio"] <= others[best] * (1.0 + SHARE)),
            )
        )
    return out


def _shown(table: pd.DataFrame, value: str, error: str | None) -> str:
    text = [
        f"{row[value]:.3f}" if error is None else with_error(row[value], row[error], 3)
        for _, row in table.iterrows()
    ]
    return by_column(table.assign(text=text), "text", ["method"], "n")


def _coverage(rows: pd.DataFrame) -> str:
    ours = rows.dropna(subset="coverage").groupby("n", sort=False)["coverage"]
    found = ours.agg(["mean", "sem", "size"]).reset_index()
    text = [
        f"{with_error(row['mean'], row['sem'], 3)} ({row['size']:.0f})"
        for _, row in found.iterrows()
    ]
    return by_column(found.assign(text=text, measure="coverage"), "text", ["measure"], "n")
