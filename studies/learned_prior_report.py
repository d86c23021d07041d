"""The page, table and figure of the study of what was learnt on other data sets."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from studies.peers import PEERS
from studies.unseen_methods import DEFAULT, LEARNED, PLAIN
from studies.unseen_page import excesses, write_comparison
from studies.unseen_tables import PROBLEM, SAME, compare, in_order, of_kinds

METHODS = (LEARNED, DEFAULT, *PEERS, PLAIN)
OURS = (LEARNED,)
SHOWN = (LEARNED, "Platt", "isotonic", "beta", "Venn-Abers", "Bayes logistic")


def write_report(found: pd.DataFrame, out: Path) -> None:
    """
    Write learned_prior.md, a table in CSV and a figure.

    Parameters
    ----------
    found : pandas.DataFrame
        Columns as of `studies.unseen_report.write_report`, what `studies.learned_prior.measure`
        returns.
    out : Path
        The folder to write to.
    """
    found = in_order(found, METHODS)
    both = found[found["method"].isin([LEARNED, DEFAULT])]
    samples = found[(found["time"] == SAME) & (found["method"] == LEARNED)]
    write_comparison(
        "learned_prior",
        out,
        found,
        both,
        ours=OURS,
        peer="the default",
        shown=SHOWN,
        problems=str(len(samples.drop_duplicates(["data_set", *PROBLEM]))),
        sets=str(samples["data_set"].nunique()),
        gains=excesses(of_kinds(both, OURS), LEARNED),
        gains_brier=excesses(of_kinds(both, OURS, "brier"), LEARNED),
        gains_by_set=_by_data_set(both),
    )


def _by_data_set(both: pd.DataFrame) -> str:
    """Return the excess over the default on the same time, data sets by size."""
    rows = both[both["time"] == SAME]
    table = compare(rows, ["data_set", "n"], PROBLEM, "bits", OURS)
    return excesses(table.sort_values(["data_set", "n"]), LEARNED, ["data_set"])
