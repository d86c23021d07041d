"""Command-line helpers that the experiments share: errors of use, tables, the sign test."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from scipy.stats import binomtest

if TYPE_CHECKING:
    import pandas as pd


class UsageError(Exception):
    """An argument or a file that it names is wrong: reported in a line, without a traceback."""


@contextmanager
def blame_arguments() -> Iterator[None]:
    """Turn errors of the body, which reads what the arguments name, into a UsageError."""
    try:
        yield
    except (ValueError, OSError, ImportError) as err:
        raise UsageError(str(err)) from err


def read_corpus(data: Path | None) -> pd.DataFrame:
    """Return Reuters-21578 from a copy, or downloaded."""
    from studies.papers import corpora

    with blame_arguments():
        return corpora.fetch_reuters21578(path=data)


def show(title: str, table: pd.DataFrame, *notes: str) -> None:
    """Print a table with its title and notes."""
    print("", title, "", markdown_table(table), "", *notes, sep="\n")


def markdown_table(frame: pd.DataFrame) -> str:
    """Return a table in Markdown.

    Examples
    --------
    >>> import pandas as pd
    >>> print(markdown_table(pd.DataFrame({"n": [20], "KL": ["0.04"]})))
    | n | KL |
    |---|---|
    | 20 | 0.04 |
    """
    lines = [list(map(str, frame.columns)), ["---"] * frame.shape[1]]
    lines += [list(map(str, row)) for row in frame.itertuples(index=False)]
    texts = ["| " + " | ".join(line) + " |" for line in lines]
    return "\n".join(texts).replace("| --- |", "|---|").replace(" --- |", "---|")


def without_published(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table without the columns of published figures, to fit on the screen."""
    return table[[name for name in table.columns if not str(name).endswith(", paper")]]


def sign_test(
    a_wins: int, b_wins: int, alternative: Literal["two-sided", "greater"] = "two-sided"
) -> float:
    """Return the p-value of the exact sign test on the decisions that two methods differ on."""
    n = int(a_wins + b_wins)
    return float(binomtest(int(a_wins), n, alternative=alternative).pvalue) if n else 1.0
