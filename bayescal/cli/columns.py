"""Columns that are not there: what the user may have meant."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from bayescal.cli.numerals import as_numbers

if TYPE_CHECKING:
    import pandas as pd

MOST_COLUMNS = 12  # that are looked at for probabilities
ROUNDING = 1e-3  # of probabilities that were printed


def advice_on_missing(frame: pd.DataFrame, wanted: str, option: str) -> str:
    """Return which column may have been meant in place of one that is not there, in words."""
    names = [str(name) for name in frame.columns]
    near = [name for name in names if _plain(name) == _plain(wanted)]
    if near:
        return f" Did you mean {option} {near[0]!r}?"
    if len(names) == 1:
        return " It has one column: cells must be separated by commas, semicolons or tabs."
    if any(np.isfinite(as_numbers([name])[0][0]) for name in names):
        return " Its first line looks like data, where names of columns are expected: add them."
    pair = _probabilities(frame) if option == "--score-column" else None
    if pair is None:
        return ""
    return (
        f" Its columns {pair[0]!r} and {pair[1]!r} sum to 1, like the two that predict_proba"
        f" returns: pass [:, 1], the positive class's, which is likely {option} {pair[1]!r}."
    )


def _probabilities(frame: pd.DataFrame) -> tuple[str, str] | None:
    """Return two columns of probabilities that sum to 1 in every row, if there are any."""
    inside = {}
    for name in frame.columns[:MOST_COLUMNS]:
        values, _ = as_numbers(frame[name].tolist())
        # Labels of 0 and 1 are no probabilities; nan fails too.
        if ((values >= 0.0) & (values <= 1.0)).all() and not np.isin(values, (0.0, 1.0)).all():
            inside[str(name)] = values
    for first, second in combinations(inside, 2):
        if np.abs(inside[first] + inside[second] - 1.0).max() < ROUNDING:
            return first, second
    return None


def _plain(name: str) -> str:
    return name.casefold().strip().replace("_", "").replace(" ", "")
