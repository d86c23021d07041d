"""The page, tables and figures of the study of coverage."""

from __future__ import annotations

import pandas as pd

from studies import figures
from studies.command import Options
from studies.reporting import Bar, markdown, with_error, write_figure, write_page, write_table

# |z| that the largest of a family's fifteen cells passes by chance once in 140 times.
LARGEST_Z = 3.5
LEAST_COVERAGE = 0.90


def write_report(own: pd.DataFrame, fixed: pd.DataFrame, options: Options) -> None:
    """
    Write coverage.md, two tables in CSV and two figures.

    Parameters
    ----------
    own : pandas.DataFrame
        Coverage under the families' own priors: family, n, case, level, mean, error, sets.
    fixed : pandas.DataFrame
        Coverage of fixed truths: truth, n, method, level, mean, error, width, width error, sets.
    options : Options
        Says where.
    """
    write_table(own, options.out, "coverage_own_model")
    write_table(fixed, options.out, "coverage_fixed_truths")
    at_95 = own[own["level"] == own["level"].max()]
    labels = ("documents", "coverage of 95 % bands")
    figure = figures.lines(at_95, "n", "case", "family", labels, columns=4, level=0.95)
    write_figure(figure, options.out, "coverage_own_model")
    figure = figures.lines(
        fixed[fixed["level"] == 0.95], "n", "method", "truth", labels, columns=3, level=0.95
    )
    write_figure(figure, options.out, "coverage_fixed_truths")
    write_page(
        "coverage",
        options.out,
        _own_bars(own) + _fixed_bars(fixed),
        own=_own_table(own),
        fixed=_fixed_table(fixed),
        own_sets=f"{own['sets'].max():,}",
        fixed_sets=f"{fixed['sets'].max():,}",
    )


def _own_bars(own: pd.DataFrame) -> list[Bar]:
    out = []
    for family in dict.fromkeys(own["family"]):
        for case, right in (("predictive", True), ("30 % too narrow", False)):
            each = own[(own["family"] == family) & (own["case"] == case)].reset_index()
            z = ((each["mean"] - each["level"]) / each["error"]).abs().to_numpy()
            level, n = each["level"][z.argmax()], each["n"][z.argmax()]
            out.append(
                Bar(
                    claim=f"{family}: bands {'cover' if right else case + ', found out'}",
                    measured=f"largest z = {z.max():.1f} ({level:.0%} at n = {n})",
                    limit=f"{'≤' if right else '>'} {LARGEST_Z}",
                    holds=bool(z.max() <= LARGEST_Z) == right,
                )
            )
    return out


def _fixed_bars(fixed: pd.DataFrame) -> list[Bar]:
    out = []
    at_95 = fixed[(fixed["level"] == 0.95) & (fixed["method"] == "default")]
    for truth in dict.fromkeys(at_95["truth"]):
        part = at_95[at_95["truth"] == truth].reset_index()
        worst = part.to_dict("records")[part["mean"].to_numpy().argmin()]
        out.append(
            Bar(
                claim=f"{truth}: default 95 % band, worst size (n = {worst['n']})",
                measured=with_error(worst["mean"], worst["error"], 3),
                limit=f"≥ {LEAST_COVERAGE:.2f}",
                holds=worst["mean"] >= LEAST_COVERAGE,
            )
        )
    return out


def _own_table(own: pd.DataFrame) -> str:
    texts = own.assign(
        text=[with_error(m, e, 3) for m, e in zip(own["mean"], own["error"], strict=True)]
    )
    keys = ["family", "n", "case"]
    wide = texts.pivot_table(
        index=keys, columns="level", values="text", aggfunc="first", sort=False
    )
    wide.columns = [f"{level:.0%}" for level in wide.columns]
    return markdown(wide.reset_index())


def _fixed_table(fixed: pd.DataFrame) -> str:
    columns = [f"{level:.0%}" for level in sorted(set(fixed["level"]))] + ["width at 95%"]
    rows: dict[tuple[str, int, str], dict[str, str]] = {}
    for each in fixed.to_dict("records"):
        key = (each["truth"], each["n"], each["method"])
        row = rows.setdefault(key, dict.fromkeys(columns, ""))
        row[f"{each['level']:.0%}"] = with_error(each["mean"], each["error"], 3)
        if each["level"] == 0.95:
            row["width at 95%"] = with_error(each["width"], each["width error"], 3)
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis(["truth", "n", "method"])
    return markdown(table.reset_index())
