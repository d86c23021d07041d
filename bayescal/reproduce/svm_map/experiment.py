"""All of a collection: its trials, and what they say, checked and written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bayescal.reproduce.markdown import markdown_table
from bayescal.reproduce.svm_map.collections import Collection, read_collections
from bayescal.reproduce.svm_map.roles import Roles, deal
from bayescal.reproduce.svm_map.table import as_printed, query_means, table_of
from bayescal.reproduce.svm_map.trials import run_trials

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["as_printed", "deal", "measure", "read_collections", "write"]


def measure(collection: Collection, dealt: Sequence[Roles], jobs: int = 1) -> pd.DataFrame:
    """
    Return `table_of` the trials of a collection, with what is known of their fits.

    The largest relative duality gap of the ranking SVMs, and how far the slack of SVM-MAP has at
    least been above the loss.
    """
    outcomes = run_trials(collection, dealt, jobs)
    table = table_of(query_means(collection, outcomes))
    return table.assign(
        largest_gap=max(outcome.gap for outcome in outcomes),
        least_margin=min(outcome.tightest for outcome in outcomes),
    )


def write(tables: Sequence[pd.DataFrame], folder: Path) -> None:
    """Write the tables of all collections: svm_map.csv, and svm_map.md as the paper prints them."""
    import pandas as pd

    pd.concat(tables).to_csv(folder / "svm_map.csv", index=False, float_format="%.6g")
    parts = []
    for table in tables:
        title = table["collection"].iloc[0]
        parts.append(f"## {title}\n\n{markdown_table(as_printed(table))}\n")
    (folder / "svm_map.md").write_text("\n".join(parts), encoding="utf-8")
