"""The page, tables and figure of the study of data sets that no default was tuned on."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from studies.peers import PEERS
from studies.reporting import markdown, write_figure, write_page, write_table
from studies.unseen_methods import DEFAULT, OURS, PLAIN
from studies.unseen_page import (
    bars,
    by_excess,
    coverages,
    every_method,
    excesses,
    relative_losses,
)
from studies.unseen_tables import (
    CELL,
    COVERAGES,
    LATER,
    LOSSES,
    PROBLEM,
    SAME,
    by_data_set,
    compare,
    coverage,
    in_order,
    largest_excess,
)

SHOWN = ("Platt", "isotonic", "beta", "Venn-Abers", "Bayes logistic")


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
    found = in_order(found, [*OURS, *PEERS, PLAIN])
    each = by_data_set(found)
    losses = {name: compare(each, CELL, ["data_set"], name, list(OURS)) for name in LOSSES}
    bands = {name: coverage(each, name) for name in COVERAGES}
    worst = largest_excess(found, list(OURS))
    together = [table.assign(measure=name) for name, table in (losses | bands).items()]
    write_table(pd.concat(together), out, "unseen")
    write_figure(relative_losses(each, SHOWN), out, "unseen")
    samples = found[(found["time"] == SAME) & (found["method"] == DEFAULT)]
    write_page(
        "unseen",
        out,
        bars(losses["bits"], worst, bands["coverage"], DEFAULT, "the best peer"),
        problems=str(len(samples.drop_duplicates(["data_set", *PROBLEM]))),
        sets=str(samples["data_set"].nunique()),
        samples=", ".join(
            f"{count} with n+ = {n}" for n, count in samples["n"].value_counts(sort=False).items()
        ),
        excess=excesses(losses["bits"], DEFAULT),
        brier=excesses(losses["brier"], DEFAULT),
        data_sets=markdown(by_excess(worst)),
        coverages=coverages(bands["coverage"]),
        positives=coverages(bands["coverage, positives"]),
        same=every_method(losses["bits"], SAME),
        later=every_method(losses["bits"], LATER),
    )
