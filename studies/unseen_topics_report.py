"""The page, table and figure of a study of pooled topics on data sets that nothing was tuned on."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from studies.peers import PEERS
from studies.unseen_methods import DEFAULT, PLAIN, POOLED
from studies.unseen_page import excesses, shares, write_comparison
from studies.unseen_tables import (
    EVERY_KIND,
    LATER,
    PROBLEM,
    SAME,
    compare,
    in_order,
    of_kinds,
)

METHODS = (POOLED, DEFAULT, *PEERS, PLAIN)
OURS = (POOLED,)
FIT = ["data_set", "classifier", "n"]
FEW = 10
# Of log-odds of shares: a factor of four.
FAR = np.log(4.0)
COMMON = {-1: "much rarer than the others", 0: "as common", 1: "much commoner than the others"}
SHOWN = (POOLED, "Platt", "isotonic", "beta", "Venn-Abers", "Bayes logistic")


def write_report(name: str, found: pd.DataFrame, out: Path) -> None:
    """
    Write a study's page, a table in CSV and a figure.

    Parameters
    ----------
    name : str
        Of the study.
    found : pandas.DataFrame
        Columns data_set, class, classifier, kind, time, n (expected positives), method, bits,
        brier, coverage, "coverage, positives", "coverage, others", share (of positives): what
        `studies.unseen_topics.measure` returns.
    out : Path
        The folder to write to.
    """
    found = in_order(found, METHODS)
    alone = against_default(found)
    samples = found[(found["time"] == SAME) & (found["method"] == POOLED)]
    write_comparison(
        name,
        out,
        found,
        alone,
        ours=OURS,
        peer="the default",
        shown=SHOWN,
        collections=str(len(samples.drop_duplicates(["data_set", "classifier"]))),
        sets=str(samples["data_set"].nunique()),
        names=", ".join(sorted(set(samples["data_set"]))),
        topics=str(len(samples.drop_duplicates(["data_set", *PROBLEM]))),
        samples=_counts(samples),
        few_same=_with_few(alone, SAME),
        few_later=_with_few(alone, LATER),
        gains=excesses(of_kinds(alone, OURS), POOLED),
        gains_brier=excesses(of_kinds(alone, OURS, "brier"), POOLED),
        gains_by_set=_by_data_set(alone),
        gains_by_share=_by_share(alone),
    )


def against_default(found: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of pooled topics and of the same by themselves, nobody else's."""
    return found[found["method"].isin([POOLED, DEFAULT])]


def _with_few(alone: pd.DataFrame, time: str) -> str:
    """Return the excess of pooled over unpooled of all kinds, with few positives, in words."""
    table = of_kinds(alone, OURS)
    rows = table[(table["kind"] == EVERY_KIND) & (table["time"] == time) & (table["n"] <= FEW)]
    ours = rows[rows["method"] == POOLED]
    return ", ".join(
        f"{text} with {n} positives" for text, n in zip(shares(ours), ours["n"], strict=True)
    )


def _by_data_set(alone: pd.DataFrame) -> str:
    """Return the excess of pooled over unpooled on the same time, data sets by size."""
    rows = alone[alone["time"] == SAME]
    table = compare(rows, ["data_set", "n"], PROBLEM, "bits", OURS)
    return excesses(table.sort_values(["data_set", "n"]), POOLED, ["data_set"])


def _by_share(alone: pd.DataFrame) -> str:
    """Return the excess of pooled over unpooled on the same time, by how common topics are."""
    rows = alone[alone["time"] == SAME]
    rows = rows.assign(topics=how_common(rows).map(COMMON.__getitem__))
    table = compare(rows, ["topics", "n"], ["data_set", *PROBLEM], "bits", OURS)
    order = list(COMMON.values())
    in_turn = table.sort_values("n", kind="stable").sort_values(
        "topics", key=lambda column: column.map(order.index), kind="stable"
    )
    return excesses(in_turn, POOLED, ["topics"])


def how_common(rows: pd.DataFrame) -> pd.Series:
    """
    Return for each row whether its topic is much rarer than the others of its fit, or commoner.

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
    """
    Return for each value the median of all others.

    Examples
    --------
    >>> median_of_others(pd.Series([1.0, 2.0, 5.0, 9.0])).tolist()
    [5.0, 5.0, 2.0, 2.0]
    """
    each = values.to_numpy()
    return pd.Series([np.median(np.delete(each, k)) for k in range(each.size)], values.index)


def _counts(samples: pd.DataFrame) -> str:
    """Return how many collections and topics there are of each size."""
    of_size = samples.sort_values("n").groupby("n")
    return ", ".join(
        f"{len(part)} topics of {len(part.drop_duplicates(['data_set', 'classifier']))}"
        f" collections with n+ = {n}"
        for n, part in of_size
    )
