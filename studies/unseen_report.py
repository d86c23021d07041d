"""The page, tables and figure of the study of data sets that no default was tuned on."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from studies.peers import PEERS
from studies.unseen_methods import DEFAULT, OURS, PLAIN
from studies.unseen_page import write_comparison
from studies.unseen_tables import PROBLEM, SAME, in_order

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
    samples = found[(found["time"] == SAME) & (found["method"] == DEFAULT)]
    write_comparison(
        "unseen",
        out,
        found,
        found,
        ours=list(OURS),
        peer="the best peer",
        shown=SHOWN,
        problems=str(len(samples.drop_duplicates(["data_set", *PROBLEM]))),
        sets=str(samples["data_set"].nunique()),
        samples=", ".join(
            f"{count} with n+ = {n}" for n, count in samples["n"].value_counts(sort=False).items()
        ),
    )
