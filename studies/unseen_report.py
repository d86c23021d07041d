"""The page, tables and figure of a study of data sets that no default was tuned on."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from studies.peers import PEERS
from studies.unseen_methods import DEFAULT, OURS, PLAIN, VAGUE
from studies.unseen_page import excesses, write_comparison
from studies.unseen_tables import PROBLEM, SAME, compare, in_order, of_kinds

SHOWN = (VAGUE, "Platt", "isotonic", "beta", "Venn-Abers", "Bayes logistic")


def write_report(name: str, found: pd.DataFrame, out: Path) -> None:
    """
    Write a study's page, a table in CSV and a figure.

    Parameters
    ----------
    name : str
        Of the study.
    found : pandas.DataFrame
        Columns data_set, class, classifier, kind, time, n (expected positives), method, bits,
        brier, coverage, "coverage, positives", "coverage, others": what `studies.unseen.measure`
        returns.
    out : Path
        The folder to write to.
    """
    found = in_order(found, [*OURS, *PEERS, PLAIN])
    both = found[found["method"].isin([DEFAULT, VAGUE])]
    samples = found[(found["time"] == SAME) & (found["method"] == DEFAULT)]
    write_comparison(
        name,
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
        gains=excesses(of_kinds(both, [DEFAULT]), DEFAULT),
        gains_brier=excesses(of_kinds(both, [DEFAULT], "brier"), DEFAULT),
        gains_by_set=_by_data_set(both),
    )


def _by_data_set(both: pd.DataFrame) -> str:
    """Return the default's excess over vague priors on the same time, data sets by size."""
    rows = both[both["time"] == SAME]
    table = compare(rows, ["data_set", "n"], PROBLEM, "bits", [DEFAULT])
    return excesses(table.sort_values(["data_set", "n"]), DEFAULT, ["data_set"])
