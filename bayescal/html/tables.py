"""Tables and paragraphs; all text from data is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

STYLE = "border-collapse:collapse;font-size:0.9em;margin:0.3em 0"
CELL = "padding:0.1em 0.7em 0.1em 0;text-align:{};border:0;background:none"


def table(head: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """
    Return a table; all columns but the first are aligned to the right.

    Parameters
    ----------
    head : sequence of str
        Names of the columns.
    rows : iterable of sequences
        Cells, turned into text and escaped.
    caption : str
        Above the table.

    Examples
    --------
    >>> "<script>" in table(["topic"], [["<script>alert(1)</script>"]])
    False
    """
    above = f"<caption style='text-align:left'>{escape(caption)}</caption>" if caption else ""
    header = "".join(_cell("th", name, k) for k, name in enumerate(head))
    body = "".join(
        f"<tr>{''.join(_cell('td', value, k) for k, value in enumerate(row))}</tr>" for row in rows
    )
    head_row = f"<thead><tr>{header}</tr></thead>"
    return f"<table style='{STYLE}'>{above}{head_row}<tbody>{body}</tbody></table>"


def paragraph(text: str, *, strong: bool = False) -> str:
    """
    Return a paragraph of escaped text.

    Examples
    --------
    >>> paragraph("a < b")
    "<p style='margin:0.2em 0'>a &lt; b</p>"
    """
    inner = f"<strong>{escape(text)}</strong>" if strong else escape(text)
    return f"<p style='margin:0.2em 0'>{inner}</p>"


def side_by_side(*parts: str) -> str:
    """Return parts in a row, which wraps where it is narrow."""
    return f"<div style='display:flex;flex-wrap:wrap;gap:1.5em'>{''.join(parts)}</div>"


def _cell(tag: str, value: object, column: int) -> str:
    look = CELL.format("right" if column else "left")
    return f"<{tag} style='{look}'>{escape(str(value))}</{tag}>"
