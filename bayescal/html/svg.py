"""Small pictures as SVG, written by hand: a curve with its band, and intervals in rows."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np

from bayescal.palette import MLE_COLOUR, POSTERIOR_COLOUR
from bayescal.validation import Floats

WIDTH, HEIGHT = 300, 180
LEFT, RIGHT, TOP, BOTTOM = 34, 8, 8, 34
ROW = 16
NAME_WIDTH, LONGEST_NAME = 110, 16
TEXT = "font-size='11' fill='currentColor'"


def curve_picture(
    x: Floats, curve: Floats, band: Floats | None, mle: Floats | None, labels: tuple[str, str]
) -> str:
    """
    Return probabilities over scores: the curve, its band, and maximum likelihood dashed.

    Parameters
    ----------
    x, curve : array of shape (n,)
        Scores, ascending, and probabilities.
    band : array of shape (n, 2) or None
        Lower and upper probabilities.
    mle : array of shape (n,) or None
        Probabilities by maximum likelihood.
    labels : tuple of str
        Of the horizontal axis, and what the picture shows, for screen readers.

    Examples
    --------
    >>> x = np.array([0.0, 1.0])
    >>> curve_picture(x, x, None, None, ("a < b", "")).count("&lt;")
    1
    """
    span = (x[-1] - x[0]) or 1.0
    across = LEFT + (x - x[0]) / span * (WIDTH - LEFT - RIGHT)
    parts = [_frame(x, labels[0])]
    if band is not None:
        outline = _points(
            np.concatenate([across, across[::-1]]), np.concatenate([band[:, 0], band[::-1, 1]])
        )
        parts.append(f"<polygon points='{outline}' fill='{POSTERIOR_COLOUR}' fill-opacity='0.25'/>")
    if mle is not None:
        parts.append(_line(across, mle, MLE_COLOUR, "stroke-width='1.4' stroke-dasharray='5 3'"))
    parts.append(_line(across, curve, POSTERIOR_COLOUR, "stroke-width='2'"))
    return _svg(WIDTH, HEIGHT, labels[1], parts)


def interval_picture(
    names: Sequence[str], middle: Floats, interval: Floats, labels: tuple[str, str]
) -> str:
    """
    Return intervals with a dot each, one below the other on a common scale.

    Parameters
    ----------
    names : sequence of str
        Of the rows.
    middle : array of shape (rows,)
        Where the dots are.
    interval : array of shape (rows, 2)
        Lower and upper ends.
    labels : tuple of str
        Of the scale, and what the picture shows, for screen readers.

    Examples
    --------
    >>> picture = interval_picture(["<b>"], np.ones(1), np.array([[0.0, 2.0]]), ("", ""))
    >>> "<b>" in picture
    False
    """
    low, high = float(interval.min()), float(interval.max())
    scale = (WIDTH - RIGHT) / ((high - low) or 1.0)
    parts = []
    for row, (name, dot, ends) in enumerate(zip(names, middle, interval, strict=True)):
        y = TOP + ROW * (row + 0.5)
        shown = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
        at, start, end = (NAME_WIDTH + scale * (value - low) for value in (dot, *ends))
        parts += [
            f"<text x='0' y='{y + 4:.1f}' {TEXT}>{escape(shown)}</text>",
            f"<line x1='{start:.1f}' x2='{end:.1f}' y1='{y:.1f}' y2='{y:.1f}'"
            f" stroke='{POSTERIOR_COLOUR}' stroke-width='2'/>",
            f"<circle cx='{at:.1f}' cy='{y:.1f}' r='3.2' fill='{POSTERIOR_COLOUR}'/>",
        ]
    bottom = TOP + ROW * len(names) + 12
    width = NAME_WIDTH + WIDTH
    parts += [
        f"<text x='{NAME_WIDTH}' y='{bottom}' {TEXT}>{low:.3g}</text>",
        f"<text x='{width - RIGHT}' y='{bottom}' text-anchor='end' {TEXT}>{high:.3g}</text>",
        f"<text x='{NAME_WIDTH + WIDTH / 2}' y='{bottom + 13}' text-anchor='middle' {TEXT}>"
        f"{escape(labels[0])}</text>",
    ]
    return _svg(width, bottom + 20, labels[1], parts)


def _frame(x: Floats, label: str) -> str:
    base, end = HEIGHT - BOTTOM, WIDTH - RIGHT
    rows = [(value, _height(value)) for value in (0.0, 0.5, 1.0)]
    ticks = "".join(
        f"<text x='{LEFT - 6}' y='{y + 4:.1f}' text-anchor='end' {TEXT}>{value:g}</text>"
        f"<line x1='{LEFT}' x2='{end}' y1='{y:.1f}' y2='{y:.1f}' stroke='currentColor'"
        " stroke-opacity='0.2'/>"
        for value, y in rows
    )
    return (
        f"{ticks}<text x='{LEFT}' y='{base + 14}' {TEXT}>{x[0]:.3g}</text>"
        f"<text x='{end}' y='{base + 14}' text-anchor='end' {TEXT}>{x[-1]:.3g}</text>"
        f"<text x='{(LEFT + end) / 2}' y='{base + 28}' text-anchor='middle' {TEXT}>"
        f"{escape(label)}</text>"
    )


def _height(p: float) -> float:
    return HEIGHT - BOTTOM - p * (HEIGHT - BOTTOM - TOP)


def _points(across: Floats, p: Floats) -> str:
    up = HEIGHT - BOTTOM - p * (HEIGHT - BOTTOM - TOP)
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in zip(across, up, strict=True))


def _line(across: Floats, p: Floats, colour: str, look: str) -> str:
    return f"<polyline points='{_points(across, p)}' fill='none' stroke='{colour}' {look}/>"


def _svg(width: int, height: int, title: str, parts: Sequence[str]) -> str:
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}'"
        f" viewBox='0 0 {width} {height}' role='img' style='max-width:100%'>"
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )
