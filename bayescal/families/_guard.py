"""The guard against degenerate maximum likelihood: a floor under each side's scale.

With few scores the likelihood often peaks at the smallest or largest of them: one side is empty,
its scale 0, and the calibrated probability exactly 0 or 1 beyond the mode. With one score, or all
equal, the likelihood is unbounded. The guarded fit maximises over scales of at least the floor.
"""

from __future__ import annotations

import math
from typing import Literal

from bayescal.families._family import Guard
from bayescal.robust import centre_and_spread
from bayescal.validation import Floats

GuardOption = float | Literal["auto"] | None

# Chosen by held-out log-loss on calibration data: benchmarks/guard_floor.py.
FLOOR_FACTOR = 1.5

# "Off" still needs Bennett's "very large constant" for an inverse scale whose side is empty.
OFF_FRACTION = 1e-12


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
        return Guard("off", OFF_FRACTION * centre_and_spread(x, weight)[1], ())
    if guard == "auto":
        n = float(x.size) if weight is None else float(weight.sum())
        return Guard("scale_floor", scale_floor(centre_and_spread(x, weight)[1], n), ())
    if not isinstance(guard, int | float) or not 0.0 < guard < float("inf"):
        raise ValueError(
            f"guard must be 'auto', None (off) or a positive floor in score units, got {guard!r}."
        )
    return Guard("scale_floor", float(guard), ())
