"""The guard against degenerate maximum likelihood: a floor under each side's scale.

With few scores the likelihood often peaks at the smallest or largest of them: one side is empty,
its scale 0, and the calibrated probability exactly 0 or 1 beyond the mode. With one score, or all
equal, the likelihood is unbounded. The guarded fit maximises over scales of at least the floor.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import Any, Literal

from bayescal.families._family import Guard
from bayescal.robust import centre_and_spread
from bayescal.validation import Floats

GuardOption = float | Literal["auto"] | None

# Chosen by held-out log-loss on calibration data: studies/guard_floor.py.
FLOOR_FACTOR = 1.5

# "Off" still needs Bennett's "very large constant" for an inverse scale whose side is empty.
OFF_FRACTION = 1e-12

# The inverse of a smaller scale would be infinite.
LEAST = 1e-300


def scale_floor(spread: float, n: float, factor: float = FLOOR_FACTOR) -> float:
    """
    Return the floor under each side's scale, factor * spread / sqrt(n).

    It falls with n, so that it stops acting: the guarded fit is as consistent as the free one.

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
    >>> scale_floor(2.0, 9.0)
    1.0
    """
    return factor * spread / math.sqrt(n)


def resolve_guard(guard: GuardOption, x: Floats, weight: Floats | None) -> Guard:
    """
    Turn the `guard` argument of a fit into a floor in raw score units.

    Raises
    ------
    ValueError
        If `guard` is neither "auto", None nor a positive number.
    """
    if guard is None:
        return Guard("off", max(OFF_FRACTION * centre_and_spread(x, weight)[1], LEAST), ())
    if isinstance(guard, str) and guard == "auto":
        n = float(x.size) if weight is None else float(weight.sum())
        floor = scale_floor(centre_and_spread(x, weight)[1], n)
        return Guard("scale_floor", max(floor, LEAST), ())
    if not _is_floor(guard):
        raise ValueError(
            f"guard must be 'auto', None (off) or a positive floor in score units, got {guard!r}."
        )
    return Guard("scale_floor", float(guard), ())


def _is_floor(value: Any) -> bool:
    number = isinstance(value, Real) and not isinstance(value, bool)
    return number and 0.0 < float(value) < math.inf
