"""Layout of tables on the screen, and formats of the numbers in them."""

from __future__ import annotations

from collections.abc import Iterable

from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

ALL_TOPICS = "all"
MOST_TOPICS = 40  # shown


def new_table() -> Table:
    """Return an empty table."""
    # As narrow as it gets: parameters and curves fit into 80 columns.
    return Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))


def titled(title: str, table: Table, *notes: str) -> Group:
    """Return a table below its title, with notes below it."""
    # Rich would wrap a title to the table's width, which may be small.
    return Group(Text(title, style="bold"), table, *(Text(note, style="dim") for note in notes))


def add_columns(table: Table, names: Iterable[str], justify: str = "right") -> None:
    """Add columns with these heads."""
    for name in names:
        table.add_column(Text(name), justify=justify, no_wrap=True)  # type: ignore[arg-type]


def add_topic_column(table: Table) -> None:
    """Add a column of names, which alone gives way where space is short."""
    table.add_column(Text("topic"), justify="left", overflow="fold", min_width=8)


def more_topics(topics: int, what: str) -> list[str]:
    """Return a note on the topics that a table leaves out, if it does; `what` tells of them."""
    left = topics - MOST_TOPICS
    return [f"and {counted(left, 'more topic')}, {what}"] if left > 0 else []


def number(value: float) -> str:
    """Return a number of any size."""
    return f"{value:.4g}"


def share(value: float) -> str:
    """
    Return a number between 0 and 1.

    Examples
    --------
    >>> share(0.25), share(3e-9), share(1.0 - 1e-9)
    ('0.2500', '<0.0001', '>0.9999')
    """
    if 0.0 < value < 5e-5:
        return "<0.0001"
    return ">0.9999" if 1.0 - 5e-5 <= value < 1.0 else f"{value:.4f}"


def counted(number: int, noun: str) -> str:
    """
    Return a number of things in words.

    Examples
    --------
    >>> counted(1, "topic"), counted(1200, "row")
    ('1 topic', '1,200 rows')
    """
    return f"{number:,d} {noun}{'' if number == 1 else 's'}"


def percent(share: float) -> str:
    """Return a share in percent."""
    return f"{100 * share:g} %"
