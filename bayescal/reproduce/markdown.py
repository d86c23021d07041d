"""Tables in Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


def markdown_table(frame: pd.DataFrame) -> str:
    """
    Return a table in Markdown.

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
