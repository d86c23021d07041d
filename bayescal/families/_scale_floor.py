"""The floor under each side's scale, against degenerate maximum likelihood.

With few scores the likelihood often peaks at the smallest or largest of them: one side is empty,
its scale 0, and the calibrated probability exactly 0 or 1 beyond the mode. With one score, or all
equal, the likelihood is unbounded. The fit maximises over scales of at least the floor.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, Literal

from bayescal.families._family import ScaleFloor
from bayescal.robust import centre_and_spread
from bayescal.validation import Floats

ScaleFloorOption = float | Literal["auto"] | None

# Chosen by held-out log-loss on calibration data: studies/scale_floor.py.
FLOOR_FACTOR = 1.5

# "Off" still needs Bennett's "very large constant" for an inverse scale whose side is empty.
OFF_FRACTION = 1e-12

# The inverse of a smaller scale would be infinite.
LEAST = 1e-300


def automatic_floor(spread: float, n: float, factor: float = FLOOR_FACTOR) -> float:
    """
    Return the floor under each side's scale, factor * spread / sqrt(n).

    It falls with n, so that it stops acting: the fit with a floor is as consistent as the free one.

    Parameters
    ----------
    spread : float
        The robust spread of scores (for calibration of both classes' pooled), in score units.
    n : float
        Number of scores, or the sum of their weights, to which the density is fitted.
    factor : float
        Positive.

    Returns
    -------
    float
        In raw score units.

    Examples
    --------
    >>> automatic_floor(2.0, 9.0)
    1.0
    """
    return factor * spread / math.sqrt(n)


def resolve_scale_floor(
    scale_floor: ScaleFloorOption, x: Floats, weight: Floats | None
) -> ScaleFloor:
    """
    Turn the `scale_floor` argument of a fit into a floor in raw score units.

    Raises
    ------
    ValueError
        If `scale_floor` is neither "auto", None nor a positive number.
    """
    if scale_floor is None:
        return ScaleFloor("off", max(OFF_FRACTION * centre_and_spread(x, weight)[1], LEAST), ())
    if isinstance(scale_floor, str) and scale_floor == "auto":
        n = float(x.size) if weight is None else float(weight.sum())
        floor = automatic_floor(centre_and_spread(x, weight)[1], n)
        return ScaleFloor("scale_floor", max(floor, LEAST), ())
    if not _is_floor(scale_floor):
        raise ValueError(
            "scale_floor must be 'auto', None (off) or a positive floor in score units, got"
            f" {scale_floor!r}."
        )
    return ScaleFloor("scale_floor", float(scale_floor), ())


def _is_floor(value: Any) -> bool:
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and 0.0 < float(value) < math.inf
