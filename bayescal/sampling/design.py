"""Limits of recall, precision and prevalence from the random draw alone."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bayescal.sampling.exact import (
    NO_ERROR,
    Limits,
    ReviewerError,
    count_limits,
    share_limits,
    sum_limits,
)
from bayescal.sampling.units import SamplingUnits

GRID = 40  # thresholds whose limits hold at once; those of thresholds between them follow


@dataclass(frozen=True)
class StratifiedDraw:
    """Units drawn at random within strata, from the units without a label."""

    stratum: NDArray[np.intp]  # (units,)
    sampled: NDArray[np.bool_]  # (units,)
    before: NDArray[np.bool_]  # (units,): with a label before the draw


def design_limits(
    of: str,
    units: SamplingUnits,
    above: NDArray[np.bool_],
    drawn: StratifiedDraw,
    level: float,
    error: ReviewerError = NO_ERROR,
) -> Limits:
    """Return the limits of a measure at one threshold."""
    simple = not drawn.stratum.any() and not drawn.before.any() and error == NO_ERROR
    if of == "recall" and simple:
        own = (units.labels == 1.0) & drawn.sampled
        return _clopper_pearson(int((own & above).sum()), int(own.sum()), level)
    sides = [_positives(units, mine, drawn, level, error) for mine in (above, ~above)]
    if of == "recall":
        return share_limits(*sides)
    total = sides[0] if of == "precision" else sum_limits(sides)
    return _share_of(total, int(above.sum()) if of == "precision" else above.size)


def simultaneous_limits(
    of: str,
    units: SamplingUnits,
    threshold: float,
    drawn: StratifiedDraw,
    level: float,
    error: ReviewerError,
    fixed: tuple[float, ...],
) -> Limits:
    """
    Return limits that hold for all thresholds at once.

    They hold together at the thresholds that were fixed before the labels and at some of the
    ranking (Bonferroni). Between two of these follow the limits of all others, because the
    positives above a threshold get no more as it rises.
    """
    falling = np.sort(units.scores)[::-1]
    ranks = np.round(np.geomspace(1.0, falling.size, GRID)).astype(np.intp)
    # All documents have a score of -inf or more, none has one above all.
    grid = np.unique(np.r_[-np.inf, falling[ranks - 1], np.inf, fixed])
    level = 1.0 - (1.0 - level) / (grid.size - 2)
    above = units.scores >= threshold
    own = design_limits(of, units, above, drawn, level, error)
    higher, lower = grid[grid >= threshold], grid[grid <= threshold]

    def limits(measure: str, at: float) -> Limits:
        return design_limits(measure, units, units.scores >= at, drawn, level, error)

    if of == "recall":
        low, high = limits(of, higher[0]).lower, limits(of, lower[-1]).upper
        return Limits(own.value, low, high)
    taken = int(above.sum())
    low = _positives(units, units.scores >= higher[0], drawn, level, error).lower / taken
    high = _positives(units, units.scores >= lower[-1], drawn, level, error).upper / taken
    return Limits(own.value, low, min(high, 1.0))


def _positives(
    units: SamplingUnits,
    mine: NDArray[np.bool_],
    drawn: StratifiedDraw,
    level: float,
    error: ReviewerError,
) -> Limits:
    """Return the limits of the positives among some units, by stratum and for earlier labels."""
    positive = units.labels == 1.0
    known = mine & drawn.before
    cells = [(known, known)]
    for h in range(int(drawn.stratum.max()) + 1):
        cell = mine & (drawn.stratum == h) & ~drawn.before
        if cell.any():
            cells.append((cell, cell & drawn.sampled))
    return sum_limits(
        [
            count_limits(
                int((positive & own).sum()),
                int(own.sum()),
                int(cell.sum()),
                level,
                reviewer_error=error,
            )
            for cell, own in cells
        ]
    )


def _share_of(total: Limits, size: int) -> Limits:
    return Limits(total.value / size, total.lower / size, total.upper / size)


def _clopper_pearson(part: int, total: int, level: float) -> Limits:
    if total == 0:
        return Limits(math.nan, 0.0, 1.0)
    ends = stats.binomtest(part, total).proportion_ci(level, method="exact")
    return Limits(part / total, float(ends.low), float(ends.high))
