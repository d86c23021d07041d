"""Cells of tables as numbers, with a decimal point or comma, or in per cent."""

import re
from collections import defaultdict
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from bayescal.support.validation import Floats

# 1,234 may be 1234 or 1.234, and so may 1.234; --decimal answers which.
THOUSANDS = re.compile(r"[+\-\N{MINUS SIGN}]?[1-9]\d{0,2}[.,]\d{3}")
DECIMAL: ContextVar[str | None] = ContextVar("decimal", default=None)
POINT_ADVICE = (
    " Every number with a point may be thousands, as 1.234 can be 1234: give --decimal point, or"
    " --decimal comma if points separate thousands."
)
ADVICE = (
    " Numbers with a decimal comma are read only in a column without decimal points. Numbers such"
    " as 1,234 may be thousands: give --decimal comma, or --decimal point if commas separate"
    " thousands."
)
PERCENT_ADVICE = (
    " Per cent signs are read only in a column where every number has one: add those that lack."
)


@dataclass
class NumberFormat:
    """The number format of a column, decided by the first rows that show it, for all blocks."""

    separator: str = ""  # "." or ","; empty until a number has one that cannot be thousands
    percent: bool | None = None  # whether every number has a per cent sign; None before any number

    def read(self, cells: Sequence[Any]) -> tuple[Floats, str]:
        """Return cells as numbers, nan for other text, with advice on commas and per cent signs."""
        signed = [isinstance(cell, str) and cell.rstrip().endswith("%") for cell in cells]
        filled = [
            bool(cell.strip()) if isinstance(cell, str) else np.isfinite(_number(cell))
            for cell in cells
        ]
        if self.percent is None and any(filled):
            self.percent = any(signed)
        if not self.percent:
            values, advice = self._decimals(cells)
            return values, PERCENT_ADVICE if any(signed) else advice
        values, advice = self._decimals([str(cell).rstrip().removesuffix("%") for cell in cells])
        lacking = np.array(filled) & ~np.array(signed)
        shares = np.where(lacking, np.nan, values / 100.0)
        return shares, PERCENT_ADVICE if lacking.any() else advice

    def _decimals(self, cells: Sequence[Any]) -> tuple[Floats, str]:
        cells = _with_answers(cells)
        values = np.array([_number(cell) for cell in cells], dtype=np.float64)
        truths = np.array([isinstance(cell, bool | np.bool_) for cell in cells], dtype=bool)
        if not truths.all():
            values[truths] = np.nan  # TRUE among a spreadsheet's numbers is no number
        commas, points = (
            [cell for cell in cells if isinstance(cell, str) and mark in cell] for mark in ",."
        )
        if not commas:
            if points and not self.separator and not _in_thousands(points):
                self.separator = "."
            if points and self.separator != ".":
                asked = np.array([isinstance(cell, str) and "." in cell for cell in cells])
                return np.where(asked, np.nan, values), POINT_ADVICE
            return values, ""
        other = np.array([_number(_with_point(cell)) for cell in cells], dtype=np.float64)
        if not points and np.isfinite(other).all():
            if not self.separator and not _in_thousands(commas):
                self.separator = ","
            if self.separator == ",":
                return other, ""
        numbers = any(np.isfinite(_number(_with_point(cell))) for cell in commas)
        return values, ADVICE if numbers else ""


Formats = defaultdict[str, NumberFormat]  # by column


def as_numbers(cells: Sequence[Any]) -> tuple[Floats, str]:
    """Return the cells of a whole column as `NumberFormat.read` does."""
    return NumberFormat().read(cells)


def _with_answers(cells: Sequence[Any]) -> Sequence[Any]:
    """Return cells with those that may be thousands as the numbers that --decimal makes them."""
    if DECIMAL.get() is None:
        return cells
    own, other = ".," if DECIMAL.get() == "point" else ",."
    if not _in_thousands([cell for cell in cells if isinstance(cell, str) and other in cell]):
        return cells
    return [
        _number(cell.replace(other, "").replace(own, "."))
        if isinstance(cell, str) and _in_thousands([cell])
        else cell
        for cell in cells
    ]


def _in_thousands(texts: Sequence[str]) -> bool:
    return all(THOUSANDS.fullmatch(text.strip()) for text in texts)


def _with_point(cell: Any) -> Any:
    return cell.replace(",", ".") if isinstance(cell, str) else cell


def _number(cell: Any) -> float:
    if isinstance(cell, str):
        # float() accepts 1_000, but not the minus sign of spreadsheets.
        cell = None if "_" in cell else cell.replace("\N{MINUS SIGN}", "-")
    try:
        return float(cell)
    except (TypeError, ValueError):
        return np.nan
