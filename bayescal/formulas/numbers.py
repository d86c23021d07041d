"""Numbers in formulas and beside them."""

from __future__ import annotations

import math


def short(value: float) -> str:
    """Return a number with three digits."""
    return f"{0.0 if math.isclose(value, 0.0) else value:.3g}"


def in_text(value: float | None, name: str = "") -> str:
    """Return a number as text, or the name of one that problems have each their own of."""
    return name if value is None else f"{value:.4g}".replace("-", "\N{MINUS SIGN}")
