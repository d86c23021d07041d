"""The page and the table of the study of indicators that shift log-odds or weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from studies.reporting import Bar, by_column, with_error, write_page, write_table

PLAIN = "bayes, no indicators"
SHIFTED_BIAS = "bayes, indicators"
SHIFTED_WEIGHTS = "local_bayes, indicators"
# Indicators may cost as much where they tell nothing, or as standard errors.
SHARE, ERRORS = 0.02, 2.0


def write_report(found: pd.DataFrame, out: Path) -> None:
    """
    Write weight_shifts.md and a table in CSV.

    Parameters
    ----------
    found : pandas.DataFrame
        Columns data_set, class, n, method, bits, indicators: what `studies.weight_shifts.measure`
        returns.
    out : Path
        The folder to write to.
    """
    table = compare(found, PLAIN)
    write_table(found.drop(columns="class"), out, "weight_shifts")
    between = compare(found[found["method"].isin([SHIFTED_BIAS, SHIFTED_WEIGHTS])], SHIFTED_BIAS)
    write_page(
        "weight_shifts",
        out,
        bars(table),
        sets=str(found["data_set"].nunique()),
        names=", ".join(sorted(set(found["data_set"]))),
        most=str(found["indicators"].max()),
        least=str(found["indicators"].min()),
        ratios=_shown(table),
        between=_shown(between[between["method"] == SHIFTED_WEIGHTS]),
        counts=by_column(
            found.groupby("n", sort=False)["data_set"].nunique().reset_index().assign(of="sets"),
            "data_set",
            ["of"],
            "n",
        ),
    )


def compare(found: pd.DataFrame, baseline: str) -> pd.DataFrame:
    """
    Return each method's log-loss as a share of another's, by size.

    The ratio is the geometric mean over data sets, with the standard error of its logarithm.
    """
    out = []
    for n, part in found.groupby("n", sort=True):
        wide = part.pivot_table("bits", "data_set", "method", sort=False)
        logs = np.log(wide.div(wide[baseline], axis="index"))
        ratio = pd.DataFrame({"ratio": np.exp(logs.mean()), "ratio error": logs.sem()})
        out.append(ratio.rename_axis("method").reset_index().assign(n=n))
    return pd.concat(out)


def bars(table: pd.DataFrame) -> list[Bar]:
    """Return, for each size, whether indicators that shift log-odds cost next to nothing."""
    out = []
    for _, row in table[table["method"] == SHIFTED_BIAS].iterrows():
        limit = 1.0 + max(SHARE, ERRORS * row["ratio error"])
        claim = f"n+ = {row['n']}: log-loss with indicators as a share of that without"
        measured = with_error(row["ratio"], row["ratio error"], 3)
        out.append(Bar(claim, measured, f"≤ {limit:.3f}", bool(row["ratio"] <= limit)))
    return out


def _shown(table: pd.DataFrame) -> str:
    text = [with_error(row["ratio"], row["ratio error"], 3) for _, row in table.iterrows()]
    return by_column(table.assign(text=text), "text", ["method"], "n")
