"""Topics that cannot be fitted: they are listed with the reason, and the others go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray
from rich.console import Group
from rich.text import Text

from bayescal.cli.errors import UsageError
from bayescal.cli.layout import add_columns, counted, new_table, titled
from bayescal.cli.problems import Problem, missing_class
from bayescal.validation import first_of

# Why each topic that could not be fitted was left out, by its name.
LeftOut = Mapping[str, str]
NONE: LeftOut = MappingProxyType({})


def fittable(problems: Sequence[Problem]) -> tuple[list[Problem], dict[str, str]]:
    """
    Return the problems with both classes, and why the other topics are left out.

    Raises
    ------
    UsageError
        If none is left.
    """
    reasons = [missing_class(problem) for problem in problems]
    left_out = {
        problem.name: reason for problem, reason in zip(problems, reasons, strict=True) if reason
    }
    refuse_if_all(problems, left_out)
    return [one for one, why in zip(problems, reasons, strict=True) if not why], left_out


def refuse_if_all(problems: Sequence[Problem], left_out: LeftOut) -> None:
    """Raise UsageError, with the first reason, if every problem is left out."""
    if len(left_out) < len(problems):
        return
    first = problems[0]
    others = f" None of {counted(len(problems), 'topic')} can be fitted." if first.topic else ""
    raise UsageError(f"{first.subject}{left_out[first.name]}{others}")


def left_out_tables(left_out: LeftOut, advice: str = "") -> list[Group]:
    """Return a table of the topics left out, and why; none where all were fitted."""
    if not left_out:
        return []
    table = new_table()
    add_columns(table, ["topic"], justify="left")
    table.add_column("reason", overflow="fold")
    for topic, reason in left_out.items():
        table.add_row(Text(topic), Text(reason))
    title = f"{counted(len(left_out), 'topic')} left out of the fit; the others are not affected"
    return [titled(title, table, *([advice] if advice else []))]


def rows_left_out(
    topics: NDArray[np.str_] | None, left_out: LeftOut, n: int
) -> tuple[NDArray[np.bool_], str]:
    """
    Return which of n rows are of topics left out, and words that tell of them, if any is.

    Parameters
    ----------
    topics : array of shape (n,) of str, or None
        Topic of each row.
    left_out : mapping
        Topics that the fit left out, and why.
    n : int
        The number of rows.
    """
    if topics is None or not left_out:
        return np.zeros(n, dtype=bool), ""
    gone = np.isin(topics, list(left_out))
    if not gone.any():
        return gone, ""
    names = list(dict.fromkeys(topics[gone].tolist()))
    of_rows = counted(int(gone.sum()), "row")
    return gone, (
        f"{of_rows} of {counted(len(names), 'topic')} that the fit left out ({first_of(names)}):"
        f" {left_out[names[0]]}"
    )
