"""Scores of forensic comparisons, embedded in the package."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING

from bayescal.support.validation import check_choice

if TYPE_CHECKING:
    import pandas as pd

NAMES = ("glass", "cartridges")
LABELS = ("different sources", "same source")


def load_comparisons(name: str) -> pd.DataFrame:
    """Return scores of comparisons whose truth is known.

    "glass": 1,645 pairs of fragments of 120 panes, compared by their chemical elements. The score
    is the log-odds of a logistic regression on square roots of absolute differences. Comparisons
    that share a pane (source_a, source_b) depend on each other. From the repository
    elemental_composition_glass of the Netherlands Forensic Institute, commit acc6a83.

    "cartridges": log10 LRs, by kernel densities, of 665 pairs of cartridge cases, without sources.
    From its repository lir, commit b4ae531. Copyright of both: Netherlands Forensic Institute,
    Apache License 2.0.

    Parameters
    ----------
    name : {"glass", "cartridges"}
        Which comparisons.

    Returns
    -------
    pandas.DataFrame
        Columns score, label ("same source" or "different sources"), and for glass source_a,
        source_b.

    Examples
    --------
    >>> glass = load_comparisons("glass")
    >>> glass["label"].value_counts().to_dict()
    {'same source': 1200, 'different sources': 445}
    """
    import pandas as pd

    check_choice("name", name, NAMES)
    source = files("bayescal.likelihood_ratio").joinpath("comparisons.csv.gz")
    with source.open("rb") as stream:
        table = pd.read_csv(stream, compression="gzip")
    table = table[table["set"] == name].drop(columns="set").reset_index(drop=True)
    table["label"] = table["label"].map(dict(enumerate(LABELS)))
    if name == "cartridges":
        return table.drop(columns=["source_a", "source_b"])
    return table.astype({"source_a": int, "source_b": int})
