"""Verdicts on probabilities whose labels are known, by topic and of all together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from rich.console import Group
from rich.text import Text

from bayescal.cli.layout import (
    ALL_TOPICS,
    MOST_TOPICS,
    add_columns,
    add_topic_column,
    new_table,
    percent,
    titled,
)
from bayescal.cli.problems import rows_by_topic
from bayescal.validation import Floats

if TYPE_CHECKING:
    from bayescal.metrics import CalibrationVerdict

Named = tuple[str, "CalibrationVerdict"]
FINDINGS = {"none": "no sign", "base rate": "by base rate", "slope": "by slope"}


def verdicts_by_topic(
    probability: Floats, positive: NDArray[np.bool_], topics: NDArray[np.str_] | None
) -> list[Named]:
    """
    Return the verdict on each topic's probabilities, the worst first, and of several on all.

    Parameters
    ----------
    probability : array of shape (n,)
        Of the positive class.
    positive : array of shape (n,) of bool
        Whether each row is positive.
    topics : array of shape (n,) of str, or None
        Topic of each row.
    """
    from bayescal.metrics import calibration_verdict

    found = [
        (topic or "", calibration_verdict(positive[rows], probability[rows]))
        for topic, rows in rows_by_topic(topics, probability.size)
    ]
    found.sort(key=lambda named: named[1].pvalue)
    if len(found) > 1:
        found.append((ALL_TOPICS, calibration_verdict(positive, probability)))
    return found


def verdicts_table(named: Sequence[Named]) -> Group:
    """Return verdicts as a table, with what the last says, that on all rows, in words."""
    with_topics = len(named) > 1
    shown = [*named[:-1][:MOST_TOPICS], named[-1]]
    last = named[-1][1]
    table = new_table()
    if with_topics:
        add_topic_column(table)
    expected = f"{percent(last.level)} range"
    add_columns(table, ["rows", "positives", "expected", expected, "p value"])
    add_columns(table, ["off?"], justify="left")
    for topic, one in shown:
        head = [Text(topic)] if with_topics else []
        table.add_row(*head, *_cells(one))
    notes = [f"{last.finding} {last.advice}"]
    if with_topics:
        notes = [f"{ALL_TOPICS}: {last.finding}"]
        topics = len(named) - 1
        off = sum(not one.calibrated for _, one in named[:-1])
        by_chance = f"{(1.0 - last.level) * topics:.2g}"
        notes.append(f"{off} of {topics} topics are off, where {by_chance} would be by chance.")
    title = "Are the probabilities right? Expected positives against the labels of test rows"
    return titled(title, table, *notes)


def _cells(one: CalibrationVerdict) -> list[str]:
    expected = f"{one.expected:,.0f}" if one.expected >= 100.0 else f"{one.expected:.3g}"
    interval = f"[{one.lower:,.0f}, {one.upper:,.0f}]"
    finding = FINDINGS[one.cause]
    return [
        f"{one.documents:,.0f}",
        f"{one.observed:,.0f}",
        expected,
        interval,
        f"{one.pvalue:.3f}",
        finding,
    ]
