"""Intervals, and numbers as people read them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from bayescal.support.validation import Floats

if TYPE_CHECKING:
    import pandas as pd


def tails(level: float) -> tuple[float, float]:
    """Return the probabilities below both ends of an equal-tailed interval."""
    return 0.5 - level / 2.0, 0.5 + level / 2.0


def readable(value: float, digits: int = 3) -> str:
    """Return a number with some significant digits, never fewer than those before the point."""
    whole = math.isfinite(value) and (
        value == round(value) or abs(value) >= 10.0 ** (digits - 1) - 0.05
    )
    return f"{value + 0.0:,.0f}" if whole else f"{value:.{digits}g}"


def counted(number: float, noun: str) -> str:
    """Return a number of things in words."""
    return f"{readable(number)} {noun}{'' if number == 1.0 else 's'}"


def percent(share: float, decimals: int | None = None) -> str:
    """Return a share in per cent, with a number of decimals or those that it has."""
    return f"{100.0 * share:g} %" if decimals is None else f"{100.0 * share:.{decimals}f} %"


def p_words(pvalue: float) -> str:
    """Return a p-value for readers, after the letter p."""
    return "= 0.001 or less" if 0.0 < pvalue <= 0.001 else f"= {pvalue:.2g}"


@dataclass(frozen=True)
class Interval:
    """A number with its interval; printed as "value (lower to upper)".

    In an f-string a format such as ``.1%`` applies to all three numbers: "82.0 % (75.1 % to
    87.4 %)".

    Attributes
    ----------
    value : float
        The estimate, such as a posterior mean; nan where it is not defined.
    lower, upper : float
        Ends of the interval; nan without one.
    level : float
        Probability of the interval; nan without one.
    method : str
        How the interval was found, such as "bootstrap", "posterior" or "jackknife".
    draws : array or None
        The number by every draw, resample, or group of documents left out.
    """

    value: float
    lower: float = math.nan
    upper: float = math.nan
    level: float = math.nan
    method: str = field(default="", repr=False)
    draws: Floats | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of_draws(
        cls, draws: Floats, level: float, value: float | None = None, /, **more: Any
    ) -> Self:
        """Return the mean of draws, or another value, with their equal-tailed interval."""
        lower, upper = np.quantile(draws, tails(level)).tolist()
        return cls(float(draws.mean()) if value is None else value, lower, upper, level, **more)

    @property
    def width(self) -> float:
        """Return the width of the interval."""
        return self.upper - self.lower

    def __truediv__(self, number: float) -> Interval:
        return Interval(self.value / number, self.lower / number, self.upper / number, self.level)

    def __format__(self, spec: str) -> str:
        numbers = self.value, self.lower, self.upper
        value, lower, upper = (
            format(x, spec).replace("%", " %") if spec else readable(x) for x in numbers
        )
        return value if math.isnan(self.lower) else f"{value} ({lower} to {upper})"

    def __str__(self) -> str:
        return format(self)


def interval_table(intervals: Mapping[str, Interval]) -> pd.DataFrame:
    """Return a row for each interval, with the columns value, lower and upper."""
    import pandas as pd

    columns = ["value", "lower", "upper"]
    rows = {name: [getattr(each, end) for end in columns] for name, each in intervals.items()}
    table: pd.DataFrame = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
    return table.rename_axis("number")
