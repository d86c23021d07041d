"""Numbers in few bytes: what a page of many topics is made of."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from bayescal.validation import Floats

DIGITS = 4
LEVELS = 255


def numbers(values: Any, digits: int = DIGITS) -> Any:
    """
    Return numbers with so many significant digits, as lists; None where there is none.

    Examples
    --------
    >>> numbers([0.123456, 20.0, float("nan")])
    [0.1235, 20, None]
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim:
        return [numbers(each, digits) for each in array]
    value = float(array)
    if not np.isfinite(value):
        return None
    short = float(f"{value:.{digits}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short


def packed(matrix: Floats, *, by_column: bool = True) -> dict[str, Any]:
    """
    Return a matrix as a byte a number between the smallest and the largest, in base64.

    The error is at most 1/510 of the range: of each column, or of the whole matrix.

    Examples
    --------
    >>> unpacked(packed(np.array([[0.0, 1.0], [1.0, 3.0], [0.5, 2.0]]))).round(2)
    array([[0. , 1. ],
           [1. , 3. ],
           [0.5, 2. ]])
    """
    axis = 0 if by_column else None
    low, high = numbers(np.ravel(matrix.min(axis)), 5), numbers(np.ravel(matrix.max(axis)), 5)
    width = np.broadcast_to(np.subtract(high, low), matrix.shape)
    share = np.divide(matrix - low, width, out=np.zeros_like(matrix), where=width > 0.0)
    data = np.rint(LEVELS * np.clip(share, 0.0, 1.0)).astype(np.uint8)
    text = base64.b64encode(data.tobytes()).decode("ascii")
    return {"columns": matrix.shape[1], "low": low, "high": high, "bytes": text}


def unpacked(values: dict[str, Any]) -> Floats:
    """Return the matrix that `packed` was given, as a page reads it."""
    data = np.frombuffer(base64.b64decode(values["bytes"]), np.uint8)
    low, high = np.array(values["low"]), np.array(values["high"])
    matrix: Floats = low + (high - low) * data.reshape(-1, values["columns"]) / LEVELS
    return matrix
