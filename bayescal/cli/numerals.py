"""Cells of text as numbers, with a decimal point or a decimal comma."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from bayescal.validation import Floats

# 1,234 may be one thousand and more, or one and a little.
THOUSANDS = re.compile(r"[+-]?[1-9]\d{0,2},\d{3}")
ADVICE = (
    " Numbers with a decimal comma are read only in a column without decimal points, and where they"
    " cannot be thousands, as 1,234 can: write them with a decimal point."
)


def as_numbers(cells: Sequence[Any]) -> tuple[Floats, str]:
    """
    Return cells as numbers, nan where one is none, and what to do about decimal commas.

    Examples
    --------
    >>> as_numbers(["0,75", "-1"])
    (array([ 0.75, -1.  ]), '')
    >>> values, advice = as_numbers(["0,75", "0.5"])
    >>> values, "decimal comma" in advice
    (array([nan, 0.5]), True)
    """
    values = np.array([_number(cell) for cell in cells], dtype=np.float64)
    texts = [cell for cell in cells if isinstance(cell, str)]
    with_comma = [text for text in texts if "," in text]
    if not with_comma:
        return values, ""
    other = np.array([_number(_with_point(cell)) for cell in cells], dtype=np.float64)
    pointed = any("." in text for text in texts)
    in_thousands = all(THOUSANDS.fullmatch(text.strip()) for text in with_comma)
    if not pointed and not in_thousands and np.isfinite(other).all():
        return other, ""
    return values, ADVICE if any(np.isfinite(_number(_with_point(c))) for c in with_comma) else ""


def _with_point(cell: Any) -> Any:
    return cell.replace(",", ".") if isinstance(cell, str) else cell


def _number(cell: Any) -> float:
    try:
        return float(cell)
    except (TypeError, ValueError):
        return np.nan
