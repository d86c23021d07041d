"""Tables on the screen of what thresholds take and miss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from bayescal.cli.layout import (
    MOST_TOPICS,
    add_columns,
    add_topic_column,
    more_topics,
    new_table,
    number,
    percent,
    share,
    titled,
)

if TYPE_CHECKING:
    import pandas as pd


def rates_table(
    table: pd.DataFrame,
    positive: str,
    probability: float | None,
    threshold: float | None,
    level: float,
) -> Group:
    """
    Return precision, recall and misses at a threshold.

    Parameters
    ----------
    table : pandas.DataFrame
        Of `bayescal.decisions.rates_by_topic`.
    positive : str
        The positive class.
    probability, threshold : float or None
        What was asked for.
    level : float
        Of the intervals.
    """
    what = f"P({positive}) is {probability:g}" if probability is not None else ""
    what = what or f"score is {number(float(threshold or 0.0))}"
    order = "; topics that miss most positives first" if len(table) > 1 else ""
    shown = _table(table, ["taken", "precision", "recall", "missed"])
    for row in _rows(table):
        cells = [_of(row), _ranged(row, "precision"), _ranged(row, "recall"), _missed(row)]
        shown.add_row(*_topic(table, row), *cells)
    return titled(
        f"Documents whose {what} or more are taken{order}",
        shown,
        "precision: the share of positives among the documents taken",
        "recall: the share of all positives that is taken; missed: the number that is not",
        *_notes(table, level, "that miss as many or fewer"),
    )


def thresholds_table(
    table: pd.DataFrame, positive: str, recall: float, assurance: float | None, level: float
) -> Group:
    """
    Return thresholds for a wanted recall.

    Parameters
    ----------
    table : pandas.DataFrame
        Of `bayescal.decisions.thresholds_by_topic`.
    positive : str
        The positive class.
    recall, assurance : float, float or None
        What was asked for.
    level : float
        Of the intervals.
    """
    sure = "" if assurance is None else f" with probability {assurance:g}"
    order = "; topics with most to read first" if len(table) > 1 else ""
    shown = _table(table, ["to read", "down to score", f"P({positive})\nthere", "recall"])
    for row in _rows(table):
        cells = [_of(row), _ranged(row, "threshold", number), share(row["probability"])]
        shown.add_row(*_topic(table, row), *cells, _ranged(row, "recall"))
    return titled(
        f"Thresholds for a recall of {recall:g}{sure}{order}",
        shown,
        "to read: the documents of this score or more, which hold the recall",
        *_notes(table, level, "with as many to read or fewer"),
    )


def _table(table: pd.DataFrame, heads: list[str]) -> Table:
    shown = new_table()
    if _with_topics(table):
        add_topic_column(shown)
    add_columns(shown, heads)
    return shown


def _rows(table: pd.DataFrame) -> list[dict[Any, Any]]:
    return table.head(MOST_TOPICS).reset_index().to_dict("records")


def _topic(table: pd.DataFrame, row: dict[Any, Any]) -> list[Text]:
    return [Text(str(row["topic"]))] if _with_topics(table) else []


def _with_topics(table: pd.DataFrame) -> bool:
    return list(table.index) != [""]


def _of(row: dict[Any, Any]) -> str:
    return f"{row['selected']:,d} of {row['documents']:,d}"


def _missed(row: dict[Any, Any]) -> str:
    return f"{row['missed']:.3g} [{row['missed_lower']:.0f}, {row['missed_upper']:.0f}]"


def _ranged(row: dict[Any, Any], name: str, shape: Any = "{:.2f}".format) -> str:
    if row[name] != row[name]:
        return "-"
    return f"{shape(row[name])} [{shape(row[f'{name}_lower'])}, {shape(row[f'{name}_upper'])}]"


def _notes(table: pd.DataFrame, level: float, of_others: str) -> list[str]:
    return [
        f"in brackets: {percent(level)} intervals; neither the curve nor the labels are known",
        *more_topics(len(table), of_others),
    ]
