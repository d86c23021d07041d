"""The guard against degenerate maximum likelihood: a floor under each side's scale.

With few scores the likelihood often peaks at the smallest or largest of them: one side is empty,
its scale 0, and the calibrated probability exactly 0 or 1 beyond the mode. With one score, or all
equal, the likelihood is unbounded. The guarded fit maximises over scales of at least the floor.
"""

from __future__ import annotations

from typing import Literal

from bayescal.families._family import Guard
from bayescal.robust import centre_and_spread
from bayescal.validation import Floats

GuardOption = float | Literal["auto"] | None

# Chosen by held-out log-loss on calibration data: benchmarks/guard_floor.py.
FLOOR_FRACTION = 0.2

# "Off" still needs Bennett's "very large constant" for an inverse scale whose side is empty.
OFF_FRACTION = 1e-12


def scale_floor(x: Floats, weight: Floats | None = None, fraction: float = FLOOR_FRACTION) -> float:
    """
    Return the floor under each side's scale: a fraction of the robust spread of scores.

    Parameters
    ----------
    x : array of shape (n,)
        Raw scores; for calibration those of both classes, pooled.
    weight : array of shape (n,) or None
        Their weights.
    fraction : float
        Share of the spread, positive.

    Returns
    -------
    float
        In raw score units.
    """
    return fraction * centre_and_spread(x, weight)[1]


def resolve_guard(guard: GuardOption, x: Floats, weight: Floats | None) -> Guard:
    """
    Turn the `guard` argument of a fit into a floor in raw score units.

    Raises
    ------
    ValueError
        If `guard` is neither "auto", None nor a positive number.
    """
    if guard is None:
        return Guard("off", scale_floor(x, weight, OFF_FRACTION), ())
    if guard == "auto":
        return Guard("scale_floor", scale_floor(x, weight), ())
    if not isinstance(guard, int | float) or not 0.0 < guard < float("inf"):
        raise ValueError(
            f"guard must be 'auto', None (off) or a positive floor in score units, got {guard!r}."
        )
    return Guard("scale_floor", float(guard), ())
